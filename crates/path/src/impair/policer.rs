//! A policer before the queue: a token bucket that fills at a given rate; a data packet that finds too few tokens
//! is dropped.
//!
//! Tokens are counted in bits times 10^12, so that what flows in during a picosecond is a whole number and nothing
//! is rounded.

use fairhaul_units::{Bytes, Rate, Time};

/// What a policer lets pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicerRule {
    /// At which the bucket fills.
    pub rate: Rate,
    /// What the bucket holds; it is full at the start.
    pub burst: Bytes,
}

/// Eight bits to the byte, 10^12 picoseconds to the second.
const TOKENS_PER_BYTE: u128 = 8_000_000_000_000;

/// A rule at work.
#[derive(Clone, Debug)]
pub struct Policer {
    rule: PolicerRule,
    tokens: u128,
    since: Time,
}

impl Policer {
    /// A full bucket.
    pub fn new(rule: PolicerRule) -> Policer {
        Policer { rule, tokens: full(rule), since: Time::ZERO }
    }

    /// Whether a packet of `size` passes at `now`, which must not run backwards.
    pub fn admits(&mut self, size: Bytes, now: Time) -> bool {
        let poured = u128::from(self.rule.rate.as_bps()) * u128::from(now.since(self.since).as_ps());
        self.tokens = (self.tokens + poured).min(full(self.rule));
        self.since = now;
        let price = u128::from(size.0) * TOKENS_PER_BYTE;
        let admits = price <= self.tokens;
        if admits {
            self.tokens -= price;
        }
        admits
    }
}

fn full(rule: PolicerRule) -> u128 {
    u128::from(rule.burst.0) * TOKENS_PER_BYTE
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Span;
    use proptest::prelude::*;

    /// 8 Mbit/s: the tokens of 1000 B take 1 ms.
    fn policer(burst: u64) -> Policer {
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        Policer::new(PolicerRule { rate, burst: Bytes(burst) })
    }

    #[test]
    fn a_burst_passes_at_once_and_then_a_packet_per_millisecond() {
        let mut policer = policer(3000);
        let mut admits = |us| policer.admits(Bytes(1000), Time::ZERO + Span::from_us(us));
        assert_eq!([admits(0), admits(0), admits(0), admits(0)], [true, true, true, false]);
        assert_eq!([admits(999), admits(1000), admits(1000)], [false, true, false]);
        // After 10 ms of silence the bucket holds three packets, not ten.
        assert_eq!(
            [admits(11_000), admits(11_000), admits(11_000), admits(11_000)],
            [true, true, true, false]
        );
    }

    proptest! {
        #[test]
        fn over_any_time_no_more_passes_than_the_burst_and_the_rate_give(
            burst in 1500u64..20_000,
            steps in proptest::collection::vec((0u64..3000, 40u64..1500), 1..300),
        ) {
            let mut policer = policer(burst);
            let mut now = Time::ZERO;
            let mut passed: Vec<(Time, u64)> = Vec::new();
            for (gap, size) in steps {
                now += Span::from_us(gap);
                if policer.admits(Bytes(size), now) {
                    passed.push((now, size));
                }
            }
            for first in 0..passed.len() {
                let mut bytes = 0;
                for &(at, size) in &passed[first..] {
                    bytes += size;
                    let microseconds = at.since(passed[first].0).as_ps() / 1_000_000;
                    prop_assert!(bytes <= burst + microseconds); // 1 B per microsecond
                }
            }
        }
    }
}
