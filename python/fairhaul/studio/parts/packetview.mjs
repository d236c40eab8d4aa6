// The section that shows a few round trips packet by packet.
import { button, element, slider } from "./controls.mjs";
import { drawPackets, packetsOf } from "./packets.mjs";
import { short } from "./quantity.mjs";

const MOST_FLOWS = 4;
const ROUND_TRIPS = 6;
/** Seconds of a wall clock for one round trip. */
const SLOWEST = 20;

/** Makes the view in `place`; `current()` gives the set-up, the time that it starts from, and the name of that time. */
export function makePacketView(place, { current }) {
  let shown = null;
  let frame = null;
  let pace = 6;
  const canvas = element("canvas", { hidden: true, role: "img", "aria-label": "Packets on the wire, in the queue, and acknowledgements" });
  const note = element("p", { class: "note", role: "status" }, "");
  const scrub = element("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Time in the packet view", input: () => showAt(scrub.value / 1000) });
  const loading = button("", () => load());
  const play = button("Play packets", () => (frame ? pause() : begin()));

  const load = async () => {
    const { setup, at } = current();
    if (!setup?.scenario) return;
    pause();
    const { scenario } = setup;
    const flows = scenario.flows.map((_, index) => index).slice(0, MOST_FLOWS);
    const length = Math.max(...flows.map((flow) => scenario.flows[flow].rtt_s));
    const from = Math.min(at, setup.resolved.duration_s);
    const until = from + (ROUND_TRIPS + 2) * length;
    note.textContent = `The run is simulated again up to ${short(until)} s, once for each flow.`;
    const answer = await setup.follow(flows, Math.max(0, from - 2 * length), until);
    if (!answer?.tables) {
      note.textContent = answer?.failure ?? answer?.mistakes?.join(" ") ?? "";
      return;
    }
    canvas.hidden = false;
    shown = { packets: packetsOf(answer, scenario), scenario, flows, from, length, isFull: answer.is_full };
    scrub.value = 0;
    showAt(0);
  };
  const showAt = (part) => {
    if (!shown) return;
    const { from, length, packets, scenario, flows } = shown;
    const at = from + part * ROUND_TRIPS * length;
    const { queued, drops } = drawPackets(canvas, packets, scenario, flows, at, length * 0.4);
    const missing = shown.isFull ? " The trace is full; later packets are missing." : "";
    const each = flows.length > 1 ? ` (${flows.map((flow, index) => `${scenario.flows[flow].name} ${queued[index]}`).join(", ")})` : "";
    // While packets are played, the numbers change too fast to be read out.
    note.setAttribute("aria-live", frame ? "off" : "polite");
    note.textContent = `${at.toFixed(4)} s: ${queued.reduce((sum, count) => sum + count, 0)} packets wait in the queue${each}, ${drops} dropped in this view.${missing}`;
    scrub.setAttribute("aria-valuetext", `${short(at)} s`);
  };
  const pause = () => {
    cancelAnimationFrame(frame);
    frame = null;
    play.textContent = "Play packets";
  };
  const begin = async () => {
    if (!shown) await load();
    if (!shown) return;
    let before = performance.now();
    let part = Number(scrub.value) / 1000;
    if (part >= 1) part = 0;
    play.textContent = "Pause packets";
    const advance = (now) => {
      frame = requestAnimationFrame(advance);
      part += (now - before) / 1000 / (pace * ROUND_TRIPS);
      before = now;
      scrub.value = Math.round(part * 1000);
      showAt(Math.min(1, part));
      if (part >= 1) pause();
    };
    frame = requestAnimationFrame(advance);
  };
  const step = (direction) => {
    pause();
    scrub.value = Number(scrub.value) + direction * 10;
    showAt(scrub.value / 1000);
  };
  const speed = slider({
    label: "Seconds for a round trip", key: "pace", min: 1, max: SLOWEST, value: pace, textOf: (value) => `${value} s`, onMove: (value) => { pace = value; },
  });
  place.append(
    element("div", { class: "transport" }, loading, play, button("◂", () => step(-1), { "aria-label": "Step packets back" }),
      button("▸", () => step(1), { "aria-label": "Step packets forward" }), scrub),
    speed, note, element("div", { class: "wire" }, canvas),
    element("p", { class: "note" }, "Filled shapes are data packets, one shape for each flow; a frame marks a retransmission, bars on the dotted line are acknowledgements, crosses are drops. Positions on a wire are drawn from the times of the packet trace."),
  );
  return {
    forget: () => {
      pause();
      shown = null;
      canvas.hidden = true;
      note.textContent = "";
    },
    /** Says on the button what it loads. */
    announce: () => {
      loading.textContent = `Load ${current().name}`;
    },
    redraw: () => showAt(scrub.value / 1000),
  };
}
