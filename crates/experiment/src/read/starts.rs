//! The rules of the start of a flow, which need a controller that leaves slow start to the sender.

use fairhaul_cc::Controller;

use super::fields::FlowKeys;
use super::mistake::Notes;
use crate::{SlowStart, Startup};

/// Rules of the start need a controller that leaves slow start to the sender, and fit each other.
pub(super) fn starts(keys: &FlowKeys, notes: &mut Notes) {
    let slow_start = keys.slow_start.value;
    if matches!(slow_start, SlowStart::Limited { .. }) && keys.startup.value == Startup::RapidStart {
        let text = "\"rapid start\" triples the window where slow_start = \"limited\" bounds its growth: remove one of them";
        keys.startup.key.note(text, notes);
    }
    let Some(choice) = keys.controller.value.as_ref() else {
        return;
    };
    let needs = choice.build().needs();
    if !(needs.rates || needs.requests) {
        return;
    }
    let whose = choice.entry.name;
    let rules = [
        (matches!(slow_start, SlowStart::Search { .. }), &keys.slow_start.key),
        (keys.startup.value != Startup::None, &keys.startup.key),
        (keys.rate_limited_increase.value, &keys.rate_limited_increase.key),
    ];
    for (_, key) in rules.iter().filter(|(is_set, _)| *is_set) {
        let text = format!("not possible with {whose}, which sets its window itself from the start");
        key.note(text, notes);
    }
}
