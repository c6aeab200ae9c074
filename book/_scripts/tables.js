// Long tables: a filter for their rows, and a button in each head that sorts by it. Only pages with such a table load this.
(() => {
  const make = (tag, attributes) => Object.assign(document.createElement(tag), attributes);
  const text = (row, column) => row.cells[column].textContent.trim();

  // A number as it is printed, such as 1,234.5 or −3 × 10⁹; nothing where a cell is no number.
  function numberIn(words) {
    const found = words.replace(/,/g, "").match(/^[×$]?\s*([−+-]?[\d.]+)(?:\s*×\s*10(\d+))?/);
    return found ? Number(found[1].replace("−", "-")) * 10 ** Number(found[2] ?? 0) : null;
  }

  // Numbers before words, and what is lacking last, whichever way it is sorted.
  function compare(a, b, up) {
    if (a.lacks || b.lacks) return a.lacks - b.lacks;
    const way = up ? 1 : -1;
    if (a.number !== null && b.number !== null) return way * (a.number - b.number);
    if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1;
    return way * a.words.localeCompare(b.words, "en", { numeric: true });
  }

  function sortBy(table, column, up) {
    const keyed = [...table.tBodies[0].rows].map((row) => {
      const words = text(row, column);
      return { row, words, number: numberIn(words), lacks: words === "–" || words === "" };
    });
    table.tBodies[0].append(...keyed.sort((a, b) => compare(a, b, up)).map(({ row }) => row));
    [...table.tHead.rows[0].cells].forEach((head, n) => {
      if (n === column) head.ariaSort = up ? "ascending" : "descending";
      else head.removeAttribute("aria-sort");
    });
  }

  function addSorting(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", className: "sort-button" });
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, column, head.ariaSort !== "ascending"));
      head.append(button);
    });
  }

  function addFilter(box, table) {
    const rows = [...table.tBodies[0].rows], words = rows.map((row) => row.textContent.toLowerCase());
    const label = make("label", { className: "table-filter", textContent: "Filter " });
    const input = make("input", { type: "search", autocomplete: "off" });
    const count = make("span", { className: "table-count", role: "status" });
    const filter = () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row, n) => { row.hidden = !wanted.every((each) => words[n].includes(each)); });
      const seen = rows.filter((row) => !row.hidden).length;
      count.textContent = seen < rows.length ? `${seen} of ${rows.length} rows` : `${rows.length} rows`;
    };
    input.addEventListener("input", filter);
    label.append(input);
    const bar = make("div", { className: "table-bar" });
    bar.append(label, count);
    box.prepend(bar);
    filter();
  }

  const FEW = 8; // rows that one sees at a glance
  for (const box of document.querySelectorAll(".data-table")) {
    const table = box.querySelector("table");
    addSorting(table);
    if (table.tBodies[0].rows.length > FEW) addFilter(box, table);
  }
})();
