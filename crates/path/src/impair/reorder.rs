//! Reordering behind the queue: some packets are held, and the packets that follow overtake them.

use fairhaul_units::{Chance, Span};

/// Which packets a link holds, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderRule {
    /// Each with this probability.
    pub probability: f64,
    /// That much longer on the way.
    pub delay: Span,
}

/// A rule at work.
#[derive(Clone, Debug)]
pub struct Reorder {
    rule: ReorderRule,
    chance: Chance,
}

impl Reorder {
    /// A fresh start of `rule`, which draws from `chance`.
    pub fn new(rule: ReorderRule, chance: Chance) -> Reorder {
        Reorder { rule, chance }
    }

    /// How much longer the next packet is in flight.
    pub fn holds(&mut self) -> Span {
        if self.chance.hits(self.rule.probability) { self.rule.delay } else { Span::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_in_twenty_is_5_ms_late_and_the_others_are_not() {
        let rule = ReorderRule { probability: 0.05, delay: Span::from_ms(5) };
        let mut reorder = Reorder::new(rule, Chance::stream(1, "reorder", 0));
        let times: Vec<Span> = (0..100_000).map(|_| reorder.holds()).collect();
        assert!(times.iter().all(|t| t.is_zero() || *t == Span::from_ms(5)));
        let held = times.iter().filter(|t| !t.is_zero()).count();
        assert!((4_793..5_207).contains(&held), "{held}"); // 3 sigma = 207
    }
}
