//! HyStart, the hybrid slow start of Linux's CUBIC [HYSTART, LINUX]: slow start ends where acknowledgements that
//! follow each other closely stretch over half of a round trip, or where the round-trip time rises.
//!
//! What left as one burst comes back as long as the bottleneck takes to send it. Half a round trip of
//! that means that the window fills half of the path, and slow start is about to send as much again.

use fairhaul_cc::AckEvent;
use fairhaul_units::{Span, Time};

/// The window from which it looks (hystart_low_window).
const LEAST_WINDOW: f64 = 16.0;
/// Acknowledgements that come closer than that belong to one train (hystart_ack_delta_us).
const CLOSE: Span = Span::from_ms(2);
/// By what a burst of offload may lengthen a train at most (hystart_ack_delay).
const SLACK: Span = Span::from_ms(1);
/// Samples of a round before it is judged (HYSTART_MIN_SAMPLES).
const SAMPLES: u32 = 8;
/// How far the smallest sample of a round may lie above the smallest of all: an eighth of that, within
/// these bounds (HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const LEAST_RISE: Span = Span::from_ms(4);
const LARGEST_RISE: Span = Span::from_ms(16);

/// How long the acknowledgements of a round may follow each other.
#[derive(Clone, Copy, Debug)]
pub struct LongestTrain {
    /// By what bursts may lengthen a train.
    pub slack: Span,
    /// Of the smallest round trip and that: divided by `part`. A paced sender may delay packets by half a round trip.
    pub part: u64,
}

impl LongestTrain {
    /// That of a sender that does not pace, and hands over bursts slowly or none.
    pub const UNPACED: LongestTrain = LongestTrain { slack: SLACK, part: 2 };

    /// That of a sender whose largest burst takes `burst`, which paces if `paced`: four bursts lengthen a train.
    pub fn of_bursts(burst: Span, paced: bool) -> LongestTrain {
        LongestTrain { slack: (burst * 4).min(SLACK), part: if paced { 1 } else { 2 } }
    }

    fn of(self, least: Span) -> Span {
        (least + self.slack) / self.part
    }
}

/// The slow start of a connection that begins, or begins anew after a timeout.
#[derive(Clone, Debug)]
pub struct HyStart {
    round_began: Time,
    /// The last acknowledgement of the train.
    last: Time,
    /// The smallest sample of all, and of this round.
    least: Span,
    smallest: Span,
    samples: u32,
    /// The round is over when this packet is acknowledged, too.
    end: u64,
}

impl HyStart {
    /// A slow start that begins at `now`, when all below `next` was sent, is its own first round.
    pub fn anew(now: Time, next: u64) -> HyStart {
        let none = Span::from_ps(u64::MAX);
        HyStart { round_began: now, last: now, least: none, smallest: none, samples: 0, end: next }
    }

    /// Takes an acknowledgement that finds the window at `cwnd`, when all below `una` is acknowledged and
    /// all below `next` was sent; whether slow start is to end.
    ///
    /// A round ends with the acknowledgement of something that left since it began (hystart_update).
    //
    // Differs from [LINUX] before 6.14: in those kernels rounds, too, begin when the window first is 16, in the
    // middle of a round, so that a train is measured from there.
    pub fn is_over(&mut self, ack: &AckEvent, cwnd: f64, una: u64, next: u64, longest: LongestTrain) -> bool {
        self.least = self.least.min(ack.rtt);
        if una > self.end {
            *self = HyStart { least: self.least, ..HyStart::anew(ack.now, next) };
        }
        cwnd >= LEAST_WINDOW && (self.is_long_train(ack, longest) || self.has_risen(ack))
    }

    fn is_long_train(&mut self, ack: &AckEvent, longest: LongestTrain) -> bool {
        if ack.now.since(self.last) > CLOSE {
            return false; // the train is broken, and its round sees no other
        }
        self.last = ack.now;
        ack.now.since(self.round_began) > longest.of(self.least)
    }

    fn has_risen(&mut self, ack: &AckEvent) -> bool {
        self.smallest = self.smallest.min(ack.rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.smallest > self.least + (self.least / 8).max(LEAST_RISE).min(LARGEST_RISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_us: u64, rtt_ms: u64) -> AckEvent {
        AckEvent {
            now: Time::ZERO + Span::from_us(at_us),
            packets: 1.0,
            marked: 0.0,
            lost: 0.0,
            rtt: Span::from_ms(rtt_ms),
            srtt: Span::from_ms(rtt_ms),
            min_rtt: Span::from_ms(rtt_ms),
            one_way: Span::from_ms(20),
            in_flight: 10.0,
            new_round: false,
            recovering: false,
            window_limited: true,
            rate: None,
        }
    }

    /// When slow start ends, in us after the first acknowledgement of a round whose acknowledgements
    /// are that far apart.
    fn ends(gap_us: u64, rtt_ms: u64, cwnd: f64) -> Option<u64> {
        ends_after(gap_us, rtt_ms, cwnd, LongestTrain::UNPACED)
    }

    fn ends_after(gap_us: u64, rtt_ms: u64, cwnd: f64, longest: LongestTrain) -> Option<u64> {
        let mut hystart = HyStart::anew(Time::ZERO, 0);
        hystart.is_over(&event(0, 40), cwnd, 1, 2, longest);
        let event = |n: u64| event(1000 + n * gap_us, rtt_ms);
        let mut is_over = |n: u64| hystart.is_over(&event(n), cwnd, 3 + n, 300, longest);
        (0..200).find(|&n| is_over(n)).map(|n| n * gap_us)
    }

    /// Bursts of 100 us lengthen the train by 400 us: half of 40.4 ms are 20.2, and where the sender paces, all of it counts.
    #[test]
    fn a_train_may_be_as_long_as_the_round_trip_where_the_sender_paces() {
        let ends = |paced| ends_after(300, 40, 16.0, LongestTrain::of_bursts(Span::from_us(100), paced));
        assert_eq!((ends(false), ends(true)), (Some(20_400), Some(40_500)));
        assert_eq!(LongestTrain::of_bursts(Span::from_ms(3), false).slack, SLACK);
    }

    /// The round that begins when 8 are sent has samples 2 to 8, which are too few; the next begins with
    /// the acknowledgement of the ninth, not of the eighth, and its ninth sample is that of packet 17.
    #[test]
    fn a_round_ends_with_something_that_left_in_it() {
        let mut hystart = HyStart::anew(Time::ZERO, 0);
        assert!(!hystart.is_over(&event(0, 40), 15.0, 1, 8, LongestTrain::UNPACED));
        let mut is_over =
            |una| hystart.is_over(&event(2500 * una, 46), 16.0, una, 30 + una, LongestTrain::UNPACED);
        let over = (2..40).find(|&una| is_over(una));
        assert_eq!(over, Some(17));
    }

    /// Half of 40 + 1 ms: the first after 20.5 ms of acknowledgements 1 ms apart is that of 21 ms.
    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        assert_eq!(ends(1000, 40, 16.0), Some(21_000));
        assert_eq!(ends(2000, 40, 16.0), Some(22_000));
        assert_eq!(ends(2001, 40, 16.0), None);
    }

    /// An eighth of 40 ms is 5: at 46 ms the ninth sample ends it.
    #[test]
    fn a_rise_by_more_than_an_eighth_ends_it_with_the_ninth_sample() {
        assert_eq!(ends(2500, 45, 16.0), None);
        assert_eq!(ends(2500, 46, 16.0), Some(8 * 2500));
    }

    #[test]
    fn a_window_below_sixteen_is_left_alone() {
        assert_eq!(ends(1000, 80, 15.0), None);
    }
}
