//! Aggregated acknowledgements [LINUX, bbr_update_ack_aggregation]: packets acknowledged beyond what the rate explains.
//!
//! A radio link or a receiver collects packets or acknowledgements and releases them together. Until the next release a
//! sender with two bandwidth-delay products in flight may have nothing to send, so what was once acknowledged in excess
//! is added to the window.

use fairhaul_units::{Span, Time};

/// The excess is the largest of this many rounds, and of as many before them.
const ROUNDS: u32 = 5;
/// At most as many packets are added as the rate delivers in this time.
const MOST: Span = Span::from_ms(100);
/// An epoch ends at the latest with this many packets.
const LONGEST_EPOCH: f64 = 1_048_576.0;

/// The excess of the last five to ten rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct AggregatedAcks {
    /// Packets acknowledged since the last time at which there were no more than the rate explains.
    epoch_began: Time,
    packets: f64,
    /// The largest excess of the current five rounds, and of the five before.
    current: f64,
    previous: f64,
    rounds: u32,
}

impl AggregatedAcks {
    pub(super) fn new() -> AggregatedAcks {
        AggregatedAcks { epoch_began: Time::ZERO, packets: 0.0, current: 0.0, previous: 0.0, rounds: 0 }
    }

    /// `packets` are acknowledged at `now`, when the estimated rate is `rate` and the window is `cwnd`; `new_round`:
    /// they begin a round.
    pub(super) fn take(&mut self, packets: f64, new_round: bool, rate: f64, cwnd: f64, now: Time) {
        self.rounds += u32::from(new_round);
        if self.rounds >= ROUNDS {
            (self.rounds, self.previous, self.current) = (0, self.current, 0.0);
        }
        let mut expected = (rate * now.since(self.epoch_began).as_secs()).floor();
        if self.packets <= expected || self.packets + packets >= LONGEST_EPOCH {
            (self.packets, self.epoch_began, expected) = (0.0, now, 0.0);
        }
        self.packets += packets;
        self.current = self.current.max((self.packets - expected).min(cwnd));
    }

    /// What is added to the window at that rate.
    pub(super) fn allowance(&self, rate: f64) -> f64 {
        self.current.max(self.previous).min((rate * MOST.as_secs()).floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 packets a second, acknowledged 25 at once every 25 ms, from 25 ms on. At 25 ms nothing had been acknowledged:
    /// an epoch begins, and the 25 are all in excess. At 50 ms those 25 are explained, and another begins.
    #[test]
    fn twenty_five_packets_at_once_are_an_excess_of_twenty_five() {
        let mut acks = AggregatedAcks::new();
        for burst in 1..=4 {
            for _ in 0..25 {
                acks.take(1.0, false, 1000.0, 80.0, Time::ZERO + Span::from_ms(25 * burst));
            }
            assert_eq!(acks.allowance(1000.0), 25.0);
        }
    }

    /// One packet every millisecond, which the rate explains: the first of an epoch is always in excess.
    #[test]
    fn packets_that_come_evenly_are_an_excess_of_one() {
        let mut acks = AggregatedAcks::new();
        (1..=200).for_each(|ms| acks.take(1.0, false, 1000.0, 80.0, Time::ZERO + Span::from_ms(ms)));
        assert!(acks.allowance(1000.0) <= 2.0, "{}", acks.allowance(1000.0));
    }

    /// An excess of 60 in the first round. The fifth round begins other five, and the tenth forgets it.
    #[test]
    fn an_excess_counts_for_five_to_ten_rounds() {
        let mut acks = AggregatedAcks::new();
        let mut rounds = 0;
        let mut round = |acks: &mut AggregatedAcks, packets: f64| {
            rounds += 1;
            acks.take(packets, true, 1000.0, 80.0, Time::ZERO + Span::from_ms(100 * rounds));
            acks.allowance(1000.0)
        };
        assert_eq!(round(&mut acks, 60.0), 60.0);
        assert!((2..=9).all(|_| round(&mut acks, 1.0) == 60.0));
        assert_eq!(round(&mut acks, 1.0), 1.0);
    }

    /// 200 at once: at most the window of 80, and at 500 packets a second at most 50, those of 100 ms.
    #[test]
    fn the_window_and_a_tenth_of_a_second_bound_it() {
        let mut acks = AggregatedAcks::new();
        acks.take(200.0, false, 500.0, 80.0, Time::ZERO + Span::from_ms(1));
        assert_eq!((acks.allowance(1000.0), acks.allowance(500.0)), (80.0, 50.0));
    }
}
