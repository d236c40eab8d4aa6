// The state of the page as a fragment of its address: zlib and base64 with the letters of addresses.

// A link has some kilobytes, and a state some hundred. Zlib makes a thousand bytes of one.
const LONGEST_LINK = 200_000;
const LARGEST_STATE = 2_000_000;

async function through(stream, bytes, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const chunks = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new RangeError("too much is packed");
    }
    chunks.push(part.value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

export async function packed(state) {
  const bytes = await through(new CompressionStream("deflate"), new TextEncoder().encode(JSON.stringify(state)));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The state in a fragment; nothing, if there is none, or it is damaged or far too large. */
export async function unpacked(fragment) {
  const match = /^#s=([\w-]+)$/.exec(fragment);
  if (!match || fragment.length > LONGEST_LINK) return null;
  try {
    const letters = atob(match[1].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(new DecompressionStream("deflate"), Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), LARGEST_STATE);
    const state = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(state.texts) && state.texts.every((text) => typeof text === "string") ? state : null;
  } catch {
    return null;
  }
}

export async function unzipped(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return through(new DecompressionStream("gzip"), bytes);
}
