// One chapter as XHTML for the ePub, with nothing that only pages of HTML may have.
(id) => {
  const chapter = document.getElementById(id).cloneNode(true);
  for (const element of chapter.querySelectorAll("[align], :not(img, math *):is([width], [height])")) {
    for (const name of ["align", "width", "height"]) element.removeAttribute(name);
  }
  // Few readers scroll a table sideways: each row of a wide one becomes a card with its columns' names.
  for (const table of chapter.querySelectorAll("table")) {
    const head = [...(table.tHead?.rows[0]?.cells ?? [])];
    const wide = table.classList.toggle("cards", head.length >= 9); // a phone has cards of more tables
    if (!wide) continue;
    for (const cell of [...table.tBodies].flatMap((body) => [...body.querySelectorAll("td")])) {
      cell.dataset.label = head[cell.cellIndex].textContent.trim();
      if (cell.textContent.trim() === "–") cell.classList.add("unknown");
    }
  }
  // An ePub's MathML is an older one: it has a style around a part instead of in it, and no names and roles for formulas.
  for (const math of chapter.querySelectorAll("math")) for (const name of ["aria-label", "role"]) math.removeAttribute(name);
  for (const part of chapter.querySelectorAll("math :is([scriptlevel], [displaystyle])")) {
    const style = document.createElementNS(part.namespaceURI, "mstyle");
    for (const { name, value } of [...part.attributes].filter((each) => /^(scriptlevel|displaystyle)$/.test(each.name))) {
      style.setAttribute(name, value);
      part.removeAttribute(name);
    }
    part.replaceWith(style);
    style.append(part);
  }
  return new XMLSerializer().serializeToString(chapter);
}
