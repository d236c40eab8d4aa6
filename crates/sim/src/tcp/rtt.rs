//! The estimator of the round-trip time, and the retransmission timeout that follows from it [RFC 6298].

use fairhaul_units::{Span, Time, real};

mod recent;
mod variation;

use recent::RecentSmallest;
use variation::Variation;

/// The timeout before the first sample [RFC 6298, 2.1].
const FIRST_TIMEOUT: Span = Span::from_s(1);
/// The least timeout of a connection whose request was lost [RFC 6298, 5.7].
const TIMEOUT_AFTER_LOST_REQUEST: Span = Span::from_s(3);
/// The longest timeout [RFC 6298, 2.5].
const LONGEST_TIMEOUT: Span = Span::from_s(60);

/// Smoothed round-trip time, its variation and the timeout that follows.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Picoseconds; kept as a fraction, since a sample of a large window moves it by less than one.
    smoothed: f64,
    variation: f64,
    smallest: Span,
    /// That of recent time, for a sender that detects losses by time.
    recent: Option<Box<RecentSmallest>>,
    least_margin: Span,
    least_timeout: Span,
    backoffs: u32,
    /// The variation by the kernel's rule, once samples are taken by it.
    kernel: Option<Box<Variation>>,
    /// The smoothed time in whole picoseconds, and the timeout, as they follow from the rest.
    rounded: Span,
    timeout: Span,
}

impl RttEstimator {
    /// No sample yet; a timeout lies at least `least_margin` above the smoothed time.
    pub fn new(least_margin: Span) -> RttEstimator {
        let smallest = Span::from_ps(u64::MAX);
        RttEstimator {
            smoothed: 0.0,
            variation: 0.0,
            smallest,
            recent: None,
            least_margin,
            least_timeout: Span::ZERO,
            backoffs: 0,
            kernel: None,
            rounded: Span::ZERO,
            timeout: FIRST_TIMEOUT,
        }
    }

    /// No sample yet; a timeout is at least `least_timeout` as a whole [RFC 6298, 2.4].
    pub fn with_least_timeout(least_timeout: Span) -> RttEstimator {
        RttEstimator { least_timeout, ..RttEstimator::new(Span::ZERO) }
    }

    /// Takes a sample, one of about `per_round` in a round trip.
    ///
    /// The gains 1/8 and 1/4 are meant for one sample a round; with more they are divided by their
    /// number, so that the memory stays the same in time [RFC 7323, G].
    #[inline(always)]
    pub fn sample(&mut self, rtt: Span, per_round: f64) {
        let value = real(rtt.as_ps());
        self.smallest = self.smallest.min(rtt);
        if self.smoothed == 0.0 {
            (self.smoothed, self.variation) = (value, value / 2.0);
            return self.follow();
        }
        let share = if per_round > 1.0 { 1.0 / per_round } else { 1.0 };
        self.variation += share / 4.0 * ((self.smoothed - value).abs() - self.variation);
        self.smoothed += share / 8.0 * (value - self.smoothed);
        self.follow();
    }

    /// Takes a sample by the kernel's rule, when all below `una` is acknowledged and all below `next`
    /// was sent: a gain of 1/8 for each, however many there are in a round.
    #[cold]
    pub fn sample_in_full(&mut self, rtt: Span, una: u64, next: u64) {
        let (value, least) = (real(rtt.as_ps()), real(self.least_margin.as_ps()));
        self.smallest = self.smallest.min(rtt);
        let error = value - self.smoothed;
        match &mut self.kernel {
            Some(kernel) => {
                self.smoothed += error / 8.0;
                kernel.sample(error, least, una, next);
            }
            None => {
                self.smoothed = value;
                self.kernel = Some(Box::new(Variation::first(value, least, next)));
            }
        }
        self.variation = self.kernel.as_ref().map_or(0.0, |kernel| kernel.margin()) / 4.0;
        self.follow();
    }

    /// The smallest sample, and that of recent time, are not above `rtt`.
    pub fn at_most(&mut self, rtt: Span, now: Time) {
        self.smallest = self.smallest.min(rtt);
        match &mut self.recent {
            Some(recent) => recent.take(now, rtt),
            None => self.recent = Some(Box::new(RecentSmallest::first(now, rtt))),
        }
    }

