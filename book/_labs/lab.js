// Labs: each <lab-box> holds steps with a starter, hints and a solution. A starter becomes an editor (boxes.js); Check
// sends it to Python, which is started on the first check, and so does Run. What is written stays in this browser.
(() => {
  "use strict";
  const TRIES = 5; // after so many the solution may be seen
  const VERSION = 1; // of what is kept
  const { Editor, addButton, addCost, ask, keep, load, make, makeOut, readKept, saveFile, say, show, tell } = window.course;

  // --- What is kept -------------------------------------------------------------------------------------------------
  class Kept {
    constructor(lesson) { this.key = `lab:${lesson}`; this.steps = this.stepsOf(readKept(this.key)); }
    stepsOf(found) { return found?.version === VERSION && found.steps && typeof found.steps === "object" ? found.steps : {}; }
    get all() { return { version: VERSION, steps: this.steps }; }
    write() { keep(this.key, this.all); }
    of(step) {
      const found = this.steps[step];
      return found && typeof found === "object" ? found : (this.steps[step] = {});
    }
    change(step, values) { Object.assign(this.of(step), values); this.write(); }
    passed(step) { const text = this.of(step).passed; return typeof text === "string" ? text : undefined; }
    clear() { this.steps = {}; this.write(); }
  }

  // A disabled button keeps its place and the focus; addButton sees to it that it does nothing.
  function disable(button, disabled) { button.setAttribute("aria-disabled", disabled); }

  // --- A step -------------------------------------------------------------------------------------------------------
  class Step {
    constructor(box, section, number) {
      Object.assign(this, { box, section, name: section.dataset.step, number });
      const pre = section.querySelector(".lab-starter");
      this.starter = pre.textContent;
      this.hints = [...section.querySelectorAll(".lab-hint")];
      this.solution = section.querySelector(".lab-solution");
      this.solution.addEventListener("toggle", () => this.show());
      this.mark = make("span", "lab-mark");
      section.querySelector("h3").append(this.mark);
      this.editor = new Editor({
        id: `lab-${box.lesson}-${this.name}`,
        label: `Your <code>${this.name}</code>`,
        does: "checks",
        run: () => this.check(),
        changed: () => { this.keep({ text: this.editor.value }); this.showMark(); },
      });
      this.out = makeOut();
      pre.replaceWith(...this.editor.parts, this.buttons(), this.out);
      this.show();
    }

    get kept() { return this.box.kept.of(this.name); }
    get written() { return (this.editor.value.trim() ? this.editor.value : this.starter).trimEnd(); }
    keep(values) { this.box.kept.change(this.name, values); }

    // All stay where they are, so that a second click meets no other one; what brings code back comes last.
    buttons() {
      const row = make("div", "lab-buttons");
      this.checkButton = addButton(row, "Check", () => this.check(), true);
      this.runButton = addButton(row, "Run", () => this.run());
      this.hintButton = addButton(row, "Hint", () => this.hint());
      this.solutionButton = addButton(row, "Solution", () => this.showSolution());
      addButton(row, "Reset", () => this.replace(this.starter)).classList.add("quiet-button");
      this.undoButton = addButton(row, "Undo reset", () => this.replace(this.kept.before));
      this.when = make("span", "lab-when");
      this.when.id = `${this.editor.area.id}-when`;
      this.solutionButton.setAttribute("aria-describedby", this.when.id);
      row.append(this.when);
      addCost(row);
      return row;
    }

    // As it was left, and as it is kept.
    show() {
      const { text, hints = 0, tries = 0, before } = this.kept;
      this.editor.value = typeof text === "string" ? text : this.starter;
      this.showMark();
      this.hints.forEach((hint, number) => { hint.hidden = number >= hints; });
      const all = hints >= this.hints.length, allowed = all || tries >= TRIES || this.box.kept.passed(this.name) !== undefined;
      this.solution.open &&= allowed;
      this.solution.hidden = !this.solution.open;
      disable(this.hintButton, all);
      disable(this.solutionButton, !allowed || this.solution.open);
      this.when.hidden = allowed || !(hints || tries); // who has not tried does not ask
      this.when.textContent = this.sayWhen(this.hints.length - hints, TRIES - tries);
      this.undoButton.hidden = typeof before !== "string";
    }

    // Why the solution is still shut, and what opens it.
    sayWhen(hints, checks) {
      const count = (n, what) => `${n} more ${what}${n > 1 ? "s" : ""}`;
      return `The solution opens after ${count(hints, "hint")} or ${count(checks, "check")}, so that you try first.`;
    }

    showMark() { this.mark.textContent = this.state(this.box.kept.passed(this.name)); }

    // What the last check said; an earlier version that passed is what later steps use.
    state(passed) {
      const { last = passed === undefined ? "" : "right" } = this.kept; // what was kept before there was a last one
      if (last === "right") return this.editor.value === passed ? "✓ passed" : "changed since it passed";
      return [last ? "✗ not yet" : "", passed === undefined ? "" : "an earlier version passed"].filter(Boolean).join("; ");
    }

    // Python's answer to a question about what is written, or nothing where another one waits for its own.
    async ask(what, text) {
      if (this.busy) return undefined;
      this.setBusy(true);
      const question = { ask: what, lesson: this.box.lesson, step: this.name, text, earlier: this.box.earlier(this.number) };
      const answer = await ask(question, (words) => say(this.out, words));
      this.setBusy(false);
      return answer;
    }

    async check() {
      const text = this.editor.value, answer = await this.ask("check", text);
      if (!answer) return;
      this.record(answer.kind, text);
      tell(this.out, answer);
      this.show();
    }

    // What it prints and returns as it stands, with lines of the reader's own below the function; nothing is judged.
    async run() {
      const answer = await this.ask("run", this.editor.value);
      if (answer) (answer.kind ? tell : show)(this.out, answer);
    }

    // Where there is no Python, nothing was tried. What passes is not to be overwritten by what stood before a reset.
    record(kind, text) {
      if (kind === "absent") return;
      const { tries = 0 } = this.kept, tried = kind !== "unattempted";
      this.keep({ tries: tries + tried, last: tried ? kind : "", ...(kind === "right" && { passed: text, before: undefined }) });
    }

    setBusy(busy) {
      this.busy = busy;
      for (const button of [this.checkButton, this.runButton]) disable(button, busy);
    }

    hint() {
      const hints = (this.kept.hints ?? 0) + 1;
      this.keep({ hints });
      this.show();
      const hint = this.hints[hints - 1];
      hint.open = true;
      hint.querySelector("summary").focus();
    }

    showSolution() {
      this.solution.hidden = false;
      this.solution.open = true;
      this.solution.querySelector("summary").focus();
    }

    // What stood here is kept, and comes back in the same way; later steps go on with a version that passed.
    async replace(text) {
      const before = this.editor.value;
      if (before === text) return;
      await this.editor.replace(text);
      this.out.replaceChildren();
      const last = text === this.box.kept.passed(this.name) ? "right" : "";
      this.keep({ last, before: before === this.starter ? undefined : before });
      this.show();
    }
  }

  // --- A lab --------------------------------------------------------------------------------------------------------
  class LabBox extends HTMLElement {
    connectedCallback() {
      if (this.steps) return;
      this.lesson = this.dataset.lesson;
      this.kept = new Kept(this.lesson);
      this.classList.add("lab-live");
      this.steps = [...this.querySelectorAll(".lab-step")].map((section, number) => new Step(this, section, number));
      this.addEnding();
      this.addTools();
      const again = new MutationObserver(() => { if (this.spec) this.drawSpec(); });
      again.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    }

    // What has passed, of the steps before one.
    earlier(number) {
      const passed = this.steps.slice(0, number).map(({ name }) => [name, this.kept.passed(name)]);
      return Object.fromEntries(passed.filter(([, text]) => text !== undefined));
    }

    addEnding() {
      const ending = this.querySelector(".lab-ending"), row = make("div", "lab-buttons");
      this.said = ending.querySelector(".lab-said");
      this.said.hidden = true;
      const lead = make("p", "", "Draw the chart with your own code. A step that you have not passed is taken from the course.");
      addButton(row, "Draw it", () => this.draw(), true);
      this.out = makeOut();
      this.said.before(lead, row, this.out);
    }

    async draw() {
      if (this.busy) return;
      this.busy = true;
      const question = { ask: "draw", lesson: this.lesson, sources: this.earlier(this.steps.length) };
      const answer = await ask(question, (words) => say(this.out, words));
      this.busy = false;
      if (!answer.spec) return tell(this.out, answer);
      this.spec = answer.spec;
      if (await this.drawSpec()) this.out.replaceChildren();
      this.said.hidden = false;
    }

    // The book's charts have a script of their own, on every page: interactive.js.
    async drawSpec() {
      const figure = await makeFigure(this.spec); // eslint-disable-line no-undef
      figure.classList.add("lab-drawn");
      this.figure?.vegaView?.finalize();
      this.figure?.remove();
      this.said.before(this.figure = figure);
      await drawOrKeepStill(figure); // eslint-disable-line no-undef
      if (!figure.vegaView) say(this.out, "The chart could not be drawn. Reload the page and try again.");
      return Boolean(figure.vegaView);
    }

    addTools() {
      const row = make("div", "lab-buttons"), file = make("input");
      Object.assign(file, { type: "file", accept: ".json,application/json", hidden: true });
      addButton(row, "Save my work as a file", () => saveFile(`lab-${this.lesson}.json`, JSON.stringify(this.kept.all)));
      addButton(row, "Load a file", () => file.click());
      addButton(row, "Open as a notebook", () => this.saveNotebook());
      file.addEventListener("change", async () => { this.load(await file.files[0].text()); file.value = ""; });
      this.append(row, file, this.toolsOut = makeOut());
    }

    // The lab's part of the exercise notebook, with what is written here in its cells.
    async saveNotebook() {
      const file = `lab-${this.lesson}.ipynb`;
      try { await load(`notebooks/${this.lesson}.js`); } catch { return say(this.toolsOut, "The notebook could not be fetched. Check your connection and try again."); }
      const notebook = structuredClone(window.course.notebook);
      for (const { name, written } of this.steps) {
        const cell = notebook.cells.find(({ id }) => id === `lab-${name}`);
        cell.source = `${written}\n\n${cell.source}`;
      }
      saveFile(file, JSON.stringify(notebook, null, 1), "application/x-ipynb+json");
      say(this.toolsOut, `${file} is saved. Start JupyterLab with make lab, and drag the file into its list of files.`);
    }

    load(text) {
      let steps = {};
      try { steps = this.kept.stepsOf(JSON.parse(text)); } catch { /* no file of ours */ }
      if (!Object.keys(steps).length) return say(this.toolsOut, "That file holds no work of a lab.");
      this.exchange(steps, "The work in that file is loaded.");
    }

    // Other work in the place of all; what was there can be brought back.
    exchange(steps, words) {
      const before = this.kept.steps;
      this.kept.steps = steps;
      this.kept.write();
      this.steps.forEach((step) => { step.show(); step.out.replaceChildren(); });
      say(this.toolsOut, words);
      addButton(this.toolsOut, "Undo", () => this.exchange(before, "The other work is back."));
    }
  }

  course.awaken("lab-box", LabBox);
})();
