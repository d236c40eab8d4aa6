// What a chart over time shows, for whoever does not see it: its name with the range of each line, and a table of its numbers.
import { element } from "./controls.mjs";
import { short } from "./quantity.mjs";

/** Rows of a table, evenly over the run. */
const ROWS = 20;
/** Of more lines the name of a chart has no ranges. */
const MOST_NAMED = 6;

/** The name of a chart: its title, and of each line from where to where it reaches. */
export function nameOf(title, labels, lines) {
  const ranges = labels.slice(0, MOST_NAMED).map((label, index) => {
    const known = lines[index].filter((value) => value !== null && !Number.isNaN(value));
    if (!known.length) return `${label}: no values`;
    return `${label}: ${short(known.reduce((least, value) => Math.min(least, value)))} to ${short(known.reduce((most, value) => Math.max(most, value)))}`;
  });
  return `${title}, over time. ${ranges.join("; ")}. A table of the numbers follows.`;
}

/** A folded table of a chart; `isOpen(key)` and `onToggle(key, isOpen)` keep whether it is open. `data` has the times, then the lines. */
export function numbersOf({ key, title, labels, data, isOpen, onToggle }) {
  const summary = element("summary", { "data-key": key }, "Numbers", element("span", { class: "unseen" }, ` of ${title}`));
  const place = element("details", { class: "numbers", open: isOpen(key) }, summary);
  const fill = () => {
    if (place.open && !place.querySelector("table")) place.append(element("div", { class: "table", tabindex: 0, role: "region", "aria-label": title }, tableOf(labels, data)));
  };
  place.addEventListener("toggle", () => {
    onToggle(key, place.open);
    fill();
  });
  fill();
  return place;
}

function tableOf(labels, [times, ...lines]) {
  const step = Math.max(1, Math.ceil(times.length / ROWS));
  const rows = Array.from(times.keys()).filter((row) => row % step === 0 || row === times.length - 1);
  const head = ["Time, s", ...labels].map((text) => element("th", { scope: "col" }, text));
  const body = rows.map((row) => element("tr", {}, element("th", { scope: "row" }, short(times[row])), ...lines.map((line) => element("td", {}, short(line[row] ?? NaN)))));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}
