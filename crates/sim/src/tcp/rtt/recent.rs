//! The smallest round trip of the last five minutes [RFC 8985, 6.2], kept as the kernel keeps it: the smallest sample, the
//! smallest after it, and the smallest after that [LINUX, minmax_running_min].

use fairhaul_units::{Span, Time};

/// For how long a sample counts [LINUX, tcp_min_rtt_wlen].
const WINDOW: Span = Span::from_s(300);

/// The smallest of the samples of the last [`WINDOW`].
#[derive(Clone, Debug)]
pub(super) struct RecentSmallest {
    /// When they were taken, and what they are: the smallest, the smallest since, and the smallest since that.
    best: [(Time, Span); 3],
    has_forgotten: bool,
}

impl RecentSmallest {
    /// With its first sample.
    pub(super) fn first(now: Time, rtt: Span) -> RecentSmallest {
        RecentSmallest { best: [(now, rtt); 3], has_forgotten: false }
    }

    /// Takes a sample; `now` never goes back.
    pub(super) fn take(&mut self, now: Time, rtt: Span) {
        let sample = (now, rtt);
        if let Some(first) = self.best.iter().position(|best| rtt <= best.1) {
            self.best[first..].fill(sample);
        }
        while now.since(self.best[0].0) > WINDOW {
            self.best = [self.best[1], self.best[2], sample];
            self.has_forgotten = true;
        }
        // A sample that is no successor of the smallest yet becomes one once a part of the window has passed.
        let [smallest, second, third] = self.best;
        let age = now.since(smallest.0);
        if second.0 == smallest.0 && age > WINDOW / 4 {
            self.best[1..].fill(sample);
        } else if third.0 == second.0 && age > WINDOW / 2 {
            self.best[2] = sample;
        }
    }

    /// The smallest sample that counts, if an earlier one no longer does.
    pub(super) fn smallest(&self) -> Option<Span> {
        self.has_forgotten.then_some(self.best[0].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes samples of (seconds, milliseconds); the smallest after each, where one was forgotten.
    fn smallest(samples: &[(u64, u64)]) -> Vec<Option<u64>> {
        let at = |&(s, ms): &(u64, u64)| (Time::ZERO + Span::from_s(s), Span::from_ms(ms));
        let (now, rtt) = at(&samples[0]);
        let mut recent = RecentSmallest::first(now, rtt);
        let take = |sample| {
            let (now, rtt) = at(sample);
            recent.take(now, rtt);
            recent.smallest().map(|rtt| rtt / Span::from_ms(1))
        };
        samples.iter().map(take).collect()
    }

    /// 40 ms, taken at 0 s, count until 300 s. Of the samples of 100 ms since, the one at 76 s is the first after a quarter
    /// of the window, and counts until 376 s; the one of 90 ms at 200 s then counts until 500 s.
    #[test]
    fn a_sample_counts_for_five_minutes() {
        let samples = [(0, 40), (76, 100), (200, 90), (300, 100), (301, 100), (500, 100), (501, 100)];
        assert_eq!(smallest(&samples), [None, None, None, None, Some(90), Some(90), Some(100)]);
    }

    /// A path of 40 ms becomes one of 100 ms at 10 s, with a sample in each second: after 310 s nothing of 40 ms is left.
    /// A silence of an hour leaves the sample that ends it.
    #[test]
    fn on_a_path_that_becomes_longer_it_follows() {
        let path: Vec<_> = (0..=311).map(|s| (s, if s <= 10 { 40 } else { 100 })).collect();
        let followed = smallest(&path);
        assert_eq!((followed[310], followed[311]), (None, Some(100)));
        assert_eq!(smallest(&[(0, 40), (3600, 70)]), [None, Some(70)]);
    }
}
