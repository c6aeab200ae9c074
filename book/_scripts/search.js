// The search of this book, on its page and in the panel that opens over any other: its ranking, its excerpts, its answers.

let asked = "", mentions = {}; // the words of the search, as typed, and how often pages are about them
let leftOut = ""; // which of them no page has, and what is searched for instead

// What the search ranks by: Sphinx's own weights, and then what the page is. One reads a lesson before one looks up a
// table, and solutions come last. A question that a page answers, which weighs most, stays what it is, and comes before
// a term of the glossary that is the same word; next is the section that explains the term.
var SHARES = [
  [/^exercises\/solutions\//, 0.15, "Solutions"],
  [/^exercises\//, 0.3, "Exercises"],
  [/^book\/(notation|catalogue|measurements|flashcards|glossary|bibliography|claims)$/, 0.4, "Reference"],
];
var shareOf = (page) => SHARES.find(([pages]) => pages.test(page))?.[1] ?? 1;
var LOOKED_UP = 40; // from here on it is a question or a term
var GLOSSARY = "Glossary: ";
var NOTHING = "No page has all of these words.";
var Scorer = {
  score: (found) => {
    const [page, title, anchor, , score] = found, glossary = page === "book/glossary", term = glossary && anchor?.match(/^#term-(.+)/)?.[1];
    if (term) found[1] = GLOSSARY + term.replace(/-/g, " ");
    if (page.startsWith("book/") && !anchor && asked && title.toLowerCase().split(":")[0] === asked) return 200; // a lesson of that name
    const lookedUp = score >= LOOKED_UP && !(page === "book/notation" && score < 100); // a symbol is not asked for by a part of it
    if (lookedUp && anchor && !glossary) found[1] = `${title} › ${headingOf(page, anchor)}`;
    else found[1] = found[1].replace(" > ", " › ");
    if (lookedUp) return score - (glossary ? 1 : anchor ? 2 : 0);
    const about = anchor ? 0 : Math.min(mentions[page] ?? 0, 4);
    return (score + 5 * about) * shareOf(page);
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

// How many headings of each page, and terms and questions that it explains, have the words that are asked, in any order
// and without "of" and "the".
function countMentions() {
  const { alltitles, indexentries, docnames } = Search._index, count = {};
  const all = asked.split(/\s+/), telling = all.filter((word) => !stopwords.includes(word));
  for (const [words, places] of [...Object.entries(alltitles), ...Object.entries(indexentries)]) {
    const within = ` ${words.toLowerCase()}`;
    if (!(telling.length ? telling : all).every((word) => within.includes(` ${word}`))) continue;
    for (const [file] of places) count[docnames[file]] = (count[docnames[file]] ?? 0) + 1;
  }
  return count;
}

function headingOf(page, anchor) {
  const { alltitles, docnames } = Search._index, here = ([file, id]) => docnames[file] === page && `#${id}` === anchor;
  return Object.entries(alltitles).find(([, places]) => places.some(here))[0];
}

// Whether the index has a word, or more than two letters as part of one, or leaves it out as it does numbers and "the".
function isKnown(word) {
  if (/^\d+$/.test(word) || stopwords.includes(word)) return true;
  const { terms, titleterms } = Search._index, stem = new Stemmer().stemWord(word);
  return [terms, titleterms].some((all) => Object.hasOwn(all, stem) || (stem.length > 2 && Object.keys(all).some((term) => term.includes(stem))));
}

// A query without the words that no page has, and what is said of them. Sphinx would find nothing, or, where the others
// have two letters, drop them without a word. What is the beginning of a question or of a term stays whole.
function withoutUnknown(query) {
  const words = splitQuery(query), unknown = words.filter((word) => !isKnown(word.toLowerCase()));
  const known = words.filter((word) => !unknown.includes(word)).join(" ");
  leftOut = "";
  if (!unknown.length || !known || Object.keys(mentions).length) return query;
  leftOut = `No page has ${unknown.map((word) => `“${word}”`).join(" or ")}; showing “${known}”. `;
  return known;
}

// --- What a result quotes ---------------------------------------------------------------------------------------------

const WORDS = /([\p{L}\p{N}]+)/u, SENTENCE_END = /(?<=[.?!][”’)]*)\s+(?=[\p{Lu}“(])/u;
const PROSE = "p, li, dd, figcaption, .formula-question > summary", NO_PROSE = "noscript, figure > :not(figcaption), .formula-unit, .lesson-facts, .on-screen, .planner, .table-notes, #practice details";
const EXCERPT = 240; // letters, about

let stemmer = null;
const stemOf = (word) => (stemmer ??= new Stemmer()).stemWord(word.toLowerCase());
const define = (term) => `${term.firstChild.textContent}: ${term.nextElementSibling.querySelector("p").textContent}`;

// The sentences of each paragraph; where a formula of more than letters in a row stands, there is an ellipsis.
function sentencesIn(place) {
  for (const formula of place.querySelectorAll("math")) {
    formula.querySelector("annotation")?.remove();
    formula.replaceWith(formula.querySelector("mfrac, msub, msup, msubsup, munder, mover, munderover, mtable, msqrt") ? "…" : formula.textContent);
  }
  const blocks = [...place.querySelectorAll(PROSE)].filter((block) => !block.closest(NO_PROSE));
  for (const each of place.querySelectorAll("pre, table, svg, picture, script, style, .headerlink, .formula-answer")) each.remove();
  return blocks.reverse().map((block) => { // what is within another is read, and then taken out of it
    block.remove();
    return block.textContent.replace(/\s+/g, " ").replace(/^ |[ ,]+$/g, "");
  }).reverse().filter((text) => /\p{L}{3}/u.test(text)).map((text) => text.split(SENTENCE_END));
}

// Of these the first sentence with most of the stems, and what follows in its paragraph.
function excerpt(paragraphs, stems) {
  const worth = (text) => {
    const found = new Set(text.split(WORDS).map(stemOf).filter((stem) => stems.has(stem))).size;
    return found && found + text.toLowerCase().includes(asked) - 0.5 * !/[.?!][”’)]*$/.test(text) - 0.25 * text.includes("…");
  };
  const worths = paragraphs.map((sentences) => Math.max(...sentences.map(worth))), most = Math.max(...worths, 0);
  const sentences = paragraphs[most ? worths.indexOf(most) : 0] ?? [], first = most ? sentences.findIndex((each) => worth(each) === most) : 0;
  let text = shorten(sentences[first] ?? "", stems);
  for (const next of sentences.slice(first + 1)) {
    if (text.length + next.length > EXCERPT) break;
    text += ` ${next}`;
  }
  return text;
}

// A sentence that is too long is cut between words, about the first that is asked.
function shorten(text, stems) {
  if (text.length < 1.3 * EXCERPT) return text;
  const words = text.split(" "), hit = words.findIndex((word) => word.split(WORDS).some((part) => stems.has(stemOf(part))));
  let [from, to] = [Math.max(hit, 0), Math.max(hit, 0) + 1];
  const said = () => words.slice(from, to).join(" ");
  while (said().length < EXCERPT) [from, to] = [Math.max(from - 1, 0), to + 1];
  return `${from ? "… " : ""}${said()}${to < words.length ? " …" : ""}`;
}

// --- What is asked in other words -------------------------------------------------------------------------------------

// Words that ask and tell nothing, and words for one thing.
const ASKING = new Set("an any can could did do does from get have has how i its many me more most much my need our per should so than was were what when where which who why would you your".split(" "));
const MEANT = { api: "", bigger: "larger", cheap: "cost", cheaper: "cost", cheapest: "cost", chips: "gpu", dear: "cost", expensive: "cost", llm: "", overtrained: "trained", price: "cost", priced: "cost", prices: "cost", pricing: "cost", serving: "server", serve: "server", vram: "memory" };
const LIKE = 0.55, LIKEST = 3; // how like a question has to be, and how many are shown

const tellingStems = (text) => new Set(text.toLowerCase().split(WORDS).map((word) => MEANT[word] ?? word).filter((word) => /\p{L}/u.test(word) && !stopwords.includes(word) && !ASKING.has(word)).map(stemOf));

// The headings and questions of all pages but exercises, each with its stems; and how much a stem tells: the rarer, the more, and nothing if none of them has it.
let entries = null, tells = null;
function readEntries() {
  if (entries) return;
  const { alltitles, indexentries, docnames } = Search._index, count = {};
  const place = ([words, places]) => {
    const stems = tellingStems(words);
    return places.filter(([file]) => !docnames[file].startsWith("exercises/")).map(([file, id]) => ({ file, id, words, stems }));
  };
  const questions = Object.entries(indexentries).map(([words, places]) => [words, places.filter(([, id, main]) => main && !id)]);
  entries = [...Object.entries(alltitles), ...questions].flatMap(place).filter(({ stems }) => stems.size);
  for (const { stems } of entries) for (const stem of stems) count[stem] = (count[stem] ?? 0) + 1;
  tells = (stems) => [...stems].reduce((sum, stem) => sum + (count[stem] ? Math.log(1 + entries.length / count[stem]) : 0), 0);
}

// Those that share most with a query of at least two telling words, the likest first, as the search has its results.
function likest(query) {
  readEntries();
  const wanted = tellingStems(query), { docnames, filenames, titles } = Search._index, best = new Map();
  if (wanted.size < 2) return [];
  for (const { file, id, words, stems } of entries) {
    const shared = new Set([...stems].filter((stem) => wanted.has(stem)));
    if (shared.size < 2) continue;
    const like = Math.sqrt((tells(shared) / tells(wanted)) * (tells(shared) / tells(stems))) * (0.9 + 0.1 * shareOf(docnames[file]));
    if (like < LIKE || like <= (best.get(docnames[file])?.like ?? 0)) continue;
    const title = id && titles[file] !== words ? `${titles[file]} › ${words}` : titles[file];
    best.set(docnames[file], { like, found: [docnames[file], title, id ? `#${id}` : "", null, LOOKED_UP, filenames[file], "title"] });
  }
  return [...best.values()].sort((one, other) => other.like - one.like).slice(0, LIKEST).map(({ found }) => found);
}

// Sphinx puts this file before its own code, which has run when this does.
queueMicrotask(() => {
  const found = "Search finished, found ${resultCount} page(s) matching the search query.";
  const unfound = "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.";
  // An excerpt is a sentence or two of prose with the words that are asked, and no contents, code, tables, charts or
  // answers; without such a sentence it is how the page or section begins. Of a term it is the meaning.
  Search.makeSearchSummary = (html, stems, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html"), place = anchor ? page.getElementById(anchor.slice(1)) : page.querySelector(".bd-article");
    const text = place && (anchor?.startsWith("#term-") ? define(place) : excerpt(sentencesIn(place), stems));
    if (!text) return document.createDocumentFragment(); // there is no prose
    const mark = (word) => Object.assign(document.createElement("span"), { className: "highlighted", textContent: word });
    const summary = Object.assign(document.createElement("p"), { className: "context" });
    summary.append(...text.split(WORDS).map((part) => (stems.has(stemOf(part)) ? mark(part) : part)));
    return summary;
  };
  // Of what a page names alike, the first is enough. Where no question and no term is what was typed, the likest come first.
  const perform = Search._performSearch;
  Search._performSearch = (...query) => {
    const told = new Set(), isNew = ([page, title]) => !told.has(page + title) && told.add(page + title);
    const found = perform(...query).reverse(), answered = found.length && found[0][4] >= LOOKED_UP - 2;
    const first = answered ? [] : likest(asked), same = ([page, , anchor]) => first.some((each) => each[0] === page && each[2] === anchor);
    return [...first, ...found.filter((each) => !same(each))].filter(isNew).reverse();
  };
  // Words are marked on a page that a result opens, not on whichever page is read next.
  const parse = Search._parseQuery;
  let words = "";
  Search._parseQuery = (query) => {
    asked = query.trim().toLowerCase();
    mentions = countMentions();
    const parsed = parse(withoutUnknown(query)), [searched, , , typed] = parsed;
    words = [...typed].join(" ");
    typed.clear(); // Sphinx would mark them within other words
    if (leftOut) asked = searched.toLowerCase();
    if (leftOut) mentions = countMentions();
    Documentation.TRANSLATIONS[found] = `${leftOut}Results: \${resultCount}`;
    Documentation.TRANSLATIONS[unfound] = NOTHING;
    localStorage.removeItem("sphinx_highlight_terms");
    return parsed;
  };
  document.addEventListener("click", ({ target }) => {
    const found = target.closest("#search-results a, .search-found a");
    if (found && found.pathname !== location.pathname) localStorage.setItem("sphinx_highlight_terms", words);
  });
});

// --- The panel: answers while one types -------------------------------------------------------------------------------

const SHOWN = 10;

function kindOf([page, title]) {
  if (title.startsWith(GLOSSARY)) return "Glossary";
  const lesson = Search._index.docnames.includes(page.replace("book/", "exercises/"));
  return SHARES.find(([pages]) => pages.test(page))?.[2] ?? (lesson ? "Lesson" : "Reference");
}

const look = (query) => Search._performSearch(...Search._parseQuery(query)).reverse(); // the best first

function linkTo(href, html, kind) {
  const item = document.createElement("li"), link = item.appendChild(document.createElement("a"));
  link.href = document.documentElement.dataset.content_root + href;
  link.append(Object.assign(document.createElement("span"), { innerHTML: html }), " ", Object.assign(document.createElement("small"), { textContent: kind }));
  return item;
}

function preparePanel(field) {
  const panel = field.closest(".search-button__search-container"), wrapper = panel.parentElement;
  const list = Object.assign(document.createElement("ul"), { className: "search-found" }), told = document.createElement("p");
  told.setAttribute("role", "status");
  panel.setAttribute("role", "search");
  panel.append(told, list);
  const close = () => wrapper.classList.remove("show");
  let waits = 0;
  const answer = () => {
    clearTimeout(waits);
    waits = 0;
    const query = field.value.trim(), found = query ? look(query) : []; // one letter may be a symbol
    const rows = found.slice(0, SHOWN).map((each) => linkTo(`${each[0]}.html${each[2]}`, each[1].replace(GLOSSARY, ""), kindOf(each)));
    if (found.length > SHOWN) rows.push(linkTo(`search.html?q=${encodeURIComponent(query)}`, `All ${found.length} results`, ""));
    list.replaceChildren(...rows);
    told.textContent = !query ? "" : found.length ? `${leftOut}Results: ${found.length}` : query.length < 2 ? "Type one letter more." : NOTHING;
  };
  field.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(answer, 80);
  });
  wrapper.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (waits) answer(); // or it would replace what has the keyboard
      const stops = [field, ...list.querySelectorAll("a")];
      stops[Math.min(Math.max(stops.indexOf(document.activeElement) + step, 0), stops.length - 1)].focus();
    } else if (event.key === "Enter" && event.target === field && !event.isComposing) {
      if (waits) answer();
      const first = list.querySelector("a"); // which looks chosen
      if (first) {
        event.preventDefault();
        first.click();
      }
    } else if (event.key === "Escape") {
      close();
      searchedFrom?.focus();
    } else if ((event.key.length === 1 || event.key === "Backspace") && !event.ctrlKey && !event.metaKey) field.focus(); // one types on
  });
  list.addEventListener("click", close); // also where it leads to a place on this page
  wrapper.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !wrapper.contains(relatedTarget)) close();
  });
  answer(); // what has been typed until now
}
