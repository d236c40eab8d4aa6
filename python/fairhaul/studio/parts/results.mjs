// The results of a set-up: its headline, its table and its charts.
import { MOST_LINES, colourOf, phasePlot, pieceOf, timeChart } from "./charts.mjs";
import { element } from "./controls.mjs";
import { nameOf, numbersOf } from "./numbers.mjs";
import { asTime, short } from "./quantity.mjs";
import { measuredOf } from "./series.mjs";
import { ENOUGH_CYCLES } from "./stationary.mjs";

const KINDS = [
  { name: "windows", title: "Congestion window, packets", at: "at", lines: (series) => series.windows },
  { name: "rates", title: "Throughput, Mbit/s", at: "rateAt", lines: (series) => series.rates },
  { name: "queue", title: "Queue of the bottleneck, packets", at: "at", lines: (series) => [series.queues[0].packets], isOne: true },
  { name: "rtt", title: "Round-trip time, ms", at: "at", lines: (series) => series.rtts },
  { name: "jain", title: "Jain's index of the throughput", at: "rateAt", lines: (series) => [series.fairness], isOne: true, most: 1, isFairness: true },
];

/** Draws the results of all set-ups, with the same scales, into their places. `view` has the time and the receiver of clicks. */
export function drawResults(places, setups, view) {
  for (const plot of view.plots ?? []) plot.destroy();
  view.plots = [];
  const shown = setups.filter((setup) => setup.series);
  const limits = Object.fromEntries(KINDS.map((kind) => [kind.name, kind.most ?? highest(shown.flatMap((setup) => kind.lines(setup.series)))]));
  limits.phase = highest(shown.flatMap(({ series }) => [series.rates[0], series.rates.at(-1)]));
  limits.goodput = highest(shown.filter((setup) => !setup.isDraft).map(({ series }) => series.flows.map((flow) => flow.mbps)));
  const end = Math.max(...shown.map((setup) => setup.resolved.duration_s), 0);
  setups.forEach((setup, index) => drawOne(places[index], setup, { view, limits, end, name: "AB"[index], isAlone: setups.length === 1 }));
}

function highest(lines) {
  let most = 0;
  for (const line of lines) for (const value of line) if (value > most) most = value;
  return most * 1.05 || 1;
}

function drawOne(place, setup, { view, limits, end, name, isAlone }) {
  place.replaceChildren();
  place.classList.toggle("preview", setup.isDraft);
  const head = element("div");
  place.append(head);
  if (!isAlone) head.append(element("h2", {}, `${name}: ${setup.resolved?.title ?? ""}`));
  head.append(element("p", { class: "status" }, statusOf(setup)));
  if (setup.mistakes.length) head.append(element("ul", { class: "mistakes" }, ...setup.mistakes.map((line) => element("li", {}, line))));
  if (!setup.series) return;
  const charts = element("div");
  place.append(tableOf(setup, limits.goodput), charts);
  drawCharts(charts, setup, { view, limits, end, name });
}

/** A chart over time with its caption, its name for a screen reader, and its numbers. `name` is that of the set-up. */
function drawChart(place, { name, kind, caption, title, chart, view, end }) {
  const picture = element("div", { role: "img", "aria-label": nameOf(title, chart.labels, chart.data.slice(1)) });
  const numbers = numbersOf({
    key: `${name}-${kind}-numbers`, title, labels: chart.labels, data: chart.data,
    isOpen: (key) => !!view.open?.has(key),
    onToggle: (key, isOpen) => (view.open ??= new Set())[isOpen ? "add" : "delete"](key),
  });
  place.append(element("figure", { "data-chart": kind }, element("figcaption", {}, caption), picture, numbers));
  view.plots.push(timeChart(picture, { ...chart, range: () => [0, end], cursor: () => ({ at: view.at, isPast: view.isPlaying }), onPick: view.onPick }));
}

function drawCharts(place, setup, { view, limits, end, name }) {
  const { series, scenario } = setup;
  const flows = scenario.flows.map((_, index) => index).slice(0, MOST_LINES);
  const isShared = measuredOf(scenario).length > 1;
  for (const kind of KINDS.filter((it) => isShared || !it.isFairness)) {
    const lines = kind.isOne ? kind.lines(series) : flows.map((flow) => kind.lines(series)[flow]);
    const labels = kind.isOne ? [kind.name === "queue" ? series.queues[0].name : "Jain's index"] : flows.map((flow) => scenario.flows[flow].name);
    const chart = { labels, numbers: kind.isOne ? [0] : flows, data: [series[kind.at], ...lines], limits: () => [0, limits[kind.name]] };
    drawChart(place, { name, kind: kind.name, caption: kind.title, title: kind.title, chart, view, end });
  }
  if (scenario.flows.length >= 2) drawPhase(place, setup, view, limits);
  drawGauges(place, setup, view, end, name);
}

/** What the queue and the controllers report of themselves, such as the average of RED; drawn when it is opened. */
function drawGauges(place, { series, scenario }, view, end, setup) {
  const queue = series.gauges.map(({ name, at, values }) => ({ name, of: "the queue", at, labels: [name], numbers: [0], lines: [values] }));
  const controllers = series.flowGauges.map(({ name, flows, lines }) => {
    const shown = flows.filter((flow) => flow < MOST_LINES);
    const labels = shown.map((flow) => scenario.flows[flow].name);
    return { name, of: "the controllers", at: series.at, labels, numbers: shown, lines: lines.slice(0, shown.length) };
  });
  drawFolded(place, `Gauges of the queue (${scenario.links[0].queue?.kind})`, queue, "showsGauges", view, end, setup);
  drawFolded(place, "Gauges of the controllers", controllers.filter((it) => it.lines.length), "showsControllers", view, end, setup);
}

