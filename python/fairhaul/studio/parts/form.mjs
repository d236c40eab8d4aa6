// The form: a view of the text of a scenario. Each control changes one value of the text.
import { button, choice, element, field, replaceChildren, slider } from "./controls.mjs";
import { asRate, asTime, bdpOf, fromPosition, rateOf, short, timeOf, toPosition } from "./quantity.mjs";

/** Draws the form into `place`. `setup` has the values of the text and the resolved scenario; `edit(edits, isDraft)` changes it. */
export function drawForm(place, { values, scenario, words, edit, append }) {
  const sections = [runSection(values, scenario, edit)];
  if (values.bottleneck) sections.push(linkSection(values, scenario, words, edit));
  (values.flow ?? []).forEach((flow, index) => sections.push(flowSection(flow, index, values, words, edit)));
  if (values.bottleneck && values.flow?.length) {
    sections.push(button("Add a flow", () => append(nextFlow(values)), { "data-key": "add" }));
  }
  replaceChildren(place, ...sections);
}

const set = (path, value) => ({ path, value });

function runSection(values, scenario, edit) {
  const duration = slider({
    label: "Duration", key: "duration", min: 0, max: 84, value: toPosition(scenario.duration_s), text: asTime(scenario.duration_s),
    textOf: (position) => asTime(fromPosition(position)),
    onMove: (position, isDraft) => {
      const seconds = fromPosition(position);
      const warmup = (scenario.warmup_s / scenario.duration_s) * seconds;
      const edits = [set(["duration"], toml(asTime(seconds)))];
      if (values.warmup) edits.push(set(["warmup"], toml(asTime(warmup))));
      edit(edits, isDraft);
    },
  });
  const seed = field({
    label: "Seed", key: "seed", value: String(scenario.seed), help: "Another seed gives another run of the same experiment.",
    onGive: (text) => edit([set(["seed"], /^\d+$/.test(text) ? text : toml(text))], false),
  });
  return element("fieldset", {}, element("legend", {}, "Run"), duration, seed);
}

function linkSection(values, scenario, words, edit) {
  const link = values.bottleneck;
  const resolved = scenario.links[0];
  const queue = typeof link.queue === "object" ? link.queue : { kind: resolved.queue.kind };
  const path = ["bottleneck"];
  const parts = [element("legend", {}, "Bottleneck")];
  if (rateOf(link.rate)) {
    parts.push(slider({
      label: "Rate", key: "rate", min: toPosition(1e5), max: toPosition(1e10), value: toPosition(rateOf(link.rate)), text: link.rate,
      textOf: (position) => asRate(fromPosition(position)),
      onMove: (position, isDraft) => edit([set([...path, "rate"], toml(asRate(fromPosition(position))))], isDraft),
    }));
  }
  parts.push(slider({
    label: "Buffer", name: "Buffer, in bandwidth-delay products", key: "buffer", min: -48, max: 24,
    value: toPosition(bdpOf(queue.capacity) ?? bufferInBdp(scenario)), text: bdpOf(queue.capacity) ? `${short(bdpOf(queue.capacity))} BDP` : queue.capacity,
    textOf: (position) => `${short(fromPosition(position))} BDP`,
    onMove: (position, isDraft) => edit([set([...path, "queue", "capacity"], toml(`${short(fromPosition(position))} bdp`))], isDraft),
  }));
  parts.push(choice({
    label: "Queue", key: "queue", value: queue.kind, words: words.queues.map((word) => [word.name, word.title]),
    onChoose: (kind) => edit([set([...path, "queue"], toml({ kind, capacity: queue.capacity }))], false),
  }));
  const known = words.queues.find((word) => word.name === queue.kind);
  parts.push(parameters(known, queue, "queue", (made) => edit([set([...path, "queue"], toml(made))], false)));
  if (typeof link.loss !== "object") {
    const LOWEST = -144;
    parts.push(slider({
      label: "Random loss", key: "loss", min: LOWEST, max: -24, value: link.loss ? toPosition(link.loss) : LOWEST, text: link.loss ? `${short(link.loss * 100)} %` : "none",
      textOf: (position) => (position === LOWEST ? "none" : `${short(fromPosition(position) * 100)} %`),
      onMove: (position, isDraft) => edit([set([...path, "loss"], position === LOWEST ? null : String(fromPosition(position)))], isDraft),
    }));
  }
  return element("fieldset", {}, ...parts);
}

/** The buffer as a multiple of rate and mean round-trip time, which is what the unit `bdp` means. */
function bufferInBdp(scenario) {
  const { capacity_packets: packets, rate_bps: rate } = scenario.links[0];
  const mean = scenario.flows.reduce((sum, flow) => sum + flow.rtt_s, 0) / scenario.flows.length;
  return packets ? (packets * scenario.flows[0].packet_bytes * 8) / (rate * mean) : 10;
}