    /// Data begin after a request that was lost: the timeout is at least 3 s until the next sample [RFC 6298, 5.7].
    pub fn wait_after_lost_request(&mut self) {
        self.timeout = self.timeout.max(TIMEOUT_AFTER_LOST_REQUEST);
    }

    /// A timeout was spurious: takes the first sample of what was sent after it, and neither falls
    /// below what was known `before` it nor trusts the variation since [RFC 4015, 3.5].
    pub fn distrust(&mut self, before: &RttEstimator, rtt: Span) {
        let value = rtt.as_ps() as f64;
        self.smoothed = before.smoothed.max(value);
        self.variation = before.variation.max(value / 2.0);
        self.follow();
    }

    /// New data was acknowledged: the timeout is no longer backed off.
    pub fn progress(&mut self) {
        if self.backoffs > 0 {
            self.backoffs = 0;
            self.follow();
        }
    }

    /// The timer ran out: the next timeout is twice as long [RFC 6298, 5.5].
    pub fn back_off(&mut self) {
        self.backoffs += 1;
        self.follow();
    }

    /// Whether the timer ran out since the last progress.
    pub fn is_backed_off(&self) -> bool {
        self.backoffs > 0
    }

    /// The retransmission timeout.
    pub fn timeout(&self) -> Span {
        self.timeout
    }

    /// The retransmission timeout as it would be had the timer not run out.
    #[inline(always)]
    pub fn timeout_without_back_off(&self) -> Span {
        let margin = whole(4.0 * self.variation).max(self.least_margin);
        (self.rounded + margin).max(self.least_timeout)
    }

    /// Works out what follows from an estimate that has changed.
    ///
    // Differs from [RFC 6298, 2.4]: the lower bound applies to the margin above the smoothed round-trip time,
    // not to the whole timeout, as in Linux, unless `rto = "rfc6298"` asks for the latter. With a bound below
    // the round-trip time the RFC's reading leaves hardly any margin in a steady queue, and every
    // retransmission races its timer.
    #[inline(always)]
    fn follow(&mut self) {
        if self.smoothed == 0.0 {
            self.timeout = (FIRST_TIMEOUT * (1 << self.backoffs.min(6))).min(LONGEST_TIMEOUT);
            return;
        }
        self.rounded = whole(self.smoothed);
        let timeout = self.timeout_without_back_off();
        let backed_off = if self.backoffs == 0 { timeout } else { timeout * (1 << self.backoffs.min(9)) };
        self.timeout = backed_off.min(LONGEST_TIMEOUT);
    }

    /// The smoothed round-trip time, zero before the first sample.
    pub fn smoothed(&self) -> Span {
        self.rounded
    }

    /// The smallest sample so far.
    pub fn smallest(&self) -> Span {
        self.smallest
    }

    /// The smallest sample of the last five minutes, where samples come [with their times](Self::at_most).
    pub fn smallest_of_late(&self) -> Span {
        self.recent.as_ref().and_then(|recent| recent.smallest()).unwrap_or(self.smallest)
    }
}

