// One chapter as XHTML for the ePub, with nothing that only pages of HTML may have.
(id) => {
  const chapter = document.getElementById(id).cloneNode(true);
  for (const element of chapter.querySelectorAll("[align], :not(img, math *):is([width], [height])")) {
    for (const name of ["align", "width", "height"]) element.removeAttribute(name);
  }
  return new XMLSerializer().serializeToString(chapter);
}
