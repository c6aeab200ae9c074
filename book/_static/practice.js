/* Answer boxes of the static page: each <practice-box> names its lesson and problem, whose data (bands, units, hints,
   draws) one script per lesson registers, and judges as the library's check() does. No kernel; tries stay in this browser. */
(() => {
  "use strict";
  const HEADS = {
    right: "Right.", close: "Close.", wrong: "Not yet.", misconception: "Not yet.", unit: "Wrong unit.",
    prefix: "Right up to a prefix.", type: "I could not read that.", unanswered: "Not attempted.",
  };
  const LONGEST = 300;
  const UNANSWERED = "Give an answer and check again, or ask for a hint.";
  const UNKNOWN = "No mistake that we know leads there. A hint says where to start.";
  class Unreadable extends Error {
    constructor(message, kind = "type") { super(message); this.kind = kind; }
  }
  const verdict = (kind, message) => ({ kind, message });
  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // --- quantities -------------------------------------------------------------------------------------------------
  const NUMBER = /^\s*(?:(?:≈|~|about )\s*)?(?:\$\s*)?([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:\s*(?:e|[x×·*]\s?10\^|\*10\*\*)\s*([+-]?\d{1,4}))?)(?:\s*\/\s*(\d+(?:\.\d*)?)(?![0-9.]))?\s*([^]*?)\s*$/i;
  const canonical = (text) => text.trim().replace(/^\.+|\.+$/g, "").replace(/\s*(?:\bper\b|\/)\s*/g, "/").replace(/ /g, "");

  function quantity(text, draw) {
    const plain = text.replace(/10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g, (_, raised) => "10^" + [...raised].map((c) => "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c)]).join(""));
    const found = text.length <= LONGEST ? plain.replace(/(?<=\d)(?<!(?<!\d)0)[,_'’\u00a0\u202f ](?=\d{3}(?!\d))/g, "").match(NUMBER) : null;
    const unread = !found || /^(?:[0-9.,:^'*(-]|\/\s*[0-9])/.test(found[4]) || Number(found[3]) === 0 && found[3];
    if (unread && /\d,\d(?!\d\d(?!\d))|(?<!\d)0,\d/.test(plain)) throw new Unreadable("Use a point for the decimals, as in 0.067.");
    if (unread) throw new Unreadable(`Write one number, such as 0.067 or 6.7e-2${draw.label ? ", and a unit if you like: " + escape(draw.label) : ""}.`);
    let number = Number(found[1].replace(/\s*(e|[x×·*]\s?10\^|\*10\*\*)\s*/i, "e"));
    if (found[3]) number /= Number(found[3]); // 4/3
    let spelt = canonical(found[4]);
    if (text.includes("$") && spelt && !/^(\$|USD)/.test(spelt) && !Object.hasOwn(draw.units, spelt)) spelt = "$/" + spelt.replace(/^\/+/, "");
    if (text.includes("$") && !spelt && draw.scale > 1e3 && number >= draw.scale / 1e3) spelt = "$"; // $168,000,000 where millions are asked for
    if (spelt && !Object.hasOwn(draw.units, spelt))
      throw new Unreadable(draw.label ? `The answer is in ${escape(draw.label)}; I cannot read it in that unit.` : "The answer has no unit.", "unit");
    if (!Number.isFinite(number)) throw new Unreadable("That is infinite; give a finite number.");
    return number * (spelt ? draw.units[spelt] : draw.scale);
  }

  function judgeQuantity(text, draw) {
    const x = quantity(text, draw);
    for (const [low, high, kind, message] of draw.bands) if (low <= x && x <= high) return verdict(kind, message);
    const [low, high] = draw.bands[0];
    return verdict("wrong", `Too ${x < (low + high) / 2 ? "small" : "large"}. ${UNKNOWN}`);
  }

  // --- letters ----------------------------------------------------------------------------------------------------
  function judgeChoice(text, draw) {
    const key = text.trim().replace(/^[()., ]+|[()., ]+$/g, "").toLowerCase();
    if (!Object.hasOwn(draw.options, key)) throw new Unreadable(`Answer with one of ${Object.keys(draw.options).join(", ")}.`);
    return verdict(...draw.verdicts[key]);
  }

  function judgeOrdering(text, draw) {
    const keys = text.toLowerCase().replace(/[\s,;<>()-]+/g, "");
    if (!Object.hasOwn(draw.verdicts, keys)) throw new Unreadable(`Use each of ${Object.keys(draw.items).join(", ")} once.`);
    return verdict(...draw.verdicts[keys]);
  }

  // --- formulas: the same small grammar as answers.py, parsed and never evaluated as code ----------------------------
  const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+)|([A-Za-zαβγεκημπστχω_][A-Za-z_0-9]*)|(\*\*|[-+*/^(),·×]))/y;
  const log = (x) => (x > 0 ? Math.log(x) : NaN);
  const FUNCTIONS = { max: Math.max, min: Math.min, sqrt: Math.sqrt, log, ln: log, exp: Math.exp };

  function tokens(text) {
    const out = [];
    text = text.trimEnd().replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (raised) => "^" + "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(raised));
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.length) {
      const at = TOKEN.lastIndex, found = TOKEN.exec(text);
      if (!found) throw new Unreadable(`I cannot read a formula from character ${at + 1} on: use + - * / ^ and ( ).`);
      out.push(found[0].trim().replace("**", "^").replace("·", "*").replace("×", "*"));
    }
    return [...out, ""];
  }

  class Parser {
    constructor(text, spellings) {
      Object.assign(this, { tokens: tokens(text), at: 0, depth: 0, names: {} });
      for (const [name, several] of Object.entries(spellings)) for (const spelt of several) this.names[spelt] = name;
      this.letters = Object.values(spellings).map((several) => several[0]);
    }
    take(...wanted) {
      const token = this.tokens[this.at];
      if (!token || !wanted.includes(token)) return "";
      this.at += 1;
      return token;
    }
    deeper(what, parse) {
      this.depth += 1;
      if (this.depth > 40) throw new Unreadable(what);
      const out = parse();
      this.depth -= 1;
      return out;
    }
    whole() {
      const out = this.sum();
      if (this.tokens[this.at]) throw new Unreadable(`I did not expect '${escape(this.tokens[this.at])}' there; write products with *.`);
      return out;
    }
    sum() {
      return this.deeper("Too many brackets.", () => {
        let out = this.product(), sign;
        while ((sign = this.take("+", "-"))) {
          const a = out, b = this.product();
          out = sign === "+" ? (p) => a(p) + b(p) : (p) => a(p) - b(p);
        }
        return out;
      });
    }
    product() {
      let out = this.power(), sign;
      while ((sign = this.take("*", "/"))) {
        const a = out, b = this.power();
        out = sign === "*" ? (p) => a(p) * b(p) : (p) => a(p) / b(p);
      }
      return out;
    }
    power() {
      if (this.take("-")) { const inner = this.deeper("Too many signs.", () => this.power()); return (p) => -inner(p); }
      const base = this.value();
      if (!this.take("^")) return base;
      const exponent = this.deeper("Too many powers.", () => this.power());
      return (p) => Math.pow(base(p), exponent(p));
    }
    value() {
      const token = this.tokens[this.at++] ?? "";
      if (token === "(") return this.closed(this.sum());
      if (Object.hasOwn(FUNCTIONS, token.toLowerCase()) && this.take("(")) return this.call(token.toLowerCase());
      if (Object.hasOwn(this.names, token)) { const name = this.names[token]; return (p) => p[name]; }
      if (/^[\d.]/.test(token)) { const number = Number(token); return () => number; }
      const what = token ? `I do not know '${escape(token)}'` : "The formula breaks off";
      throw new Unreadable(`${what}; the symbols are ${this.letters.join(", ")}.`);
    }
    call(name) {
      const args = [this.sum()], many = name === "max" || name === "min";
      while (this.take(",")) args.push(this.sum());
      if (args.length > 1 !== many) throw new Unreadable(`${name} takes ${many ? "two or more values" : "one value"}.`);
      return this.closed((p) => FUNCTIONS[name](...args.map((a) => a(p))));
    }
    closed(inner) {
      if (!this.take(")")) throw new Unreadable("A bracket is not closed.");
      return inner;
    }
  }

  const same = (got, wanted) => got.every((g, i) => Number.isFinite(g) && Math.abs(g - wanted[i]) <= 1e-6 * Math.max(Math.abs(g), Math.abs(wanted[i])));

  const isThousands = (ratio) => {
    const power = ratio > 0 ? Math.log10(ratio) / 3 : NaN;
    return Math.abs(power) <= 5 && Math.abs(power - Math.round(power)) < 1e-6 && Math.round(power) !== 0;
  };

  function judgeExpression(text, draw) {
    if (text.length > LONGEST) throw new Unreadable(`That formula is longer than ${LONGEST} characters.`);
    const parts = text.split("=");
    const compute = new Parser(parts.length === 2 ? parts[1] : text, draw.letters).whole();
    return judgeValues(draw.points.map(compute), draw.points, draw);
  }

  // The verdict on the values that a formula or a function has at the points.
  function judgeValues(got, points, draw) {
    const half = points.length / 2;
    if (same(got, draw.right)) return verdict("right", draw.means);
    for (const [wrong, says] of draw.wrong) if (same(got, wrong)) return verdict("misconception", says);
    if (!got.some(Number.isFinite)) return verdict("wrong", "It has no finite value. Does it divide by zero, or take a root or a logarithm of a negative number?");
    const turned = got.map((g, i) => g / draw.right[i]);
    const rescaled = JSON.stringify(points.slice(0, half)) !== JSON.stringify(points.slice(half)) && turned.every(Number.isFinite);
    if (rescaled && !same(turned.slice(0, half), turned.slice(half))) return verdict("unit", `The units do not come out as ${draw.unit || "a pure number"}.`);
    if (got.some(Boolean) && same(turned, turned.map(() => turned[0]))) return verdict(...(isThousands(turned[0]) ? ["prefix", draw.thousand] : ["close", draw.constant]));
    return verdict("wrong", draw.misfit);
  }

  // Python has run a function: its values, null for one that is no finite number.
  const judgeFunction = (values, draw) => judgeValues(values.map((value) => value ?? NaN), JSON.parse(draw.points), draw);

  const JUDGES = { quantity: judgeQuantity, estimate: judgeQuantity, choice: judgeChoice, ordering: judgeOrdering, expression: judgeExpression };

  function check(text, draw) {
    if (!text.trim() && text.length <= LONGEST) return verdict("unanswered", UNANSWERED);
    try {
      return JUDGES[draw.kind](text, draw);
    } catch (error) {
      if (error instanceof Unreadable) return verdict(error.kind, error.message);
      throw error;
    }
  }

  // --- the element ------------------------------------------------------------------------------------------------
  const make = (tag, attributes = {}, html = "") => {
    const node = Object.assign(document.createElement(tag), { innerHTML: html });
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const lessons = {}; // what has been registered: lesson -> problem -> data
  let serial = 0;

  // One draw's data, with what all draws of its problem share.
  function drawn(lesson, id, index) {
    const { draws, ...shared } = lessons[lesson][id];
    return { ...shared, ...draws[index] };
  }

  // Boxes near the screen wake first, the others when site.js lets them; a few at a time, so that a reader who scrolls or
  // types need not wait for all.
  const SLICE = 10; // milliseconds
  const asleep = new Set(), line = [];
  const near = new IntersectionObserver((boxes) => {
    for (const { isIntersecting, target } of boxes) if (isIntersecting) rouse(target);
  }, { rootMargin: "100%" });
  let waking = null;
  function rest(box) {
    asleep.add(box);
    near.observe(box);
    (window.firstSign ?? Promise.resolve()).then(() => rouse(box));
  }
  function rouse(box) {
    near.unobserve(box);
    if (!asleep.delete(box)) return;
    line.push(box);
    window.boxesAwake = waking ??= wakeAll();
  }
  async function wakeAll() {
    await null; // until all that wake together stand in the line
    while (line.length) {
      for (const late = performance.now() + SLICE; line.length && performance.now() < late;) line.shift().wake();
      await new Promise((next) => setTimeout(next));
    }
    waking = null;
  }

  class PracticeBox extends HTMLElement {
    static register(lesson, problems) {
      lessons[lesson] = problems;
      document.querySelectorAll("practice-box").forEach(rest);
    }
    connectedCallback() { rest(this); }
    wake() {
      const { lesson, problem: id } = this.dataset;
      if (this.problem || !lessons[lesson]?.[id]) return; // until its data has come, a box is its statement
      this.problem = lessons[lesson][id];
      this.index = this.hints = 0;
      this.key = `practice/${lesson}/${id}`;
      this.ask = this.querySelector(".practice-ask");
      this.append(this.controls());
      this.restore();
    }
    get draw() { return drawn(this.dataset.lesson, this.dataset.problem, this.index); }

    controls() {
      const box = make("div", { class: "practice-work" });
      this.out = make("div", { class: "practice-out", role: "status", "aria-live": "polite" });
      this.more = make("div", { class: "practice-more" });
      box.append(...(this.problem.kind === "function" ? this.code() : [this.form()]));
      const buttons = make("div", { class: "practice-buttons" });
      this.hinter = this.button("Hint", () => this.hint());
      buttons.append(this.hinter, this.button("Solution", () => this.solve()));
      if (this.problem.draws.length > 1) buttons.append(this.button("Fresh numbers", () => this.again(), "quiet-button"));
      if (this.editor) buttons.append(this.button("Reset", () => this.editor.replace(this.draw.starter), "quiet-button"));
      (box.querySelector(".practice-buttons") ?? box).append(...(box.querySelector(".practice-buttons") ? buttons.childNodes : [buttons]));
      box.append(this.out, this.more);
      return box;
    }
    button(text, act, look = "practice-button", type = "button") {
      const node = make("button", { type, class: look }, text);
      if (act) node.addEventListener("click", act);
      return node;
    }
    form() {
      const form = make("form", { novalidate: "", autocomplete: "off" }), id = `answer-${++serial}`;
      if (this.problem.kind === "choice") this.radios(form, id);
      else {
        form.append(make("label", { for: id }, escape(this.problem.wants)));
        this.input = make("input", { id, type: "text", class: "practice-input", autocapitalize: "off", spellcheck: "false" });
        form.append(this.input);
      }
      const buttons = make("div", { class: "practice-buttons" });
      buttons.append(this.button("Check", null, "practice-button", "submit"));
      form.append(buttons);
      form.addEventListener("submit", (event) => { event.preventDefault(); this.tried(this.answer()); });
      form.addEventListener("input", () => this.fade());
      return form;
    }
    // A function is written in an editor, and Python runs it (boxes.js).
    code() {
      const { Editor } = window.course, row = make("div", { class: "practice-buttons" });
      this.editor = new Editor({
        id: `function-${++serial}`, label: "Your function", does: "checks", run: () => this.run(),
        changed: () => this.remember({ ...this.read(), index: this.index, text: this.editor.value }),
      });
      this.editor.value = this.draw.starter;
      row.append(this.button("Check", () => this.run()));
      row.firstChild.classList.add("practice-main");
      window.course.addCost(row);
      return [...this.editor.parts, row];
    }
    async run() {
      const { ask, say, tell } = window.course, text = this.editor.value;
      if (this.running) return;
      if (!text.trim() || text === this.draw.starter) return this.say(verdict("unanswered", "Write the function and check again, or ask for a hint."));
      this.running = true;
      const answer = await ask({ ask: "function", text, points: this.draw.points }, (words) => say(this.out, words));
      this.running = false;
      if (answer.kind === "absent") return tell(this.out, answer);
      const told = answer.values && judgeFunction(answer.values, this.draw);
      if (told) this.say(told);
      else tell(this.out, answer);
      this.remember({ index: this.index, text: this.editor.value, answer: text, right: told?.kind === "right" || this.solved });
    }
    radios(form, id) {
      this.querySelector(".practice-options")?.remove();
      const set = make("fieldset", {}, "<legend>Choose one</legend>");
      for (const [key, text] of Object.entries(this.draw.options))
        set.append(make("label", { class: "practice-radio" }, `<input type="radio" name="${id}" value="${key}"> <span>${this.option(key, text)}</span>`));
      form.append(set);
    }
    option(key, text) { return `<b>${key})</b> ${text}`; } // the letter by which a solution names it
    answer() { return this.input ? this.input.value : this.querySelector("input[type=radio]:checked")?.value ?? ""; }

    tried(text) {
      const told = check(text, this.draw);
      this.say(told);
      this.remember({ index: this.index, answer: text, right: told.kind === "right" || this.solved }); // a variation loses nothing
    }
    say({ kind, message }) {
      this.dataset.verdict = kind;
      this.markChosen(kind);
      this.out.innerHTML = `<p class="feedback ${kind}"><strong>${HEADS[kind]}</strong> ${message}</p>`;
    }
    fade() { // what was said of another answer
      this.out.firstElementChild?.classList.add("stale");
      this.markChosen("");
    }
    markChosen(kind) {
      for (const label of this.querySelectorAll(".practice-radio")) label.dataset.chosen = label.firstChild.checked ? kind : "";
    }
    hint() {
      const { hints } = this.draw;
      if (this.hints === hints.length) return;
      this.hints += 1;
      const rest = hints.length - this.hints;
      this.hinter.ariaDisabled = !rest;
      this.show(`<p><strong>Hint ${this.hints} of ${hints.length}:</strong> ${hints[this.hints - 1]}${rest ? "" : " (That was the last.)"}</p>`);
    }
    solve() { if (!this.more.querySelector(".practice-solution")) this.show(`<p><strong>Solution</strong></p><ol class="practice-solution">${this.draw.solution.map((line) => `<li>${line}</li>`).join("")}</ol>`); }
    show(html) { // below what has been shown; what is new is told
      Object.assign(this.more, { role: "status", ariaAtomic: "false" });
      this.more.insertAdjacentHTML("beforeend", html);
    }

    again() {
      this.index = (this.index + 1) % this.problem.draws.length;
      this.fresh();
      this.remember({ ...this.read(), index: this.index, answer: "", right: false });
    }
    fresh() {
      this.hints = 0;
      this.hinter.ariaDisabled = null;
      this.ask.innerHTML = this.draw.ask;
      this.list();
      this.out.innerHTML = this.more.innerHTML = "";
      delete this.dataset.verdict;
      this.markChosen("");
      if (this.input) this.input.value = "";
    }
    list() { // options and items that are written with the numbers
      const { options = {}, items = {} } = this.draw;
      for (const node of this.querySelectorAll("input[type=radio]")) {
        node.checked = false;
        node.nextElementSibling.innerHTML = this.option(node.value, options[node.value]);
      }
      const rows = this.querySelectorAll(".practice-options > li");
      Object.entries(items).forEach(([key, text], i) => { rows[i].innerHTML = this.option(key, text); });
    }
    get solved() { return this.dataset.solved === "true"; }
    remember(state) {
      this.mark(state.right === true);
      try { localStorage.setItem(this.key, JSON.stringify(state)); } catch { /* private mode: nothing is kept */ }
    }
    mark(right) {
      this.dataset.solved = String(right);
      this.dispatchEvent(new CustomEvent("practice-marked", { bubbles: true }));
    }
    read() {
      try { return JSON.parse(localStorage.getItem(this.key)); } catch { return null; /* as above */ }
    }
    restoreCode({ text, right }) {
      if (typeof text === "string") this.editor.value = text;
      this.mark(right === true);
    }
    restore() {
      const state = this.read();
      if (!state || !this.problem.draws[state.index]) return;
      if (state.index) { this.index = state.index; this.fresh(); }
      if (this.editor) return this.restoreCode(state);
      if (!state.answer) return;
      if (this.input) this.input.value = state.answer;
      const radio = [...this.querySelectorAll("input[type=radio]")].find((node) => node.value === state.answer);
      if (radio) radio.checked = true;
      const told = check(state.answer, this.draw);
      this.say(told);
      this.mark(state.right === true || told.kind === "right");
    }
  }

  // The problems at the end of a page: each folded, with a filter by level and a count of those solved.
  class PracticeSet extends HTMLElement {
    connectedCallback() {
      if (this.bar) return;
      this.items = [...(this.firstChild ? this : document).querySelectorAll(".practice-item")]; // an empty set is a whole page's
      const levels = ["easy", "medium", "hard"].filter((level) => this.items.some((item) => item.dataset.level === level));
      this.bar = make("div", { class: "practice-bar" });
      const name = `filter-${++serial}`, set = make("fieldset", { class: "practice-filter" }, "<legend>Show</legend>");
      for (const key of ["all", ...levels, "unsolved"])
        set.append(make("label", {}, `<input type="radio" name="${name}" value="${key}"${key === "all" ? " checked" : ""}> ${key}`));
      set.addEventListener("change", (event) => this.filter(event.target.value));
      this.progress = make("p", { class: "practice-progress", role: "status" });
      this.bar.append(set, this.progress);
      this.prepend(this.bar);
      document.addEventListener("practice-marked", () => this.count());
      this.count();
      addEventListener("beforeprint", () => { for (const item of this.items) item.open = true; });
    }
    filter(key) {
      for (const item of this.items) {
        const solved = item.querySelector("practice-box").solved;
        item.hidden = !(key === "all" || (key === "unsolved" ? !solved : item.dataset.level === key));
      }
      for (const section of new Set(this.items.map((item) => item.closest("section")))) { // a heading goes with all that it is of
        section.hidden = [...section.children].every((child) => child.hidden || child.matches("h2, h3"));
        const link = document.querySelector(`.bd-toc-nav a[href="#${section.id}"]`);
        if (link) link.parentElement.hidden = section.hidden;
      }
    }
    count() {
      const solved = this.items.filter((item) => item.classList.toggle("solved", item.querySelector("practice-box").solved));
      for (const item of this.items) {
        const mark = item.querySelector(".practice-mark") ?? item.firstElementChild.appendChild(make("span", { class: "practice-mark" }));
        mark.textContent = solved.includes(item) ? "solved" : "";
      }
      const all = [...document.querySelectorAll("practice-box")], above = all.length - this.items.length; // boxes in the text
      const done = all.filter((box) => box.solved).length - solved.length;
      this.progress.textContent = `Solved: ${solved.length} of ${this.items.length}${above ? ` here, ${done} of ${above} in the text` : ""}`;
    }
  }
  PracticeBox.judge = (values, lesson, id, index) => judgeFunction(values, drawn(lesson, id, index));
  PracticeBox.check = (text, lesson, id, index) => check(text, drawn(lesson, id, index)); // the same judge, for tests
  const awaken = () => {
    customElements.define("practice-box", PracticeBox);
    customElements.define("practice-set", PracticeSet);
  };
  // After the page: a browser looks at all fields of one that it has read, and lays them out.
  if (document.readyState === "complete") awaken();
  else addEventListener("load", () => setTimeout(awaken));
})();
