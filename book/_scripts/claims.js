// The ledger of claims: a bar above the first card that leaves the cards of one verdict, or those with certain words.
(() => {
  const make = (tag, attributes, ...within) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...within);
    return made;
  };
  const cards = [...document.querySelectorAll(".claim")], words = cards.map((card) => card.textContent.toLowerCase());
  const groups = [...new Set(cards.map((card) => card.closest("section")))];
  const counts = new Map();
  for (const { dataset: { verdict } } of cards) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);

  const choice = make("select", {}, make("option", { value: "", textContent: "All verdicts" }));
  for (const [verdict, count] of [...counts].sort((a, b) => b[1] - a[1]))
    choice.append(make("option", { value: verdict, textContent: `${verdict[0].toUpperCase()}${verdict.slice(1)} (${count})` }));
  const input = make("input", { type: "search", autocomplete: "off", placeholder: "Filter" });
  const told = make("span", { className: "table-count", role: "status" });
  const label = (text, field) => make("label", { className: "table-filter" }, make("span", { className: "visually-hidden", textContent: text }), field);
  const bar = make("div", { className: "table-bar claim-filter" }, label("Verdict", choice), label("Words", input), told);
  const clear = make("button", { type: "button", className: "chart-reset", textContent: "Show all claims" });
  const none = make("p", { className: "claim-none", hidden: true }, make("span", { textContent: "No claim has this verdict and these words." }), clear);

  // Words that were looked for are marked, where the browser can without changing the page.
  function markWords(wanted) {
    if (!globalThis.Highlight) return;
    const found = [];
    for (const card of wanted.length ? cards.filter((each) => !each.hidden) : []) {
      const walk = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const text = walk.currentNode.data.toLowerCase();
        for (const word of wanted) {
          for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
            const range = new Range();
            range.setStart(walk.currentNode, at);
            range.setEnd(walk.currentNode, at + word.length);
            found.push(range);
          }
        }
      }
    }
    CSS.highlights.set("claim-words", new Highlight(...found));
  }

  function filter() {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    cards.forEach((card, n) => {
      const fits = !choice.value || card.dataset.verdict === choice.value;
      card.hidden = !fits || !wanted.every((each) => words[n].includes(each));
    });
    for (const group of groups) {
      group.hidden = [...group.querySelectorAll(".claim")].every((card) => card.hidden);
      const entry = document.querySelector(`.bd-toc-nav a[href="#${group.id}"]`);
      if (entry) entry.closest("li").hidden = group.hidden;
    }
    dispatchEvent(new Event("scroll")); // by which the contents mark what is read
    const left = cards.filter((card) => !card.hidden).length;
    told.textContent = left < cards.length ? `${left} of ${cards.length} claims` : `${cards.length} claims`;
    none.hidden = left > 0;
    markWords(wanted);
  }

  // Who has read on sees the first of what is left, below the bar.
  function ask() {
    filter();
    const first = none.hidden ? groups.find((group) => !group.hidden) : none;
    if (first.getBoundingClientRect().top < bar.getBoundingClientRect().bottom) first.scrollIntoView();
  }

  function showAll() {
    choice.value = input.value = "";
    filter();
  }

  // A link to a claim finds it, whatever is left.
  function find() {
    const card = cards.find(({ id }) => `#${id}` === location.hash);
    if (!card?.hidden) return;
    showAll();
    card.scrollIntoView();
  }

  // The bar and the scale stand right below the page's header, and where a link leads is not behind it.
  function fit() {
    const { style } = document.documentElement;
    style.setProperty("--page-head", `${document.querySelector(".bd-header-article")?.offsetHeight ?? 0}px`);
    style.setProperty("--claim-bar", `${bar.offsetHeight}px`);
  }

  // The bar goes with the cards, and not on over what follows them.
  const kept = make("div", { className: "claim-groups" });
  groups[0].before(kept);
  while (!groups.at(-1).closest(".claim-groups")) kept.append(kept.nextSibling);
  kept.prepend(bar, none);
  choice.addEventListener("input", ask);
  input.addEventListener("input", ask);
  clear.addEventListener("click", () => { showAll(); input.focus(); });
  addEventListener("hashchange", find);
  addEventListener("resize", fit);
  filter();
  fit();
})();
