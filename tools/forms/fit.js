// Make every table and displayed formula as narrow as the page: with smaller letters, and a table that would need
// letters smaller than one can read on a page turned sideways, with all of its section and the sections up to the next
// such table, so that no page is left half empty before or after. All are measured before any is changed, because each
// change makes the browser lay out the whole book anew. Runs in the layout of the print; returns what does not fit.
() => {
  const portrait = 176, landscape = 263, pixels = (millimetres) => (millimetres * 96) / 25.4 - 2;
  const sizes = (smallest) => [0.86, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45].filter((size) => size >= smallest);
  const tooWide = (table) => table.scrollWidth > table.parentElement.clientWidth;
  const shrink = (tables, smallest) => {
    for (const size of sizes(smallest)) {
      tables = tables.filter(tooWide);
      for (const table of tables) table.style.fontSize = `${size}em`;
    }
    return tables.filter(tooWide);
  };
  document.body.style.width = `${pixels(portrait)}px`;
  const turned = shrink([...document.querySelectorAll(".chapter table")], 0.65);
  const holders = new Set(turned.map((table) => table.closest("section")));
  const sections = [...new Set([...holders].map((section) => section.parentElement))].flatMap((chapter) => {
    const parts = [...chapter.children];
    const at = parts.flatMap((part, index) => (holders.has(part) ? [index] : []));
    return parts.slice(at[0], at.at(-1) + 1);
  });
  for (const section of sections) {
    section.classList.add("wide");
    section.style.width = `${pixels(landscape)}px`;
  }
  const inside = sections.flatMap((section) => [...section.querySelectorAll("table")]);
  for (const table of inside) table.style.fontSize = "";
  const wider = shrink(inside, 0.6);
  for (const table of wider) {
    table.style.fontSize = "";
    table.classList.add("narrow");
  }
  shrink(wider, 0);
  const formulas = [...document.querySelectorAll(".formula")].map((formula) => [formula, formula.clientWidth / formula.scrollWidth]);
  for (const [formula, fits] of formulas) if (fits < 1) formula.style.fontSize = `${Math.floor(95 * fits)}%`;

  // What is too wide nevertheless, for the caller to complain of: Chromium would print all pages smaller.
  const right = (element) => element.getBoundingClientRect().right;
  const over = (element) => right(element) > pixels(element.closest(".wide") ? landscape : portrait) + 3;
  const found = [...document.querySelectorAll("section *")].filter(over).filter((element) => ![...element.children].some(over));
  for (const section of sections) section.style.width = "";
  document.body.style.width = "";
  return found.map((element) => `${element.closest("section").id}: ${element.outerHTML.slice(0, 200)}`);
}
