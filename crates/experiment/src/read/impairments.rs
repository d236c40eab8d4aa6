//! Resolves the impairments of a link other than losses: from their keys to the rules of `path`.

use fairhaul_path::BucketRule;
use fairhaul_path::impair::{AggregateRule, Impairments, ReorderRule};
use fairhaul_units::{Bytes, Span, Time};

use super::fields::{AggregateKeys, BucketKeys, Direction, LinkKeys, ReorderKeys};
use super::link_schedule::mtus;
use super::mistake::Notes;

/// The impairments of a direction of a link's table, for flows with packets of up to `largest` in a run up to `end`. Wrong
/// ones have been noted, and are omitted.
pub(super) fn impairments(
    link: &LinkKeys,
    direction: Direction,
    (largest, end): (Bytes, Span),
    notes: &mut Notes,
) -> Impairments {
    let (policing, jitter, late) = match direction {
        Direction::Forward => (&link.policer, &link.jitter, &link.reorder),
        Direction::Reverse => (&link.reverse_policer, &link.reverse_jitter, &link.reverse_reorder),
    };
    let shaper = link.shaper.value.as_ref().filter(|_| direction == Direction::Forward);
    policing.value.iter().chain(shaper).for_each(|keys| holds_packets(keys, largest, notes));
    let both = Impairments {
        mtu: mtus(link, end, notes),
        policer: policing.value.as_ref().and_then(bucket),
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

/// A token bucket.
pub(super) fn bucket(keys: &BucketKeys) -> Option<BucketRule> {
    Some(BucketRule { rate: keys.rate.value?, burst: keys.burst.value? })
}

/// A bucket that cannot hold a packet would never let it pass.
fn holds_packets(keys: &BucketKeys, largest: Bytes, notes: &mut Notes) {
    if let Some(burst) = keys.burst.value.filter(|burst| *burst < largest) {
        keys.burst.key.note(format!("{burst} is less than one packet of {largest}"), notes);
    }
}

fn reorder(keys: &ReorderKeys) -> Option<ReorderRule> {
    Some(ReorderRule { probability: keys.probability.value?, delay: keys.delay.value? })
}

fn aggregate(keys: &AggregateKeys) -> Option<AggregateRule> {
    Some(AggregateRule { every: keys.every.value?, from: Time::ZERO + keys.from.value })
}
