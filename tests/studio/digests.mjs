// Reads scenarios from the standard input, runs them in the engine as WebAssembly, and prints their digests:
// node digests.mjs ENGINE.wasm.gz
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { digestOf, openEngine } from "../../python/fairhaul/studio/parts/engine.mjs";

const module = new WebAssembly.Module(gunzipSync(readFileSync(process.argv[2])));

/** The same run, paused and looked at every half second. */
function inSteps(ask, input) {
  ask({ ask: "begin", ...input });
  for (let until = 0.5; until <= 6; until += 0.5) {
    const seen = ask({ ask: "advance", until_s: until });
    if (seen.now_s !== until || !(seen.flows[0].cwnd_packets > 0)) return seen;
  }
  return ask({ ask: "finish" });
}

const digests = {};
for (const [name, input] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const ask = openEngine(module);
  const answer = input.in_steps ? inSteps(ask, input) : ask({ ask: "run", ...input });
  digests[name] = answer.tables ? await digestOf(answer.tables) : answer;
}
console.log(JSON.stringify(digests));
