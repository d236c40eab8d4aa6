// Draws every chart anew at the width of its place, once it comes near the window, so that it
// answers the pointer. Without this script the drawing that is in the page stays.
const narrower = (spec, by) => {
  for (const view of [spec, ...(spec.vconcat ?? [])]) {
    if (typeof view.width === "number") view.width = Math.max(120, view.width + by);
  }
};

const draw = async (place) => {
  const room = Math.floor(place.clientWidth);
  if (!room || place.room === room) return;
  place.room = room;
  const drawn = place.querySelector(".drawn");
  const spec = JSON.parse(place.querySelector("script").textContent);
  narrower(spec, room - place.natural);
  const next = document.createElement("div");
  const found = await vegaEmbed(next, spec, { renderer: "svg", actions: false, tooltip: { theme: "custom" } });
  if (place.room !== room) return found.finalize();
  place.view?.finalize();
  place.view = found;
  drawn.replaceChildren(next);
};

const near = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    target.near = isIntersecting;
    if (isIntersecting) draw(target);
  }
}, { rootMargin: "600px" });
const resized = new ResizeObserver((seen) => seen.forEach(({ target }) => target.near && draw(target)));

for (const place of document.querySelectorAll(".chart")) {
  place.natural = place.querySelector("svg").viewBox.baseVal.width;
  near.observe(place);
  resized.observe(place);
}
