//! Resolves the impairments of a link other than losses: from their keys to the rules of `path`.

use fairhaul_path::impair::{AggregateRule, Impairments, PolicerRule, ReorderRule};
use fairhaul_units::{Bytes, Time};

use super::fields::{AggregateKeys, Direction, LinkKeys, PolicerKeys, ReorderKeys};
use super::mistake::Notes;

/// The impairments of a direction of a link's table. What was wrong has been noted, and is left out.
pub(super) fn impairments(
    link: &LinkKeys,
    direction: Direction,
    largest: Bytes,
    notes: &mut Notes,
) -> Impairments {
    let (policing, jitter, late) = match direction {
        Direction::Forward => (&link.policer, &link.jitter, &link.reorder),
        Direction::Reverse => (&link.reverse_policer, &link.reverse_jitter, &link.reverse_reorder),
    };
    let both = Impairments {
        policer: policing.value.as_ref().and_then(|keys| policer(keys, largest, notes)),
        jitter: jitter.value.filter(|rule| !rule.most.is_zero()),
        reorder: late.value.as_ref().and_then(reorder).filter(|rule| rule.probability > 0.0),
        ..Impairments::default()
    };
    match direction {
        Direction::Forward => Impairments {
            aggregate: link.aggregate.value.as_ref().and_then(aggregate),
            duplicate: link.duplicate.value.unwrap_or(0.0),
            ..both
        },
        Direction::Reverse => both,
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
