//! Profiles: the values of keys that a flow leaves out, inserted into the tree before it is read.

use std::borrow::Cow;

use fairhaul_cc::entry;

use super::assign::{PathStep, put};
use super::toml_tree::{Node, TomlEntry, TomlValue, fragment};

/// The keys of a flow on Linux 6.18 with its values as they come, as TOML [LINUX]. What is the same
/// without a profile (`min_rto`, `undo`, no limit of the window, no pacing, no ECN) is not repeated.
const LINUX: &[(&str, &str)] = &[
    ("initial_window", "10"), // [RFC 6928]
    ("recovery", "rack"),
    ("delayed_ack", "adaptive"),
    ("whole_window", "true"),
    ("rto", "linux"),
    ("sockbuf", "linux"),
    ("restart", "linux"),
];

/// Controllers whose flows have the sender of Linux where neither they nor the scenario say which. BBR is
/// used with losses found by time and the probe [RFC 8985] and nowhere without: after a burst of losses
/// it keeps its window, and a sender that waits for the timer then stands still at a full window.
const OF_LINUX: [&str; 2] = ["bbr", "bbr3"];

/// The tree, with what its profiles say where its flows say nothing.
pub(super) fn filled(tree: &Node) -> Cow<'_, Node> {
    let Some(TomlValue::List(flows)) = tree.get("flow").map(|flows| &flows.value) else {
        return Cow::Borrowed(tree);
    };
    let of = |flow: &Node| match flow.get("profile").or(tree.get("profile")) {
        Some(profile) => word(profile).is_some().then(|| profile.clone()),
        None => flow.get("controller").filter(|_| OF_LINUX.contains(&controller(flow))).cloned(),
    };
    let profiles: Vec<Option<Node>> = flows.iter().map(of).collect();
    if profiles.iter().all(Option::is_none) {
        return Cow::Borrowed(tree);
    }
    let mut tree = tree.clone();
    if let TomlValue::Table(entries) = &mut tree.value
        && let Some(TomlValue::List(flows)) =
            entries.iter_mut().find(|e| e.key == "flow").map(|e| &mut e.node.value)
    {
        for (flow, profile) in flows.iter_mut().zip(profiles) {
            if let Some(profile) = profile {
                fill(flow, &profile);
            }
        }
    }
    Cow::Owned(tree)
}

/// The word of a profile that has the TCP of Linux.
fn word(profile: &Node) -> Option<&'static str> {
    let given = profile.get("kind").unwrap_or(profile).text();
    ["linux", "linux-tcp"].into_iter().find(|word| given == Some(word))
}

/// The name of a flow's controller, or nothing.
fn controller(flow: &Node) -> &str {
    let name = flow.get("controller").and_then(|node| node.get("kind").unwrap_or(node).text());
    name.unwrap_or_default()
}

/// Puts the values of Linux where `flow` has none, as if they stood where its profile does.
fn fill(flow: &mut Node, profile: &Node) {
    let controller = controller(flow).to_owned();
    // In the kernel this is CUBIC's own.
    let slow_start = if controller == "cubic" { "hystart" } else { "full" };
    let name = word(profile).unwrap_or("linux-tcp");
    let TomlValue::Table(entries) = &mut flow.value else { return };
    for (key, text) in LINUX.iter().copied().chain([("slow_start", slow_start), ("profile", name)]) {
        if !entries.iter().any(|entry| entry.key == key) {
            let (origin, node) = (profile.origin, fragment(text, profile.origin));
            entries.push(TomlEntry { key: key.to_owned(), origin, node });
        }
    }
    if let Some((parameter, word)) = variant(&controller)
        && flow.get("controller").is_some_and(|node| node.get(parameter).is_none())
    {
        let path = ["controller", parameter].map(|key| PathStep::Key(key.to_owned()));
        let _ = put(flow, &path, &fragment(word, profile.origin)); // a word has keys
    }
}

/// The parameter, and its word, with which a controller is that of Linux.
fn variant(controller: &str) -> Option<(&'static str, &'static str)> {
    let entry = entry(controller)?;
    let (name, value) = entry.linux?;
    let parameter = entry.parameters.iter().find(|parameter| parameter.name == name)?;
    Some((name, parameter.kind.word(value)?))
}
