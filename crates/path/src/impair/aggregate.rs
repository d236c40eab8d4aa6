//! Aggregation behind the queue: packets are released in bursts, as by a radio link that sends many frames at once.
//!
//! Releases are equally spaced. A packet waits for the first release at or after its arrival, in order.

use fairhaul_units::{Span, Time};

/// When bursts are released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AggregateRule {
    /// Between two releases; above zero.
    pub every: Span,
    /// The first release; packets that arrive before it are not held.
    pub from: Time,
}

impl AggregateRule {
    /// When a packet arrives that would arrive at `time` without aggregation.
    pub fn releases(self, time: Time) -> Time {
        if time <= self.from {
            return time;
        }
        let (since, every) = (time - self.from, self.every);
        self.from + every * since.as_ps().div_ceil(every.as_ps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_between_two_releases_arrive_together_at_the_second() {
        let rule = AggregateRule { every: Span::from_ms(20), from: Time::ZERO + Span::from_ms(5) };
        let arrives = |ms| rule.releases(Time::ZERO + Span::from_ms(ms)).since(Time::ZERO);
        // Releases at 5, 25, 45 ms.
        let found = [0, 5, 6, 24, 25, 26].map(arrives);
        assert_eq!(found, [0, 5, 25, 25, 25, 45].map(Span::from_ms));
    }

    #[test]
    fn packets_at_all_times_wait_for_half_an_interval_on_average_and_none_overtakes() {
        let rule = AggregateRule { every: Span::from_ms(10), from: Time::ZERO };
        let sent = |i: u64| Time::ZERO + Span::from_us(i * 10);
        let waits = (1..=100_000).map(|i| rule.releases(sent(i)).since(sent(i)).as_secs());
        // 1000 packets in each interval wait for 9.99, 9.98, ... 0 ms: 4.995 ms on average.
        assert!((waits.sum::<f64>() / 1e5 - 4.995e-3).abs() < 1e-9);
        assert!((1..100_000).all(|i| rule.releases(sent(i)) <= rule.releases(sent(i + 1))));
    }
}
