//! A flow with a transport stack: the keys that it cannot have, and that a stack replaces.

use super::fields::FlowKeys;
use super::mistake::Notes;
use super::reader::Key;
use crate::{Middlebox, Traffic};

/// The keys that describe sender, receiver and hosts.
pub(super) const REPLACED: [&str; 32] = [
    "controller",
    "recovery",
    "initial_window",
    "initial_ssthresh",
    "max_window",
    "min_window",
    "slow_start",
    "startup",
    "rate_limited_increase",
    "growth",
    "restart",
    "first_beta",
    "ecn",
    "ect1",
    "accecn",
    "accecn_option",
    "mark_beta",
    "pacing",
    "max_pacing_rate",
    "offload",
    "undo",
    "delayed_ack",
    "ack_every",
    "whole_window",
    "min_rto",
    "rto",
    "on_timeout",
    "send_buffer",
    "sockbuf",
    "receive_buffer",
    "host",
    "connections",
];

/// The keys that are replaced.
pub(super) fn replaced(keys: &FlowKeys) -> [&Key; REPLACED.len()] {
    [
        &keys.controller.key,
        &keys.recovery.key,
        &keys.initial_window.key,
        &keys.initial_ssthresh.key,
        &keys.max_window.key,
        &keys.min_window.key,
        &keys.slow_start.key,
        &keys.startup.key,
        &keys.rate_limited_increase.key,
        &keys.growth.key,
        &keys.restart.key,
        &keys.first_beta.key,
        &keys.ecn.key,
        &keys.ect1.key,
        &keys.accecn.key,
        &keys.accecn_option.key,
        &keys.mark_beta.key,
        &keys.pacing.key,
        &keys.max_pacing_rate.key,
        &keys.offload.key,
        &keys.undo.key,
        &keys.delayed_ack.key,
        &keys.ack_every.key,
        &keys.whole_window.key,
        &keys.min_rto.key,
        &keys.rto.key,
        &keys.on_timeout.key,
        &keys.send_buffer.key,
        &keys.sockbuf.key,
        &keys.receive_buffer.key,
        &keys.host.key,
        &keys.connections.key,
    ]
}

/// A stack replaces what the keys of sender, receiver and hosts describe.
pub(super) fn stacked(keys: &FlowKeys, notes: &mut Notes) {
    let text = "not possible with a \"stack\", which has its own; its settings are keys of \"stack\"";
    for key in replaced(keys) {
        if key.given {
            key.note(text, notes);
        }
    }
    if !matches!(keys.middlebox.value, Middlebox::None | Middlebox::ClearsEcn) {
        let text =
            "changes the feedback of TCP, which a stack need not have; wanted \"none\" or \"clears ecn\"";
        keys.middlebox.key.note(text, notes);
    }
    if matches!(keys.traffic.value, Traffic::Cbr { .. }) {
        keys.stack.key.note("not possible with \"cbr\" traffic, which is datagrams alone", notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::mistake::SourceSpan;
    use crate::read::reader::table;
    use crate::read::toml_tree::fragment;

    #[test]
    fn what_a_stack_replaces_are_the_keys_that_it_cannot_have() {
        let flow = fragment("{ name = \"F1\", controller = \"reno\" }", SourceSpan::Line(1));
        let keys = table::<FlowKeys>(&flow, &mut Notes::default()).expect("it has all required keys");
        assert_eq!(replaced(&keys).map(|key| key.name), REPLACED);
    }
}
