//! The detector of a classic queue, on which Prague falls back [PRAGUE-FALLBACK].
//!
//! A queue that marks where it would drop lets round-trip times vary by milliseconds, and stands; that of L4S does neither. A
//! score says which of both it is: up to 8 the queue is one of L4S, from 9 on it is a classic one, and between both a mark is
//! answered in part as by a classic sender.

use fairhaul_units::{Span, words};

use crate::AckEvent;

words! {
    /// What Prague does about a classic queue, in the order of `prague_ecn_fallback`.
    pub enum ClassicEcnFallback {
        /// Nothing: every queue is one of L4S.
        None = "none",
        /// It answers marks of a classic queue as a classic sender.
        Fallback = "fallback",
        /// It keeps the score alone.
        Detection = "detection",
    }
}

/// The score, and the slow averages that move it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassicEcn {
    score: f64,
    /// Smoothed round-trip time, and the mean deviation from it; zero before the first sample.
    srtt_s: f64,
    deviation_s: f64,
    /// The weight of a sample is 2^-shift, and half of that in the deviation.
    shift: u32,
}

/// Up to here the queue is one of L4S, and from here on a classic one. Between a whole classic queue and a whole L4S queue the
/// score has as far to go on either side.
const L4S: f64 = 8.0;
const CLASSIC: f64 = 9.0;
const MOST: f64 = 17.0;
/// The deviation and the depth of the queue that say nothing, V0 and D0, and the weight of their logarithms to the base of 2.
const USUAL_DEVIATION_S: f64 = 750e-6;
const USUAL_DEPTH_S: f64 = 2e-3;
const WEIGHT: f64 = 0.5;
const LEAST_DEVIATION_S: f64 = 1e-6;
/// The least alpha in a classic queue: a mark takes 0.3125 of the window, near the 0.3 of CUBIC.
const ALPHA: f64 = 0.625;
const MOST_SHIFT: u32 = 18;

impl ClassicEcn {
    pub(crate) fn new() -> ClassicEcn {
        ClassicEcn { score: 0.0, srtt_s: 0.0, deviation_s: LEAST_DEVIATION_S, shift: MOST_SHIFT }
    }

    pub(crate) fn score(&self) -> f64 {
        self.score
    }

    /// Takes the round-trip time of an acknowledgement; the averages begin with that of the connection.
    pub(crate) fn sample(&mut self, ack: &AckEvent) {
        if self.srtt_s == 0.0 {
            self.srtt_s = ack.srtt.as_secs();
        }
        let error = ack.rtt.as_secs() - self.srtt_s;
        let weight = 1.0 / f64::from(1 << self.shift);
        self.srtt_s += weight * error;
        self.deviation_s += weight / 2.0 * (error.abs() - self.deviation_s);
    }

    /// The averages are to cover some windows: about 2 w^1.5 packets, where w is the threshold.
    pub(crate) fn follow(&mut self, ssthresh: f64) {
        let lg = (ssthresh as u64).max(1).ilog2();
        self.shift = (lg + lg / 2 + 1).min(MOST_SHIFT);
    }

    /// Moves the score, as often as alpha is updated.
    // Differs from [PRAGUE-FALLBACK]: logarithms are exact. The code has whole ones and carries what is left to the next update,
    // which is the same on average.
    // Unclear in [PRAGUE-FALLBACK]: whether a sender that its application limits lowers the score. The code has the term and does
    // not use it, and so it is here.
    // Differs from [PRAGUE-FALLBACK]: later code counts alpha in 24 bits and has the constants of 20 bits here, so that nearly every
    // queue counts as classic. That fault is not modelled.
    pub(crate) fn judge(&mut self, min_rtt: Span) {
        let depth_s = self.srtt_s - min_rtt.as_secs();
        self.score += WEIGHT * libm::log2(self.deviation_s.max(LEAST_DEVIATION_S) / USUAL_DEVIATION_S);
        if depth_s > USUAL_DEPTH_S {
            self.score += WEIGHT * libm::log2(depth_s / USUAL_DEPTH_S);
        }
        self.score = self.score.clamp(0.0, MOST);
    }

