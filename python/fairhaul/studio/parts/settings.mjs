// Settings as `--set` takes them, written into the text of a scenario.

/** The text with `settings` written into it, where a page can do that, and the settings that remain. */
export function settled(text, settings, ask) {
  if (!settings.length) return { text, settings };
  const { values } = ask({ ask: "edit", text, edits: [] });
  if (!values) return { text, settings };
  const edits = settings.flatMap(([key, value]) => pathsOf(key.split("."), values).map((path) => ({ path, value: typed(value, ask) })));
  const remaining = { text, file: "scenario", settings };
  const wanted = ask({ ask: "check", ...remaining });
  if (wanted.variants?.length === 1 && values.sweep) edits.push({ path: ["sweep"], value: null });
  const edited = ask({ ask: "edit", text, edits });
  const reached = edited.text && ask({ ask: "check", ...remaining, text: edited.text, settings: [] });
  const isSame = reached?.scenario && JSON.stringify(reached.scenario) === JSON.stringify(wanted.scenario);
  return isSame ? { text: edited.text, settings: [] } : { text, settings };
}

/** The paths of a key, whose second part names flows with `*` for any letters. */
function pathsOf(parts, values) {
  if (parts[0] !== "flow") return [parts];
  const pattern = new RegExp(`^${parts[1].replace(/[^\w*-]/g, "\\$&").replaceAll("*", ".*")}$`);
  return (values.flow ?? []).flatMap((flow, index) => (pattern.test(flow.name) ? [["flow", index, ...parts.slice(2)]] : []));
}

/** A value as TOML; a text may stand without quotes. */
function typed(value, ask) {
  const probe = ask({ ask: "edit", text: "", edits: [{ path: ["x"], value }] });
  return probe.text ? value : JSON.stringify(value);
}
