// Whether a run is long enough to say something about the long term. The rule is that of python/fairhaul/measures/measures.py.

/** With fewer loss events a flow has not forgotten how it started. */
export const ENOUGH_LOSS_EVENTS = 20;
/** Loss events are not evenly spaced: a duration estimated from them is longer by this factor. */
const MARGIN = 1.25;
const REDUCTIONS = ["reduction", "marked"];

/** Of the measured bulk flow with the fewest loss events after the warm-up: its index, their number, and the duration of a run with enough of them, if it had any. Nothing, if every such flow had enough. */
export function tooShort(events, scenario) {
  const counts = new Map();
  scenario.flows.forEach((flow, index) => flow.role === "measured" && flow.traffic.kind === "bulk" && counts.set(index, 0));
  for (const { at, flow } of reductions(events)) if (at >= scenario.warmup_s && counts.has(flow)) counts.set(flow, counts.get(flow) + 1);
  const [flow, fewest] = [...counts].reduce((least, entry) => (entry[1] < least[1] ? entry : least), [null, ENOUGH_LOSS_EVENTS]);
  if (flow === null) return null;
  const longer = ((scenario.duration_s - scenario.warmup_s) * MARGIN * ENOUGH_LOSS_EVENTS) / fewest;
  return { flow, fewest, wanted_s: fewest ? scenario.warmup_s + longer : null };
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
