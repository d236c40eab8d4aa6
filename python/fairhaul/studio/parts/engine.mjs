// The engine: requests as objects in, answers with typed arrays out. crates/web describes both texts.

const PREFIX = 4;

/** Makes an engine of a compiled module; `ask(request)` gives the answer to a request. */
export function openEngine(module) {
  const { exports } = new WebAssembly.Instance(module, {});
  const answer = () => {
    const at = exports.answer_bytes();
    return readAnswer(exports.memory.buffer.slice(at, at + exports.answer_length()));
  };
  return (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const at = exports.request_bytes(bytes.length);
    new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
    try {
      exports.answer_request();
    } catch (trap) {
      // After a panic the answer is its text; the memory may be in any state, so the engine is over.
      const failed = answer();
      return { failure: failed.failure ?? String(trap), isOver: true };
    }
    return answer();
  };
}

/** The answer in `buffer`: its text, and for each table its columns by name. */
function readAnswer(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, PREFIX, length)));
  const base = PREFIX + length;
  for (const table of answer.tables ?? []) {
    for (const column of table.columns) {
      column.values ??= values(column.type, buffer, base + column.at, table.rows);
    }
  }
  return answer;
}

function values(type, buffer, at, rows) {
  const types = { whole: BigUint64Array, real: Float64Array, maybe: Float64Array, words: Int32Array, flag: Uint8Array };
  return new types[type](buffer, at, rows);
}

/** The buffers behind the columns of an answer, which may move to another thread. */
export function buffersOf(answer) {
  const columns = (answer.tables ?? []).flatMap((table) => table.columns);
  return [...new Set(columns.map((column) => column.values.buffer).filter(Boolean))];
}

const TABLES = ["flow_series", "link_series", "transfer", "event", "gauge", "flow_gauge", "queue_delay", "limit"];

/** The digest of all values of all tables, as `python -m tests.digests` computes it. */
export async function digestOf(tables) {
  const sums = [];
  for (const name of TABLES) {
    for (const column of tables.find((table) => table.name === name).columns) {
      sums.push(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(column))));
    }
  }
  const all = new Uint8Array(sums.length * 32);
  sums.forEach((sum, index) => all.set(sum, index * 32));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return Array.from(digest.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesOf({ type, values, words }) {
  switch (type) {
    case "words": return new TextEncoder().encode(Array.from(values, (key) => words[key]).join("\n"));
    case "maybe": return Float64Array.from(values, (value) => (Number.isNaN(value) ? NaN : value));
    default: return values;
  }
}
