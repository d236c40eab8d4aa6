//! HyStart++ [RFC 9406]: slow start ends when the round-trip time rises, before something is lost.
//!
//! A round whose smallest sample lies clearly above that of the round before begins conservative
//! slow start, which grows a quarter as fast. If the round-trip time falls again the rise was
//! jitter, and slow start resumes; if not, congestion avoidance follows after five rounds.

use fairhaul_cc::AckEvent;
use fairhaul_units::Span;

/// The least and the largest rise that counts; between, an eighth of the last round's smallest
/// sample (MIN_RTT_THRESH, MAX_RTT_THRESH, MIN_RTT_DIVISOR) [RFC 9406, 4.3].
const LEAST_RISE: Span = Span::from_ms(4);
const LARGEST_RISE: Span = Span::from_ms(16);
const RISE_DIVISOR: u64 = 8;
/// Samples of a round before it is judged (N_RTT_SAMPLE).
const SAMPLES: u32 = 8;
/// How much more slowly conservative slow start grows (CSS_GROWTH_DIVISOR).
const GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start, the one in which it begins included (CSS_ROUNDS).
const ROUNDS: u32 = 5;
/// Packets of an acknowledgement that count, unless packets are paced (L).
const LIMIT: f64 = 8.0;

/// Stands for a minimum that no sample has set.
const NONE: Span = Span::from_ps(u64::MAX);

/// The first slow start of a connection.
#[derive(Clone, Debug)]
pub struct HyStartPp {
    last_min: Span,
    current_min: Span,
    samples: u32,
    /// The round is over when all below this packet is acknowledged (windowEnd).
    end: u64,
    conservative: Option<Conservative>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The smallest sample of the round that began it.
    baseline: Span,
    /// Rounds that are over.
    rounds: u32,
}

impl Default for HyStartPp {
    fn default() -> HyStartPp {
        HyStartPp { last_min: NONE, current_min: NONE, samples: 0, end: 0, conservative: None }
    }
}

impl HyStartPp {
    /// Divides what a controller adds for an acknowledgement of `packets`: more of them
    /// count than the two of [RFC 3465], and in conservative slow start each a quarter.
    pub fn divisor(&self, packets: f64, paced: bool) -> f64 {
        let counted = if paced { packets } else { packets.min(LIMIT) };
        let divisor = packets.min(2.0) / counted;
        if self.conservative.is_some() { divisor * GROWTH_DIVISOR } else { divisor }
    }

    /// Takes the sample of an acknowledgement, when all below `una` is acknowledged and all below `next`
    /// was sent; whether slow start is to end.
    // Unclear in [RFC 9406, 4.2]: whether the acknowledgement that ends a round is the last of it
    // or the first of the next. The first of the next.
    pub fn is_over(&mut self, ack: &AckEvent, una: u64, next: u64) -> bool {
        if una >= self.end {
            self.end = next;
            if self.next_round() {
                return true;
            }
        }
        self.current_min = self.current_min.min(ack.rtt);
        self.samples += 1;
        if self.samples >= SAMPLES {
            self.update_conservative();
        }
        false
    }

    /// Begins another round; whether it is one too many of conservative slow start.
    fn next_round(&mut self) -> bool {
        (self.last_min, self.current_min, self.samples) = (self.current_min, NONE, 0);
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds == ROUNDS
    }

    /// Begins conservative slow start, or takes it back.
    fn update_conservative(&mut self) {
        match self.conservative {
            Some(Conservative { baseline, .. }) if self.current_min < baseline => self.conservative = None,
            None if self.last_min != NONE && self.current_min >= self.last_min + rise(self.last_min) => {
                self.conservative = Some(Conservative { baseline: self.current_min, rounds: 0 });
            }
            _ => {}
        }
    }
}

