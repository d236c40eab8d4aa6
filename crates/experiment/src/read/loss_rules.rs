//! Which data packets a link loses, as its table says.

use std::collections::BTreeSet;

use fairhaul_path::impair::{Bursts, LossRule};
use fairhaul_units::Time;

use super::flow_names::flow_names;
use super::mistake::{Notes, clip, way_out};
use super::reader::{Value, Values};

/// What a link loses; `None` where that is nothing, or where a part of it was wrong.
pub(super) fn loss_rule(value: &Value, tables: &[Values], notes: &mut Notes) -> Option<LossRule> {
    let table = match value {
        Value::Number(p) => return (*p > 0.0).then_some(LossRule::Probability(*p)),
        Value::Table(table) => table,
        other => unreachable!("loss is {other:?}"),
    };
    let chain = ["good_to_bad", "bad_to_good"].map(|key| table.given(key));
    match (table.given("every"), table.given("at"), chain) {
        (true, false, [false, false]) => {
            refuse_strays(
                table,
                &["flows", "loss_good", "loss_bad"],
                "\"every\" applies to all packets",
                notes,
            );
            table.whole("every").map(LossRule::Every)
        }
        (false, true, [false, false]) => {
            refuse_strays(table, &["loss_good", "loss_bad"], "\"at\" loses one packet for each time", notes);
            let times = loss_times(table, notes)?;
            let flows = struck_flows(table, tables, notes)?;
            Some(LossRule::At { times, flows })
        }
        (false, false, [true, true]) => {
            refuse_strays(table, &["flows"], "a Gilbert-Elliott chain applies to all packets", notes);
            Some(LossRule::Bursts(Bursts {
                good_to_bad: table.number("good_to_bad")?,
                bad_to_good: table.number("bad_to_good")?,
                loss_good: table.number("loss_good")?,
                loss_bad: table.number("loss_bad")?,
            }))
        }
        _ => {
            notes.note(
                table.origin,
                "loss: wanted a probability, { every = N }, { at = [times], flows = [names] } or \
                 { good_to_bad = P, bad_to_good = P }",
            );
            None
        }
    }
}

/// Keys that belong to another form of loss.
fn refuse_strays(table: &Values, keys: &[&str], because: &str, notes: &mut Notes) {
    for key in keys.iter().filter(|key| table.given(key)) {
        notes.note(table.origin(key), format!("{key}: not allowed here, because {because}"));
    }
}

/// The instants of a rule, which ascend.
fn loss_times(table: &Values, notes: &mut Notes) -> Option<Vec<Time>> {
    let mut times: Vec<Time> = Vec::new();
    for (origin, value) in table.list("at")? {
        let Value::Span(at) = value else { unreachable!("at is {value:?}") };
        let at = Time::ZERO + at;
        if times.last().is_some_and(|last| *last >= at) {
            notes.note(origin, format!("at: {at} is not later than the previous time"));
        }
        times.push(at);
    }
    Some(times)
}

/// The indices of the flows that a rule strikes.
fn struck_flows(table: &Values, tables: &[Values], notes: &mut Notes) -> Option<Vec<u32>> {
    let known: Option<Vec<String>> = tables.iter().map(|flow| flow.text("name")).collect();
    // Where a name could not be read, none can be missed.
    let known = known?;
    let names = known.iter().zip(tables).flat_map(|(name, flow)| {
        let whole = |key| flow.whole(key).unwrap_or(1);
        flow_names(name, whole("count"), whole("connections")).map(move |flow| (name.as_str(), flow))
    });
    let names: Vec<(&str, String)> = names.collect();
    if !table.given("flows") {
        return Some((0..names.len() as u32).collect());
    }
    let mut flows = BTreeSet::new();
    for (origin, value) in table.list("flows")? {
        let Value::Text(pattern) = value else { unreachable!("flows is {value:?}") };
        let hit = |(party, flow): &(&str, String)| flow == &pattern || fast_glob::glob_match(&pattern, party);
        let struck: Vec<u32> = (0..).zip(&names).filter(|(_, n)| hit(n)).map(|(index, _)| index).collect();
        if struck.is_empty() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let text = clip(&pattern);
            notes.note(origin, format!("flows: unknown flow \"{text}\"{}", way_out(&text, &known)));
        }
        flows.extend(struck);
    }
    Some(flows.into_iter().collect())
}
