//! The filter for the maximum delivery rate: exactly the largest of the last rounds [BBR], or what Linux keeps of them
//! [LINUX, win_minmax].

use crate::windowed_max::WindowedMax;

/// The largest rate of the last rounds.
#[derive(Clone, Debug)]
pub(super) enum RateFilter {
    /// The maximum over a number of last rounds, the current one included.
    Exact(WindowedMax),
    /// As Linux finds it, of one round more.
    ThreeBest(ThreeBest),
}

impl RateFilter {
    pub(super) fn largest(&self) -> f64 {
        match self {
            RateFilter::Exact(rates) => rates.largest(),
            RateFilter::ThreeBest(rates) => rates.best[0].value,
        }
    }

    /// Takes the rate of a sample in that round.
    pub(super) fn take(&mut self, round: u64, rate: f64) {
        match self {
            RateFilter::Exact(rates) => rates.take(round, rate),
            RateFilter::ThreeBest(rates) => rates.take(Rate { round, value: rate }),
        }
    }
}

/// Three rates, each the largest since the one before it was taken. When the first grows older than the window, the
/// second takes its place, so that the result may be smaller than the largest rate of the window, and never larger.
#[derive(Clone, Debug)]
pub(super) struct ThreeBest {
    rounds: u64,
    best: [Rate; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    round: u64,
    value: f64,
}

impl ThreeBest {
    /// A rate counts until it is older than `rounds`.
    pub(super) fn new(rounds: u64) -> ThreeBest {
        ThreeBest { rounds, best: [Rate::default(); 3] }
    }

    fn take(&mut self, rate: Rate) {
        let is_older = |old: Rate, rounds: u64| rate.round - old.round > rounds;
        match self.best.iter().position(|best| rate.value >= best.value) {
            Some(place) => self.best[place..].fill(rate),
            None if is_older(self.best[2], self.rounds) => self.best.fill(rate),
            None => {}
        }
        if is_older(self.best[0], self.rounds) {
            // The second may be as old, because it is replaced only by what is larger.
            for _ in 0..2 {
                if is_older(self.best[0], self.rounds) {
                    self.best.rotate_left(1);
                    self.best[2] = rate;
                }
            }
            return;
        }
        // The second is of a later quarter of the window than the first, the third of its later half.
        let [first, second, third] = self.best.map(|best| best.round);
        if second == first && is_older(self.best[0], self.rounds / 4) {
            self.best[1..].fill(rate);
        } else if third == second && is_older(self.best[0], self.rounds / 2) {
            self.best[2] = rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(rates: &[(u64, f64)]) -> Vec<f64> {
        let mut filter = RateFilter::ThreeBest(ThreeBest::new(10));
        let after = |&(round, rate): &(u64, f64)| {
            filter.take(round, rate);
            filter.largest()
        };
        rates.iter().map(after).collect()
    }

    /// A rate of round 0 counts up to round 10. In round 3, a quarter of the window after it, 60 becomes the second, and
    /// in round 6 50 the third.
    #[test]
    fn a_rate_counts_for_eleven_rounds_and_the_next_best_follows() {
        let rates = [(0, 100.0), (3, 60.0), (6, 50.0), (10, 40.0), (11, 40.0), (14, 30.0), (17, 30.0)];
        assert_eq!(largest(&rates), [100.0, 100.0, 100.0, 100.0, 60.0, 50.0, 40.0]);
    }

    /// What the second does not exceed in the first quarter of the window is forgotten: in round 2 there were 90, and the
    /// largest after 100 is what came in round 3.
    #[test]
    fn a_rate_just_after_the_largest_is_not_kept() {
        assert_eq!(largest(&[(0, 100.0), (2, 90.0), (3, 60.0), (11, 20.0)]), [100.0, 100.0, 100.0, 60.0]);
        let mut exact = RateFilter::Exact(WindowedMax::new(11));
        [(0, 100.0), (2, 90.0), (3, 60.0), (11, 20.0)]
            .iter()
            .for_each(|&(round, rate)| exact.take(round, rate));
        assert_eq!(exact.largest(), 90.0);
    }

    #[test]
    fn after_a_pause_of_more_than_a_window_only_the_new_rate_counts() {
        assert_eq!(largest(&[(0, 100.0), (1, 90.0), (30, 5.0)]), [100.0, 100.0, 5.0]);
    }
}
