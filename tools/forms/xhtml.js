// One chapter as XHTML for the ePub, with nothing that only pages of HTML may have.
(id) => {
  const chapter = document.getElementById(id).cloneNode(true);
  for (const element of chapter.querySelectorAll("[align], :not(img, math *):is([width], [height])")) {
    for (const name of ["align", "width", "height"]) element.removeAttribute(name);
  }
  // An ePub's MathML is an older one: it has a style around a part instead of in it, and no names for formulas.
  for (const math of chapter.querySelectorAll("math[aria-label]")) math.removeAttribute("aria-label");
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
