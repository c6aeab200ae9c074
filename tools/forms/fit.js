// Make every table and displayed formula as narrow as the page: with smaller letters, and a table that would need
// letters smaller than a reader can read on a page turned sideways. Runs in the layout of the print.
() => {
  const portrait = 176, landscape = 263, millimetre = 96 / 25.4, smallest = 0.62;
  const width = (page) => page * millimetre - 2;
  document.body.style.width = `${width(portrait)}px`;
  const shrink = (table, room) => {
    for (let size = 0.86; size > 0.5; size -= 0.03) {
      table.style.fontSize = `${size.toFixed(2)}em`;
      if (table.scrollWidth <= room) return size;
    }
    return 0.5;
  };
  for (const table of document.querySelectorAll(".chapter table")) {
    const room = table.parentElement.clientWidth;
    if (table.scrollWidth <= room) continue;
    if (shrink(table, room) >= smallest) continue;
    const frame = table.parentElement;
    frame.classList.add("wide");
    frame.style.width = `${width(landscape)}px`;
    shrink(table, width(landscape));
  }
  for (const formula of document.querySelectorAll('mjx-container[display="true"]')) {
    const inner = formula.querySelector("mjx-math"), room = formula.clientWidth;
    const needed = inner ? inner.getBoundingClientRect().width : 0;
    if (needed > room) formula.style.fontSize = `${Math.floor((95 * room) / needed)}%`;
  }
  document.body.style.width = "";
}
