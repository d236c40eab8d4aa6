// Controls with a label, a value that a screen reader can read, and no other state than what the page shows.

let lastId = 0;

/** An element with attributes, listeners (functions) and children. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function labelled(label, control, output = null, help = null) {
  lastId += 1;
  control.id = `control-${lastId}`;
  const name = element("label", { for: control.id, title: help }, label);
  return element("div", { class: "control" }, element("div", { class: "name" }, name, output ?? ""), control);
}

/** A slider. `textOf` gives the text of a position, `text` that of the value, which may lie between two positions; `onMove` receives the position while it is dragged and after. */
export function slider({ label, name, key, value, min, max, step = 1, textOf, text = textOf(value), onMove, help }) {
  const output = element("output", { "aria-live": "off" }, text); // the slider itself has the value
  const control = element("input", {
    type: "range", min, max, step, value, "data-key": key, "aria-label": name ?? label, "aria-valuetext": text,
  });
  control.addEventListener("input", () => {
    output.textContent = textOf(Number(control.value));
    control.setAttribute("aria-valuetext", output.textContent);
    onMove(Number(control.value), true);
  });
  control.addEventListener("change", () => onMove(Number(control.value), false));
  return labelled(label, control, output, help);
}

/** A choice of words: pairs of a value and its description. */
export function choice({ label, name, key, value, words, onChoose }) {
  const options = words.map(([word, title]) => element("option", { value: word, title, selected: word === value }, word));
  const control = element("select", { "data-key": key, "aria-label": name ?? label, change: (event) => onChoose(event.target.value) }, ...options);
  return labelled(label, control);
}

/** A field for a text, which counts when it is left. */
export function field({ label, name, key, value, placeholder, help, onGive }) {
  const control = element("input", {
    type: "text", value, placeholder, title: help, "data-key": key, "aria-label": name ?? label, spellcheck: "false",
    change: (event) => onGive(event.target.value.trim()),
  });
  return labelled(label, control, null, help);
}

export const button = (text, onClick, attributes = {}) => element("button", { type: "button", click: onClick, ...attributes }, text);

/** Puts new children into `place`, and the focus back. */
export function replaceChildren(place, ...children) {
  const open = new Set([...place.querySelectorAll("details[open]")].map((it) => it.dataset.key));
  keepingFocus(place, () => {
    place.replaceChildren(...children);
    for (const details of place.querySelectorAll("details")) details.open ||= open.has(details.dataset.key);
  });
}

/** Draws the content of `place` anew; the focus is then on the control with the same key, or on the one that took its place. */
export function keepingFocus(place, draw) {
  const controls = () => [...place.querySelectorAll(":is(a, button, input, select, summary, textarea)[data-key]")];
  const before = controls().indexOf(document.activeElement);
  const key = document.activeElement?.dataset.key;
  draw();
  if (before < 0) return;
  const after = controls();
  (after.find((it) => it.dataset.key === key) ?? after[Math.min(before, after.length - 1)])?.focus({ preventScroll: true });
}
