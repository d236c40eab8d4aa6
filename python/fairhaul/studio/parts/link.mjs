// The state of the page as a fragment of its address: zlib and base64 with the letters of addresses.

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function packed(state) {
  const bytes = await through(new CompressionStream("deflate"), new TextEncoder().encode(JSON.stringify(state)));
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The state in a fragment; nothing, if there is none or it is damaged. */
export async function unpacked(fragment) {
  const match = /^#s=([\w-]+)$/.exec(fragment);
  if (!match) return null;
  try {
    const letters = atob(match[1].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(new DecompressionStream("deflate"), Uint8Array.from(letters, (letter) => letter.charCodeAt(0)));
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
