// The order of the search's results: definitions (terms.py), then titles and headings, then text.
// Pages that list everything, or record it, come after the pages that explain.
const RECORDS = /^(CHANGELOG|ARCHITECTURE|docs\/(choices|requirements|conformance|sources|search|arithmetic|papers\/.*))$/;

var Scorer = {
  score: ([page, , , , score]) => (RECORDS.test(page) ? score - 10 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 30,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