/// A time in whole picoseconds; less than half of what a `u64` holds, which converts in one step.
fn whole(ps: f64) -> Span {
    Span::from_ps((ps as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: rfc6298-2-a, rfc6298-2-b
    #[test]
    fn the_first_sample_gives_three_times_itself() {
        // SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2 = 3 R = 300 ms.
        let mut rtt = RttEstimator::new(Span::from_ms(10));
        assert_eq!(rtt.timeout(), Span::from_s(1));
        rtt.sample(Span::from_ms(100), 1.0);
        assert_eq!(rtt.timeout(), Span::from_ms(300));
        rtt.back_off();
        assert_eq!(rtt.timeout(), Span::from_ms(600));
    }

    // Requirement: rfc6298-2-c, rfc6298-2-d, rfc6298-2-e, rfc6298-2-f
    #[test]
    fn the_second_sample_moves_an_eighth_and_a_quarter() {
        // SRTT = 100 + 80/8 = 110; RTTVAR = 50 + (80 - 50)/4 = 57.5; RTO = 110 + 230 = 340 ms.
        let mut rtt = RttEstimator::new(Span::from_ms(10));
        rtt.sample(Span::from_ms(100), 1.0);
        rtt.sample(Span::from_ms(180), 1.0);
        assert_eq!(rtt.smoothed(), Span::from_ms(110));
        assert_eq!(rtt.timeout(), Span::from_ms(340));
    }

    #[test]
    fn after_a_spurious_timeout_the_next_sample_counts_as_a_first_one_that_cannot_shorten() {
        // Before: SRTT = 100 ms, RTTVAR = 50 ms. A sample of 180 ms: 180 + 4 x 90 = 540 ms; one of
        // 60 ms: 100 + 4 x 50 = 300 ms, as before.
        let mut before = RttEstimator::new(Span::from_ms(10));
        before.sample(Span::from_ms(100), 1.0);
        for (sample, timeout) in [(180, 540), (60, 300)] {
            let mut rtt = before.clone();
            rtt.distrust(&before, Span::from_ms(sample));
            assert_eq!(rtt.timeout(), Span::from_ms(timeout));
        }
    }

    /// 100 samples of 80 ms, one of 160 ms: srtt 90 ms. In full the deviation is 4 x 80 = 320 ms less
    /// what has faded, so the timeout lies well above that of a sample that counts a hundredth.
    #[test]
    fn one_late_sample_in_full_moves_an_eighth_however_many_there_are() {
        let mut rtt = RttEstimator::new(Span::from_ms(10));
        (0..100).for_each(|n| rtt.sample_in_full(Span::from_ms(80), n, n + 10));
        rtt.sample_in_full(Span::from_ms(160), 100, 110);
        assert_eq!(rtt.smoothed(), Span::from_ms(90));
        assert!(rtt.timeout() >= Span::from_ms(170), "{}", rtt.timeout());
    }

    /// 1000 equal samples of 80 ms leave no variation. By the letter of RFC 6298 the timeout is then the
    /// floor of 200 ms, and of 300 ms the round trip itself; twice that after it ran out.
    // Requirement: rfc6298-2-g
    #[test]
    fn by_the_letter_the_floor_is_that_of_the_whole_timeout() {
        for (rtt_ms, timeout_ms) in [(80, 200), (300, 300)] {
            let mut rtt = RttEstimator::with_least_timeout(Span::from_ms(200));
            assert_eq!(rtt.timeout(), Span::from_s(1));
            (0..1000).for_each(|_| rtt.sample(Span::from_ms(rtt_ms), 1.0));
            assert_eq!(rtt.timeout(), Span::from_ms(timeout_ms));
            rtt.back_off();
            assert_eq!(rtt.timeout(), Span::from_ms(2 * timeout_ms));
        }
    }

    /// A path of 40 ms becomes one of 100 ms at 10 s: five minutes later the smallest sample of late is 100 ms.
    // Requirement: rfc8985-6.2-a
    #[test]
    fn the_smallest_sample_of_late_follows_a_path_that_becomes_longer() {
        let mut rtt = RttEstimator::new(Span::from_ms(200));
        let mut smallest_at = |s: u64| {
            let sample = Span::from_ms(if s <= 10 { 40 } else { 100 });
            rtt.at_most(sample, Time::ZERO + Span::from_s(s));
            (rtt.smallest_of_late(), rtt.smallest())
        };
        let [_, before, after] = [0..=10, 11..=310, 311..=311].map(|s| s.map(&mut smallest_at).last());
        let [short, long] = [40, 100].map(Span::from_ms);
        assert_eq!((before, after), (Some((short, short)), Some((long, short))));
    }

    // Requirement: rfc6298-4-a
    #[test]
    fn a_steady_path_keeps_the_least_margin() {
        let mut rtt = RttEstimator::new(Span::from_ms(200));
        (0..1000).for_each(|_| rtt.sample(Span::from_ms(80), 10.0));
        assert_eq!(rtt.timeout(), Span::from_ms(280));
    }
}
