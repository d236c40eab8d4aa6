// The worker: runs that take long, away from the page. The page ends it when a newer request makes its work useless.
import { buffersOf, digestOf, openEngine } from "./engine.mjs";

let ask;

self.onmessage = async ({ data: { module, request, number } }) => {
  if (module) {
    ask = openEngine(module);
    return;
  }
  const begun = performance.now();
  const answer = ask(request);
  answer.took_ms = performance.now() - begun;
  if (request.ask === "run" && answer.tables && !request.is_draft && self.crypto?.subtle) {
    answer.digest = await digestOf(answer.tables);
  }
  self.postMessage({ number, answer }, buffersOf(answer));
};
