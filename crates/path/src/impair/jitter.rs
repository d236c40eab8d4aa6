//! Jitter behind the queue: every packet is delayed by an additional random time.
//!
//! Where the order is kept, a packet that would overtake arrives with the one before it.

use fairhaul_units::{Chance, Span, Time};

/// How much longer packets are in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JitterRule {
    /// Uniform from zero up to this.
    pub most: Span,
    /// Whether no packet overtakes another.
    pub keeps_order: bool,
}

/// A rule at work.
#[derive(Clone, Debug)]
pub struct Jitter {
    rule: JitterRule,
    chance: Chance,
    last: Time,
}

impl Jitter {
    /// A fresh start of `rule`, which draws from `chance`.
    pub fn new(rule: JitterRule, chance: Chance) -> Jitter {
        Jitter { rule, chance, last: Time::ZERO }
    }

    /// When a packet arrives that would arrive at `time` without jitter.
    pub fn delays(&mut self, time: Time) -> Time {
        let drawn = time + self.chance.span(self.rule.most);
        if !self.rule.keeps_order {
            return drawn;
        }
        self.last = self.last.max(drawn);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(keeps_order: bool, gap: Span) -> Vec<(Time, Time)> {
        let rule = JitterRule { most: Span::from_ms(1), keeps_order };
        let mut jitter = Jitter::new(rule, Chance::stream(1, "jitter", 0));
        let sent = |i: u64| Time::ZERO + gap * i;
        (0..100_000).map(|i| (sent(i), jitter.delays(sent(i)))).collect()
    }

    #[test]
    fn packets_further_apart_than_the_jitter_are_late_by_half_of_it_on_average() {
        for keeps_order in [true, false] {
            let late = delays(keeps_order, Span::from_ms(1));
            let mean = late.iter().map(|(sent, at)| at.since(*sent).as_secs()).sum::<f64>() / 1e5;
            // Uniform on 1 ms: sigma of the mean = 1 ms / sqrt(12 x 100 000) = 0.913 us.
            assert!((mean - 0.5e-3).abs() < 2.74e-6, "{mean}");
            assert!(late.iter().all(|(sent, at)| at.since(*sent) < Span::from_ms(1)));
        }
    }

    #[test]
    fn of_packets_100_us_apart_none_overtakes_where_the_order_is_kept_and_many_where_it_is_not() {
        let overtakes = |keeps_order| {
            delays(keeps_order, Span::from_us(100)).windows(2).filter(|w| w[1].1 < w[0].1).count()
        };
        assert_eq!(overtakes(true), 0);
        // The second is first where the first draw exceeds the second by 0.1 ms: (0.9)^2 / 2 = 0.405 of all.
        let share = overtakes(false) as f64 / 1e5;
        assert!((share - 0.405).abs() < 0.01, "{share}");
    }
}
