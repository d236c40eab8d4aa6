//! What of a link changes while a run lasts, as its table says.

use std::sync::Arc;

use fairhaul_path::impair::LossRule;
use fairhaul_path::{Rates, Schedule};
use fairhaul_units::{Rate, Span, Time};

use super::capacity_trace::{CapacityTrace, Traces};
use super::loss_rules::loss_rule;
use super::mistake::Notes;
use super::reader::{Value, Values};

/// The rate of a link now and later, and its delays; what it loses depends on the flows.
pub(super) struct LinkSchedule {
    /// What capacities in time and in bdp go by.
    pub(super) rate: Rate,
    pub(super) fastest: Rate,
    pub(super) schedule: Schedule,
}

/// The course of a link; `None` where a part of it was wrong, which has been noted.
pub(super) fn link_schedule(link: &Values, traces: &Traces, notes: &mut Notes) -> Option<LinkSchedule> {
    let entries = entries(link);
    check(&entries, notes);
    let (rate, rates) = match link.get("rate")? {
        Value::Rate(rate) => (*rate, steps(*rate, &entries)),
        Value::Table(table) => {
            for (_, entry) in entries.iter().filter(|(_, entry)| entry.given("rate")) {
                notes.note(entry.origin("rate"), "rate: not allowed here, because the rate follows a trace");
            }
            let trace = trace(table, traces, notes)?;
            (trace.mean, Some(trace.rates))
        }
        other => unreachable!("rate is {other:?}"),
    };
    let delays = entries.iter().filter_map(|(at, entry)| Some((*at, entry.span("delay")?))).collect();
    let fastest = rates.as_ref().and_then(|rates| rates.fastest()).unwrap_or(rate);
    Some(LinkSchedule { rate, fastest, schedule: Schedule { rates, delays, losses: Vec::new() } })
}

/// From when on a link loses otherwise.
pub(super) fn losses(link: &Values, flows: &[Values], notes: &mut Notes) -> Vec<(Time, LossRule)> {
    let mut losses = Vec::new();
    for (at, entry) in entries(link) {
        if let Some(value) = entry.get("loss") {
            losses.push((at, loss_rule(value, flows, notes).unwrap_or(LossRule::Probability(0.0))));
        }
    }
    losses
}

/// The entries of a schedule whose time could be read.
fn entries(link: &Values) -> Vec<(Time, Values)> {
    let timed = |(_, value)| match value {
        Value::Table(entry) => Some((Time::ZERO + entry.span("at")?, entry)),
        other => unreachable!("schedule has {other:?}"),
    };
    link.list("schedule").unwrap_or_default().into_iter().filter_map(timed).collect()
}

/// Times ascend, and something changes at each.
fn check(entries: &[(Time, Values)], notes: &mut Notes) {
    for pair in entries.windows(2).filter(|pair| pair[1].0 <= pair[0].0) {
        let text = format!("at: {} is not later than the {} of the previous entry", pair[1].0, pair[0].0);
        notes.note(pair[1].1.origin("at"), text);
    }
    let changes = |entry: &Values| ["rate", "delay", "loss"].iter().any(|key| entry.given(key));
    for (_, entry) in entries.iter().filter(|(_, entry)| !changes(entry)) {
        notes.note(entry.origin, "schedule: this entry changes nothing; set \"rate\", \"delay\" or \"loss\"");
    }
}

/// The rates of a schedule, where it has any.
fn steps(rate: Rate, entries: &[(Time, Values)]) -> Option<Arc<Rates>> {
    let step = |(at, entry): &(Time, Values)| Some((*at - Time::ZERO, entry.rate_or_zero("rate")?));
    let mut steps = vec![(Span::ZERO, Some(rate))];
    steps.extend(entries.iter().filter_map(step));
    let ascend = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    (steps.len() > 1 && ascend).then(|| Arc::new(Rates::new(&steps, None)))
}

fn trace(table: &Values, traces: &Traces, notes: &mut Notes) -> Option<CapacityTrace> {
    let Some(Value::Switch(repeat)) = table.get("repeat") else { return None };
    let found = traces.open(&table.text("trace")?, *repeat);
    found.map_err(|text| notes.note(table.origin("trace"), format!("trace: {text}"))).ok()
}
