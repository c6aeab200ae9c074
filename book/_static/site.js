// What the theme leaves undone, on every page.

// From the disk a page may not read other pages: search shows titles only, instead of an error for each.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// A box that scrolls can be reached and moved with the keyboard; one that does not is no stop on the way.
const SCROLLING = ".bd-article :is(pre, .table-box, .pst-scrollable-table-container, mjx-container[display=true], .output, .derivation li, .practice-ask, .practice-more, .practice-out, .summary-card), .bd-sidebar";

function markScrolling() {
  for (const box of document.querySelectorAll(SCROLLING)) {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
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

// A table's heading that is one symbol has that symbol as its name: not every reader looks into formulas for it.
function nameSymbols() {
  for (const formula of document.querySelectorAll("th mjx-container")) {
    const parts = [...formula.querySelectorAll("mi, mn, mo, mtext")].map((part) => part.textContent);
    formula.setAttribute("role", "math");
    formula.setAttribute("aria-label", parts.join(" "));
  }
}

// The front page counts what this browser has seen solved; practice.js keeps it, an entry for each problem.
function showProgress() {
  for (const box of document.querySelectorAll(".lesson-progress")) {
    const { lesson, problems } = box.dataset, ids = problems.split(" ").filter(Boolean);
    const solved = ids.filter((id) => isSolved(`practice/${lesson}/${id}`)).length;
    if (!solved) continue;
    box.dataset.solved = solved;
    box.textContent = `${solved} of ${ids.length} problems solved`;
  }
}

function isSolved(key) {
  try { return JSON.parse(localStorage.getItem(key))?.right === true; } catch { return false; }
}

// The contents mark the section that was chosen, also where the page is too short to scroll it to the top.
function followClicks() {
  const links = [...document.querySelectorAll(".bd-toc-nav a")];
  for (const link of links) {
    link.addEventListener("click", () => {
      const mark = () => links.forEach((each) => each.classList.toggle("active", each === link));
      const last = setTimeout(mark, 300); // where nothing scrolls
      addEventListener("scrollend", () => { clearTimeout(last); setTimeout(mark, 50); }, { once: true });
    });
  }
}

// The arrow beside a lesson in the sidebar is called what it opens.
function nameArrows() {
  for (const arrow of document.querySelectorAll(".bd-links summary:has(.toctree-toggle)")) {
    arrow.setAttribute("aria-label", `Practice of ${arrow.closest("li").querySelector("a").textContent.trim()}`);
  }
}

async function settle() {
  nameArrows();
  showProgress();
  followClicks();
  boxTables();
  await window.MathJax?.startup?.promise;
  nameSymbols();
  markScrolling();
  addEventListener("resize", markScrolling);
  addEventListener("toggle", markScrolling, true);
}

if (document.readyState === "complete") settle();
else addEventListener("load", settle);
