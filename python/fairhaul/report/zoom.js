// A part of the time of a chart: the same chart, with the data of the record in that part.
const MOST_ROWS = 300;

// The columns of times.
const TIMES = ["t", "from"];

const fourDigits = (value) => Number(value.toPrecision(4));

// Unpack the series of raw data, which `zoom.py` has packed.
window.unpacked = (raw) => {
  raw.series = raw.series?.map(({ top, parts }) => {
    const bytes = Uint8Array.from(atob(parts), (letter) => letter.charCodeAt(0));
    return Array.from(new Uint16Array(bytes.buffer), (part) => (top * part) / 65535);
  });
  return raw;
};

// The first bin between two times, the one behind the last, and how many are drawn as one.
const partsOf = ({ start, step, series, most }, { from, to }) => {
  const first = Math.max(0, Math.floor((from - start) / step + 1e-6));
  const last = Math.min(series[0].length, Math.ceil((to - start) / step - 1e-6));
  return [first, last, Math.max(1, Math.ceil((last - first) / (most ?? MOST_ROWS)))];
};

// Put the raw bins between two times together, as `bins.py` does for the whole run.
const binned = (raw, shown, span, number) => {
  const { start, step, series } = raw;
  const [first, last, each] = partsOf(raw, span);
  const rows = [];
  for (let k = first; k < last; k += each) {
    const end = Math.min(k + each, last);
    const part = (values) => values.slice(k, end);
    const mean = (values) => part(values).reduce((sum, value) => sum + value, 0) / (end - k);
    const row = { t: fourDigits(start + (step * (k + end)) / 2) };
    if (shown === "lines") series.forEach((values, i) => { row[`v${i}`] = fourDigits(mean(values)); });
    else {
      row.mean = fourDigits(mean(series[number]));
      row.low = fourDigits(Math.min(...part(series[number])));
      row.high = fourDigits(Math.max(...part(series[number])));
    }
    rows.push(row);
  }
  return rows;
};

const ticksOf = ({ names, events }, { from, to }) =>
  events
    .filter(([t]) => t >= from && t <= to)
    .map(([t, of, timeout]) => ({ t, of: names[of], timeout: !!timeout, what: timeout ? "timeout" : "loss event" }));

const inside = (row, { from, to }) => ("from" in row ? row.from < to && row.t > from : row.t >= from && row.t <= to);

// Say which part of the time is shown, and over how long its values are averages.
window.zoomedText = (raw, span) => {
  const shown = `${fourDigits(span.from)} to ${fourDigits(span.to)} s`;
  return raw.kind === "events" ? shown : `${shown}, averaged over ${fourDigits(partsOf(raw, span)[2] * raw.step)} s`;
};

// Change `spec` to the chart of the time in `span`.
window.zoomed = (spec, raw, span) => {
  (spec.vconcat ?? [spec]).forEach((view, number) => {
    const rows = raw.kind === "events" ? ticksOf(raw, span) : binned(raw, raw.kind, span, number);
    view.data.values = rows;
    const top = raw.kind === "lines" ? 1.06 * Math.max(1e-9, ...rows.flatMap(({ t, ...of }) => Object.values(of))) : 0;
    for (const layer of view.layer) {
      const { x, y } = layer.encoding;
      if (TIMES.includes(x?.field)) x.scale = { domain: [span.from, span.to], nice: false, zero: false };
      if (top && y?.scale?.domain) y.scale.domain = [0, top];
      if (layer.mark.type !== "text") layer.mark.clip = true;
      if (layer.data?.values?.[0] && "t" in layer.data.values[0]) {
        layer.data.values = layer.data.values.filter((row) => inside(row, span));
      }
    }
  });
  return spec;
};
