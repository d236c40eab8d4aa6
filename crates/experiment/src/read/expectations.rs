//! Resolves `[[expect]]`: what the bounds and the times of an expectation must be to each other.
//!
//! Formulas are read and computed where figures are, in Python; here they are texts.

use fairhaul_units::Span;

use super::fields::{ExpectKeys, ScenarioKeys};
use super::mistake::Notes;
use crate::Expectation;

/// The expectations of a file. Wrong ones have been noted, and are omitted.
pub(super) fn expectations(root: &ScenarioKeys, notes: &mut Notes) -> Vec<Expectation> {
    let run = (root.warmup.value, root.duration.value);
    let tables = root.expect.value.as_deref().unwrap_or_default();
    tables.iter().filter_map(|keys| expectation(keys, run, notes)).collect()
}

fn expectation(
    keys: &ExpectKeys,
    (warmup, duration): (Span, Option<Span>),
    notes: &mut Notes,
) -> Option<Expectation> {
    for text in [&keys.what, &keys.number] {
        if text.value.as_ref().is_some_and(|text| text.trim().is_empty()) {
            text.key.note("is empty", notes);
        }
    }
    bounded(keys, notes);
    let (from, until) = (keys.from.value.unwrap_or(warmup), keys.until.value.or(duration));
    if let (Some(until), Some(duration)) = (keys.until.value, duration)
        && until > duration
    {
        keys.until.key.note(format!("{until} is after the end of the run of {duration}"), notes);
    } else if let Some(until) = until.filter(|until| from >= *until) {
        let key = if keys.from.key.given { keys.from.key } else { keys.until.key };
        key.note(format!("the time from {from} to {until} is empty"), notes);
    }
    Some(Expectation {
        what: keys.what.value.clone()?,
        number: keys.number.value.clone()?,
        at_least: keys.at_least.value,
        at_most: keys.at_most.value,
        relative_to: keys.relative_to.value.clone(),
        source: keys.source.value.clone(),
        from,
        until: until?,
    })
}

/// There is a bound, and a number can be within both.
fn bounded(keys: &ExpectKeys, notes: &mut Notes) {
    if !(keys.at_least.key.given || keys.at_most.key.given) {
        notes.note(keys.origin, "[[expect]] needs \"at_least\" or \"at_most\": the bound of the number");
    }
    if let (Some(least), Some(most)) = (keys.at_least.value, keys.at_most.value)
        && least > most
    {
        keys.at_least.key.note(format!("{least} is above at_most, {most}"), notes);
    }
}
