// Reads scenarios from the standard input, runs them in the engine as WebAssembly, and prints the figures that the page shows:
// node figures.mjs ENGINE.wasm.gz
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { openEngine } from "../../python/fairhaul/studio/parts/engine.mjs";
import { seriesOf } from "../../python/fairhaul/studio/parts/series.mjs";

const module = new WebAssembly.Module(gunzipSync(readFileSync(process.argv[2])));
const figures = {};
for (const [name, input] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  const ask = openEngine(module);
  const { scenario } = ask({ ask: "check", ...input });
  const { tooShort, flows } = seriesOf(ask({ ask: "run", ...input }), scenario);
  figures[name] = { too_short: tooShort, mbps: flows.map((flow) => flow.mbps) };
}
console.log(JSON.stringify(figures));
