// What the theme leaves undone, on every page.

// From the disk a page may not read other pages: search shows titles only, instead of an error for each.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// A box that scrolls can be reached and moved with the keyboard; one that does not is no stop on the way.
const SCROLLING = ".bd-article :is(pre, .table-box, .pst-scrollable-table-container, .formula, .output, .derivation li, .practice-ask, .practice-more, .practice-out, .summary-card, .planner-table, .unbroken)";

const FEW = 24; // that are measured at a time, so that a reader who scrolls or types need not wait
let marking = 0;

async function markScrolling() {
  const own = ++marking;
  const boxes = [...document.querySelectorAll(SCROLLING)].filter((box) => !box.closest("details:not([open])")); // until it opens
  for (let n = 0; n < boxes.length && own === marking; n += FEW) {
    if (n) await new Promise((next) => setTimeout(next));
    markBoxes(boxes.slice(n, n + FEW));
  }
}

// A formula that is a little too wide is set smaller; what is wider yet scrolls, and can be read.
const SMALLEST = 0.65; // of its size

function fitFormulas(boxes) {
  const formulas = boxes.filter((box) => box.matches(".formula")), sizes = new Map();
  const fit = (box, size) => size < 1 ? box.style.setProperty("--fit", size) : box.style.removeProperty("--fit");
  for (const box of formulas) if (box.style.getPropertyValue("--fit")) fit(box, 1);
  for (let pass = 0; pass < 2; pass++) { // what stands between letters does not shrink with them
    const wide = formulas.filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => [box, 0.99 * box.clientWidth / box.scrollWidth]);
    for (const [box, share] of wide) sizes.set(box, share * (sizes.get(box) ?? 1));
    for (const [box] of wide) fit(box, sizes.get(box));
  }
  for (const [box, size] of sizes) if (size < SMALLEST) fit(box, 1);
}

function markBoxes(boxes) {
  fitFormulas(boxes);
  const scrolls = boxes.map((box) => isBox(box) && (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1));
  const cut = boxes.map(isCut), below = boxes.map(isCutBelow);
  boxes.forEach((box, n) => { // all are measured before any is changed, which lays the page out anew
    if (scrolls[n]) box.tabIndex = 0;
    else if (box.hasAttribute("tabindex")) box.removeAttribute("tabindex");
    if (cut[n] !== box.classList.contains("cut")) box.classList.toggle("cut", cut[n]);
    if (below[n] !== box.classList.contains("cut-below")) box.classList.toggle("cut-below", below[n]);
  });
}

// What is cut off at the right fades there; of two boxes the inner one. So does a table at its lower edge. A box that lets
// what is in it hang out cuts nothing off.
const isBox = (box) => getComputedStyle(box).overflowX !== "visible";
const hides = (box) => isBox(box) && box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
const isCut = (box) => hides(box) && !(box.matches(".output") && [...box.querySelectorAll("pre, .table-box")].some(hides));
const isCutBelow = (box) => box.matches(".table-box") && isBox(box) && box.scrollTop + box.clientHeight < box.scrollHeight - 2;

// A phone begins with what is near its screen, sections (custom.css) and boxes to write in (practice.js). The rest waits
// for the first sign of its reader. On a wide screen nothing waits, nor where a link leads into the page.
const narrow = matchMedia("(max-width: 991.98px)"), waitsForReader = narrow.matches && !location.hash;
const SIGNS_OF_READER = ["scroll", "wheel", "pointerdown", "keydown", "focusin"];

window.firstSign = new Promise((come) => {
  if (!waitsForReader) come();
  else for (const sign of SIGNS_OF_READER) addEventListener(sign, () => come(), { passive: true, once: true });
});

// The sections follow one by one, so that links lead to where they should. A link that opened the page needs them at once.
async function layOut() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (const _ of [1, 2]) await new Promise((next) => setTimeout(next)); // until boxes to write in begin
  await window.boxesAwake;
  for (const section of document.querySelectorAll(":is(.bd-article > section, .claim-groups) > section")) {
    if (!target) await new Promise((next) => setTimeout(next));
    section.style.contentVisibility = "visible";
    section.getBoundingClientRect();
  }
  if (target) keepInPlace(target);
}

