//! A flow whose ends are programs, the keys that they replace, and what a setting that gives an end of a flow removes.

use super::fields::FlowKeys;
use super::mistake::Notes;
use super::reader::Key;
use super::stacked_flow::{REPLACED, replaced};
use super::toml_tree::{Node, TomlValue};
use crate::ProgramPair;

/// Settings of hosts that hold for programs, too.
const OF_HOSTS: [&str; 2] = ["offload", "host"];
const CONTROLLER: &str = "controller";
const STACK: &str = "stack";
const PROGRAM: &str = "program";

/// The programs of a flow, if it has any.
pub(super) fn programs(keys: &FlowKeys) -> Option<ProgramPair> {
    let program = keys.program.value.as_ref()?;
    Some(ProgramPair { sender: program.sender.value.clone()?, receiver: program.receiver.value.clone()? })
}

/// Programs replace what the keys of sender, receiver and traffic describe.
pub(super) fn check(keys: &FlowKeys, notes: &mut Notes) {
    let others = [&keys.stack.key, &keys.traffic.key, &keys.middlebox.key];
    let all = replaced(keys).into_iter().filter(|key| !OF_HOSTS.contains(&key.name)).chain(others);
    for key in all.filter(|key: &&Key| key.given) {
        key.note("not possible with a \"program\", which has its own", notes);
    }
}

/// A setting gives `key` of a flow: a stack or a program takes the place of all that it replaces, and a controller that of
/// both.
pub(super) fn make_room(flow: &mut Node, key: &str) {
    let TomlValue::Table(entries) = &mut flow.value else { return };
    match key {
        STACK => entries.retain(|entry| !REPLACED.contains(&&*entry.key) && entry.key != PROGRAM),
        CONTROLLER => entries.retain(|entry| ![STACK, PROGRAM].contains(&&*entry.key)),
        PROGRAM => entries.retain(|entry| !replaces(&entry.key)),
        _ => {}
    }
}

/// Whether a key of a flow is one that programs replace.
fn replaces(key: &str) -> bool {
    (REPLACED.contains(&key) && !OF_HOSTS.contains(&key)) || [STACK, "traffic"].contains(&key)
}
