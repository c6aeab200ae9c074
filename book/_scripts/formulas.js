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
    const line = formula.querySelector(".formula-unit") ?? formula.appendChild(make("p", { className: "formula-unit" }));
    for (const [name, text] of [["LaTeX", formula.dataset.latex], ["Python", formula.dataset.python]]) {
      const button = make("button", { type: "button", className: "copy-formula", textContent: `Copy ${name}` });
      button.addEventListener("click", () => copy(button, text));
      line.append(button);
    }
  }

  // The letters of a card's formula, from left to right, each with its line of the list below; the N of N_act is none.
  // Where a letter with an index has a power too, its first part stands for it.
  function findLetters(box, lines) {
    const found = [], base = document.createElementNS("http://www.w3.org/1998/Math/MathML", "msub");
    const lineOf = (letter) => lines.find((each) => each.querySelector("math > :only-child")?.isEqualNode(letter));
    for (const part of box.querySelectorAll("math *")) {
      if (found.at(-1)?.[0].contains(part)) continue;
      const [letter, index] = part.children, raised = !lineOf(part) && part.localName === "msubsup";
      if (raised) base.innerHTML = letter.outerHTML + index.outerHTML;
      const line = lineOf(raised ? base : part);
      if (line) found.push([raised ? letter : part, line]);
    }
    return found;
  }

  // Under the pointer, at a touch, and by the arrow keys, as a chart's values.
  function addMeanings(list) {
    const box = list.parentElement.querySelector(".formula").parentElement;
    const letters = findLetters(box, [...list.querySelectorAll("li")]);
    const tip = box.appendChild(make("p", { className: "letter-meaning", role: "status", hidden: true }));
    let at = -1;
    const hide = () => { tip.hidden = true; letters[at]?.[0].classList.remove("read"); };
    const show = (index) => {
      hide();
      const [letter, line] = letters[at = Math.min(letters.length - 1, Math.max(0, index))];
      letter.classList.add("read");
      tip.innerHTML = line.innerHTML;
      tip.hidden = false;
      const from = letter.getBoundingClientRect().left - box.getBoundingClientRect().left;
      tip.style.left = `${Math.max(0, Math.min(from, box.clientWidth - tip.offsetWidth))}px`;
    };
    const point = ({ target }) => {
      const index = letters.findIndex(([letter]) => letter.contains(target));
      if (index >= 0) show(index);
    };
    Object.assign(box, { className: "read-letters", tabIndex: 0, onpointerover: point, onclick: point, onpointerleave: hide, onblur: hide });
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Formula: arrow keys read what its letters mean");
    box.onfocus = () => box.matches(":focus-visible") && show(Math.max(0, at));
    box.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (event.key === "Escape") hide();
      if (!step || event.target !== box) return;
      event.preventDefault();
      show(at + step);
    };
  }

  document.querySelectorAll("[data-latex]").forEach(addCopying);
  document.querySelectorAll(".summary-card > .card-letters").forEach(addMeanings);
})();