/// How far the smallest sample must rise above the last round's.
fn rise(last_min: Span) -> Span {
    (last_min / RISE_DIVISOR).min(LARGEST_RISE).max(LEAST_RISE)
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Time;

    use super::*;

    fn sample(rtt: Span) -> AckEvent {
        AckEvent {
            now: Time::ZERO,
            packets: 1.0,
            marked: 0.0,
            lost: 0.0,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            one_way: rtt / 2,
            in_flight: 10.0,
            new_round: false,
            recovering: false,
            window_limited: true,
            rate: None,
        }
    }

    /// A round of so many samples, of which all but one are larger; whether slow start ended.
    fn round(hystart_pp: &mut HyStartPp, least_ms: u64, samples: u32) -> bool {
        (0..samples).fold(false, |over, number| {
            let above = Span::from_ms(if number == 3 { 0 } else { 7 });
            let (una, next) = if number == 0 { (hystart_pp.end, hystart_pp.end + 100) } else { (0, 100) };
            hystart_pp.is_over(&sample(Span::from_ms(least_ms) + above), una, next) || over
        })
    }

    /// After rounds with those smallest samples, of ten each.
    fn after(rounds: &[u64]) -> HyStartPp {
        let mut hystart_pp = HyStartPp::default();
        for &least_ms in rounds {
            assert!(!round(&mut hystart_pp, least_ms, 10));
        }
        hystart_pp
    }

    /// An eighth of 20 ms is less than 4 ms, of 80 ms 10 ms, of 160 ms more than 16 ms.
    // Requirement: rfc9406-4.3-a
    #[test]
    fn a_rise_of_an_eighth_counts_between_4_and_16_ms() {
        for (last, rise_ms) in [(20, 4), (80, 10), (128, 16), (160, 16)] {
            assert_eq!(rise(Span::from_ms(last)), Span::from_ms(rise_ms));
            assert!(after(&[last, last + rise_ms - 1]).conservative.is_none());
            assert!(after(&[last, last + rise_ms]).conservative.is_some());
        }
    }

    /// The vectors of neqo: 120 ms after 100 ms are a rise, 105 ms are none, 15 ms after 10 ms are one (the least is 4 ms),
    /// and so are 218 ms after 200 ms (the most is 16 ms).
    #[test]
    fn the_pairs_of_round_trips_of_neqo_are_judged_as_there() {
        for (base, next, rises) in [(100, 120, true), (100, 105, false), (10, 15, true), (200, 218, true)] {
            assert_eq!(after(&[base, next]).conservative.is_some(), rises, "{base} ms, then {next} ms");
        }
    }

    // Requirement: rfc9406-4.3-c
    #[test]
    fn the_first_round_and_one_of_seven_samples_are_not_judged() {
        assert!(after(&[500]).conservative.is_none());
        let mut hystart_pp = after(&[80]);
        round(&mut hystart_pp, 200, 7);
        assert!(hystart_pp.conservative.is_none());
        hystart_pp.is_over(&sample(Span::from_ms(200)), 0, 100);
        assert!(hystart_pp.conservative.is_some());
    }

    #[test]
    fn a_slow_rise_that_each_round_forgives_goes_unseen() {
        assert!(after(&[80, 85, 90, 95, 100]).conservative.is_none());
    }

    /// The rise begins it in its own round, the first of five.
    // Requirement: rfc9406-4.3-a
    #[test]
    fn conservative_slow_start_lasts_five_rounds() {
        let mut hystart_pp = after(&[80, 100, 110, 120, 130, 140]);
        assert!(round(&mut hystart_pp, 150, 1));
    }

    /// 99 ms are below the 100 ms that began it; a new rise is judged against the round before.
    #[test]
    fn a_round_trip_below_the_baseline_takes_it_back() {
        assert!(after(&[80, 100, 100]).conservative.is_some());
        assert!(after(&[80, 100, 99]).conservative.is_none());
        let mut hystart_pp = after(&[80, 100, 80, 100, 110, 110, 110, 110]);
        assert!(round(&mut hystart_pp, 110, 1));
    }

    /// A controller adds two packets for an acknowledgement of ten. Eight are to count, ten where
    /// they are paced, and a quarter of that in conservative slow start.
    // Requirement: rfc9406-4.3-a, rfc9406-4.3-d, rfc9406-4.3-e
    #[test]
    fn eight_packets_of_an_acknowledgement_count_and_a_quarter_of_them_later() {
        let added = |hystart_pp: &HyStartPp, packets: f64, paced| {
            packets.min(2.0) / hystart_pp.divisor(packets, paced)
        };
        let (first, later) = (after(&[80]), after(&[80, 100]));
        assert_eq!([1.0, 2.0, 10.0].map(|n| added(&first, n, false)), [1.0, 2.0, 8.0]);
        assert_eq!([1.0, 2.0, 10.0].map(|n| added(&first, n, true)), [1.0, 2.0, 10.0]);
        assert_eq!([1.0, 2.0, 10.0].map(|n| added(&later, n, false)), [0.25, 0.5, 2.0]);
    }
}
