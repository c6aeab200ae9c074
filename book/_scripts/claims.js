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

  const choice = make("select", {}, make("option", { value: "", textContent: `all (${cards.length})` }));
  for (const [verdict, count] of [...counts].sort((a, b) => b[1] - a[1]))
    choice.append(make("option", { value: verdict, textContent: `${verdict} (${count})` }));
  const input = make("input", { type: "search", autocomplete: "off" });
  const told = make("span", { className: "table-count", role: "status" });

  function filter() {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    cards.forEach((card, n) => {
      const fits = !choice.value || card.dataset.verdict === choice.value;
      card.hidden = !fits || !wanted.every((each) => words[n].includes(each));
    });
    for (const group of groups) group.hidden = [...group.querySelectorAll(".claim")].every((card) => card.hidden);
    const left = cards.filter((card) => !card.hidden).length;
    told.textContent = left < cards.length ? `${left} of ${cards.length} claims` : `${cards.length} claims`;
  }

  // A link to a claim finds it, whatever is left.
  function find() {
    const card = cards.find(({ id }) => `#${id}` === location.hash);
    if (!card?.hidden) return;
    choice.value = input.value = "";
    filter();
    card.scrollIntoView();
  }

  const label = (text, field) => make("label", { className: "table-filter" }, `${text} `, field);
  groups[0].before(make("div", { className: "table-bar claim-filter" }, label("Verdict", choice), label("Words", input), told));
  choice.addEventListener("input", filter);
  input.addEventListener("input", filter);
  addEventListener("hashchange", find);
  filter();
})();
