// The page: lessons, set-ups, results, time, and the address that holds all of it.
import { button, element, keepingFocus, replaceChildren } from "./controls.mjs";
import { openEngine } from "./engine.mjs";
import { drawForm } from "./form.mjs";
import { packed, unpacked, unzipped } from "./link.mjs";
import { makePacketView } from "./packetview.mjs";
import { secondsOf } from "./quantity.mjs";
import { drawResults, headlineOf } from "./results.mjs";
import { makeSetup } from "./setup.mjs";
import { makeTransport } from "./transport.mjs";

const given = JSON.parse(document.getElementById("given").textContent);
const at = (id) => document.getElementById(id);

async function begin() {
  const wasm = await unzipped(at("engine").textContent.trim());
  const module = await WebAssembly.compile(wasm);
  const workerUrl = URL.createObjectURL(new Blob([at("worker").textContent], { type: "text/javascript" }));
  // Short requests are answered at once, in the page itself.
  let ask = openEngine(module);
  const answered = (request) => {
    const answer = ask(request);
    if (answer.isOver) ask = openEngine(module);
    return answer;
  };
  const page = { module, workerUrl, ask: answered, words: answered({ ask: "catalogue" }).words, setups: [], selected: 0, lesson: null };
  page.view = { at: null, isPlaying: false, redraw: () => drawAll(page), onPick: (time) => page.transport.pick(time) };
  page.transport = makeTransport(at("transport"), { timeline: () => timelineOf(page), onTime: (time, isPlaying) => showTime(page, time, isPlaying) });
  page.packets = makePacketView(at("packets"), { current: () => packetTime(page) });
  prepare(page);
  await load(page, (await stateIn(location.hash)) ?? given.start);
  addEventListener("hashchange", async () => {
    const state = await stateIn(location.hash);
    if (state && location.hash !== page.hash) await load(page, state);
  });
}

/** The state that a fragment has, or that of the lesson which it names. */
async function stateIn(fragment) {
  const lesson = given.lessons.find((it) => fragment === `#lesson=${it.name}`);
  return lesson ? stateOf(lesson) : unpacked(fragment);
}

const stateOf = ({ texts, files, name }) => ({ texts, files, lesson: name });

/** Shows a state: texts of one or two set-ups, and the lesson that they belong to. */
async function load(page, { texts, files = [], settings = [], lesson = null }) {
  page.lesson = lesson;
  page.selected = 0;
  page.setups = texts.slice(0, 2).map((text, index) => fresh(page, text, files[index] ?? "studio.toml", settings[index]));
  page.packets.forget();
  page.transport.reset();
  showLesson(page);
  // A short run first: something to look at within a second.
  await Promise.all(page.setups.map((setup) => setup.run(true)));
  await Promise.all(page.setups.map((setup) => setup.run()));
}

function fresh(page, text, file, settings) {
  return makeSetup({ text, file, settings, ask: page.ask, module: page.module, workerUrl: page.workerUrl, onChange: (setup) => changed(page, setup) });
}

function changed(page, setup) {
  if (!page.setups.includes(setup)) return;
  drawTabs(page);
  if (!setup.isRunning || setup === page.setups[page.selected]) drawPanel(page);
  if (setup.isRunning) {
    document.body.dataset.state = "running";
    return;
  }
  page.packets.forget();
  drawAll(page);
  document.body.dataset.state = page.setups.some((it) => it.isRunning) ? "running" : page.setups.some((it) => it.isDraft) ? "draft" : "ready";
  if (setup.isDraft) return;
  remember(page);
  announce(page);
}

/** Says to a screen reader what came out of all runs, once all are done. */
function announce(page) {
  if (document.body.dataset.state !== "ready") return;
  const results = page.setups.map((setup) => (setup.mistakes.length ? setup.mistakes.join(" ") : headlineOf(setup)));
  at("announced").textContent = results.map((text, index) => (results.length === 1 ? text : `Set-up ${"AB"[index]}: ${text}`)).join(". ");
}

function drawAll(page) {
  const places = page.setups.map((_, index) => at("results").children[index] ?? at("results").appendChild(element("section", { "aria-label": `Results ${"AB"[index]}` })));
  while (at("results").children.length > page.setups.length) at("results").lastChild.remove();
  at("results").dataset.count = page.setups.length;
  keepingFocus(at("results"), () => drawResults(places, page.setups, page.view));
  page.packets.announce();
}

async function remember(page) {
  const state = { texts: page.setups.map((setup) => setup.text), files: page.setups.map((setup) => setup.file), settings: page.setups.map((setup) => setup.settings), lesson: page.lesson };
  page.hash = `#s=${await packed(state)}`;
  history.replaceState(null, "", page.hash);
  at("whole").href = location.pathname + page.hash;
}

