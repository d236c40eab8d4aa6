// What the charts show of a record: columns by flow, rates, shares and Jain's index.
import { limitsOf, tooShort } from "./stationary.mjs";

/** A table of an answer with its columns by name. */
function columnsOf(answer, name) {
  const table = answer.tables.find((it) => it.name === name);
  return Object.fromEntries(table.columns.map((column) => [column.name, column]));
}

/** The parts of a column that holds one part after the other, each with `bins` values. */
function partsOf(values, bins) {
  const parts = [];
  for (let at = 0; at < values.length; at += bins) parts.push(values.subarray(at, at + bins));
  return parts;
}

/** Jain's index of rates: 1 if all are equal, 1/n if one flow has everything [JAIN]. */
export function jain(rates) {
  const sum = rates.reduce((total, rate) => total + rate, 0);
  const squares = rates.reduce((total, rate) => total + rate * rate, 0);
  return squares > 0 ? (sum * sum) / (rates.length * squares) : NaN;
}

/** Everything that the page draws of a run of `scenario`. */
export function seriesOf(answer, scenario) {
  const rows = columnsOf(answer, "flow_series");
  const flows = scenario.flows.length;
  const bins = rows.t_s.values.length / flows;
  const at = Array.from(rows.t_s.values.subarray(0, bins));
  const ends = [...at.slice(1), scenario.duration_s];
  const delivered = partsOf(rows.delivered_bytes.values, bins);
  const links = columnsOf(answer, "link_series");
  const queues = partsOf(links.backlog_packets.values, bins);
  const events = eventsOf(answer, scenario);
  const found = figures(rows, links, at, ends, scenario);
  return {
    at,
    windows: partsOf(rows.cwnd_packets.values, bins).map((part) => Array.from(part)),
    rtts: partsOf(rows.rtt_s.values, bins).map((part) => Array.from(part, (x) => (Number.isNaN(x) ? null : x * 1e3))),
    queues: scenario.links.map((link, index) => ({ name: link.name, packets: Array.from(queues[index]) })),
    events,
    tooShort: tooShort(events, scenario, limitsOf(answer, scenario), found.flows),
    gauges: gaugesOf(answer, scenario),
    flowGauges: flowGaugesOf(answer, scenario),
    ...rates(delivered, at, ends, scenario),
    ...found,
  };
}

/** Throughput in Mbit/s over stretches that are long enough to be read, and the fairness of the measured flows in them. */
function rates(delivered, at, ends, scenario) {
  const STRETCHES = 120;
  const longest = Math.max(...scenario.flows.map((flow) => flow.rtt_s));
  const length = Math.max(scenario.duration_s / STRETCHES, 2 * longest);
  const measured = measuredOf(scenario);
  const times = [];
  const byFlow = delivered.map(() => []);
  const fairness = [];
  for (let first = 0; first < at.length; ) {
    let last = first;
    while (last + 1 < at.length && ends[last] - at[first] < length) last += 1;
    const span = ends[last] - at[first];
    // The rest of the run may be too short for a rate.
    if (span < length / 2 && times.length) break;
    delivered.forEach((bytes, flow) => {
      let sum = 0;
      for (let bin = first; bin <= last; bin += 1) sum += Number(bytes[bin]);
      byFlow[flow].push((sum * 8) / span / 1e6);
    });
    times.push((at[first] + ends[last]) / 2);
    const value = jain(measured.map((flow) => byFlow[flow].at(-1)));
    fairness.push(Number.isNaN(value) ? null : value);
    first = last + 1;
  }
  return { rateAt: times, rates: byFlow, fairness };
}

export const measuredOf = (scenario) =>
  scenario.flows.map((flow, index) => (flow.role === "measured" ? index : -1)).filter((index) => index >= 0);

/** The figures of the whole run after the warm-up. */
function figures(rows, links, at, ends, scenario) {
  const from = at.findIndex((start) => start >= scenario.warmup_s);
  const span = scenario.duration_s - scenario.warmup_s;
  const sum = (column, part) => {
    let all = 0;
    for (let bin = from; bin < at.length; bin += 1) all += Number(column.values[part * at.length + bin]);
    return all;
  };
  // The sum of a level over bins, each times its weight; a bin without a weight may have no level.
  const weighted = (column, part, weight) => {
    let all = 0;
    for (let bin = from; bin < at.length; bin += 1) all += weight(bin) ? column.values[part * at.length + bin] * weight(bin) : 0;
    return all;
  };
  const flows = scenario.flows.map((_, flow) => {
    const sent = sum(rows.sent, flow);
    const samples = (bin) => Number(rows.rtt_samples.values[flow * at.length + bin]);
    const rtt = weighted(rows.rtt_s, flow, samples) / sum(rows.rtt_samples, flow);
    const cwnd = weighted(rows.cwnd_packets, flow, (bin) => ends[bin] - at[bin]) / (ends.at(-1) - at[from]);
    return { mbps: (sum(rows.goodput_bytes, flow) * 8) / span / 1e6, loss: sent ? sum(rows.lost, flow) / sent : 0, rtt, cwnd };
  });
  const dropped = scenario.links.reduce((all, _, link) => all + sum(links.dropped, link), 0);
  return { flows, dropped, jain: jain(measuredOf(scenario).map((flow) => flows[flow].mbps)) };
}

/** Reductions, timeouts and changes of mode, by time. */
function eventsOf(answer, scenario) {
  const { t_s, kind, flow, value } = columnsOf(answer, "event");
  const names = scenario.flows.map((it) => it.name);
  return Array.from(t_s.values, (time, row) => ({
    at: time,
    kind: kind.words[kind.values[row]],
    flow: names.indexOf(flow.words[flow.values[row]]),
    value: value.values[row],
  }));
}

/** The gauges of the first link's queue. */
function gaugesOf(answer, scenario) {
  const { t_s, link, gauge, value } = columnsOf(answer, "gauge");
  const found = new Map();
  t_s.values.forEach((time, row) => {
    if (link.words[link.values[row]] !== scenario.links[0].name) return;
    const name = gauge.words[gauge.values[row]];
    if (!found.has(name)) found.set(name, { name, at: [], values: [] });
    found.get(name).at.push(time);
    found.get(name).values.push(value.values[row]);
  });
  return [...found.values()];
}

/** The gauges of the flows' controllers: by name, a line for each flow whose controller has that gauge. */
function flowGaugesOf(answer, scenario) {
  const { t_s, flow, gauge, value } = columnsOf(answer, "flow_gauge");
  const names = scenario.flows.map((it) => it.name);
  const found = new Map();
  t_s.values.forEach((time, row) => {
    const name = gauge.words[gauge.values[row]];
    const index = names.indexOf(flow.words[flow.values[row]]);
    if (!found.has(name)) found.set(name, new Map());
    const lines = found.get(name);
    if (!lines.has(index)) lines.set(index, []);
    lines.get(index).push(Number.isNaN(value.values[row]) ? null : value.values[row]);
  });
  return Array.from(found, ([name, lines]) => ({ name, flows: [...lines.keys()], lines: [...lines.values()] }));
}