// What a link has opened stays where it is while boxes and charts above it still change their heights: for two seconds
// after the last change, or until the reader moves.
function keepInPlace(target) {
  let left = false, until = performance.now() + 2000;
  for (const moved of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(moved, () => { left = true; }, { passive: true, once: true });
  const top = () => target.getBoundingClientRect().top;
  const keep = () => {
    if (left || performance.now() > until) return;
    const before = top();
    target.scrollIntoView({ behavior: "instant" });
    if (Math.abs(top() - before) > 1) until = performance.now() + 2000;
    requestAnimationFrame(keep);
  };
  keep();
}

function markCut(box) {
  box.classList.toggle("cut", isCut(box));
  box.classList.toggle("cut-below", isCutBelow(box));
}

// A wide table scrolls in a box of its own, not the page.
function boxTables() {
  for (const table of document.querySelectorAll("article table")) {
    if (table.closest(".table-box, .pst-scrollable-table-container, .interactive-chart")) continue;
    const box = document.createElement("div");
    box.className = "table-box";
    table.replaceWith(box);
    box.append(table);
  }
}

// --- What this browser has seen solved: practice.js and lab.js keep it, an entry for each problem and each lab ------

function readKept(key) {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
}

const problemKey = (lesson, problem) => `practice/${lesson}/${problem}`;
const labKey = (lesson) => `lab:${lesson}`;

function stateOfProblem(lesson, problem) {
  const kept = readKept(problemKey(lesson, problem));
  if (kept?.right === true) return "right";
  return String(kept?.answer ?? "").trim() ? "wrong" : "untried";
}

function stateOfStep(lesson, step) {
  const kept = readKept(labKey(lesson))?.steps?.[step];
  const { last = typeof kept?.passed === "string" ? "right" : "", tries } = kept ?? {};
  return last === "right" ? "right" : last || tries > 0 ? "wrong" : "untried";
}

// The front page counts it.
function showProgress() {
  for (const box of document.querySelectorAll(".lesson-progress")) {
    const { lesson, problems, steps } = box.dataset, split = (names) => names.split(" ").filter(Boolean);
    const count = (names, stateOf) => split(names).filter((name) => stateOf(lesson, name) === "right").length;
    const solved = count(problems, stateOfProblem), built = count(steps, stateOfStep);
    if (!solved && !built) continue;
    box.dataset.solved = solved;
    box.textContent = `${solved} of ${split(problems).length} problems solved` + (built ? `, ${built} of ${split(steps).length} steps of the lab` : "");
  }
}

// A tick in the sidebar for a lesson whose problems are all solved.
function tickLessons() {
  const kept = Object.keys(localStorage);
  for (const [lesson, count] of (document.querySelector('meta[name="problems"]')?.content ?? "").split(" ").map((each) => each.split(":"))) {
    const solved = kept.filter((key) => key.startsWith(problemKey(lesson, "")) && readKept(key)?.right === true).length;
    if (solved < Number(count)) continue;
    const link = [...document.querySelectorAll(".bd-links .toctree-l1 > a")].find((each) => each.pathname.endsWith(`/book/${lesson}.html`));
    link?.append(Object.assign(document.createElement("span"), { className: "lesson-done", textContent: " ✓", title: "All problems solved" }));
  }
}

// The contents mark the section that is read, or the one that was chosen, also where the page is too short to scroll it
// to the top. The theme marks only sections whose start is in sight.
function followReader() {
  const links = [...document.querySelectorAll(".bd-toc-nav a")], starts = links.map((link) => document.getElementById(link.hash.slice(1)));
  const notes = document.querySelectorAll("aside.margin, .records table"), side = document.querySelector(".bd-sidebar-secondary");
  const drawer = document.getElementById("pst-secondary-sidebar-checkbox");
  let chosen = -1, waits = false;
  const mark = () => {
    waits = false;
    if (drawer && !drawer.checked && narrow.matches) return; // closed
    if (notes.length) side?.classList.toggle("covered", isCovered(side, notes));
    const ended = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 4;
    const read = chosen >= 0 ? chosen : ended ? links.length - 1 : starts.findLastIndex((start) => start?.getClientRects()[0]?.top < innerHeight / 3);
    const above = links[read]?.closest("ul")?.closest("li")?.querySelector("a");
    links.forEach((each, n) => each.classList.toggle("active", n === read || each === above));
    const box = links[read]?.closest(".bd-sidebar-secondary");
    if (box && box.scrollHeight > box.clientHeight) box.scrollTop = links[read].getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop - box.clientHeight / 2;
  };
  const free = () => { chosen = -1; };
  links.forEach((link, n) => link.addEventListener("click", () => { chosen = n; setTimeout(mark, 50); }));
  for (const moved of ["wheel", "touchmove", "keydown"]) addEventListener(moved, free, { passive: true });
  addEventListener("scroll", () => { if (!waits) waits = setTimeout(mark, 60); }, { passive: true });
  document.querySelector(".secondary-toggle")?.addEventListener("click", () => setTimeout(mark)); // which opens the drawer
  requestAnimationFrame(() => setTimeout(mark)); // when the page is laid out anyway
}
// The theme folds the contents up wherever a note is in sight; there is need only where one lies on them.
function isCovered(side, notes) {
  const { left, top } = side.getBoundingClientRect(), end = top + side.scrollHeight + 24;
  return [...notes].map((note) => note.getBoundingClientRect()).some((note) => note.right > left && note.bottom > top && note.top < end);
}

document.body?.removeAttribute("data-bs-spy"); // before the theme's own begins

// The arrow beside a lesson in the sidebar is called what it opens.
function nameArrows() {
  for (const arrow of document.querySelectorAll(".bd-links summary:has(.toctree-toggle)")) {
    arrow.setAttribute("aria-label", `Practice of ${arrow.closest("li").querySelector("a").textContent.trim()}`);
  }
}

// The theme leaves the sidebar where it was on the page before, or scrolls it on a first visit. It moves only where the
// open page is out of sight, and no row is then cut by what stays above the list.
if (!sessionStorage.getItem("sidebar-scroll-top")) sessionStorage.setItem("sidebar-scroll-top", 0); // before the theme looks

function showCurrentPage() {
  const side = document.querySelector(".bd-sidebar-primary"), rows = [...(side?.querySelectorAll(".bd-links :is(a, .caption)") ?? [])];
  const current = rows.findLast((row) => row.matches("li.active > a"));
  const place = (element) => element.getBoundingClientRect();
  const edge = () => Math.max(...[...side.querySelectorAll(".sidebar-primary-item")].map((item) => getComputedStyle(item).position === "sticky" ? place(item).bottom : 0));
  const show = () => {
    if (!current || (place(current).top >= edge() && place(current).bottom <= place(side).bottom)) return;
    side.scrollTop += place(current).top - place(side).height / 3;
    const cut = rows.find((row) => row.checkVisibility() && place(row).top < edge() && place(row).bottom > edge()); // what a fold hides has a place, too
    if (cut) side.scrollTop += place(cut).top - edge();
  };
  if (!narrow.matches) show();
  document.querySelector(".primary-toggle")?.addEventListener("click", show);
}

// The bar at the top tells the title of a page whose heading has been scrolled away; on a phone what stands before its colon,
// but for exercises and solutions, which would be called like their lesson.
function tellTitle() {
  const heading = document.querySelector(".bd-article h1"), bar = document.querySelector(".header-article-items__start");
  if (!heading || !bar) return;
  const link = heading.querySelector(".headerlink"), [name, ...rest] = heading.textContent.replace(link?.textContent ?? "", "").split(/(?=:(?! exercises$| solutions$))/);
  const title = Object.assign(document.createElement("a"), { className: "bar-title", href: link?.hash ?? "#", textContent: name, hidden: true });
  title.append(Object.assign(document.createElement("span"), { textContent: rest.join("") }));
  bar.append(title);
  new IntersectionObserver((seen) => { title.hidden = seen.at(-1).isIntersecting; }, { rootMargin: "-56px 0px 999999px" }).observe(heading);
}

// The bar's buttons say what they open; before the theme makes tips of it.
const BUTTONS = { ".primary-toggle": "Menu", ".secondary-toggle": "Contents", ".theme-switch-button": "Colors: light, dark or as the system" };
for (const [button, name] of Object.entries(BUTTONS)) {
  for (const each of document.querySelectorAll(button)) Object.assign(each, { title: name.split(":")[0], ariaLabel: name }); // a wide tip would lie on the contents
}

// The theme's drawers of a narrow screen: a button closes each, and so does a choice from the contents.
function closeDrawers() {
  for (const side of ["primary", "secondary"]) {
    const drawer = document.querySelector(`.bd-sidebar-${side}`), box = document.getElementById(`pst-${side}-sidebar-checkbox`);
    if (!drawer || !box) continue;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "drawer-close", textContent: "×", ariaLabel: "Close" });
    button.addEventListener("click", () => { box.checked = false; document.querySelector(`.${side}-toggle`)?.focus(); });
    drawer.prepend(button);
    drawer.addEventListener("click", ({ target }) => { if (target.closest("a[href^='#'], .search-button__button")) box.checked = false; });
  }
}

