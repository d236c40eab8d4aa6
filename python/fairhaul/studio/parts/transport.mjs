// The time of the page: play, pause, step and scrub.
import { button, element } from "./controls.mjs";
import { secondsOf } from "./quantity.mjs";

const PLAY_SECONDS = 20;

/** Makes the bar. `timeline()` gives the end of the runs, a step and the times of events; `onTime(at, isPlaying)` shows a time. */
export function makeTransport(place, { timeline, onTime }) {
  let at = null;
  let frame = null;
  const scrub = element("input", {
    type: "range", min: 0, max: 1000, step: 1, value: 1000, "aria-label": "Time", input: () => show((scrub.value / 1000) * timeline().end),
  });
  const output = element("output", { "aria-live": "off" }, "whole run");
  const play = button("Play", () => (frame ? pause() : begin()), { "aria-label": "Play", class: "play" });

  const show = (time, fromScrub = true) => {
    const { end, step } = timeline();
    at = Math.max(0, Math.min(end, time));
    if (!fromScrub) scrub.value = Math.round((at / end) * 1000);
    const isWhole = at >= end;
    output.textContent = isWhole ? "whole run" : `${secondsOf(at, step)} s`;
    scrub.setAttribute("aria-valuetext", output.textContent);
    onTime(isWhole ? null : at, frame !== null);
  };
  const pause = () => {
    cancelAnimationFrame(frame);
    frame = null;
    play.textContent = "Play";
    play.setAttribute("aria-label", "Play");
    show(at ?? timeline().end, false);
  };
  const begin = () => {
    const { end } = timeline();
    let before = performance.now();
    if (at === null || at >= end) at = 0;
    play.textContent = "Pause";
    play.setAttribute("aria-label", "Pause");
    const advance = (now) => {
      frame = requestAnimationFrame(advance);
      show(at + ((now - before) / 1000 / PLAY_SECONDS) * end, false);
      before = now;
      if (at >= end) pause();
    };
    frame = requestAnimationFrame(advance);
  };
  const step = (direction) => show((at ?? timeline().end) + direction * timeline().step, false);
  const toEvent = (direction) => {
    const { end, events } = timeline();
    const now = at ?? (direction > 0 ? 0 : end);
    const found = direction > 0 ? events.find((time) => time > now + 1e-9) : events.findLast((time) => time < now - 1e-9);
    if (found !== undefined) show(found, false);
  };
  const stepButton = (text, direction, label) => button(text, () => step(direction), { "aria-label": label, title: `${label} (arrow keys)` });
  place.addEventListener("keydown", (event) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction) return;
    event.preventDefault();
    step(direction);
  });
  place.append(
    play, stepButton("◂", -1, "One round trip back"), stepButton("▸", 1, "One round trip forward"),
    button("⇤ loss", () => toEvent(-1), { "aria-label": "Previous loss event" }), button("loss ⇥", () => toEvent(1), { "aria-label": "Next loss event" }),
    scrub, output,
  );
  return {
    pick: (time) => show(time, false),
    reset: () => {
      if (frame) pause();
      at = null;
      scrub.value = 1000;
      output.textContent = "whole run";
      onTime(null, false);
    },
  };
}
