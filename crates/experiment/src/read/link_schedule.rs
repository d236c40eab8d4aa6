//! Resolves the schedule of a link: from its keys to changes of rate, delay and loss.

use std::sync::Arc;

use fairhaul_path::impair::LossRule;
use fairhaul_path::{Rates, Schedule};
use fairhaul_units::{Bytes, Rate, Span, Time};

use super::capacity_trace::{CapacityTrace, Traces};
use super::fields::{ChangeKeys, Direction, FlowKeys, LinkKeys, RateSpec, TraceKeys};
use super::laps::{MOST_CHANGES, repeated};
use super::loss_rules::loss_rule;
use super::mistake::Notes;
use super::reader::{Key, Keyed, KeyedOption};

/// The rate of a link now and later, and its delays; what it loses depends on the flows.
pub(super) struct LinkSchedule {
    /// What capacities in time and in bdp go by.
    pub(super) rate: Rate,
    pub(super) fastest: Rate,
    pub(super) schedule: Schedule,
    /// What a trace says of losses in the forward direction.
    pub(super) traced_losses: Vec<(Time, LossRule)>,
}

/// The course of a link in a run up to `end`; `None` where a part of it was wrong, which has been noted.
pub(super) fn link_schedule(
    link: &LinkKeys,
    end: Span,
    traces: &Traces,
    notes: &mut Notes,
) -> Option<LinkSchedule> {
    let changes: Vec<(Span, &ChangeKeys)> = changes(link).collect();
    check(&changes, notes);
    let period = period(link, &changes, notes);
    let refuse = |key: fn(&ChangeKeys) -> Key, what: &str, notes: &mut Notes| {
        for key in changes.iter().map(|change| key(change.1)).filter(|key| key.given) {
            key.note(format!("not allowed here, because the {what} follows a trace"), notes);
        }
    };
    let mut delays = own_delays(link, &changes, period);
    let mut losses = Vec::new();
    let mut lap = (period, link.schedule_repeat.key);
    let (rate, rates) = match link.rate.value.as_ref()? {
        RateSpec::Constant(rate) => (*rate, steps(*rate, &changes, period)),
        RateSpec::Trace(keys) => {
            refuse(|change| change.rate.key, "rate", notes);
            let trace = trace(keys, traces, notes)?;
            if !trace.columns.delays.is_empty() {
                refuse(|change| change.delay.key, "delay", notes);
                delays = trace.columns.delays;
                lap = (trace.period, keys.trace.key);
            }
            if !trace.columns.losses.is_empty() {
                refuse(|change| change.loss.key, "loss", notes);
                if link.loss.key.given {
                    link.loss.key.note("not allowed here, because the loss follows a trace", notes);
                }
                let rule = |&(at, p): &(Span, f64)| (at, LossRule::Probability(p));
                losses = trace.columns.losses.iter().map(rule).collect();
                lap = (trace.period, keys.trace.key);
            }
            (trace.mean, Some(trace.rates))
        }
    };
    let fastest = rates.as_ref().and_then(|rates| rates.fastest()).unwrap_or(rate);
    let delays = in_run(&delays, lap, end, notes)?;
    let traced_losses = in_run(&losses, lap, end, notes)?;
    Some(LinkSchedule {
        rate,
        fastest,
        schedule: Schedule { rates, delays, losses: Vec::new() },
        traced_losses,
    })
}

/// From when on a direction of a link loses otherwise in a run up to `end`, where the schedule says so. `first`: what it
/// loses before.
pub(super) fn losses(
    link: &LinkKeys,
    direction: Direction,
    first: Option<&LossRule>,
    end: Span,
    flows: &[FlowKeys],
    notes: &mut Notes,
) -> Vec<(Time, LossRule)> {
    let none = LossRule::Probability(0.0);
    let mut losses = Vec::new();
    for (at, change) in changes(link) {
        let loss: &KeyedOption<_> = match direction {
            Direction::Forward => &change.loss,
            Direction::Reverse => &change.reverse_loss,
        };
        if loss.value.is_some() {
            losses.push((at, loss_rule(loss, flows, notes).unwrap_or(none.clone())));
        }
    }
    let period = link.schedule_repeat.value.filter(|_| !losses.is_empty());
    if period.is_some() {
        losses.insert(0, (Span::ZERO, first.cloned().unwrap_or(none)));
    }
    in_run(&losses, (period, link.schedule_repeat.key), end, notes).unwrap_or_default()
}

