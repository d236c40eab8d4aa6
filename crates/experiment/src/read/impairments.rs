//! What a link does beside carrying, queueing and losing, as its table says.

use fairhaul_path::impair::{Impairments, JitterRule, PolicerRule, ReorderRule};
use fairhaul_units::Bytes;

use super::mistake::Notes;
use super::reader::{Value, Values};

/// The impairments of a link's table. What was wrong has been noted, and is left out.
pub(super) fn impairments(link: &Values, largest: Bytes, notes: &mut Notes) -> Impairments {
    Impairments {
        policer: link.table("policer").and_then(|table| policer(&table, largest, notes)),
        jitter: link.get("jitter").and_then(jitter).filter(|rule| !rule.most.is_zero()),
        reorder: link
            .table("reorder")
            .and_then(|table| reorder(&table))
            .filter(|rule| rule.probability > 0.0),
        duplicate: link.number("duplicate").unwrap_or(0.0),
    }
}

/// A bucket that cannot hold a packet would never let it pass.
fn policer(table: &Values, largest: Bytes, notes: &mut Notes) -> Option<PolicerRule> {
    let rule = PolicerRule { rate: table.rate("rate")?, burst: table.size("burst")? };
    if rule.burst < largest {
        let text = format!("burst: {} is less than one packet of {largest}", rule.burst);
        notes.note(table.origin("burst"), text);
    }
    Some(rule)
}

fn jitter(value: &Value) -> Option<JitterRule> {
    match value {
        Value::Span(most) => Some(JitterRule { most: *most, keeps_order: true }),
        Value::Table(table) => {
            let Some(Value::Switch(keeps_order)) = table.get("keep_order") else { return None };
            Some(JitterRule { most: table.span("delay")?, keeps_order: *keeps_order })
        }
        other => unreachable!("jitter is {other:?}"),
    }
}

fn reorder(table: &Values) -> Option<ReorderRule> {
    Some(ReorderRule { probability: table.number("probability")?, delay: table.span("delay")? })
}
