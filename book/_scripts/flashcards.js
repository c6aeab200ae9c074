// Flashcards one at a time: a card that the reader knew does not come again, one to see again comes after the others.
// Which ones were known stays in this browser; site.js reads it.
(() => {
  "use strict";
  const KEY = "cards:known";
  const make = (tag, attributes, ...within) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...within);
    return made;
  };
  const button = (name, looks, onclick) => make("button", { type: "button", className: looks, onclick }, name);

  const cards = [...document.querySelectorAll("details.flashcard")], lists = document.querySelectorAll("details.flashcards"), stage = document.querySelector(".flashcard-stage");
  const kept = readKept(KEY); // eslint-disable-line no-undef
  const known = new Set(Array.isArray(kept) ? kept : []);
  let queue = cards;
  const told = make("p", { className: "table-count" });
  const shown = make("div", { ariaLive: "polite" });
  const row = make("div", { className: "practice-buttons" });
  Object.assign(stage, { role: "region", ariaLabel: "Practice" }).append(told, shown, row);

  function keep() {
    try { localStorage.setItem(KEY, JSON.stringify([...known])); } catch { /* private mode: nothing is kept */ }
  }

  // The first of the queue, without its answer. The keyboard stays on the button that comes next.
  function ask() {
    queue = queue.filter((card) => !known.has(card.id));
    for (const card of cards) card.classList.toggle("known", known.has(card.id));
    const at = queue.length ? `Card ${cards.indexOf(queue[0]) + 1} · ` : "", all = cards.length;
    told.textContent = `${at}${all - queue.length} of ${all} known, as this browser remembers`;
    const [question, ...answer] = queue.length ? queue[0].cloneNode(true).children : [];
    shown.replaceChildren(make("p", { className: "flashcard-question" }, ...(question?.childNodes ?? ["You knew every card."])));
    row.replaceChildren();
    if (question) row.append(button("Show answer", "practice-button practice-main", () => reveal(answer)));
    if (queue.length > 1) row.append(button("Skip", "quiet-button", () => next(later)));
    if (queue.length < cards.length) row.append(button("Start over", "quiet-button", () => next(() => { known.clear(); queue = cards; })));
  }
  function reveal(answer) {
    shown.append(...answer);
    shown.dispatchEvent(new Event("toggle")); // site.js looks for what scrolls
    row.replaceChildren(
      keyed("1", button("Again", "practice-button", () => next(later))),
      keyed("2", button("Knew it", "practice-button practice-main", () => next(() => known.add(queue[0].id)))),
    );
    row.lastChild.focus({ preventScroll: true }); // the question stays in sight
  }
  const later = () => { queue = [...queue.slice(1), queue[0]]; };
  // A key that presses a button while the keyboard is in the card.
  function keyed(key, made) {
    made.setAttribute("aria-keyshortcuts", key);
    made.append(make("kbd", { textContent: key, ariaHidden: "true" }));
    return made;
  }
  stage.addEventListener("keydown", ({ key, ctrlKey, metaKey, altKey }) => {
    if (!ctrlKey && !metaKey && !altKey) [...row.children].find((each) => each.getAttribute("aria-keyshortcuts") === key)?.click();
  });
  function next(change) {
    change();
    keep();
    ask();
    row.firstChild.focus({ preventScroll: true });
    stage.scrollIntoView({ block: "nearest" });
  }
  ask();

  // The list: all open at once, and on paper.
  const all = button("Open all", "practice-button", () => {
    const open = all.textContent === "Open all";
    for (const fold of [...lists, ...cards]) fold.open = open;
    all.textContent = open ? "Close all" : "Open all";
  });
  all.id = "open-all";
  stage.after(all);
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...lists, ...cards].filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });
})();
