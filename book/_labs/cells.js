// Cells of a lesson that can be changed and run in place: each <live-cell> stands below the source of one. What is
// changed stays in this browser.
(() => {
  "use strict";
  const VERSION = 1; // of what is kept
  const { Editor, addButton, addCost, ask, keep, load, make, makeOut, readKept, say, show, tell } = window.course;

  const TEX = [{ left: "\\(", right: "\\)", display: false }, { left: "\\[", right: "\\]", display: true }];

  // Formulas of the page are set already; those of a run are set here, and what sets them is fetched for the first.
  async function setFormulas(node) {
    if (!TEX.some(({ left }) => node.textContent.includes(left))) return;
    await load("python/temml.js");
    window.temml.renderMathInElement(node, { delimiters: TEX, ignoredTags: ["pre", "code", "textarea"] });
  }

  // What a reader made of a lesson's cells, by the book's own text: where that is another, what is kept is not for it.
  function readTexts(lesson) {
    const found = readKept(`cells:${lesson}`);
    return found?.version === VERSION && found.texts && typeof found.texts === "object" ? found.texts : {};
  }

  function keepText(lesson, original, text) {
    const texts = { ...readTexts(lesson), [original]: text === original ? undefined : text };
    keep(`cells:${lesson}`, { version: VERSION, texts });
  }

  class LiveCell extends HTMLElement {
    static texts = {}; // what the reader changed, by number: later cells take it from there

    connectedCallback() {
      if (this.row) return;
      this.source = this.previousElementSibling;
      this.original = this.source.querySelector("pre").textContent.trim(); // beside it is a button to copy
      this.row = make("div", "lab-buttons");
      addButton(this.row, "Edit", () => { this.open(this.original); this.editor.enter(); });
      this.append(this.row);
      const kept = readTexts(this.dataset.lesson)[this.original];
      if (typeof kept === "string") this.reopen(kept);
    }

    open(text) {
      const { cell, lesson } = this.dataset;
      const changed = () => {
        LiveCell.texts[cell] = this.editor.value;
        keepText(lesson, this.original, this.editor.value);
      };
      this.editor = new Editor({ id: `cell-${cell}`, label: "This cell", does: "runs", run: () => this.run(), changed });
      this.editor.value = text;
      this.source.hidden = true;
      this.row.replaceChildren();
      this.runButton = addButton(this.row, "Run", () => this.run(), true);
      addButton(this.row, "Reset", () => this.reset()).classList.add("quiet-button");
      addCost(this.row);
      this.row.before(...this.editor.parts);
      this.append(this.out = makeOut());
    }

    // As it was left, in sight.
    reopen(text) {
      this.open(text);
      for (let fold = this.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      LiveCell.texts[this.dataset.cell] = text;
      say(this.out, "This is your version from an earlier visit, and it has not run yet. Reset brings back the book's.");
    }

    // As the page was.
    async reset() {
      await this.editor.replace(this.original);
      this.out.replaceChildren();
      this.last = null;
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
      const answer = await ask(question, (words) => say(this.out, words));
      this.setBusy(false);
      if (answer.kind) this.fail(answer);
      else this.show(answer);
    }

    // What was there before an error stays below it.
    fail(answer) {
      const first = this.closest(".cell").querySelector(".cell_output");
      tell(this.out, answer);
      if (this.last) this.out.append(make("p", "lab-state", "The last run without an error gave:"), ...this.last);
      else if (first && answer.kind !== "absent") this.out.append(make("p", "lab-state", "The output below is that of the book's version."));
    }

    setBusy(busy) { this.busy = busy; this.runButton.setAttribute("aria-disabled", busy); }

    show(answer) {
      this.showFirst(false);
      show(this.out, answer);
      this.last = [...this.out.childNodes];
      setFormulas(this.out).catch(() => {}); // else they stay as TeX
    }
  }

  course.awaken("live-cell", LiveCell);
})();