    /// The least that alpha is at a mark.
    pub(crate) fn least_alpha(&self) -> f64 {
        ALPHA * (self.score.clamp(L4S, CLASSIC) - L4S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{ack, close};

    const BASE: Span = Span::from_ms(20);

    /// Averages that stay: a deviation, and how much longer than the shortest the round trip is.
    fn steady(deviation_s: f64, depth_s: f64) -> ClassicEcn {
        ClassicEcn { deviation_s, srtt_s: BASE.as_secs() + depth_s, ..ClassicEcn::new() }
    }

    fn scores(mut of: ClassicEcn, updates: usize) -> Vec<f64> {
        let mut judged = || {
            of.judge(BASE);
            (of.score * 1e6).round() / 1e6
        };
        (0..updates).map(|_| judged()).collect()
    }

    /// 3 ms are 4 x 750 us, which is 0.5 lg 4 = 1; 8 ms are 4 x 2 ms, another 1.
    #[test]
    fn deviation_and_depth_raise_the_score_up_to_17() {
        assert_eq!(scores(steady(3e-3, 0.0), 3), [1.0, 2.0, 3.0]);
        assert_eq!(scores(steady(3e-3, 8e-3), 10)[3..], [8.0, 10.0, 12.0, 14.0, 16.0, 17.0, 17.0]);
    }

    /// 187.5 us are a quarter of 750 us; a deep queue does not lower the score, nor does one of less than 2 ms.
    #[test]
    fn a_small_deviation_lowers_the_score_down_to_0() {
        let classic = |deviation_s, depth_s| ClassicEcn { score: 10.0, ..steady(deviation_s, depth_s) };
        assert_eq!(scores(classic(187.5e-6, 0.0), 3), [9.0, 8.0, 7.0]);
        assert_eq!(scores(classic(187.5e-6, 1e-3), 12)[8..], [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(scores(classic(750e-6, 1e-3), 2), [10.0, 10.0]);
        assert_eq!(scores(classic(187.5e-6, 8e-3), 2), [10.0, 10.0]);
        // Nothing is below 1 us: 10 - 0.5 lg 750, where the code has lg 750 = 10014683 / 2^20 = 9.550746.
        assert_eq!(scores(classic(0.0, -1e-3), 1), [5.224627]);
    }

    #[test]
    fn the_least_alpha_rises_from_8_to_9() {
        let least = |score| ClassicEcn { score, ..ClassicEcn::new() }.least_alpha();
        assert_eq!([0.0, 8.0, 8.5, 9.0, 17.0].map(least), [0.0, 0.0, 0.3125, 0.625, 0.625]);
    }

    /// The whole part of lg, half of it, and one: 6 + 3 + 1 for 64 to 127.
    #[test]
    fn the_averages_are_slower_the_larger_the_threshold() {
        let shift = |ssthresh| {
            let mut of = ClassicEcn::new();
            of.follow(ssthresh);
            of.shift
        };
        assert_eq!([1.0, 2.0, 64.0, 127.9, 128.0, 2048.0, 4096.0].map(shift), [1, 2, 10, 10, 11, 17, 18]);
        assert_eq!((shift(f64::INFINITY), ClassicEcn::new().shift), (18, 18));
    }

    /// With a threshold of 1 a sample counts by half, and in the deviation, which begins with 1 us, by a quarter.
    #[test]
    fn the_averages_begin_with_the_connection_and_follow_samples() {
        let mut of = ClassicEcn::new();
        of.sample(&ack(BASE));
        close(of.srtt_s, 0.020, 1e-12);
        of.follow(1.0);
        of.deviation_s = 1e-6;
        of.sample(&ack(Span::from_ms(24)));
        close(of.srtt_s, 0.022, 1e-12);
        close(of.deviation_s, 0.75e-6 + 1e-3, 1e-12);
        of.follow(64.0); // the averages stay
        close(of.srtt_s, 0.022, 1e-12);
    }
}
