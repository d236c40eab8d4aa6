//! Resolves the impairments of a link other than losses: from their keys to the rules of `path`.

use fairhaul_path::impair::{AggregateRule, Impairments, PolicerRule, ReorderRule};
use fairhaul_units::{Bytes, Time};

use super::fields::{AggregateKeys, LinkKeys, PolicerKeys, ReorderKeys};
use super::mistake::Notes;

/// The impairments of a link's table. What was wrong has been noted, and is left out.
pub(super) fn impairments(link: &LinkKeys, largest: Bytes, notes: &mut Notes) -> Impairments {
    Impairments {
        policer: link.policer.value.as_ref().and_then(|keys| policer(keys, largest, notes)),
        jitter: link.jitter.value.filter(|rule| !rule.most.is_zero()),
        aggregate: link.aggregate.value.as_ref().and_then(aggregate),
        reorder: link.reorder.value.as_ref().and_then(reorder).filter(|rule| rule.probability > 0.0),
        duplicate: link.duplicate.value.unwrap_or(0.0),
    }
}

/// A bucket that cannot hold a packet would never let it pass.
fn policer(keys: &PolicerKeys, largest: Bytes, notes: &mut Notes) -> Option<PolicerRule> {
    let rule = PolicerRule { rate: keys.rate.value?, burst: keys.burst.value? };
    if rule.burst < largest {
        keys.burst.key.note(format!("{} is less than one packet of {largest}", rule.burst), notes);
    }
    Some(rule)
}

fn reorder(keys: &ReorderKeys) -> Option<ReorderRule> {
    Some(ReorderRule { probability: keys.probability.value?, delay: keys.delay.value? })
}

fn aggregate(keys: &AggregateKeys) -> Option<AggregateRule> {
    Some(AggregateRule { every: keys.every.value?, from: Time::ZERO + keys.from.value })
}
