//! A token bucket, full at the start, which fills at a given rate: a policer drops what finds too few tokens, and a
//! shaper lets it wait.
//!
//! Tokens are counted in bits times 10^12, so that what flows in during a picosecond is a whole number and nothing
//! is rounded.

use fairhaul_units::{Bytes, Rate, Span, Time};

/// The rate and the size of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketRule {
    /// At which the bucket fills.
    pub rate: Rate,
    /// What the bucket holds; it is full at the start.
    pub burst: Bytes,
}

/// Eight bits to the byte, 10^12 picoseconds to the second.
const TOKENS_PER_BYTE: u128 = 8_000_000_000_000;

/// A rule at work.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rule: BucketRule,
    tokens: u128,
    since: Time,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(rule: BucketRule) -> TokenBucket {
        TokenBucket { rule, tokens: tokens(rule.burst), since: Time::ZERO }
    }

    /// At which it fills.
    pub fn rate(&self) -> Rate {
        self.rule.rate
    }

    /// Takes the tokens of `size` at `now`, which must not run backwards, if it has them.
    pub fn take(&mut self, size: Bytes, now: Time) -> bool {
        self.fill(now);
        let enough = tokens(size) <= self.tokens;
        if enough {
            self.tokens -= tokens(size);
        }
        enough
    }

    /// Takes the tokens of `size`, which the bucket can hold, as soon as it has them, at `now` or later; when that is.
    /// `now` must not run backwards, and is not before what was returned last.
    pub fn wait(&mut self, size: Bytes, now: Time) -> Time {
        self.fill(now);
        let missing = tokens(size).saturating_sub(self.tokens);
        let span = missing.div_ceil(self.rule.rate.as_bps().into());
        let begins = now + u64::try_from(span).map_or(Span::from_ps(u64::MAX), Span::from_ps);
        self.fill(begins);
        self.tokens = self.tokens.saturating_sub(tokens(size));
        begins
    }

    fn fill(&mut self, now: Time) {
        let poured = u128::from(self.rule.rate.as_bps()) * u128::from(now.since(self.since).as_ps());
        self.tokens = (self.tokens + poured).min(tokens(self.rule.burst));
        self.since = now;
    }
}

fn tokens(bytes: Bytes) -> u128 {
    u128::from(bytes.0) * TOKENS_PER_BYTE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 8 Mbit/s: the tokens of 1000 B take 1 ms.
    fn bucket(burst: u64) -> TokenBucket {
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        TokenBucket::new(BucketRule { rate, burst: Bytes(burst) })
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_burst_passes_at_once_and_then_a_packet_per_millisecond() {
        let mut bucket = bucket(3000);
        let mut takes = |us| bucket.take(Bytes(1000), at(us));
        assert_eq!([takes(0), takes(0), takes(0), takes(0)], [true, true, true, false]);
        assert_eq!([takes(999), takes(1000), takes(1000)], [false, true, false]);
        // After 10 ms of silence the bucket holds three packets, not ten.
        assert_eq!([takes(11_000), takes(11_000), takes(11_000), takes(11_000)], [true, true, true, false]);
    }

    #[test]
    fn what_waits_begins_when_its_tokens_are_there() {
        let mut bucket = bucket(3000);
        let mut begins = |us| bucket.wait(Bytes(1000), at(us));
        assert_eq!([begins(0), begins(0), begins(0)], [at(0); 3]);
        assert_eq!([begins(0), begins(1000), begins(2500)], [at(1000), at(2000), at(3000)]);
        assert_eq!([begins(20_000), begins(20_000)], [at(20_000); 2]);
    }

    proptest! {
        #[test]
        fn over_any_time_no_more_passes_than_the_burst_and_the_rate_give(
            burst in 1500u64..20_000,
            waits in any::<bool>(),
            steps in proptest::collection::vec((0u64..3000, 40u64..1500), 1..300),
        ) {
            let mut bucket = bucket(burst);
            let mut now = Time::ZERO;
            let mut passed: Vec<(Time, u64)> = Vec::new();
            for (gap, size) in steps {
                now += Span::from_us(gap);
                if waits {
                    now = bucket.wait(Bytes(size), now);
                    passed.push((now, size));
                } else if bucket.take(Bytes(size), now) {
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
