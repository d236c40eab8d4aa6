// The packet view: a few round trips of some flows, from the packet trace, on a canvas.
import { colourOf, css } from "./charts.mjs";

/** What happened to each packet and acknowledgement, from the traces of flows. */
export function packetsOf(answer, scenario) {
  const rate = scenario.links[0].rate_bps;
  return answer.tables.flatMap((table, index) => {
    const column = Object.fromEntries(table.columns.map((it) => [it.name, it]));
    const flow = answer.flows[index];
    const open = new Map();
    const found = [];
    const oneWay = scenario.flows[flow].rtt_s / 2;
    for (let row = 0; row < table.rows; row += 1) {
      const what = column.what.words[column.what.values[row]];
      const isAck = what.startsWith("ack");
      const key = `${isAck}-${column.connection.values[row]}-${column.number.values[row]}-${isAck ? column.sack.values[row] : ""}`;
      const at = column.t_s.values[row];
      if (what === "sent" || what === "ack_sent") {
        const bytes = Number(column.bytes.values[row]);
        const packet = { flow, isAck, from: at, to: null, isDropped: false, isAgain: !!column.again.values[row], oneWay, wire: (bytes * 8) / rate };
        if (!open.has(key)) open.set(key, []);
        open.get(key).push(packet);
        found.push(packet);
      } else {
        const packet = open.get(key)?.shift();
        if (packet) Object.assign(packet, { to: at, isDropped: what.endsWith("dropped") });
      }
    }
    return found;
  });
}

/** Where the stations are, in parts of the width. */
const [SENDER, QUEUE, LINK, RECEIVER] = [0.09, 0.42, 0.5, 0.91];

/** The place of a packet at a time: a lane position from 0 to 1, and whether it waits in the queue. */
function placeOf(packet, at) {
  const { from, to, oneWay, isAck } = packet;
  const access = oneWay * 0.35;
  if (packet.isDropped) {
    const part = Math.min(1, (at - from) / Math.max(1e-9, to - from));
    return { x: SENDER + (QUEUE - SENDER) * part, isQueued: false };
  }
  const arrives = to ?? from + oneWay;
  const beyond = oneWay - access;
  if (isAck) return { x: RECEIVER + (SENDER - RECEIVER) * Math.min(1, (at - from) / (arrives - from)), isQueued: false };
  if (at < from + access) return { x: SENDER + ((QUEUE - SENDER) * (at - from)) / access, isQueued: false };
  if (at < arrives - beyond) return { x: QUEUE, isQueued: true };
  return { x: LINK + ((RECEIVER - LINK) * (at - (arrives - beyond))) / beyond, isQueued: false };
}

