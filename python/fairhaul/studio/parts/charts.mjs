// Charts over time with uPlot, and the phase plot of two flows.
import { short } from "./quantity.mjs";

const COLOURS = 8;
const HEIGHT = 190;
const FONT = "12px system-ui, sans-serif";
/** More lines than this cannot be told apart. */
export const MOST_LINES = 24;

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const colourOf = (index) => css(`c${(index % COLOURS) + 1}`);

/** The dashes of a line, from the style sheet, as lengths of the line and the gaps. */
const dashOf = (index) => {
  let most = 0;
  while (css(`d${most + 1}`)) most += 1;
  return css(`d${(index % most) + 1}`).split(" ").map(Number);
};

/** A piece of a line, as a sign of it in a table. */
export function pieceOf(index) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "line");
  svg.setAttribute("aria-hidden", "true");
  const piece = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "line"));
  for (const [key, value] of Object.entries({ x1: 1, x2: 21, y1: 4, y2: 4, "stroke-width": 2.4, "stroke-linecap": "round" })) piece.setAttribute(key, value);
  Object.assign(piece.style, { stroke: colourOf(index), strokeDasharray: dashOf(index).join(" ") });
  return svg;
}

function lineOf(label, index) {
  return {
    label,
    stroke: () => colourOf(index),
    width: 1.6,
    cap: "round",
    dash: dashOf(index),
    points: { show: false },
    spanGaps: false,
  };
}

function axis(extra) {
  return {
    stroke: () => css("soft"),
    font: FONT,
    grid: { stroke: () => css("grid"), width: 1 },
    ticks: { show: false },
    ...extra,
  };
}

/** The height of a name beside a line, and the most room for names. */
const NAME = 13;
const MOST_ROOM = 90;

/** The room for the names of lines at the right of a chart; none for one line, or for more names than there is height for. */
function roomFor(labels) {
  if (labels.length < 2 || labels.length * NAME > HEIGHT - 40) return 8;
  const ctx = document.createElement("canvas").getContext("2d");
  ctx.font = FONT;
  return Math.min(MOST_ROOM, 10 + Math.max(...labels.map((label) => ctx.measureText(label).width)));
}

/** Writes the names of lines behind their ends, moved apart where they would overlap. */
function nameLines(plot, labels, numbers) {
  if (roomFor(labels) === 8) return;
  const { ctx, bbox, data } = plot;
  const scale = devicePixelRatio;
  const names = labels.map((label, index) => ({ label, number: numbers[index], y: plot.valToPos(data[index + 1].findLast((value) => value !== null) ?? 0, "y", true) }));
  names.sort((a, b) => a.y - b.y);
  names.forEach((name, index) => { name.y = Math.max(name.y, index ? names[index - 1].y + NAME * scale : bbox.top); });
  names.reverse().forEach((name, index) => { name.y = Math.min(name.y, index ? names[index - 1].y - NAME * scale : bbox.top + bbox.height); });
  ctx.save();
  Object.assign(ctx, { font: FONT.replace("12", 12 * scale), textAlign: "left", textBaseline: "middle" });
  for (const { label, number, y } of names) {
    ctx.fillStyle = colourOf(number);
    ctx.fillText(label, bbox.left + bbox.width + 6 * scale, y, (MOST_ROOM - 8) * scale);
  }
  ctx.restore();
}

/** Shades what lies after the cursor of the page, and draws the cursor. */
function drawLater(plot, cursor) {
  const { at, isPast } = cursor();
  if (at === null) return;
  const { ctx, bbox } = plot;
  const x = Math.max(bbox.left, Math.min(bbox.left + bbox.width, plot.valToPos(at, "x", true)));
  ctx.save();
  if (isPast) {
    ctx.globalAlpha = 0.82;
    ctx.fillStyle = css("paper");
    ctx.fillRect(x, bbox.top - 2, bbox.left + bbox.width - x + 2, bbox.height + 4);
  }
  ctx.globalAlpha = 1;
  ctx.fillStyle = css("ink");
  ctx.fillRect(x - 1, bbox.top, devicePixelRatio, bbox.height);
  ctx.restore();
}

