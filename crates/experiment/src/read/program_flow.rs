//! A flow whose ends are programs, and the keys that they replace.

use super::fields::FlowKeys;
use super::mistake::Notes;
use super::reader::Key;
use super::stacked_flow::{REPLACED, replaced};
use crate::ProgramPair;

/// Settings of hosts that hold for programs, too.
const OF_HOSTS: [&str; 2] = ["offload", "host"];

/// The programs of a flow, if it has any.
pub(super) fn programs(keys: &FlowKeys) -> Option<ProgramPair> {
    let program = keys.program.value.as_ref()?;
    Some(ProgramPair { sender: program.sender.value.clone()?, receiver: program.receiver.value.clone()? })
}

/// Programs replace what the keys of sender, receiver and traffic describe.
pub(super) fn check(keys: &FlowKeys, notes: &mut Notes) {
    let others = [&keys.stack.key, &keys.traffic.key];
    let all = replaced(keys).into_iter().filter(|key| !OF_HOSTS.contains(&key.name)).chain(others);
    for key in all.filter(|key: &&Key| key.given) {
        key.note("not possible with a \"program\", which has its own", notes);
    }
}

/// Whether a key of a flow is one that programs replace.
pub(super) fn replaces(key: &str) -> bool {
    (REPLACED.contains(&key) && !OF_HOSTS.contains(&key)) || ["stack", "traffic"].contains(&key)
}