// What a term of the glossary means, or how a work that is cited is called, on a card below it: under the pointer, at
// the keyboard, and at a first touch, whose second follows the link.
const TOLD = ".bd-article :is(a.glossed, .bibtex-citation a)";
function tellTerms() {
  const article = document.querySelector(".bd-article");
  if (!document.querySelector(TOLD)) return;
  const card = Object.assign(document.createElement("p"), { className: "letter-meaning term", id: "term-meaning", hidden: true });
  let told = null;
  const hide = () => {
    card.hidden = true;
    told?.removeAttribute("aria-describedby");
    told = null;
  };
  const show = (term, touched) => {
    if (term === told) return;
    hide();
    told = term;
    if (term.title) [term.dataset.means, term.title] = [term.title, ""];
    term.setAttribute("aria-describedby", card.id);
    card.textContent = term.dataset.means.replace(/ URL: \S+$/, "");
    if (touched) card.append(Object.assign(document.createElement("a"), { href: term.href, textContent: term.matches(".glossed") ? "Glossary" : "Bibliography" }));
    article.append(card);
    card.hidden = false;
    const { left, bottom } = [...term.getClientRects()].at(-1), all = article.getBoundingClientRect(), edge = parseFloat(getComputedStyle(article).paddingLeft);
    card.style.left = `${Math.max(edge, Math.min(left - all.left, article.clientWidth - card.offsetWidth - edge))}px`;
    card.style.top = `${bottom - all.top + 4}px`;
  };
  const termOf = ({ target }) => target.closest?.(TOLD);
  const point = (event) => {
    if (event.pointerType === "touch") return;
    const term = termOf(event);
    if (term) show(term);
    else if (!card.contains(event.target)) hide();
  };
  const touch = (event) => {
    const term = termOf(event);
    if (!term && !card.contains(event.target)) hide();
    if (!term || event.pointerType !== "touch" || term === told) return;
    event.preventDefault();
    show(term, true);
  };
  document.addEventListener("pointerover", point);
  article.addEventListener("click", touch);
  article.addEventListener("focusin", (event) => { if (termOf(event)?.matches(":focus-visible")) show(termOf(event)); });
  article.addEventListener("focusout", hide);
  document.addEventListener("keydown", ({ key, ctrlKey, metaKey }) => (key === "Escape" || ctrlKey || metaKey) && hide()); // with Ctrl+K the search begins
}

