//! The variation of the round trip by the kernel's rule [LINUX, tcp_rtt_estimator]: each sample counts
//! in full, so what is kept is the largest deviation of a round, which falls by a quarter a round.

/// Four deviations, in picoseconds, as the timeout takes them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Variation {
    /// The mean deviation, its largest value in this round, and what the timeout takes.
    mean: f64,
    largest: f64,
    kept: f64,
    /// The first packet that had not been sent when this round began.
    round_end: u64,
}

impl Variation {
    /// After the first sample; `least`: what the timeout takes at least.
    pub fn first(sample: f64, least: f64, next: u64) -> Variation {
        let mean = 2.0 * sample;
        let kept = mean.max(least);
        Variation { mean, largest: kept, kept, round_end: next }
    }

    /// A sample deviates by `error` from the smoothed time, when all below `una` is acknowledged and
    /// all below `next` was sent.
    pub fn sample(&mut self, error: f64, least: f64, una: u64, next: u64) {
        let more = error.abs() - self.mean / 4.0;
        // A fall far below the mean is no news of variation: it counts an eighth.
        self.mean += if error < 0.0 && more > 0.0 { more / 8.0 } else { more };
        if self.mean > self.largest {
            self.largest = self.mean;
            self.kept = self.kept.max(self.largest);
        }
        if una > self.round_end {
            if self.largest < self.kept {
                self.kept -= (self.kept - self.largest) / 4.0;
            }
            (self.round_end, self.largest) = (next, least);
        }
    }

    /// What lies between the smoothed time and the timeout.
    pub fn margin(&self) -> f64 {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A first sample of 100: deviation 200. A sample 40 above: 200 + 40 - 50 = 190; one 40 below:
    /// 190 - 47.5 + 40 = 182.5; one 80 below: 80 - 45.625 = 34.375, an eighth of it: 186.8.
    #[test]
    fn a_rise_counts_in_full_and_a_steep_fall_an_eighth() {
        let mut variation = Variation::first(100.0, 10.0, 10);
        let mut after = |error| {
            variation.sample(error, 10.0, 0, 10);
            variation.mean
        };
        assert_eq!([40.0, -40.0, -80.0].map(&mut after), [190.0, 182.5, 186.796875]);
    }

    /// The largest of the first round is 200; then nothing deviates: 200 - (200 - 10)/4 = 152.5 after
    /// another whole round, and 116.9 after the next.
    #[test]
    fn the_margin_falls_by_a_quarter_of_what_it_is_above_a_quiet_round() {
        let mut variation = Variation::first(100.0, 10.0, 10);
        (0..200).for_each(|_| variation.sample(0.0, 10.0, 5, 20));
        assert_eq!(variation.margin(), 200.0);
        let rounds = [11, 21, 31].map(|una| {
            variation.sample(0.0, 10.0, una, una + 9);
            variation.margin()
        });
        assert_eq!(rounds, [200.0, 152.5, 116.875]);
    }
}
