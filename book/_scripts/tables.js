// Long tables: a filter for their rows, and a button in each head that sorts by it. Only pages with such a table load this.
(() => {
  const make = (tag, attributes) => Object.assign(document.createElement(tag), attributes);
  const text = (row, column) => (row.cells[column].querySelector(".record") ?? row.cells[column]).textContent.trim(); // a record goes by its name

  const UNITS = {
    ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1, min: 60, minutes: 60, h: 3600, hours: 3600, days: 86400, years: 31557600,
    million: 1e6, billion: 1e9, trillion: 1e12,
  };
  const PREFIXES = { k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
  const LIKE_NUMBER = /^[×$≈]?\s*([−+-]?\d*\.?\d+)(?:\s*×\s*10(\d+))?\s?([A-Za-zµ]*)/;

  // How much a unit is, as far as it matters beside others of its kind: 1 GB is more than 2 MB.
  function sizeOf(unit) {
    if (unit in UNITS) return UNITS[unit];
    const [, prefix, binary] = unit.match(/^([kKMGTPE])(i?)(?:B|bit|FLOP|W|Hz|$)/) ?? [];
    return prefix ? (binary ? 1024 ** (" KMGTPE".indexOf(prefix)) : PREFIXES[prefix]) : 1;
  }

  // A number as it is printed, such as 1,234.5, −3 × 10⁹, $5 or 39.2 ms; nothing where a cell is no number.
  function numberIn(words) {
    const found = words.replace(/,/g, "").match(LIKE_NUMBER);
    return found ? Number(found[1].replace("−", "-")) * 10 ** Number(found[2] ?? 0) * sizeOf(found[3]) : null;
  }

  // As its letters go, a date is in order: where a column has one, its years are no numbers.
  const isDate = (words) => /^\d{4}-/.test(words);

  // Numbers before words, and what is lacking last, whichever way it is sorted.
  function compare(a, b, up) {
    if (a.lacks || b.lacks) return a.lacks - b.lacks;
    const way = up ? 1 : -1;
    if (a.number !== null && b.number !== null) return way * (a.number - b.number);
    if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1;
    return way * a.words.localeCompare(b.words, "en", { numeric: true });
  }

  function sortBy(table, column, up) {
    const rows = [...table.tBodies[0].rows], dated = rows.some((row) => isDate(text(row, column)));
    const keyed = rows.map((row) => {
      const words = text(row, column);
      return { row, words, number: dated ? null : numberIn(words), lacks: words === "–" || words === "" };
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
    const input = make("input", { type: "search", autocomplete: "off", placeholder: "words in any column" });
    const count = make("span", { className: "table-count", role: "status" });
    const filter = () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row, n) => { row.hidden = !wanted.every((each) => words[n].includes(each)); });
      const seen = rows.filter((row) => !row.hidden).length;
      count.textContent = !seen ? `No row has “${input.value.trim()}”.` : seen < rows.length ? `${seen} of ${rows.length} rows` : `${rows.length} rows`;
      if (table.parentElement.matches(".rides")) ride(table.parentElement, table);
      globalThis.markBoxes?.([table.parentElement]); // the page's: how much of the table is cut has changed
    };
    input.addEventListener("input", filter);
    label.append(input);
    const bar = make("div", { className: "table-bar" });
    bar.append(label, count);
    box.prepend(bar);
    filter();
  }

  // On a phone a record opens and closes where it is; without this script its link opens it, and closes another.
  function openRecord(event) {
    if (!matchMedia("(max-width: 576px)").matches) return;
    event.preventDefault();
    event.currentTarget.ariaExpanded = event.currentTarget.closest("tr").classList.toggle("open");
  }

  // A table that fits its page scrolls with it, any other sideways in a box of its own, as far as some column's start:
  // none is cut at the end of the way.
  function setWhole() {
    for (const box of document.querySelectorAll(".records .table-box, .source-table .table-box")) {
      const table = box.querySelector("table"), heads = [...table.tHead.rows[0].cells], last = heads.at(-1);
      last.style.minWidth = "";
      box.classList.remove("rides");
      box.classList.add("whole");
      if (box.classList.toggle("whole", table.offsetWidth <= box.clientWidth)) continue;
      const end = table.offsetWidth - box.clientWidth, stops = heads.slice(1).map((head) => head.getBoundingClientRect().left - heads[1].getBoundingClientRect().left);
      const stop = stops.find((each) => each >= end);
      if (stop) last.style.minWidth = `${last.offsetWidth + stop - end}px`;
      ride(box, table);
    }
    globalThis.markBoxes?.([...document.querySelectorAll(".data-table .table-box")]);
  }

  // Where the heads of a table that is as tall as it is begin, and how far down they ride (tables.css).
  function ride(box, table) {
    const { offsetTop: begin, offsetHeight: height } = table.tHead;
    box.style.setProperty("--begin", `${begin}px`);
    box.style.setProperty("--end", `${table.offsetHeight - height}px`);
    box.classList.add("rides");
    box.nextElementSibling.firstElementChild.style.width = `${table.offsetWidth}px`;
  }

  // A scroll bar for a table whose own is far below.
  function addSlide(box) {
    const slide = make("div", { className: "table-slide", ariaHidden: "true", tabIndex: -1 });
    slide.append(make("div", {}));
    box.after(slide);
    const together = (one, other) => one.addEventListener("scroll", () => { if (Math.abs(other.scrollLeft - one.scrollLeft) > 1) other.scrollLeft = one.scrollLeft; }, { passive: true });
    together(box, slide);
    together(slide, box);
  }

  const FEW = 8; // rows that one sees at a glance
  for (const box of document.querySelectorAll(".data-table")) {
    const table = box.querySelector("table");
    addSorting(table);
    for (const link of table.querySelectorAll(".record")) link.addEventListener("click", openRecord);
    if (table.tBodies[0].rows.length > FEW) addFilter(box, table);
    if (box.matches(".records, .source-table")) addSlide(table.parentElement);
  }
  setWhole();
  addEventListener("resize", setWhole);
})();