// The search and its index come when its panel opens. Sphinx's script empties the field when it begins.
const SEARCH = ["_static/searchtools.js", "_static/language_data.js", "searchindex.js"];
let searchedFrom = null; // what had the keyboard before

function answerSearch() {
  const field = document.getElementById("search-input"), root = document.documentElement.dataset.content_root;
  const begin = async () => {
    let typed = "";
    const keep = () => { typed = field.value; };
    field.addEventListener("input", keep);
    for (const name of typeof Search === "undefined" ? SEARCH : []) {
      await new Promise((onload) => document.head.append(Object.assign(document.createElement("script"), { src: root + name, onload })));
      field.value = typed;
    }
    field.removeEventListener("input", keep);
    preparePanel(field);
  };
  field?.addEventListener("focus", begin, { once: true });
  field?.addEventListener("focus", ({ relatedTarget }) => {
    if (!relatedTarget?.closest(".search-button__wrapper")) searchedFrom = relatedTarget;
  });
}

// The key that many sites have for it opens the search, unless one writes.
function listenForSlash() {
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault(); // or the field would have it
    document.querySelector(".search-button__button")?.click();
  });
}

// The words of a search are marked in the text alone, and whole: Sphinx marks them in formulas and within other words too.
function unmark() {
  for (const mark of document.querySelectorAll(".highlighted")) {
    const around = (mark.previousSibling?.textContent.at(-1) ?? "") + (mark.nextSibling?.textContent[0] ?? "");
    if (mark.closest("math, code, pre, svg") || /[\p{L}\p{N}]/u.test(around)) mark.replaceWith(...mark.childNodes);
  }
}

// A link to what is folded away, or to a fold itself, opens it; not all browsers do so themselves.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let fold = target?.closest("details:not([open])");
  if (!fold) return;
  for (; fold; fold = fold.closest("details:not([open])")) fold.open = true;
  target.scrollIntoView();
}

function settle() {
  unmark();
  nameArrows();
  answerSearch();
  listenForSlash();
  closeDrawers();
  showCurrentPage();
  tellTitle();
  tellTerms();
  showProgress();
  tickLessons();
  followReader();
  openTarget();
  addEventListener("hashchange", openTarget);
  boxTables();
  if (waitsForReader) markBoxes([...document.querySelectorAll(SCROLLING)].filter((box) => !box.closest("section section, details:not([open])"))); // on the first screen
  const again = () => { window.laidOut = markScrolling(); };
  window.laidOut = window.firstSign.then(layOut).then(() => document.fonts.ready).then(markScrolling); // fonts change widths
  addEventListener("resize", again);
  addEventListener("toggle", again, true);
  addEventListener("scroll", ({ target }) => target.matches?.(SCROLLING) && markCut(target), { capture: true, passive: true });
}

// After the theme's scripts, which scroll the sidebar, too.
Promise.resolve(window.begun).then(() => {
  if (document.readyState === "complete") settle();
  else addEventListener("load", settle);
});
