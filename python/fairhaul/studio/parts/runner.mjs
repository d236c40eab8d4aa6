// Runs in a worker, of which only the newest counts.

/** A runner with a worker of its own. `workerUrl` is the program of the worker, `module` the compiled engine. */
export function makeRunner(module, workerUrl) {
  let worker = null;
  let waiting = null;
  let number = 0;

  const start = () => {
    worker = new Worker(workerUrl);
    worker.postMessage({ module });
    worker.onmessage = ({ data }) => {
      if (waiting?.number !== data.number) return;
      const { resolve } = waiting;
      waiting = null;
      if (data.answer.isOver) restart();
      resolve(data.answer);
    };
    worker.onerror = (event) => {
      waiting?.resolve({ failure: event.message });
      waiting = null;
      restart();
    };
  };
  const restart = () => {
    worker.terminate();
    start();
  };

  start();
  return {
    /** The answer to `request`; nothing, if a newer request came before it was there. */
    ask(request) {
      if (waiting) {
        waiting.resolve(null);
        waiting = null;
        restart();
      }
      number += 1;
      return new Promise((resolve) => {
        waiting = { number, resolve };
        worker.postMessage({ request, number });
      });
    },
    get isBusy() {
      return waiting !== null;
    },
  };
}
