// Whether a run is long enough to say something about the long term. The rule is that of python/fairhaul/measures/long_term.py.

/** With fewer cycles a flow has not forgotten how it started. */
export const ENOUGH_CYCLES = 20;
/** Cycles are not evenly spaced: a duration estimated from them is longer by this factor. */
const MARGIN = 1.25;
const REDUCTIONS = ["reduction", "marked"];
/** A flow whose congestion window keeps it back for less of the time is limited by other things. */
const SELDOM = 0.05;

/** The part of the time for which the congestion window kept each flow back; nothing for a flow without a window. */
export function limitsOf({ tables }, scenario) {
  const [flows, limits, times] = tables.find((table) => table.name === "limit").columns;
  const sums = scenario.flows.map(() => ({ window: 0, all: 0 }));
  times.values.forEach((time, row) => {
    const sum = sums[scenario.flows.findIndex((flow) => flow.name === flows.words[flows.values[row]])];
    sum.all += time;
    if (limits.words[limits.values[row]] === "congestion window") sum.window += time;
  });
  return sums.map(({ window, all }) => (all ? window / all : null));
}

/** Of the measured bulk flow with the fewest cycles after the warm-up: its index, their number, and the duration of a run with enough of them, if it had any. Nothing, if every such flow had enough. `figures` are those of the flows. */
export function tooShort(events, scenario, limits, figures) {
  const counts = new Map();
  const length = scenario.duration_s - scenario.warmup_s;
  const needsCycles = (flow, index) => flow.role === "measured" && flow.traffic.kind === "bulk" && (limits[index] ?? 1) >= SELDOM;
  scenario.flows.forEach((flow, index) => needsCycles(flow, index) && counts.set(index, 0));
  for (const { at, flow } of reductions(events)) if (at >= scenario.warmup_s && counts.has(flow)) counts.set(flow, counts.get(flow) + 1);
  for (const [flow, losses] of counts) counts.set(flow, cycles(scenario.flows[flow].probe_cycle, losses, figures[flow], length));
  const [flow, fewest] = [...counts].reduce((least, entry) => (entry[1] < least[1] ? entry : least), [null, ENOUGH_CYCLES]);
  if (flow === null) return null;
  const longer = (length * MARGIN * ENOUGH_CYCLES) / fewest;
  return { flow, fewest, wanted_s: fewest ? scenario.warmup_s + longer : null };
}

/** How often a flow learned the path anew in `length` seconds: with each loss event or, where its controller probes without losses, in each cycle of its own, which a loss event ends early if it has round trips. */
function cycles(cycle, losses, { rtt, cwnd }, length) {
  if (!cycle) return losses;
  const rounds = cycle.rounds + cycle.rounds_per_packet * cwnd;
  const trips = rtt ? length / rtt : 0;
  return Math.min(rounds ? Math.max(losses, trips / rounds) : Infinity, cycle.seconds ? length / cycle.seconds : Infinity);
}

/** The reductions of windows that were not undone: packets of an undone one were late and not lost. */
function reductions(events) {
  const isUndone = (event) => event.kind === "undone";
  const ordered = events.filter((event) => isUndone(event) || REDUCTIONS.includes(event.kind));
  // At one time an event `undone` is the last.
  ordered.sort((one, other) => one.at - other.at || isUndone(one) - isUndone(other));
  const since = new Map();
  return ordered.reverse().filter((event) => {
    if (!isUndone(event)) return event.at < (since.get(event.flow) ?? Infinity);
    since.set(event.flow, event.value);
    return false;
  });
}
