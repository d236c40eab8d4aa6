//! Resolves the schedule of a link: from its keys to changes of rate, delay and loss.

use std::sync::Arc;

use fairhaul_path::impair::LossRule;
use fairhaul_path::{Rates, Schedule};
use fairhaul_units::{Rate, Span, Time};

use super::capacity_trace::{CapacityTrace, Traces};
use super::fields::{ChangeKeys, Direction, FlowKeys, LinkKeys, RateSpec, TraceKeys};
use super::loss_rules::loss_rule;
use super::mistake::Notes;

/// The rate of a link now and later, and its delays; what it loses depends on the flows.
pub(super) struct LinkSchedule {
    /// What capacities in time and in bdp go by.
    pub(super) rate: Rate,
    pub(super) fastest: Rate,
    pub(super) schedule: Schedule,
}

/// The course of a link; `None` where a part of it was wrong, which has been noted.
pub(super) fn link_schedule(link: &LinkKeys, traces: &Traces, notes: &mut Notes) -> Option<LinkSchedule> {
    let changes: Vec<(Time, &ChangeKeys)> = changes(link).collect();
    check(&changes, notes);
    let (rate, rates) = match link.rate.value.as_ref()? {
        RateSpec::Constant(rate) => (*rate, steps(*rate, &changes)),
        RateSpec::Trace(keys) => {
            for (_, change) in changes.iter().filter(|(_, change)| change.rate.key.given) {
                change.rate.key.note("not allowed here, because the rate follows a trace", notes);
            }
            let trace = trace(keys, traces, notes)?;
            (trace.mean, Some(trace.rates))
        }
    };
    let delays = changes.iter().filter_map(|(at, change)| Some((*at, change.delay.value?))).collect();
    let fastest = rates.as_ref().and_then(|rates| rates.fastest()).unwrap_or(rate);
    Some(LinkSchedule { rate, fastest, schedule: Schedule { rates, delays, losses: Vec::new() } })
}

/// From when on a direction of a link loses otherwise.
pub(super) fn losses(
    link: &LinkKeys,
    direction: Direction,
    flows: &[FlowKeys],
    notes: &mut Notes,
) -> Vec<(Time, LossRule)> {
    let mut losses = Vec::new();
    for (at, change) in changes(link) {
        let loss = match direction {
            Direction::Forward => &change.loss,
            Direction::Reverse => &change.reverse_loss,
        };
        if loss.value.is_some() {
            losses.push((at, loss_rule(loss, flows, notes).unwrap_or(LossRule::Probability(0.0))));
        }
    }
    losses
}

/// The entries of a schedule whose time could be read.
fn changes(link: &LinkKeys) -> impl Iterator<Item = (Time, &ChangeKeys)> {
    let changes = link.schedule.value.iter().flatten();
    changes.filter_map(|(_, change)| Some((Time::ZERO + change.at.value?, change)))
}

/// Times ascend, and something changes at each.
fn check(changes: &[(Time, &ChangeKeys)], notes: &mut Notes) {
    for pair in changes.windows(2).filter(|pair| pair[1].0 <= pair[0].0) {
        let text = format!("{} is not later than the {} of the previous entry", pair[1].0, pair[0].0);
        pair[1].1.at.key.note(text, notes);
    }
    for (_, change) in changes {
        let keys = [change.rate.key, change.delay.key, change.loss.key, change.reverse_loss.key];
        if !keys.iter().any(|key| key.given) {
            let text =
                "schedule: this entry changes nothing; set \"rate\", \"delay\", \"loss\" or \"reverse_loss\"";
            notes.note(change.origin, text);
        }
    }
}

/// The rates of a schedule, where it has any.
fn steps(rate: Rate, changes: &[(Time, &ChangeKeys)]) -> Option<Arc<Rates>> {
    let step = |(at, change): &(Time, &ChangeKeys)| Some((*at - Time::ZERO, change.rate.value?));
    let mut steps = vec![(Span::ZERO, Some(rate))];
    steps.extend(changes.iter().filter_map(step));
    let ascend = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    (steps.len() > 1 && ascend).then(|| Arc::new(Rates::new(&steps, None)))
}

fn trace(keys: &TraceKeys, traces: &Traces, notes: &mut Notes) -> Option<CapacityTrace> {
    let trace = traces.open(keys.trace.value.as_ref()?, keys.repeat.value);
    trace.map_err(|text| keys.trace.key.note(text, notes)).ok()
}
