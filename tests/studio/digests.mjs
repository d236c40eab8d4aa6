// Reads scenarios from the standard input, runs them in the engine as WebAssembly, and prints their digests:
// node digests.mjs ENGINE.wasm.gz
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { digestOf, openEngine } from "../../python/fairhaul/studio/parts/engine.mjs";

const module = new WebAssembly.Module(gunzipSync(readFileSync(process.argv[2])));
const digests = {};
for (const [name, input] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const answer = openEngine(module)({ ask: "run", ...input });
  digests[name] = answer.tables ? await digestOf(answer.tables) : answer;
}
console.log(JSON.stringify(digests));