/** Charts that are drawn when they are opened, which `view[key]` remembers. */
function drawFolded(place, summary, gauges, key, view, end, setup) {
  if (!gauges.length) return;
  const charts = element("details", { open: view[key] }, element("summary", { "data-key": `${setup}-${key}` }, summary));
  charts.addEventListener("toggle", () => {
    if (charts.open === !!view[key]) return;
    view[key] = charts.open;
    view.redraw();
  });
  place.append(charts);
  if (!view[key]) return;
  const limits = (low, high) => [Math.min(0, low), high > low ? high + (high - low) * 0.05 : high + 1];
  for (const { name, of, at, labels, numbers, lines } of gauges) {
    drawChart(charts, { name: setup, kind: name, caption: name, title: `${name} of ${of}`, chart: { labels, numbers, data: [at, ...lines], limits }, view, end });
  }
}

function drawPhase(place, setup, view, limits) {
  const { series, scenario } = setup;
  const last = scenario.flows.length - 1;
  const names = [scenario.flows[0].name, scenario.flows[last].name];
  const canvas = element("canvas", { role: "img", "aria-label": `Throughput of ${names[0]} against that of ${names[1]} over time; the chart of throughputs has the numbers` });
  const figure = element("figure", { "data-chart": "phase" }, element("figcaption", {}, "Phase plot: throughputs, equal on the dashed line"), canvas);
  place.append(figure);
  const draw = () => phasePlot(canvas, {
    x: series.rates[0], y: series.rates[last], at: series.rateAt, until: view.at ?? Infinity,
    labels: names.map((name) => `${name}, Mbit/s`), colour: colourOf(0), highest: limits.phase,
  });
  draw();
  view.plots.push({ redraw: draw, destroy: () => {} });
}

function statusOf(setup) {
  if (setup.isRunning) return "Running";
  if (!setup.series) return "";
  const parts = [`${short(setup.packets / 1e3)} thousand packets simulated in ${short(setup.tookMs)} ms`];
  if (!setup.isDraft && setup.scenario.warmup_s) parts.push(`measured from ${asTime(setup.scenario.warmup_s)} on`);
  if (setup.digest) parts.push(`record ${setup.digest}`);
  return parts.join(" · ");
}

function tableOf(setup, mostRate) {
  const { series, scenario, isDraft } = setup;
  const rows = scenario.flows.slice(0, MOST_LINES).map((flow, index) => {
    // A preview ends before the time in which figures are taken.
    const { mbps, loss } = isDraft ? { mbps: NaN, loss: NaN } : series.flows[index];
    const bar = element("i", { style: `width: ${(100 * (mbps || 0)) / mostRate}%; background: ${colourOf(index)}` });
    return element(
      "tr", {}, element("th", { scope: "row" }, pieceOf(index), flow.name), element("td", {}, flow.controller ?? flow.traffic.kind),
      element("td", {}, `${short(flow.rtt_s * 1e3)}`), element("td", { class: "rate" }, short(mbps)),
      element("td", { class: "bar" }, bar), element("td", {}, short(loss * 100)),
    );
  });
  const head = ["Flow", "Controller", "RTT, ms", "Mbit/s", "", "Loss, %"].map((text) => element("th", text ? { scope: "col" } : { class: "bar" }, text));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  const doubt = isDraft ? "" : doubtOf(setup);
  return element("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Flows" }, element("p", { class: "headline" }, headlineOf(setup)), doubt, table);
}

/** The result of a run in a line. */
export function headlineOf({ series, scenario, resolved, isDraft }) {
  if (isDraft) return `Preview: the first ${asTime(scenario.duration_s)} of ${asTime(resolved.duration_s)}. The figures follow after the whole run.`;
  const parts = [`${series.dropped} packets dropped`];
  const measured = measuredOf(scenario).map((flow) => series.flows[flow].mbps);
  if (measured.length > 1) {
    parts.unshift(`Jain's index ${short(series.jain)}`, `largest / smallest ${short(Math.max(...measured) / Math.min(...measured))}`);
  }
  if (scenario.flows.length > MOST_LINES) parts.push(`${scenario.flows.length - MOST_LINES} more flows are not drawn`);
  return parts.join(" · ");
}

/** Says that the run is too short for its figures, and the duration that would suffice, if it is known. */
function doubtOf({ series, scenario }) {
  if (!series.tooShort) return "";
  const { flow, fewest, wanted_s: wanted } = series.tooShort;
  const unit = scenario.flows[flow].probe_cycle ? "cycle" : "loss event";
  const events = fewest ? `${short(fewest)} ${unit}${fewest === 1 ? "" : "s"}, fewer than ${ENOUGH_CYCLES}` : `no ${unit}`;
  const enough = wanted === null ? "" : `; a duration of about ${asTime(wanted)} would suffice`;
  const reason = `after the warm-up ${scenario.flows[flow].name} had ${events}${enough}.`;
  return element("p", { class: "doubt" }, element("strong", {}, "Not stationary: "), `too short to say anything about the long term, because ${reason}`);
}
