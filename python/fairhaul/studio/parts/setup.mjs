// A set-up: the text of a scenario, its values, and the result of its run.
import { makeRunner } from "./runner.mjs";
import { seriesOf } from "./series.mjs";
import { settled } from "./settings.mjs";

/** A run that takes longer than this, by the engine's estimate, is shortened while a slider is dragged. */
const DRAFT_SECONDS = 0.06;
/** Longer runs ask before they begin. */
const LONG_SECONDS = 60;

/** Makes a set-up. `ask` answers short requests at once; `onChange` is called whenever there is something new to show. */
export function makeSetup({ text, file, settings = [], ask, module, workerUrl, onChange }) {
  const runner = makeRunner(module, workerUrl);
  const setup = {
    file, variant: 0, ...settled(text, settings, ask), values: {}, variants: [], scenario: null, series: null,
    mistakes: [], digest: null, isDraft: false, isRunning: false, tookMs: null, allowsLong: false,
  };
  const input = () => ({ text: setup.text, file: setup.file, variant: setup.variant, settings: setup.settings });

  const checkWith = (more) => ask({ ask: "check", ...input(), settings: [...setup.settings, ...more] });

  /** The text of the chosen variant alone, and the settings that it leaves. */
  const single = () => settled(setup.text, [...setup.settings, ...setup.variants[setup.variant]], ask);
  const isSweep = () => setup.variants.length > 1;

  /** Reads the text and runs it; a draft is a shorter run. */
  setup.run = async (isDraft = false) => {
    const checked = ask({ ask: "check", ...input() });
    setup.mistakes = (checked.mistakes ?? (checked.failure ? [checked.failure] : [])).flatMap(explained);
    if (setup.mistakes.length) {
      onChange(setup);
      return;
    }
    setup.variants = checked.variants;
    setup.values = ask({ ask: "edit", text: isSweep() ? single().text : setup.text, edits: [] }).values;
    setup.resolved = checked.scenario;
    if (checked.estimate.seconds > LONG_SECONDS && !setup.allowsLong) {
      setup.mistakes = [`This run needs about ${Math.round(checked.estimate.seconds)} s or more. Press "Run" to start it.`];
      onChange(setup);
      return;
    }
    const part = isDraft ? Math.min(1, DRAFT_SECONDS / checked.estimate.seconds) : 1;
    const { scenario, shorter } = shortened(checked.scenario, part, checkWith);
    setup.isRunning = true;
    onChange(setup);
    const answer = await runner.ask({ ask: "run", ...input(), settings: [...setup.settings, ...shorter], is_draft: shorter.length > 0 });
    if (answer === null) return; // a newer request took its place
    setup.isRunning = false;
    if (answer.tables) {
      Object.assign(setup, {
        scenario, series: seriesOf(answer, scenario), digest: answer.digest ?? null, isDraft: shorter.length > 0,
        tookMs: answer.took_ms, packets: answer.packets, trace: null,
      });
    } else {
      setup.mistakes = answer.mistakes ?? [answer.failure];
    }
    onChange(setup);
  };

  setup.edit = (edits, isDraft) => {
    // A value that the sweep sets can only be changed where one variant of it is left.
    if (isSweep()) Object.assign(setup, single(), { variant: 0, variants: [] });
    const edited = ask({ ask: "edit", text: setup.text, edits });
    if (edited.mistakes) setup.mistakes = edited.mistakes;
    else setup.text = edited.text;
    setup.allowsLong = false;
    return setup.run(isDraft);
  };

  setup.replace = (newText, newFile = setup.file) => {
    Object.assign(setup, { text: newText, file: newFile, settings: [], variant: 0, allowsLong: false });
    return setup.run();
  };

  /** What happens to the packets of some flows in a part of the run. */
  setup.follow = (flows, from, until) => {
    const { shorter } = shortened(setup.resolved, Math.min(1, until / setup.resolved.duration_s), checkWith);
    return runner.ask({ ask: "trace", ...input(), settings: [...setup.settings, ...shorter], flows, from_s: from, until_s: until });
  };

  return setup;
}

/** A mistake, and what the studio cannot do where that may be its cause. */
function explained(mistake) {
  const files = mistake.replace("operation not supported on this platform", 'the studio cannot read files beside the scenario; "fairhaul run" can');
  if (!mistake.includes("unknown controller")) return [files];
  return [mistake, 'The studio cannot run controllers of your own (Python, eBPF, shared libraries); "fairhaul run" can.'];
}

/** A part of a run from its start, where the scenario allows a shorter one. */
function shortened(scenario, part, check) {
  if (part === 1) return { scenario, shorter: [] };
  const duration = scenario.duration_s * part;
  const shorter = [["duration", `${duration.toFixed(6)} s`], ["warmup", `${(scenario.warmup_s * part).toFixed(6)} s`]];
  const checked = check(shorter);
  return checked.scenario ? { scenario: checked.scenario, shorter } : { scenario, shorter: [] };
}
