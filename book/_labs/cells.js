// Cells of a lesson that can be changed and run in place: each <live-cell> stands below the source of one.
(() => {
  "use strict";
  const HERE = document.currentScript.src.replace(/[^/]*$/, "");
  const { Editor, addButton, make, makeOut, python, say, tell } = window.course;

  const TEX = [{ left: "\\(", right: "\\)", display: false }, { left: "\\[", right: "\\]", display: true }];
  let setter;

  // Formulas of the page are set already; those of a run are set here, and what sets them is fetched for the first.
  async function setFormulas(node) {
    if (!TEX.some(({ left }) => node.textContent.includes(left))) return;
    setter ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      Object.assign(script, { src: HERE + "python/temml.js", onload: resolve, onerror: reject });
      document.head.append(script);
    });
    await setter;
    window.temml.renderMathInElement(node, { delimiters: TEX, ignoredTags: ["pre", "code", "textarea"] });
  }

  class LiveCell extends HTMLElement {
    static texts = {}; // what the reader changed, by number: later cells take it from there

    connectedCallback() {
      if (this.row) return;
      this.source = this.previousElementSibling;
      this.original = this.source.querySelector("pre").textContent.trim(); // beside it is a button to copy
      this.row = make("div", "lab-buttons");
      addButton(this.row, "Edit and run", () => this.open());
      this.append(this.row);
    }

    open() {
      const { cell } = this.dataset;
      this.editor = new Editor({
        id: `cell-${cell}`,
        label: "This cell",
        does: "runs",
        run: () => this.run(),
        changed: () => { LiveCell.texts[cell] = this.editor.value; },
      });
      this.editor.value = this.original;
      this.source.hidden = true;
      this.row.replaceChildren();
      this.runButton = addButton(this.row, "Run", () => this.run(), true);
      addButton(this.row, "Reset", () => this.reset());
      this.row.before(...this.editor.parts);
      this.append(this.out = makeOut());
      this.editor.area.focus();
    }

    // As the page was.
    reset() {
      this.editor.replace(this.original);
      this.out.replaceChildren();
      this.showFirst(true);
    }

    // The output that the page came with.
    showFirst(shown) {
      for (const output of this.closest(".cell").querySelectorAll(".cell_output")) output.hidden = !shown;
    }

    async run() {
      if (this.busy) return;
      this.setBusy(true);
      const { lesson, cell } = this.dataset, texts = { ...LiveCell.texts, [cell]: this.editor.value };
      const question = { ask: "cell", lesson, number: Number(cell), texts };
      const answer = await python.ask(question, (words) => say(this.out, words));
      this.setBusy(false);
      this.showFirst(false);
      if (answer.kind) tell(this.out, answer);
      else this.tell(answer);
    }

    setBusy(busy) { this.busy = busy; this.runButton.setAttribute("aria-disabled", busy); }

    // What was printed, and what the last line returned: text, or what the course itself writes as HTML.
    tell({ printed, text, html }) {
      this.out.replaceChildren();
      for (const said of [printed, text].filter(Boolean)) this.out.append(make("pre", "", said));
      if (html) this.out.insertAdjacentHTML("beforeend", html);
      if (!this.out.firstChild) say(this.out, "It ran, and printed nothing.");
      setFormulas(this.out).catch(() => {}); // else they stay as TeX
    }
  }

  if (!customElements.get("live-cell")) customElements.define("live-cell", LiveCell);
})();