/// From when on which packets are too large for a link in a run up to `end`.
pub(super) fn mtus(link: &LinkKeys, end: Span, notes: &mut Notes) -> Vec<(Time, u32)> {
    let mut mtus: Vec<(Span, Bytes)> = link.mtus().map(|(at, mtu)| (at, mtu.value)).collect();
    let period = link.schedule_repeat.value.filter(|_| mtus.iter().any(|(at, _)| !at.is_zero()));
    if period.is_some() && link.mtu.value.is_none() {
        // A lap that repeats begins without a limit, if the link has none.
        mtus.insert(0, (Span::ZERO, Bytes(u32::MAX.into())));
    }
    let all = in_run(&mtus, (period, link.schedule_repeat.key), end, notes).unwrap_or_default();
    all.into_iter().map(|(at, most)| (at, most.0 as u32)).collect()
}

/// The changes of a run, of those of a lap of that period, which a key says.
fn in_run<T: Clone>(
    lap: &[(Span, T)],
    (period, key): (Option<Span>, Key),
    end: Span,
    notes: &mut Notes,
) -> Option<Vec<(Time, T)>> {
    let all = repeated(lap, period, end);
    if all.is_none() {
        let text = format!(
            "more than {MOST_CHANGES} changes of the delay, the loss or the MTU in the run of {end}; choose a longer period or a \
             shorter run"
        );
        key.note(text, notes);
    }
    all
}

impl LinkKeys {
    /// Its largest packets, from when on each.
    pub(super) fn mtus(&self) -> impl Iterator<Item = (Span, Keyed<Bytes>)> {
        let first = self.mtu.present().map(|mtu| (Span::ZERO, mtu));
        let later = changes(self).filter_map(|(at, change)| Some((at, change.mtu.present()?)));
        first.into_iter().chain(later)
    }
}

/// The entries of a schedule whose time could be read.
fn changes(link: &LinkKeys) -> impl Iterator<Item = (Span, &ChangeKeys)> {
    let changes = link.schedule.value.iter().flatten();
    changes.filter_map(|(_, change)| Some((change.at.value?, change)))
}

/// Times ascend, and something changes at each.
fn check(changes: &[(Span, &ChangeKeys)], notes: &mut Notes) {
    for pair in changes.windows(2).filter(|pair| pair[1].0 <= pair[0].0) {
        let text = format!("{} is not later than the {} of the previous entry", pair[1].0, pair[0].0);
        pair[1].1.at.key.note(text, notes);
    }
    for (_, change) in changes {
        let ChangeKeys { rate, delay, loss, reverse_loss, mtu, .. } = change;
        if ![rate.key, delay.key, loss.key, reverse_loss.key, mtu.key].iter().any(|key| key.given) {
            let text = "schedule: this entry changes nothing; set \"rate\", \"delay\", \"loss\", \"reverse_loss\" or \"mtu\"";
            notes.note(change.origin, text);
        }
    }
}

/// The period of a schedule, which is longer than its last entry.
fn period(link: &LinkKeys, changes: &[(Span, &ChangeKeys)], notes: &mut Notes) -> Option<Span> {
    let period = link.schedule_repeat.value?;
    let key = link.schedule_repeat.key;
    match changes.iter().map(|change| change.0).max() {
        _ if !link.schedule.key.given => key.note("there is no schedule to repeat; set \"schedule\"", notes),
        Some(last) if last >= period => {
            key.note(format!("{period} is not longer than the {last} of the last entry"), notes);
        }
        _ => return Some(period),
    }
    None
}

/// The delays of a lap of the schedule; of one that repeats also that of the link, from its beginning.
fn own_delays(link: &LinkKeys, changes: &[(Span, &ChangeKeys)], period: Option<Span>) -> Vec<(Span, Span)> {
    let later = changes.iter().filter_map(|(at, change)| Some((*at, change.delay.value?)));
    let mut delays: Vec<(Span, Span)> = later.collect();
    if let Some(first) = link.delay.value.filter(|_| period.is_some() && !delays.is_empty()) {
        delays.insert(0, (Span::ZERO, first));
    }
    delays
}

/// The rates of a schedule, where it has any.
fn steps(rate: Rate, changes: &[(Span, &ChangeKeys)], period: Option<Span>) -> Option<Arc<Rates>> {
    let step = |(at, change): &(Span, &ChangeKeys)| Some((*at, change.rate.value?));
    let mut steps = vec![(Span::ZERO, Some(rate))];
    steps.extend(changes.iter().filter_map(step));
    let ascend = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    (steps.len() > 1 && ascend).then(|| Arc::new(Rates::new(&steps, period)))
}

fn trace(keys: &TraceKeys, traces: &Traces, notes: &mut Notes) -> Option<CapacityTrace> {
    let trace = traces.open(keys.trace.value.as_ref()?, keys.repeat.value, keys.unit.value);
    trace.map_err(|text| keys.trace.key.note(text, notes)).ok()
}
