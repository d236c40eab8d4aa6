//! Checks a flow with a transport stack: the keys that it cannot have.

use super::fields::FlowKeys;
use super::mistake::Notes;
use crate::Traffic;

/// A stack replaces what the keys of sender, receiver and hosts describe.
pub(super) fn stacked(keys: &FlowKeys, notes: &mut Notes) {
    let text = "not possible with a \"stack\", which has its own; its settings are keys of \"stack\"";
    for key in [
        keys.controller.key,
        keys.recovery.key,
        keys.initial_window.key,
        keys.initial_ssthresh.key,
        keys.max_window.key,
        keys.min_window.key,
        keys.slow_start.key,
        keys.startup.key,
        keys.rate_limited_increase.key,
        keys.growth.key,
        keys.restart.key,
        keys.first_beta.key,
        keys.ecn.key,
        keys.mark_beta.key,
        keys.pacing.key,
        keys.max_pacing_rate.key,
        keys.offload.key,
        keys.undo.key,
        keys.delayed_ack.key,
        keys.ack_every.key,
        keys.whole_window.key,
        keys.min_rto.key,
        keys.rto.key,
        keys.on_timeout.key,
        keys.send_buffer.key,
        keys.sockbuf.key,
        keys.receive_buffer.key,
        keys.host.key,
        keys.connections.key,
    ] {
        if key.given {
            key.note(text, notes);
        }
    }
    if matches!(keys.traffic.value, Traffic::Cbr { .. }) {
        keys.stack.key.note("not possible with \"cbr\" traffic, which is datagrams alone", notes);
    }
}
