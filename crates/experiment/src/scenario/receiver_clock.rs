//! The clock of a receiver, which stamps the packets that arrive: its offset and its drift against the sender's clock,
//! and its resolution.
//!
//! Two hosts' clocks have nothing in common but roughly their speed, so that of a one-way transit
//! time only changes mean something. The record says the true time; a controller reads what the
//! stamps say.

use fairhaul_units::{Span, Time};

/// A clock that is not the sender's is at least so far ahead, so that no transit time is negative:
/// the fastest drift over the longest run (1000 ppm of 100 days) is a tenth of it.
const AHEAD: Span = Span::from_s(86_400);
const PARTS: i128 = 1_000_000_000;

/// The clock of a receiver, against that of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverClock {
    /// How far it is ahead at the start of the run.
    pub offset: Span,
    /// Nanoseconds that it gains in each second.
    pub drift_ppb: i64,
    /// The unit in which it is read, rounded down; zero: none.
    pub stamp: Span,
}

impl ReceiverClock {
    /// Whether it is the sender's own.
    pub fn is_exact(&self) -> bool {
        *self == ReceiverClock::default()
    }

    /// What it shows at `now`.
    #[inline]
    pub fn reads(&self, now: Time) -> Time {
        if self.is_exact() { now } else { self.shows(now) }
    }

    #[cold]
    fn shows(&self, now: Time) -> Time {
        let passed = i128::from(now.as_ps());
        let gained = (passed * i128::from(self.drift_ppb)).div_euclid(PARTS);
        let shown = passed + gained + i128::from((self.offset + AHEAD).as_ps());
        let stamp = i128::from(self.stamp.as_ps().max(1));
        Time::from_ps((shown / stamp * stamp) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn an_exact_clock_shows_the_time() {
        assert_eq!(ReceiverClock::default().reads(at(1_234_567)), at(1_234_567));
    }

    /// 100 ppm of 600 s are 60 ms; of 10 s, 1 ms.
    #[test]
    fn a_clock_gains_or_loses_its_drift() {
        for (ppb, gained_us) in [(100_000, 60_000i64), (-100_000, -60_000)] {
            let clock = ReceiverClock { drift_ppb: ppb, ..ReceiverClock::default() };
            let start = clock.reads(Time::ZERO);
            let passed = clock.reads(at(600_000_000)).since(start).as_ps() as i64;
            assert_eq!(passed - 600_000_000_000_000, gained_us * 1_000_000);
        }
    }

    #[test]
    fn a_clock_is_read_in_whole_stamps() {
        let clock = ReceiverClock { stamp: Span::from_ms(1), ..ReceiverClock::default() };
        let start = clock.reads(Time::ZERO);
        assert_eq!(clock.reads(at(2_999)).since(start), Span::from_ms(2));
        assert_eq!(clock.reads(at(3_000)).since(start), Span::from_ms(3));
    }

    #[test]
    fn an_offset_of_whole_stamps_changes_no_difference() {
        let clock = ReceiverClock { stamp: Span::from_ms(10), drift_ppb: 37_000, ..ReceiverClock::default() };
        let ahead = ReceiverClock { offset: Span::from_s(7), ..clock };
        for us in [0, 9_999, 10_001, 1_234_567, 599_999_999] {
            assert_eq!(ahead.reads(at(us)), clock.reads(at(us)) + Span::from_s(7));
        }
    }

    #[test]
    fn the_slowest_clock_is_ahead_to_the_end_of_the_longest_run() {
        let clock = ReceiverClock { drift_ppb: -1_000_000, ..ReceiverClock::default() };
        let end = Time::ZERO + Span::from_s(100 * 86_400);
        assert!(clock.reads(end) > end);
    }
}
