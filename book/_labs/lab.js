// Labs: each <lab-box> holds steps with a starter, hints and a solution. A starter becomes an editor; Check sends it to
// Python in a worker (worker.js), which is started on the first check. What is written stays in this browser.
(() => {
  "use strict";
  const HERE = document.currentScript.src.replace(/[^/]*$/, "");
  const SECONDS = { start: 300, check: 10, draw: 30 };
  const TRIES = 5; // after so many the solution may be seen
  const VERSION = 1; // of what is kept
  const FROM_DISK = "Python starts only on pages that a server sends. In the folder of the course run <code>python -m http.server -d _build/html</code> and open <code>http://localhost:8000</code>, or use the exercise notebook.";

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text) node.textContent = text;
    return node;
  };
  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const problem = (head, message) => ({ kind: "slow", head, message, call: "", printed: "" });

  // --- Python -------------------------------------------------------------------------------------------------------
  // One worker for a page. What takes too long ends with its worker, and the next one starts at once.
  class Python {
    constructor() { this.asked = new Map(); this.count = 0; }

    start() {
      this.ready ??= new Promise((resolve, reject) => {
        const worker = new Worker(HERE + "worker.js", { type: "module" });
        this.worker = worker;
        worker.onerror = () => reject(new Error("missing"));
        worker.onmessage = ({ data }) => {
          if (data.ready) resolve();
          else if (data.id === undefined) reject(new Error(data.fatal));
          else this.asked.get(data.id)?.(data);
        };
        setTimeout(() => reject(new Error("late")), 1000 * SECONDS.start);
      });
      this.ready.catch(() => this.stop());
      return this.ready;
    }

    stop() {
      this.worker?.terminate();
      this.ready = this.worker = undefined;
      this.asked.clear();
    }

    restart() { this.stop(); this.start().catch(() => {}); }

    // The answer to a question, or a sentence that says why there is none.
    async ask(question, say) {
      if (location.protocol === "file:") return problem("Not here.", FROM_DISK);
      if (!this.ready) say("Starting Python (about 14 MB, once) …");
      else say("Waiting for Python …");
      try {
        await this.start();
      } catch (error) {
        return problem("Python did not start.", `${escape(this.why(error.message))} Your code is kept.`);
      }
      say(question.ask === "draw" ? "Drawing …" : "Checking …");
      return this.send(question);
    }

    why(message) {
      if (message === "late") return `It took more than ${SECONDS.start / 60} minutes: is the connection slow?`;
      if (message === "missing") return "This copy of the book has no Python in its pages. Use the exercise notebook instead.";
      return `${message.slice(0, 200)}. Reload the page and try again, or use the exercise notebook.`;
    }

    send(question) {
      const limit = SECONDS[question.ask], id = this.count++;
      return new Promise((resolve) => {
        const end = (answer) => { clearTimeout(late); this.asked.delete(id); resolve(answer); };
        const fail = (answer) => { end(answer); this.restart(); };
        const late = setTimeout(() => fail(problem("Stopped.", `Your code ran for ${limit} s without an end. Look for a loop that does not stop, or for very large numbers.`)), 1000 * limit);
        this.asked.set(id, ({ answer, fatal }) => answer ? end(answer)
          : fail(problem("Stopped.", `Python broke off: ${escape(fatal.trim().split("\n").pop().slice(0, 200))}. It is starting again; your code is kept.`)));
        this.worker.postMessage({ id, question });
      });
    }
  }
  const python = new Python();

  // --- What is kept -------------------------------------------------------------------------------------------------
  class Kept {
    constructor(lesson) { this.key = `lab:${lesson}`; this.steps = this.read(localStorageText(this.key)); }
    read(text) {
      try {
        const found = JSON.parse(text);
        return found?.version === VERSION && found.steps && typeof found.steps === "object" ? found.steps : {};
      } catch { return {}; }
    }
    get text() { return JSON.stringify({ version: VERSION, steps: this.steps }); }
    write() { try { localStorage.setItem(this.key, this.text); } catch { /* a full or closed store: work goes on */ } }
    of(step) {
      const found = this.steps[step];
      return found && typeof found === "object" ? found : (this.steps[step] = {});
    }
    change(step, values) { Object.assign(this.of(step), values); this.write(); }
    passed(step) { const text = this.of(step).passed; return typeof text === "string" ? text : undefined; }
    clear() { this.steps = {}; this.write(); }
  }
  function localStorageText(key) { try { return localStorage.getItem(key); } catch { return null; } }

  // --- The editor ---------------------------------------------------------------------------------------------------
  // A plain text area that indents. insertText keeps the browser's own undo.
  const insert = (area, text) => { if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end"); };

  function select(area, from, to) { area.selectionStart = from; area.selectionEnd = to; }

  function shift(area, out) {
    const { value, selectionStart, selectionEnd } = area;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const lines = value.slice(from, selectionEnd);
    const moved = out ? lines.replace(/^ {1,4}/gm, "") : lines.replace(/^(?=.)/gm, "    ");
    if (moved === lines) return;
    select(area, from, selectionEnd);
    insert(area, moved);
    select(area, from === selectionStart ? from : Math.max(from, selectionStart + (out ? -1 : 1) * Math.min(4, Math.abs(moved.length - lines.length))), from + moved.length);
  }

  function edit(area, event, leave) {
    const { value, selectionStart, selectionEnd } = area;
    const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    const many = value.slice(selectionStart, selectionEnd).includes("\n");
    if (event.key === "Tab" && !leave) {
      if (event.shiftKey || many) shift(area, event.shiftKey);
      else insert(area, " ".repeat(4 - (line.length % 4)));
    } else if (event.key === "Enter" && !event.isComposing) {
      const more = /:\s*(#.*)?$/.test(line) ? "    " : "", less = /^\s+(return|raise|break|continue|pass)\b/.test(line) ? 4 : 0;
      const indent = line.match(/^ */)[0];
      insert(area, "\n" + indent.slice(less) + more);
    } else if (event.key === "Backspace" && selectionStart === selectionEnd && /^( {4})+$/.test(line)) {
      select(area, selectionStart - 4, selectionStart);
      document.execCommand("delete");
    } else return;
    event.preventDefault();
  }

  // --- What is said -------------------------------------------------------------------------------------------------
  function say(out, words) { out.replaceChildren(make("p", "lab-state", words)); }

  // Everything that comes from Python is text, but for the message, whose markup the library has made.
  function tell(out, answer) {
    const told = make("div", `feedback ${answer.kind}`), line = make("p");
    line.append(make("strong", "", answer.head), " ");
    line.insertAdjacentHTML("beforeend", answer.message);
    if (answer.call) {
      const call = make("p");
      call.append(make("code", "lab-call", answer.call));
      told.append(call);
    }
    told.append(line);
    if (answer.printed) told.append(make("p", "", "Your code printed:"), make("pre", "lab-printed", answer.printed));
    out.replaceChildren(told);
  }

  // --- A step -------------------------------------------------------------------------------------------------------
  class Step {
    constructor(box, section, number) {
      Object.assign(this, { box, section, name: section.dataset.step, number });
      const pre = section.querySelector(".lab-starter");
      this.starter = pre.textContent;
      this.hints = [...section.querySelectorAll(".lab-hint")];
      this.solution = section.querySelector(".lab-solution");
      this.mark = make("span", "lab-mark");
      section.querySelector("h3").append(this.mark);
      pre.replaceWith(...this.editor());
      this.out = make("div", "lab-out");
      this.out.setAttribute("role", "status");
      this.buttons().after(this.out);
      this.show();
    }

    get kept() { return this.box.kept.of(this.name); }
    keep(values) { this.box.kept.change(this.name, values); }

    editor() {
      const id = `lab-${this.box.lesson}-${this.name}`, label = make("label", "", `Your ${this.name}`);
      const keys = make("p", "lab-keys", "Tab indents; Esc, then Tab leaves the editor. Ctrl+Enter checks.");
      const area = this.area = make("textarea", "lab-code");
      Object.assign(area, { id, spellcheck: false, autocomplete: "off" });
      area.setAttribute("autocapitalize", "off");
      area.setAttribute("aria-describedby", keys.id = `${id}-keys`);
      label.htmlFor = id;
      let leave = false;
      area.addEventListener("keydown", (event) => {
        if ((event.ctrlKey || event.metaKey) && event.key === "Enter") return event.preventDefault(), this.check();
        if (!event.ctrlKey && !event.metaKey && !event.altKey) edit(area, event, leave);
        if (event.key !== "Shift") leave = event.key === "Escape";
      });
      area.addEventListener("input", () => { this.keep({ text: area.value }); this.fit(); });
      return [label, area, keys];
    }

    // As high as what is in it; a reader may drag it to another height until the next letter.
    fit() {
      this.area.style.height = "auto";
      this.area.style.height = `${this.area.scrollHeight + this.area.offsetHeight - this.area.clientHeight + 2}px`;
    }

    buttons() {
      const row = make("div", "lab-buttons");
      const add = (name, act, main) => {
        const button = make("button", main ? "lab-button lab-main" : "lab-button", name);
        button.type = "button";
        button.addEventListener("click", act);
        row.append(button);
        return button;
      };
      this.checkButton = add("Check", () => this.check(), true);
      this.hintButton = add("Hint", () => this.hint());
      this.solutionButton = add("Show solution", () => this.showSolution());
      add("Reset", () => this.reset());
      this.section.querySelector(".lab-keys").after(row);
      return row;
    }

    // As it was left, and as it is kept.
    show() {
      const { text, hints = 0, tries = 0 } = this.kept, passed = this.box.kept.passed(this.name) !== undefined;
      if (this.area.value !== (text ?? this.starter)) this.area.value = typeof text === "string" ? text : this.starter;
      this.fit();
      this.mark.textContent = passed ? "✓ passed" : "";
      this.hints.forEach((hint, number) => { hint.hidden = number >= hints; });
      this.hintButton.hidden = hints >= this.hints.length;
      const allowed = passed || tries >= TRIES || hints >= this.hints.length;
      this.solution.hidden = !allowed;
      this.solutionButton.hidden = !allowed || this.solution.open;
    }

    async check() {
      if (this.busy) return;
      this.setBusy(true);
      const text = this.area.value;
      const question = { ask: "check", lesson: this.box.lesson, step: this.name, text, earlier: this.box.earlier(this.number) };
      const answer = await python.ask(question, (words) => say(this.out, words));
      this.setBusy(false);
      if (answer.kind === "right") this.keep({ passed: text });
      this.keep({ tries: (this.kept.tries ?? 0) + (answer.kind !== "unattempted") });
      tell(this.out, answer);
      this.show();
    }

    setBusy(busy) { this.busy = busy; this.checkButton.setAttribute("aria-disabled", busy); }

    hint() {
      const hints = (this.kept.hints ?? 0) + 1;
      this.keep({ hints });
      this.show();
      const hint = this.hints[hints - 1];
      hint.open = true;
      hint.querySelector("summary").focus();
    }

    showSolution() {
      this.solution.open = true;
      this.solutionButton.hidden = true;
      this.solution.querySelector("summary").focus();
    }

    // A pass is kept: only what is written goes back, and undo brings it back.
    reset() {
      this.area.focus();
      this.area.select();
      insert(this.area, this.starter);
      this.out.replaceChildren();
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
      this.drawButton = make("button", "lab-button lab-main", "Draw it");
      this.drawButton.type = "button";
      this.drawButton.addEventListener("click", () => this.draw());
      this.out = make("div", "lab-out");
      this.out.setAttribute("role", "status");
      row.append(this.drawButton);
      this.said.before(lead, row, this.out);
    }

    async draw() {
      if (this.busy) return;
      this.busy = true;
      const question = { ask: "draw", lesson: this.lesson, sources: this.earlier(this.steps.length) };
      const answer = await python.ask(question, (words) => say(this.out, words));
      this.busy = false;
      if (!answer.spec) return tell(this.out, answer);
      this.out.replaceChildren();
      this.spec = answer.spec;
      await this.drawSpec();
      this.said.hidden = false;
    }

    // The book's charts have a script of their own, on every page: interactive.js.
    async drawSpec() {
      const figure = make("figure", "interactive-chart lab-drawn"), data = make("script", "chart-spec");
      data.type = "application/json";
      data.textContent = JSON.stringify(this.spec);
      figure.setAttribute("aria-label", this.spec.description);
      figure.append(make("div", "chart-still"), make("div", "chart-live"), data);
      this.figure?.vegaResult?.finalize();
      this.figure?.remove();
      this.said.before(this.figure = figure);
      drawOrKeepStill(figure); // eslint-disable-line no-undef
      await figure.ready;
      if (!figure.vegaView) say(this.out, "The chart could not be drawn. Reload the page and try again.");
    }

    addTools() {
      const row = make("div", "lab-buttons"), file = make("input");
      Object.assign(file, { type: "file", accept: ".json,application/json", hidden: true });
      const add = (name, act) => {
        const button = make("button", "lab-button", name);
        button.type = "button";
        button.addEventListener("click", act);
        row.append(button);
      };
      add("Save my work as a file", () => this.save());
      add("Load a file", () => file.click());
      file.addEventListener("change", async () => { this.load(await file.files[0].text()); file.value = ""; });
      this.append(row, file);
    }

    save() {
      const link = make("a");
      link.href = URL.createObjectURL(new Blob([this.kept.text], { type: "application/json" }));
      link.download = `lab-${this.lesson}.json`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }

    load(text) {
      const steps = this.kept.read(text);
      if (!Object.keys(steps).length) return say(this.out, "That file holds no work of a lab.");
      this.kept.steps = steps;
      this.kept.write();
      this.steps.forEach((step) => step.show());
    }
  }

  if (!customElements.get("lab-box")) customElements.define("lab-box", LabBox);
})();