/** A chart over time in `place`. `numbers` are those of the lines' looks; `limits` bound the y axis; `cursor` gives the time of the page; `onPick` receives a time. */
export function timeChart(place, { labels, numbers, data, limits, range, cursor, onPick }) {
  const options = {
    width: Math.max(200, place.clientWidth),
    height: HEIGHT,
    padding: [null, roomFor(labels), null, null],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: false, range }, y: { range: (_, low, high) => limits(low ?? 0, high ?? 1) } },
    axes: [
      axis({ size: 28, values: (_, ticks) => ticks.map((tick) => `${short(tick)} s`), space: 60 }),
      axis({ size: 52, values: (_, ticks) => ticks.map(compact), space: 32 }),
    ],
    series: [{}, ...labels.map((label, index) => lineOf(label, numbers[index]))],
    hooks: { draw: [(plot) => drawLater(plot, cursor), (plot) => nameLines(plot, labels, numbers)] },
  };
  const plot = new uPlot(options, data, place);
  plot.over.addEventListener("click", (event) => onPick(plot.posToVal(event.offsetX, "x")));
  const note = document.createElement("div");
  note.className = "note-at";
  place.append(note);
  plot.setCursorNote = () => {
    const row = plot.cursor.idx;
    note.textContent =
      row === null || row === undefined || plot.cursor.left < 0
        ? ""
        : [`${short(data[0][row])} s`, ...labels.slice(0, 6).map((label, i) => `${label} ${short(data[i + 1][row] ?? NaN)}`)].join(" · ");
  };
  plot.over.addEventListener("mousemove", () => requestAnimationFrame(plot.setCursorNote));
  plot.over.addEventListener("mouseleave", () => requestAnimationFrame(plot.setCursorNote));
  return plot;
}

function compact(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  return size >= 1e6 ? `${short(value / 1e6)} M` : size >= 1e4 ? `${short(value / 1e3)} k` : short(value);
}

/** Draws one flow against another on a canvas, up to a time. */
export function phasePlot(canvas, { x, y, at, until, labels, colour, highest }) {
  const most = rounded(highest);
  const side = Math.min(420, Math.max(220, canvas.parentElement.clientWidth));
  const scale = devicePixelRatio;
  Object.assign(canvas, { width: side * scale, height: side * scale });
  canvas.style.width = canvas.style.height = `${side}px`;
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  const [left, bottom, size] = [46, side - 34, side - 72];
  const px = (value) => left + (value / most) * size;
  const py = (value) => bottom - (value / most) * size;
  ctx.font = FONT;
  ctx.strokeStyle = css("grid");
  ctx.fillStyle = css("soft");
  for (let step = 0; step <= 4; step += 1) {
    const value = (most * step) / 4;
    line(ctx, [[px(value), py(0)], [px(value), py(most)]]);
    line(ctx, [[px(0), py(value)], [px(most), py(value)]]);
    ctx.textAlign = "center";
    ctx.fillText(compact(value), px(value), bottom + 15);
    ctx.textAlign = "right";
    ctx.fillText(compact(value), left - 6, py(value) + 4);
  }
  ctx.textAlign = "center";
  ctx.fillText(labels[0], left + size / 2, side - 4);
  ctx.textAlign = "left";
  ctx.fillText(labels[1], left, 14);
  ctx.strokeStyle = css("line");
  ctx.setLineDash([4, 4]);
  line(ctx, [[px(0), py(0)], [px(most), py(most)]]);
  ctx.setLineDash([]);
  ctx.strokeStyle = colour;
  ctx.globalAlpha = 0.75;
  const rows = at.filter((time) => time <= until).length;
  const points = Array.from({ length: rows }, (_, row) => [px(x[row]), py(y[row])]);
  canvas.dataset.last = JSON.stringify(rows ? [x[rows - 1], y[rows - 1]] : null);
  line(ctx, points);
  ctx.globalAlpha = 1;
  ctx.fillStyle = css("ink");
  if (points.length) ctx.fillRect(points.at(-1)[0] - 3, points.at(-1)[1] - 3, 6, 6);
}

/** The next number whose quarters are short. */
function rounded(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].find((step) => step * unit >= value) * unit;
}

function line(ctx, points) {
  ctx.beginPath();
  points.forEach(([x, y], index) => (index ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.stroke();
}