function drawPanel(page) {
  const setup = page.setups[page.selected];
  const editor = at("text");
  if (document.activeElement !== editor) editor.value = setup.text;
  at("variant-part").hidden = setup.variants.length < 2;
  at("variant").replaceChildren(...setup.variants.map((settings, index) =>
    element("option", { value: index, selected: index === setup.variant }, settings.map(([key, value]) => `${key} = ${value}`).join(", ") || "as it is")));
  // A form that is rebuilt while its slider is dragged would end the drag.
  if (!setup.resolved || at("form").dataset.isDragged) return;
  drawForm(at("form"), {
    values: setup.values, scenario: setup.resolved, words: page.words,
    edit: (edits, isDraft) => {
      if (isDraft) at("form").dataset.isDragged = "true";
      else delete at("form").dataset.isDragged;
      setup.edit(edits, isDraft);
    },
    append: (more) => setup.replace(setup.text.trimEnd() + "\n" + more),
  });
}

function drawTabs(page) {
  const isPair = page.setups.length === 2;
  const tabs = page.setups.map((_, index) => button(`Set-up ${"AB"[index]}`, () => select(page, index), { "aria-pressed": String(index === page.selected), "data-key": `set-up-${index}` }));
  const other = isPair
    ? button("Remove B", () => dropSecond(page), { "data-key": "other" })
    : button("Compare with a second set-up", () => addSecond(page), { "data-key": "other" });
  replaceChildren(at("tabs"), ...(isPair ? tabs : []), other);
}

function select(page, index) {
  page.selected = index;
  drawTabs(page);
  drawPanel(page);
  page.packets.announce();
}

function addSecond(page) {
  const first = page.setups[0];
  page.setups.push(fresh(page, first.text, first.file, first.settings));
  page.selected = 1;
  page.setups[1].run();
}

function dropSecond(page) {
  page.setups.pop();
  select(page, 0);
  drawAll(page);
  remember(page);
}

function timelineOf(page) {
  const shown = page.setups.filter((setup) => setup.series);
  const { scenario, series } = shown[page.selected] ?? shown[0] ?? {};
  if (!scenario) return { end: 1, step: 0.1, events: [] };
  const isLoss = (event) => event.kind === "reduction" || event.kind === "timeout";
  const events = series.events.filter(isLoss).map((event) => event.at);
  const end = Math.max(...shown.map((setup) => setup.scenario.duration_s));
  return { end, step: Math.max(...scenario.flows.map((flow) => flow.rtt_s)), events };
}

function showTime(page, time, isPlaying) {
  Object.assign(page.view, { at: time, isPlaying });
  for (const plot of page.view.plots ?? []) plot.redraw(false, true);
  page.packets.announce();
}

/** Where the packet view starts: at the time above, and with the whole run two round trips before the first loss event. */
function packetTime(page) {
  const setup = page.setups[page.selected];
  const { step, events } = timelineOf(page);
  const { at } = page.view;
  if (at !== null) return { setup, at, name: `at ${secondsOf(at, step)} s` };
  return events.length ? { setup, at: Math.max(0, events[0] - 2 * step), name: "before the first loss event" } : { setup, at: 0, name: "at the start" };
}

function showLesson(page) {
  const lesson = given.lessons.find((it) => it.name === page.lesson);
  at("lesson").hidden = !lesson;
  at("lessons").value = page.lesson ?? "";
  if (!lesson) return;
  const reference = element("a", { href: lesson.link, rel: "noreferrer" }, lesson.reference);
  at("lesson").replaceChildren(element("h2", {}, lesson.title), element("p", {}, lesson.text), element("p", { class: "note" }, "Source: ", reference));
}

function prepare(page) {
  at("lessons").append(element("option", { value: "" }, "Own scenario"), ...given.lessons.map((it) => element("option", { value: it.name }, it.title)));
  at("lessons").addEventListener("change", (event) => {
    const lesson = given.lessons.find((it) => it.name === event.target.value);
    if (lesson) load(page, stateOf(lesson));
  });
  const current = () => page.setups[page.selected];
  at("text").addEventListener("change", () => current().replace(at("text").value));
  at("run").addEventListener("click", () => {
    current().text = at("text").value;
    current().allowsLong = true;
    current().run();
  });
  at("variant").addEventListener("change", (event) => {
    current().variant = Number(event.target.value);
    current().run();
  });
  at("copy-file").addEventListener("click", () => copy(current().text, "The scenario file is copied."));
  at("copy-command").addEventListener("click", () => copy(command(current().text), "The command is copied."));
  at("copy-link").addEventListener("click", () => copy(location.href, "The link is copied."));
  // The fragment of the address is the state of the page, so it does not follow this link.
  at("skip").addEventListener("click", (event) => {
    event.preventDefault();
    at("stage").focus();
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    drawAll(page);
    page.packets.redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(page));
  if (innerWidth < 760) at("panel").open = false;
  document.body.classList.toggle("embedded", new URLSearchParams(location.search).has("embed"));
}

/** A command for a shell that runs a text without a file. */
const command = (text) => `fairhaul run /dev/stdin <<'END'\n${text.trimEnd()}\nEND\n`;

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    at("copied").textContent = done;
  } catch {
    at("text").closest("details").open = true;
    at("text").value = text;
    at("text").select();
    at("copied").textContent = "The browser does not allow copying; the text is selected below.";
  }
}

begin().catch((error) => {
  at("results").replaceChildren(element("p", { class: "mistakes" }, `The studio cannot start in this browser: ${error.message}`));
  document.body.dataset.state = "failed";
});
