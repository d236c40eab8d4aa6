//! Rapid Start [RAPID-START]: the window triples in a round trip while the delay does not rise, and the first recovery
//! takes it down by what was delivered and lost.
//!
//! What was lost of an overshoot says how large it was: the window ends at beta of its size if nothing more is lost, and at
//! beta / 3 if two thirds are, which is what tripling can have overshot.

use std::collections::VecDeque;

use fairhaul_units::{Span, Time};

/// How far the smallest round trip of the last round may lie above the smallest of all, the smaller of the two.
const LEAST_RISE: Span = Span::from_ms(4);
const PARTS_OF_RISE: u64 = 10;
/// The factor of the recovery period, K.
const K: f64 = 11.0 / 18.0;

/// Whether the round-trip time has risen, and the recovery period.
#[derive(Clone, Debug, Default)]
pub struct RapidStart {
    /// The smallest round trips since each of these times, ascending in both.
    smallest: VecDeque<(Time, Span)>,
    recovery: Option<Recovery>,
}

/// The recovery period: what a packet that is delivered or lost takes away, and where that ends.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    per_delivered: f64,
    per_lost: f64,
    least: f64,
}

impl RapidStart {
    /// Takes a round trip at `now`; `min_rtt`: the smallest of all.
    pub fn sample(&mut self, rtt: Span, min_rtt: Span, now: Time) {
        while self.smallest.back().is_some_and(|&(_, kept)| kept >= rtt) {
            self.smallest.pop_back();
        }
        self.smallest.push_back((now, rtt));
        while self.smallest.front().is_some_and(|&(at, _)| now.since(at) > min_rtt) {
            self.smallest.pop_front();
        }
    }

    /// By how many times what is acknowledged the window grows.
    pub fn growth(&self, min_rtt: Span) -> f64 {
        let most = min_rtt + LEAST_RISE.min(min_rtt / PARTS_OF_RISE);
        let has_risen = self.smallest.front().is_some_and(|&(_, floor)| floor > most);
        if has_risen { 1.0 } else { 2.0 }
    }

    /// Whether the recovery period is under way.
    pub fn recovers(&self) -> bool {
        self.recovery.is_some()
    }

    /// The first loss or mark found the window at `cwnd`, of which its controller keeps `beta`: the window now.
    pub fn begin_recovery(&mut self, cwnd: f64, beta: f64) -> f64 {
        let per_delivered = K * (1.0 - beta);
        let scale = beta + per_delivered;
        let least = cwnd * (scale - per_delivered / 3.0 - scale * 2.0 / 3.0);
        self.recovery = Some(Recovery { per_delivered, per_lost: scale, least: least.max(2.0) });
        (cwnd * scale).max(2.0)
    }

    /// In the recovery period that much is newly delivered and lost: the window then.
    pub fn recover(&self, cwnd: f64, delivered: f64, lost: f64) -> f64 {
        let Some(Recovery { per_delivered, per_lost, least }) = self.recovery else { return cwnd };
        (cwnd - per_delivered * delivered - per_lost * lost).max(least).min(cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A tenth of 20 ms is 2 ms, of 100 ms 10 ms, of which 4 ms count.
    #[test]
    fn the_window_triples_while_the_round_trip_is_within_a_tenth_and_4_ms() {
        for (least, rise_us) in [(20, 2000), (100, 4000)] {
            for (above, growth) in [(0, 2.0), (1, 1.0)] {
                let mut rapid = RapidStart::default();
                let rtt = Span::from_ms(least) + Span::from_us(rise_us + above);
                rapid.sample(rtt, Span::from_ms(least), at(500));
                assert_eq!(rapid.growth(Span::from_ms(least)), growth, "{least} ms");
            }
        }
    }

    #[test]
    fn a_small_round_trip_counts_for_a_round() {
        let mut rapid = RapidStart::default();
        let mut growth = |rtt, now| {
            rapid.sample(Span::from_ms(rtt), Span::from_ms(100), at(now));
            rapid.growth(Span::from_ms(100))
        };
        assert_eq!(
            [growth(100, 0), growth(150, 50), growth(140, 100), growth(150, 101)],
            [2.0, 2.0, 2.0, 1.0]
        );
    }

    /// [RAPID-START]: 29/36 and 11/36 with beta 1/2, 53/60 and 11/60 with 0.7. Without another loss all that was in flight is
    /// delivered, and beta stays; if two thirds are lost, beta / 3.
    #[test]
    fn a_recovery_leaves_beta_or_a_third_of_it() {
        for (beta, scale, part) in [(0.5, 29.0 / 36.0, 11.0 / 36.0), (0.7, 53.0 / 60.0, 11.0 / 60.0)] {
            let mut rapid = RapidStart::default();
            let cwnd = rapid.begin_recovery(900.0, beta);
            assert!((cwnd - 900.0 * scale).abs() < 1e-9);
            assert!((rapid.recover(cwnd, 1.0, 0.0) - (cwnd - part)).abs() < 1e-9);
            let delivered = (0..900).fold(cwnd, |cwnd, _| rapid.recover(cwnd, 1.0, 0.0));
            assert!((delivered - 900.0 * beta).abs() < 1e-9);
            let lost = (0..300).fold(cwnd, |cwnd, _| rapid.recover(cwnd, 1.0, 2.0));
            assert!((lost - 300.0 * beta).abs() < 1e-9);
            assert!((rapid.recover(lost, 100.0, 100.0) - 300.0 * beta).abs() < 1e-9);
        }
    }
}
