// What shows the boxes in which a reader writes Python, and what they say. The rest comes later: a lab's steps (lab.js)
// and what an editor does for its writer (editor.js) when the first is near, and Python (python.js) when something is run.
(() => {
  "use strict";
  const HERE = document.currentScript.src.replace(/[^/]*$/, "");
  const SIZE = "15 MB"; // of Python, as a server compresses it
  const COME = "python:come"; // kept where Python has been fetched
  const UNFETCHED = "Its files could not be fetched. Check your connection and press the button again, or use the exercise notebook.";
  const loading = {};

  // A script that lies beside this one, fetched once; one that did not come may be asked for again.
  function load(name) {
    return loading[name] ??= new Promise((resolve, reject) => {
      const script = make("script"), fail = () => { delete loading[name]; reject(new Error(name)); };
      Object.assign(script, { src: HERE + name, onload: resolve, onerror: fail });
      document.head.append(script);
    });
  }

  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text) node.textContent = text;
    return node;
  }

  // A button in a row, and a place below it for what is said.
  function addButton(row, name, act, main = false) {
    const button = make("button", main ? "lab-button lab-main" : "lab-button", name);
    button.type = "button";
    button.addEventListener("click", () => { if (button.ariaDisabled !== "true") act(); });
    row.append(button);
    return button;
  }

  // Beside what runs code: what the first run fetches. It goes when Python is asked for, and stays away once it has come.
  function addCost(row) { if (!loading["python.js"] && !readKept(COME)) row.append(make("span", "lab-cost", `The first run fetches Python, ${SIZE}.`)); }

  function makeOut() {
    const out = make("div", "lab-out");
    out.setAttribute("role", "status");
    return out;
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

  // What was printed, and what the last line returned: text, or what the course itself writes as HTML.
  function show(out, { printed, text, html }) {
    out.replaceChildren();
    for (const said of [printed, text].filter(Boolean)) out.append(make("pre", "", said));
    if (html) out.insertAdjacentHTML("beforeend", html);
    if (!out.firstChild) say(out, "It ran, and printed nothing.");
  }

  // Why there is no answer.
  const problem = (head, message, kind = "absent") => ({ kind, head, message, call: "", printed: "" });

  // Python's answer to a question; meanwhile `tell` is called with what it does.
  async function ask(question, tell) {
    tell("Waiting for Python …");
    try { await load("python.js"); } catch { return problem("Python did not start.", `${UNFETCHED} Your code is kept.`); }
    for (const cost of document.querySelectorAll(".lab-cost")) cost.remove();
    return window.course.python.ask(question, tell);
  }

  // --- What is kept in this browser, and in files -------------------------------------------------------------------
  function readKept(key) { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } }

  function keep(key, value) { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* a full or closed store: work goes on */ } }

  function saveFile(name, text, type = "application/json") {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // --- The editor ---------------------------------------------------------------------------------------------------
  const sight = new IntersectionObserver((boxes) => {
    for (const { isIntersecting, target } of boxes) if (isIntersecting) target.editor.wake();
  }, { rootMargin: "300px" });

  // A text area, and behind it the same text, which has colours when editor.js has come. The area is what the keyboard
  // and a screen reader meet; its letters are transparent where the others are shown.
  class Editor {
    // `run` is called by Ctrl+Enter, which `does` what that does; `changed` after each change.
    constructor({ id, label, does, run, changed = () => {} }) {
      const keys = make("p", "editor-keys", `Tab indents; Esc, then Tab leaves the editor. Ctrl+Enter ${does}.`);
      const name = make("label"), box = make("div", "editor");
      const area = this.area = make("textarea", "editor-code");
      this.shown = make("span", "editor-shown highlight");
      this.lines = make("span", "editor-lines"); // their numbers
      this.shown.ariaHidden = this.lines.ariaHidden = "true";
      box.tabIndex = -1; // where it scrolls, Firefox would make it a stop of its own
      box.append(this.shown, area, this.lines);
      Object.assign(area, { id, spellcheck: false, autocomplete: "off" });
      area.setAttribute("autocapitalize", "off");
      area.setAttribute("aria-describedby", keys.id = `${id}-keys`);
      Object.assign(name, { htmlFor: id, innerHTML: label });
      Object.assign(this, { run, changed, parts: [name, box, keys] });
      area.addEventListener("input", () => this.accept());
      area.addEventListener("focus", () => this.wake());
      box.editor = this;
      sight.observe(box);
    }

    // Colours, keys and undo, which are fetched for the first editor; without them it is a plain text area.
    wake() { return this.awake ??= load("editor.js").then(() => window.course.equip(this), () => { this.awake = undefined; }); }

    accept() {
      this.changes?.record();
      this.paint();
      this.changed();
    }

    get value() { return this.area.value; }
    set value(text) {
      if (this.area.value !== text) {
        this.area.value = text;
        this.changes?.clear();
      }
      this.paint();
    }

    // The keyboard comes to the first letter, which is in sight.
    enter() {
      this.area.setSelectionRange(0, 0);
      this.area.focus({ preventScroll: true });
      this.area.parentElement.scrollLeft = 0;
    }

    // The shown text is as large as what is in it, and the area with it; the blank stands in a last line without any.
    paint() {
      const text = this.area.value;
      this.shown.innerHTML = (this.changes ? window.course.colour : escape)(text) + " ";
      this.lines.textContent = text.split("\n").map((_, number) => number + 1).join("\n");
    }

    // Put another text in the place of all; undo brings the old one back.
    async replace(text) {
      await this.wake();
      this.area.focus();
      this.area.select();
      this.insert(text);
    }

    // insertText tells of itself as typing does.
    insert(text) {
      const { area } = this;
      if (document.execCommand("insertText", false, text)) return;
      area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
      this.accept();
    }
  }

  // What is written in comes after the page: a browser looks at all fields of one that it has read, and lays them out.
  function awaken(name, box) {
    const define = () => customElements.get(name) ?? customElements.define(name, box);
    if (document.readyState === "complete") define();
    else addEventListener("load", () => setTimeout(define));
  }

  // A lab ends its page, and most who open that do not come so far.
  const near = new IntersectionObserver((labs) => {
    if (!labs.some(({ isIntersecting }) => isIntersecting)) return;
    near.disconnect();
    load("lab.js").catch(() => {}); // its text can be read without
  }, { rootMargin: "1500px" });
  for (const lab of document.querySelectorAll("lab-box")) near.observe(lab);

  window.course = {
    COME, SIZE, UNFETCHED, Editor, addButton, addCost, ask, awaken, escape, keep, load, make, makeOut, problem, readKept, saveFile, say, show, tell,
  };
})();
