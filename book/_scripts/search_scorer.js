let asked = ""; // the words of the search, as typed

// What the search ranks by: Sphinx's own weights, and then what the page is. One reads a lesson before one looks up a
// table, and solutions come last. A question that a page answers, which weighs most, stays what it is, and comes before
// a term of the glossary that is the same word.
var SHARES = [
  [/^exercises\/solutions\//, 0.15],
  [/^exercises\//, 0.3],
  [/^book\/(notation|catalogue|measurements|flashcards|glossary|bibliography|claims)$/, 0.4],
];
var Scorer = {
  score: (found) => {
    const [page, title, anchor, , score] = found, term = page === "book/glossary" && anchor?.match(/^#term-(.+)/)?.[1];
    if (term) found[1] = `Glossary: ${term.replace(/-/g, " ")}`;
    if (page.startsWith("book/") && !anchor && asked && title.toLowerCase().split(":")[0] === asked) return 200; // a lesson of that name
    if (score >= 40) return page === "book/glossary" ? score - 1 : score;
    return score * (SHARES.find(([pages]) => pages.test(page)) ?? [null, 1])[1];
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Sphinx puts this file before its own code, which has run when this does.
queueMicrotask(() => {
  const found = "Search finished, found ${resultCount} page(s) matching the search query.";
  Documentation.TRANSLATIONS[found] = "Pages found: ${resultCount}";
  // An excerpt is prose: not the contents that a page prints, and no letters of formulas, code, tables and charts in a row.
  const read = Search.htmlToText, printed = /<div id="jb-print-docs-body"[^]*?(?=<article)|<p class="lesson-facts">[^]*?<\/p>/g, drawn = /<(math|pre|table|svg|picture)\b[^]*?<\/\1>/g;
  const define = (html, id) => {
    const term = new DOMParser().parseFromString(html, "text/html").getElementById(id);
    return term && `${term.firstChild.textContent}: ${term.nextElementSibling.querySelector("p").textContent}`;
  };
  Search.htmlToText = (html, anchor) => {
    const text = html.replace(printed, "").replace(drawn, " … ").replace(/<(?:p|li|div|h\d|dt|dd)\b/g, " $&"); // words of two boxes are two words
    return (anchor?.startsWith("#term-") && define(text, anchor.slice(1))) || read(text, anchor); // of a term its meaning
  };
  const summarize = Search.makeSearchSummary;
  Search.makeSearchSummary = (...asked) => {
    const summary = summarize(...asked);
    if (summary) // cut between words
      summary.textContent = summary.textContent.replace(/^\.\.\.\S*\s+/, "… ").replace(/\s+\S*\.\.\.$/, " …");
    return summary;
  };
  // Words are marked on a page that a result opens, not on whichever page is read next.
  const parse = Search._parseQuery;
  let words = "";
  Search._parseQuery = (query) => {
    const parsed = parse(query);
    words = [...parsed[3]].join(" ");
    asked = query.trim().toLowerCase();
    localStorage.removeItem("sphinx_highlight_terms");
    return parsed;
  };
  document.addEventListener("click", ({ target }) => {
    if (target.closest("#search-results a")) localStorage.setItem("sphinx_highlight_terms", words);
  });
});
