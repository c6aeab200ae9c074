// What the search ranks by: Sphinx's own weights, and then what the page is. One reads a lesson before one looks up a
// table, and solutions come last.
var Scorer = {
  score: ([page, , , , score]) => score * (page.startsWith("exercises/solutions/") ? 0.2 : page.startsWith("exercises/") ? 0.4 : LOOKED_UP.test(page) ? 0.8 : 1),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
const LOOKED_UP = /^book\/(notation|catalogue|measurements|flashcards|glossary|bibliography|claims)$/;