function flowSection(flow, index, values, words, edit) {
  const path = ["flow", index];
  const key = (name) => `${index}-${name}`;
  const parts = [element("legend", {}, `Flow ${flow.name}`)];
  if (flow.controller !== undefined) parts.push(...controllerParts(flow, index, words, edit));
  const least = Math.max(1e-3, 2 * (timeOf(values.bottleneck?.delay) ?? 0));
  if (timeOf(flow.rtt)) {
    parts.push(slider({
      label: "Round-trip time", name: `Round-trip time of ${flow.name}`, key: key("rtt"),
      min: toPosition(least), max: 0, value: toPosition(timeOf(flow.rtt)), text: flow.rtt,
      textOf: (position) => asTime(Math.max(least, fromPosition(position))),
      onMove: (position, isDraft) => edit([set([...path, "rtt"], toml(asTime(Math.max(least, fromPosition(position)))))], isDraft),
    }));
  }
  const duration = timeOf(values.duration) ?? 60;
  const start = flow.start === undefined ? 0 : timeOf(flow.start);
  if (start !== null) {
    parts.push(slider({
      label: "Start", name: `Start of ${flow.name}`, key: key("start"), min: 0, max: 95, value: Math.round((start / duration) * 100), text: asTime(start),
      textOf: (position) => asTime((position * duration) / 100),
      onMove: (position, isDraft) => edit([set([...path, "start"], toml(asTime((position * duration) / 100)))], isDraft),
    }));
  }
  parts.push(slider({
    label: "Number of flows", name: `Number of flows like ${flow.name}`, key: key("count"), min: 1, max: Math.max(20, flow.count ?? 1),
    value: flow.count ?? 1, textOf: String,
    onMove: (count, isDraft) => edit([set([...path, "count"], count === 1 ? null : String(count))], isDraft),
  }));
  if (values.flow.length > 1) {
    parts.push(button("Remove", () => edit([set(path, null)], false), { "aria-label": `Remove flow ${flow.name}`, "data-key": key("remove") }));
  }
  return element("fieldset", {}, ...parts);
}

function controllerParts(flow, index, words, edit) {
  const chosen = typeof flow.controller === "object" ? flow.controller : { kind: flow.controller };
  const give = (made) => edit([set(["flow", index, "controller"], toml(Object.keys(made).length === 1 ? made.kind : made))], false);
  const known = words.controllers.find((word) => word.name === chosen.kind);
  return [
    choice({
      label: "Controller", name: `Controller of ${flow.name}`, key: `${index}-controller`, value: chosen.kind,
      words: words.controllers.map((word) => [word.name, word.title]), onChoose: (kind) => give({ kind }),
    }),
    parameters(known, chosen, `${index}-${flow.name}`, give),
  ];
}

/** The parameters that the catalogue lists for a controller or a queue. */
function parameters(known, chosen, owner, give) {
  const keys = (known?.keys ?? []).filter((it) => it.name !== "capacity");
  if (!keys.length) return "";
  const fields = keys.map((it) => field({
    label: it.name, name: `${it.name} of ${known.name}, ${owner}`, key: `${owner}-${it.name}`,
    value: chosen[it.name] === undefined ? "" : plain(chosen[it.name]),
    placeholder: it.default || "required", help: `${it.help} (${it.wanted})`,
    onGive: (text) => {
      const made = { ...chosen, [it.name]: typed(text) };
      if (text === "") delete made[it.name];
      give(made);
    },
  }));
  const summary = element("summary", { "data-key": `${owner}-parameters` }, `Parameters of ${known.name}`);
  return element("details", { "data-key": `${owner}-details` }, summary, ...fields);
}

const plain = (value) => (typeof value === "string" ? value : toml(value));
const typed = (text) => (/^(true|false)$/.test(text) ? text === "true" : text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text);

/** A value as TOML on one line. */
export function toml(value) {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (typeof value === "object") {
    const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined).map(([key, inner]) => `${key} = ${toml(inner)}`);
    return `{ ${pairs.join(", ")} }`;
  }
  return JSON.stringify(value);
}

/** The text of one more flow, like the last one. */
function nextFlow(values) {
  const last = values.flow.at(-1);
  const names = values.flow.map((flow) => flow.name);
  let number = values.flow.length + 1;
  while (names.includes(`F${number}`)) number += 1;
  const keys = { name: `F${number}`, rtt: last.rtt, controller: last.controller };
  const lines = Object.entries(keys).filter(([, value]) => value !== undefined).map(([key, value]) => `${key} = ${toml(value)}`);
  return `\n[[flow]]\n${lines.join("\n")}\n`;
}