/** Draws all packets at a time. `window` is how long a dropped packet falls. */
export function drawPackets(canvas, packets, scenario, flows, at, window) {
  const scale = devicePixelRatio;
  const width = Math.max(280, canvas.parentElement.clientWidth);
  const lane = 46;
  const height = 140 + flows.length * lane;
  if (canvas.width !== width * scale || canvas.height !== height * scale) {
    Object.assign(canvas, { width: width * scale, height: height * scale });
    canvas.style.height = `${height}px`;
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.clearRect(0, 0, width, height);
  const laneOf = new Map(flows.map((flow, index) => [flow, 44 + index * lane]));
  drawWires(ctx, width, height, scenario, flows, laneOf);
  const queued = [];
  let drops = 0;
  for (const packet of packets) {
    if (packet.from > at) continue;
    const y = laneOf.get(packet.flow);
    if (packet.isDropped && packet.to <= at) {
      drops += 1;
      const age = (at - packet.to) / window;
      if (age < 1) cross(ctx, QUEUE * width - 22, y + 4 + age * 60, packet.flow, 1 - age);
      continue;
    }
    if (packet.to !== null ? packet.to <= at : at > packet.from + packet.oneWay * 4) continue;
    const { x, isQueued } = placeOf(packet, at);
    if (isQueued) queued.push(packet);
    else dot(ctx, x * width, packet.isAck ? y + 14 : y, packet, flows);
  }
  drawQueue(ctx, width, height, queued.sort((a, b) => (a.to ?? Infinity) - (b.to ?? Infinity)), flows);
  return { queued: flows.map((flow) => queued.filter((packet) => packet.flow === flow).length), drops };
}

function drawWires(ctx, width, height, scenario, flows, laneOf) {
  ctx.font = "12px system-ui, sans-serif";
  ctx.textAlign = "left";
  for (const flow of flows) {
    const y = laneOf.get(flow);
    ctx.strokeStyle = css("line");
    ctx.lineWidth = 1;
    for (const [from, to, dy] of [[SENDER, QUEUE, 0], [LINK, RECEIVER, 0], [SENDER, RECEIVER, 14]]) {
      ctx.setLineDash(dy ? [2, 4] : []);
      ctx.beginPath();
      ctx.moveTo(from * width, y + dy);
      ctx.lineTo(to * width, y + dy);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.fillStyle = colourOf(flow);
    ctx.fillRect(SENDER * width - 8, y - 7, 6, 26);
    ctx.fillRect(RECEIVER * width + 2, y - 7, 6, 26);
    ctx.fillText(scenario.flows[flow].name, 4, y - 12);
  }
  ctx.fillStyle = css("soft");
  ctx.textAlign = "center";
  ctx.fillText("queue", QUEUE * width, 16);
  ctx.fillText("bottleneck", ((LINK + RECEIVER) / 2) * width, 16);
  ctx.strokeStyle = css("ink");
  ctx.strokeRect(QUEUE * width - 12, 24, (LINK - QUEUE) * width + 12, height - 34);
}

/** The queue in order of departure, next to leave first at the right; as many as there is room for. */
function drawQueue(ctx, width, height, queued, flows) {
  const room = (LINK - QUEUE) * width + 4;
  const size = queued.length > 60 ? 4 : 7;
  const columns = Math.max(1, Math.floor(room / (size + 2)));
  const rows = Math.floor((height - 76) / (size + 2));
  queued.slice(0, columns * rows).forEach((packet, index) => {
    const [column, row] = [index % columns, Math.floor(index / columns)];
    shape(ctx, LINK * width - 4 - (column + 1) * (size + 2), height - 18 - (row + 1) * (size + 2), size, packet.flow, flows);
  });
  ctx.fillStyle = css("ink");
  ctx.textAlign = "center";
  ctx.fillText(`${queued.length}`, ((QUEUE + LINK) / 2) * width - 6, 40);
}

/** A packet: each flow of the view has a shape, a square, a disc, a triangle or a diamond. */
function shape(ctx, left, top, size, flow, flows) {
  const [right, bottom, middle, centre] = [left + size, top + size, top + size / 2, left + size / 2];
  const corners = [
    [[left, top], [right, top], [right, bottom], [left, bottom]], null, [[centre, top], [right, bottom], [left, bottom]],
    [[centre, top], [right, middle], [centre, bottom], [left, middle]],
  ][flows.indexOf(flow)];
  ctx.fillStyle = colourOf(flow);
  ctx.beginPath();
  if (corners) corners.forEach(([x, y]) => ctx.lineTo(x, y));
  else ctx.arc(centre, middle, size / 2, 0, 2 * Math.PI);
  ctx.fill();
}

function dot(ctx, x, y, packet, flows) {
  if (packet.isAck) {
    ctx.fillStyle = colourOf(packet.flow);
    ctx.fillRect(x - 1, y - 4, 2, 8);
    return;
  }
  shape(ctx, x - 4, y - 4, 8, packet.flow, flows);
  if (packet.isAgain) {
    ctx.strokeStyle = css("ink");
    ctx.strokeRect(x - 5, y - 5, 10, 10);
  }
}

function cross(ctx, x, y, flow, strength) {
  ctx.globalAlpha = strength;
  ctx.strokeStyle = colourOf(flow);
  ctx.lineWidth = 2.5;
  ctx.beginPath();
  ctx.moveTo(x - 5, y - 5);
  ctx.lineTo(x + 5, y + 5);
  ctx.moveTo(x + 5, y - 5);
  ctx.lineTo(x - 5, y + 5);
  ctx.stroke();
  ctx.lineWidth = 1;
  ctx.globalAlpha = 1;
}
