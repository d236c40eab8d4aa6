// Draws every chart anew at the width of its place, so that it answers the pointer: first those near
// the window, then the others, so that a print or a picture of the whole page has them all. Without
// this script the drawing that is in the page stays.
const spans = new Map(); // of the runs that are zoomed: from when to when

// Panels beside each other stand below each other on a narrow page.
const fitted = (spec, room, natural) => {
  const rows = spec.vconcat?.[0].hconcat ? spec.vconcat.map((row) => row.hconcat) : [];
  const beside = spec.hconcat ?? rows.flat();
  if (beside.length && room < 640) {
    const { hconcat, vconcat, ...rest } = spec;
    for (const view of beside) view.width = Math.max(120, room - 150);
    return { ...rest, vconcat: beside };
  }
  for (const view of rows.flat()) view.width = Math.max(120, view.width + (room - natural) / rows[0].length);
  if (spec.usermeta?.square) spec.height = spec.width = Math.min(spec.width, room - (natural - spec.width));
  else for (const view of [spec, ...(spec.vconcat ?? [])]) {
    if (typeof view.width === "number") view.width = Math.max(120, view.width + room - natural);
  }
  return spec;
};

const draw = async (place) => {
  const room = Math.floor(place.clientWidth);
  const span = spans.get(place.dataset.run);
  const wanted = JSON.stringify([room, span]);
  if (!room || place.wanted === wanted) return;
  place.wanted = wanted;
  let spec = fitted(JSON.parse(place.querySelector(".chart-spec").textContent), room, place.natural);
  if (span) spec = window.zoomed(spec, rawOf(place), span);
  const next = document.createElement("div");
  const found = await vegaEmbed(next, spec, { renderer: "svg", actions: false, tooltip: { theme: "custom" } });
  if (place.wanted !== wanted) return found.finalize();
  place.view?.finalize();
  place.view = found;
  next.querySelector("svg").setAttribute("aria-hidden", "true"); // its place has the name
  place.querySelector(".drawn").replaceChildren(next);
};

const rawOf = (place) => (place.raw ??= window.unpacked(JSON.parse(place.querySelector(".chart-raw").textContent)));

// Charts away from the window are drawn one by one while the page has nothing else to do.
const waiting = new Set();
const idle = () => new Promise((go) => {
  if (window.requestIdleCallback) requestIdleCallback(go, { timeout: 200 });
  else setTimeout(go);
});
let busy = false;
const drawLater = async (place) => {
  waiting.add(place);
  if (busy) return;
  busy = true;
  for (const next of waiting) {
    waiting.delete(next);
    await idle();
    await draw(next).catch(console.error);
  }
  busy = false;
};
const drawSoon = (place) => (place.near ? draw(place) : drawLater(place));

const near = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    target.near = isIntersecting;
    drawSoon(target);
  }
}, { rootMargin: "600px" });
const resized = new ResizeObserver((seen) => seen.forEach(({ target }) => drawSoon(target)));
const places = [...document.querySelectorAll(".chart")];
const said = document.body.appendChild(Object.assign(document.createElement("p"), { className: "unseen", role: "status" }));

const show = (run, span) => {
  const { end } = rawOf(places.find((place) => place.dataset.run === run));
  const long = Math.min(end, Math.max(span.to - span.from, end * 1e-5));
  const from = Math.min(Math.max(0, span.from), end - long);
  if (long > end * 0.999) spans.delete(run);
  else spans.set(run, { from, to: from + long });
  for (const place of places.filter((place) => place.dataset.run === run)) {
    place.parentElement.classList.toggle("zoomed", spans.has(run));
    const text = spans.has(run) ? window.zoomedText(rawOf(place), spans.get(run)) : "";
    place.parentElement.querySelector(".span").textContent = text;
    said.textContent = text || "The whole run";
    drawSoon(place);
  }
};

// Each step gives the part of the shown time that is shown next, as from and to in shares of it.
const steps = [
  ["+", "Zoom in", 0.25, 0.75],
  ["−", "Zoom out", -0.5, 1.5],
  ["←", "Earlier", -0.5, 0.5],
  ["→", "Later", 0.5, 1.5],
  ["all", "All: the whole run", -Infinity, Infinity],
];
const shownSpan = (place) => spans.get(place.dataset.run) ?? { from: 0, to: rawOf(place).end };
const move = (place, low, high) => {
  const { from, to } = shownSpan(place);
  const at = (share) => (Number.isFinite(share) ? from + share * (to - from) : share < 0 ? 0 : rawOf(place).end);
  show(place.dataset.run, { from: at(low), to: at(high) });
};

const plotOf = (place) => {
  const parts = place.querySelectorAll(".role-scope > g > path.background");
  const [part] = parts.length ? parts : place.querySelectorAll(".role-frame > g > path.background");
  return part?.getBoundingClientRect();
};

// A drag across a chart selects the time that is shown; a double click shows the whole run.
const dragged = (place) => {
  let begun = null;
  const mark = document.createElement("div");
  mark.className = "selected";
  const ends = (event) => {
    const plot = plotOf(place);
    const share = (x) => Math.min(1, Math.max(0, (x - plot.left) / plot.width));
    return [begun, event.clientX].map(share).sort((a, b) => a - b);
  };
  place.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse" && plotOf(place)) begun = event.clientX;
  });
  window.addEventListener("pointermove", (event) => {
    if (begun === null) return;
    event.preventDefault();
    const [low, high] = ends(event);
    const plot = plotOf(place);
    const left = plot.left - place.getBoundingClientRect().left;
    mark.style.left = `${left + low * plot.width}px`;
    mark.style.width = `${(high - low) * plot.width}px`;
    place.append(mark);
  });
  window.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const [low, high] = ends(event);
    begun = null;
    mark.remove();
    if (high - low > 0.005) move(place, low, high);
  });
  place.addEventListener("dblclick", () => move(place, -Infinity, Infinity));
};

for (const place of places) {
  place.natural = place.querySelector("svg").viewBox.baseVal.width;
  near.observe(place);
  resized.observe(place);
  if (!place.dataset.run && place.dataset.run !== "") continue;
  const bar = document.createElement("div");
  Object.assign(bar, { className: "zoom", role: "group", ariaLabel: `Time of ${place.previousElementSibling.textContent.trim()}` });
  bar.append(Object.assign(document.createElement("span"), { className: "span" }));
  for (const [text, title, low, high] of steps) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text, title, ariaLabel: title });
    button.addEventListener("click", () => move(place, low, high));
    bar.append(button);
  }
  place.previousElementSibling.append(bar);
  dragged(place);
}

// A print has the folded parts as well.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const part of opened) part.open = true;
});
window.addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});
