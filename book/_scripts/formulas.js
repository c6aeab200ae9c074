// Below formulas, buttons that copy them; on a card, the meaning of each letter. Only pages that list formulas load this.
(() => {
  const make = (tag, attributes) => Object.assign(document.createElement(tag), attributes);

  // Where the page may not write to the clipboard, as on a disk in some browsers, the text is shown to be copied by hand.
  async function copy(button, text) {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = before; }, 1500);
    } catch { prompt(before, text); }
  }

  function addCopying(formula) {
    const fold = formula.querySelector(".card-letters") ?? formula; // a card's unit and letters are folded
    const line = formula.querySelector(".formula-unit") ?? fold.appendChild(make("p", { className: "formula-unit" }));
    for (const [name, text] of [["LaTeX", formula.dataset.latex], ["Python", formula.dataset.python]]) {
      const button = make("button", { type: "button", className: "copy-formula", textContent: `Copy ${name}` });
      button.addEventListener("click", () => copy(button, text));
      line.append(button);
    }
  }

  const LETTER = "math > :only-child", SCRIPTS = ["msub", "msup", "msubsup", "mover"];
  const written = (part) => part.outerHTML.replace(/ class="[^"]*"/g, ""); // whatever its color
  const meaningsOf = (lists) => new Map([...lists].flatMap((line) => {
    const letter = line.querySelector(LETTER); // the name of a ratio is none
    return letter ? [[written(letter), line]] : [];
  }));

  // A formula's letters, from left to right, each with its line of a list; the N of N_act is none, nor that of a letter
  // with an index that no line explains. Where a letter has a power, the letter stands for it.
  function findLetters(formula, meanings) {
    const found = [], base = document.createElementNS("http://www.w3.org/1998/Math/MathML", "msub");
    for (const part of formula.querySelectorAll("*")) {
      if (found.at(-1)?.[0].contains(part)) continue;
      const [letter, index, power] = part.children, line = meanings.get(written(part));
      if (line) found.push([part, line]);
      else if (part.localName === "msubsup" && !/[∗′]/.test(power.textContent)) {
        base.innerHTML = letter.outerHTML + index.outerHTML;
        found.push([letter, meanings.get(written(base))]);
      } else if (SCRIPTS.includes(part.localName) && (part.localName !== "msup" || /[∗′]/.test(index.textContent))) found.push([part]);
    }
    return found.filter(([, line]) => line);
  }

  // The meaning of one letter at a time, below it and within a box.
  function makeTip(box) {
    const tip = box.appendChild(make("p", { className: "letter-meaning", role: "status", hidden: true }));
    let marked;
    const hide = () => { tip.hidden = true; marked?.classList.remove("read"); };
    const show = (letter, line) => {
      hide();
      (marked = letter).classList.add("read");
      tip.innerHTML = line.innerHTML;
      tip.hidden = false;
      const own = letter.getBoundingClientRect(), all = box.getBoundingClientRect();
      tip.style.left = `${Math.max(0, Math.min(own.left - all.left, box.clientWidth - tip.offsetWidth))}px`;
      return own.bottom - all.top;
    };
    return { tip, hide, show };
  }

  // Under the pointer, at a touch, and by the arrow keys, as a chart's values.
  function addMeanings(list) {
    const box = list.parentElement.querySelector(".formula").parentElement;
    const letters = findLetters(box.querySelector("math"), meaningsOf(list.querySelectorAll("li")));
    const { hide, show } = makeTip(box);
    let at = -1;
    const read = (index) => show(...letters[at = Math.min(letters.length - 1, Math.max(0, index))]);
    const point = ({ target }) => {
      const index = letters.findIndex(([letter]) => letter.contains(target));
      if (index >= 0) read(index);
    };
    Object.assign(box, { className: "read-letters", tabIndex: 0, onpointerover: point, onclick: point, onpointerleave: hide, onblur: hide });
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Formula: arrow keys read what its letters mean");
    box.onfocus = () => box.matches(":focus-visible") && read(at);
    box.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (event.key === "Escape") hide();
      if (!step || event.target !== box) return;
      event.preventDefault();
      read(at + step);
    };
  }

  // In the text the pointer or a touch reads letters too; keys have the cards, so that formulas are no tab stops.
  function addTextMeanings(article) {
    const meanings = meaningsOf(article.querySelectorAll(".card-letters li")), { tip, hide, show } = makeTip(article);
    const point = ({ target }) => {
      const formula = target.closest("math:not(.read-letters *, .card-letters *)");
      const found = formula && findLetters(formula, meanings).find(([letter]) => letter.contains(target));
      if (!found) return target !== tip && hide();
      const under = Math.max(show(...found), formula.getBoundingClientRect().bottom - article.getBoundingClientRect().top);
      tip.style.top = `${under + 4}px`; // what is read stays in sight
    };
    article.addEventListener("pointerover", point);
    article.addEventListener("click", point);
    document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  }

  document.querySelectorAll("[data-latex]").forEach(addCopying);
  document.querySelectorAll(".summary-card > .card-letters").forEach(addMeanings);
  if (document.querySelector(".card-letters")) addTextMeanings(document.querySelector(".bd-article"));

  // An answer of the index shows its formula, from the list below, once it is opened.
  for (const fold of document.querySelectorAll(".formula-question")) fold.addEventListener("toggle", () => {
    for (const link of fold.querySelectorAll("a")) link.parentElement.after(document.querySelector(link.hash).querySelector(".formula").cloneNode(true));
  }, { once: true });
})();
