// One chapter as XHTML for the ePub: formulas as the MathML that MathJax makes of them, nothing that only pages of
// HTML may have.
(id) => {
  const chapter = document.getElementById(id).cloneNode(true);
  for (const formula of chapter.querySelectorAll("mjx-container")) {
    const math = formula.querySelector("mjx-assistive-mml > math");
    formula.replaceWith(math);
  }
  for (const math of chapter.querySelectorAll("math")) {
    for (const element of [math, ...math.querySelectorAll("*")]) {
      for (const { name } of [...element.attributes]) if (/^(data-|class$|style$)/.test(name)) element.removeAttribute(name);
    }
  }
  for (const element of chapter.querySelectorAll("[data-mjx-texclass], [align], [width], [height]")) {
    if (element.localName !== "img") for (const name of ["data-mjx-texclass", "align", "width", "height"]) element.removeAttribute(name);
  }
  return new XMLSerializer().serializeToString(chapter);
}
