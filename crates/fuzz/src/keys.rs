//! Keys that need more than their kind: values that name another part of the file, and values that determine the
//! cost of a case.

use fairhaul_experiment::table::{Accepts, Field};

use crate::doc::Item;
use crate::value::{Draw, number};

/// Files of rates beside the kept scenarios, one of each form.
pub const TRACES: [&str; 2] = ["steps.csv", "opportunities.txt"];
/// The longest delay that a key accepts, ps.
const LONGEST_WAY: f64 = 3.6e16;

/// A value for a key whose kind alone is not enough.
pub fn special(draw: &mut Draw, field: &Field) -> Option<Item> {
    let whole = |number: f64| Some(Item::Raw((number as u64).to_string()));
    match (field.name, &field.accepts) {
        ("seed", _) => whole(draw.spread(1.0, 1e15)),
        ("count", _) => {
            let most = if draw.chance.hits(0.02) { 1500.0 } else { 12.0 };
            whole(draw.spread(1.0, most))
        }
        ("connections", _) => whole(draw.spread(1.0, 12.0)),
        // A window far above what a path holds is a burst of that size.
        ("initial_window", _) => {
            let odd = draw.odd;
            let most = if draw.chance.hits(odd) { 1e5 } else { 300.0 };
            Some(number(draw.spread(1.0, most)))
        }
        ("trace", _) => Some(Item::text(draw.one(&TRACES))),
        // About a round trip; otherwise the run would end before anything arrives.
        ("delay", Accepts::Span { .. }) => Some(Item::text(&draw.near_rtt(LONGEST_WAY))),
        // The flows that a loss affects, by patterns that match some.
        ("flows", Accepts::List(_)) => {
            let pattern = draw.one(&["*", "f0", "f0*", "f1*", "f{0,1}*"]);
            Some(Item::List(vec![Item::text(pattern)]))
        }
        _ => None,
    }
}
