// Quantities with units, as scenarios write them.

const TIMES = { ps: 1e-12, ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
const RATES = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12 };

function parse(text, units) {
  const match = /^\s*(\d*\.?\d+)\s*(\S+)\s*$/.exec(text ?? "");
  return match && match[2] in units ? Number(match[1]) * units[match[2]] : null;
}

/** Seconds; nothing, if the text is no single time. */
export const timeOf = (text) => parse(text, TIMES);

/** Bits per second. */
export const rateOf = (text) => parse(text, RATES);

/** A multiple of the bandwidth-delay product, such as "0.5 bdp". */
export const bdpOf = (text) => parse(text, { bdp: 1 });

/** At most three digits, without zeros at the end. */
export function short(value) {
  if (!Number.isFinite(value)) return "–";
  return String(Number(value.toPrecision(Math.abs(value) >= 1000 ? 4 : 3)));
}

/** A time with the digits that a step of so many seconds changes. */
export const secondsOf = (time, step) => time.toFixed(Math.max(0, 1 - Math.floor(Math.log10(step))));

function inUnits(value, units) {
  const found = units.find(([, size]) => value >= size) ?? units.at(-1);
  return `${short(value / found[1])} ${found[0]}`;
}

export const asTime = (seconds) => (seconds === 0 ? "0 s" : inUnits(seconds, [["s", 1], ["ms", 1e-3], ["us", 1e-6]]));
export const asRate = (bps) => inUnits(bps, [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3], ["bit/s", 1]]);

/** Where a slider over decades stops. */
const STOPS = [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.7, 3, 3.3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9, 9.5];
/** So many positions are a decade. */
export const DECADE = STOPS.length;

export function fromPosition(position) {
  const decade = Math.floor(position / DECADE);
  return Number((STOPS[position - decade * DECADE] * 10 ** decade).toPrecision(2));
}

/** The position whose value is nearest, by ratio. */
export function toPosition(value) {
  const near = Math.floor(Math.log10(value)) * DECADE;
  const distance = (position) => Math.abs(Math.log(fromPosition(position) / value));
  let best = near;
  for (let position = near; position <= near + DECADE; position += 1) if (distance(position) < distance(best)) best = position;
  return best;
}
