// Below formulas, buttons that copy them. Only pages that list formulas load this.
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

  document.querySelectorAll("[data-latex]").forEach(addCopying);
})();
