//! Profiles: the values of keys that a flow leaves out, inserted into the tree before it is read.

use std::borrow::Cow;

use fairhaul_cc::entry;

use super::assign::{PathStep, put};
use super::toml_tree::{Node, TomlValue, fragment};

/// The keys of a flow with the TCP of Linux 6.18 and their values as they come, as TOML [LINUX]. What is the same
/// without a profile (`min_rto`, `undo`, no limit of the window, no pacing, no ECN) is not repeated.
const TCP: &[(&str, &str)] = &[
    ("initial_window", "10"), // [RFC 6928]
    ("recovery", "rack"),
    (DELAYED_ACK, ADAPTIVE),
    ("whole_window", "true"),
    ("rto", "linux"),
    ("sockbuf", "linux"),
    ("restart", "linux"),
];

/// The key of which the receive offload of the simulator needs one value.
const DELAYED_ACK: &str = "delayed_ack";
const ADAPTIVE: &str = "adaptive";

/// What merges packets at a receiver: keys of its host. The moderation is that of the driver of the most common card of
/// 10 Gbit/s.
const RECEIVE_OFFLOAD: &[(&str, &str)] = &[("gro", "true"), ("moderation", "ixgbe")];

/// The profile of flows that name none, where the scenario names none either.
const DEFAULT: &str = "linux";

/// The tree, with what its profiles say where its flows say nothing.
pub(super) fn filled(tree: &Node) -> Cow<'_, Node> {
    let Some(TomlValue::List(flows)) = tree.get("flow").map(|flows| &flows.value) else {
        return Cow::Borrowed(tree);
    };
    let of = |flow: &Node| {
        // Another transport stack has its own hosts, and so have programs.
        if flow.get("stack").is_some() || flow.get("program").is_some() {
            return None;
        }
        let named = flow.get("profile").or(tree.get("profile")).cloned();
        let profile = named.unwrap_or_else(|| fragment(DEFAULT, flow.origin));
        word(&profile).is_some().then_some(profile)
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
    ["linux", "linux-tuned", "linux-tcp"].into_iter().find(|word| given == Some(word))
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
    let name = word(profile).unwrap_or(DEFAULT);
    let buffers = if name == "linux" { "auto" } else { "unlimited" };
    let hosts = [("offload", "auto"), ("send_buffer", buffers), ("receive_buffer", buffers)];
    let hosts = if name == "linux-tcp" { &[][..] } else { &hosts[..] };
    let own = [("slow_start", slow_start), ("profile", name)];
    for (key, text) in TCP.iter().chain(&own).chain(hosts) {
        set(flow, &[key], text, profile);
    }
    // A receiver that acknowledges by another rule has none for merged packets.
    if !hosts.is_empty() && flow.get(DELAYED_ACK).and_then(Node::text) == Some(ADAPTIVE) {
        for (key, text) in RECEIVE_OFFLOAD {
            set(flow, &["host", key], text, profile);
        }
    }
    if let Some((parameter, word)) = variant(&controller) {
        set(flow, &["controller", parameter], word, profile);
    }
}

/// Puts a value at a key of `flow`, or a key of its table, if there is none.
fn set(flow: &mut Node, path: &[&str], text: &str, profile: &Node) {
    let there = path.iter().try_fold(&*flow, |node, key| node.get(key));
    if there.is_none() {
        let path: Vec<PathStep> = path.iter().map(|key| PathStep::Key((*key).to_owned())).collect();
        let _ = put(flow, &path, &fragment(text, profile.origin)); // what is no table is refused where it is read
    }
}

/// The parameter, and its word, with which a controller is that of Linux.
fn variant(controller: &str) -> Option<(&'static str, &'static str)> {
    let entry = entry(controller)?;
    let (name, value) = entry.linux?;
    let parameter = entry.parameters.iter().find(|parameter| parameter.name == name)?;
    Some((name, parameter.kind.word(value)?))
}
