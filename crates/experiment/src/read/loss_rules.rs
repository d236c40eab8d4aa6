//! Resolves the loss of a link: from its keys to the rule that says which data packets are lost.

use std::collections::BTreeSet;

use fairhaul_path::impair::{Bursts, LossRule, TimedBursts};
use fairhaul_units::Time;

use super::fields::{FlowKeys, LossKeys, LossSpec};
use super::flow_names::flow_names;
use super::mistake::{Notes, clip, way_out};
use super::quantities::BurstSpec;
use super::reader::{Key, KeyedOption};

/// Which of the two keys of a model of bursts are given.
const NEITHER: [bool; 2] = [false, false];
const BOTH: [bool; 2] = [true, true];
/// None of the keys that are a rule alone is given.
const NONE: [bool; 3] = [false; 3];

/// What a link loses; `None` where that is nothing, or where a part of it was wrong.
pub(super) fn loss_rule(
    of: &KeyedOption<LossSpec>,
    flows: &[FlowKeys],
    notes: &mut Notes,
) -> Option<LossRule> {
    let keys = match of.value.as_ref()? {
        LossSpec::Probability(p) => {
            let rule = if flows.iter().any(has_bursts) { LossRule::Spaced } else { LossRule::Probability };
            return (*p > 0.0).then(|| rule(*p));
        }
        LossSpec::Rule(keys) => keys,
    };
    let states = [keys.loss_good.key, keys.loss_bad.key];
    let chain = [keys.good_to_bad.key.given, keys.bad_to_good.key.given];
    let times = [keys.good.key.given, keys.bad.key.given];
    let single = [keys.every.key.given, keys.at.key.given, keys.offloaded_bursts.key.given];
    match (single, times, chain) {
        ([true, false, false], NEITHER, NEITHER) => {
            refuse_strays(&[keys.flows.key], "\"every\" applies to all packets", notes);
            refuse_strays(&states, "\"every\" applies to all packets", notes);
            keys.every.value.map(LossRule::Every)
        }
        ([false, true, false], NEITHER, NEITHER) => {
            refuse_strays(&states, "\"at\" loses one packet for each time", notes);
            let times = loss_times(keys, notes)?;
            let flows = struck_flows(keys, flows, notes)?;
            Some(LossRule::At { times, flows })
        }
        ([false, false, true], NEITHER, NEITHER) => {
            refuse_strays(&[keys.flows.key], "\"offloaded_bursts\" applies to all packets", notes);
            refuse_strays(&states, "\"offloaded_bursts\" loses whole bursts", notes);
            keys.offloaded_bursts.value.filter(|p| *p > 0.0).map(LossRule::Offloaded)
        }
        (NONE, BOTH, NEITHER) => {
            refuse_strays(&[keys.flows.key], "bursts of loss apply to all packets", notes);
            Some(LossRule::TimedBursts(TimedBursts {
                good: keys.good.value?,
                bad: keys.bad.value?,
                loss_good: keys.loss_good.value,
                loss_bad: keys.loss_bad.value,
            }))
        }
        (NONE, NEITHER, BOTH) => {
            refuse_strays(&[keys.flows.key], "a Gilbert-Elliott chain applies to all packets", notes);
            Some(LossRule::Bursts(Bursts {
                good_to_bad: keys.good_to_bad.value?,
                bad_to_good: keys.bad_to_good.value?,
                loss_good: keys.loss_good.value,
                loss_bad: keys.loss_bad.value,
            }))
        }
        _ => {
            of.key.note(
                "wanted a probability, { every = N }, { at = [times], flows = [names] }, \
                 { offloaded_bursts = P }, { good = TIME, bad = TIME } or { good_to_bad = P, bad_to_good = P }",
                notes,
            );
            None
        }
    }
}

/// Whether a flow hands over several packets at once.
fn has_bursts(flow: &FlowKeys) -> bool {
    flow.offload.value != BurstSpec::Packets(1)
}

/// Keys that belong to another form of loss.
fn refuse_strays(keys: &[Key], because: &str, notes: &mut Notes) {
    for key in keys.iter().filter(|key| key.given) {
        key.note(format!("not allowed here, because {because}"), notes);
    }
}

/// The instants of a rule, which ascend.
fn loss_times(keys: &LossKeys, notes: &mut Notes) -> Option<Vec<Time>> {
    let mut times: Vec<Time> = Vec::new();
    for (origin, at) in keys.at.value.as_ref()? {
        let at = Time::ZERO + *at;
        if times.last().is_some_and(|last| *last >= at) {
            notes.note(*origin, format!("at: {at} is not later than the previous time"));
        }
        times.push(at);
    }
    Some(times)
}

/// The indices of the flows that a rule strikes.
fn struck_flows(keys: &LossKeys, flows: &[FlowKeys], notes: &mut Notes) -> Option<Vec<u32>> {
    let known: Option<Vec<&str>> = flows.iter().map(|flow| flow.name.value.as_deref()).collect();
    // Where a name could not be read, none can be missed.
    let known = known?;
    let names = known.iter().zip(flows).flat_map(|(name, flow)| {
        flow_names(name, flow.count.value, flow.connections.value).map(move |flow| (*name, flow))
    });
    let names: Vec<(&str, String)> = names.collect();
    if !keys.flows.key.given {
        return Some((0..names.len() as u32).collect());
    }
    let mut selected = BTreeSet::new();
    for (origin, pattern) in keys.flows.value.as_ref()? {
        let hit = |(party, flow): &(&str, String)| flow == pattern || fast_glob::glob_match(pattern, party);
        let hits: Vec<u32> = (0..).zip(&names).filter(|(_, n)| hit(n)).map(|(index, _)| index).collect();
        if hits.is_empty() {
            let text = clip(pattern);
            notes.note(*origin, format!("flows: unknown flow \"{text}\"{}", way_out(&text, &known)));
        }
        selected.extend(hits);
    }
    Some(selected.into_iter().collect())
}
