//! The round-trip time that a receiver measures, by which it sizes its buffer [LINUX, tcp_rcv_rtt_measure_ts,
//! tcp_rcv_rtt_measure].
//!
//! A packet echoes the time stamp of the last acknowledgement that its sender had when the packet left. The first packet with a
//! new one gives a sample, in the milliseconds of time stamps. So does the time until as much has arrived as was offered, but
//! only if it is shorter.
//
// Differs from [LINUX]: a packet carries no echo here. The receiver knows it from when the packet left and how long an
// acknowledgement takes to its sender, which is the time that the answer to the opening took: where acknowledgements wait in
// queues, it misses that, and of what waited in `fq` the time that it waited.

use std::collections::VecDeque;

use fairhaul_units::{Span, Time};

use super::time_stamps;

/// A new sample moves the smoothed round trip by one part of this.
const PARTS: f64 = 8.0;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct ReceiverRtt {
    /// Smoothed, seconds; none before the first sample.
    smoothed: Option<f64>,
    /// How long the host's clock of time stamps was in a tick when the run began.
    phase: Span,
    /// When the connection was opened, and how long acknowledgements take to the sender.
    opened: Time,
    way: Option<Span>,
    /// When the first acknowledgement of each tick left, from the one on that packets echo.
    acknowledged: VecDeque<Time>,
    /// The tick that the last packet echoed.
    echoed: Option<u64>,
    /// Since when, and to below which packet, what was offered arrives.
    since: Time,
    below: Option<u64>,
}

impl ReceiverRtt {
    /// Nothing is measured yet; the host's clock of time stamps was in a tick for `phase` when the run began, which decides
    /// whether a round trip between two whole milliseconds is measured as the shorter or the longer.
    pub fn of(phase: Span) -> ReceiverRtt {
        ReceiverRtt { phase, ..ReceiverRtt::default() }
    }

    fn tick(&self, now: Time) -> u64 {
        time_stamps::tick(now + self.phase)
    }

    /// The connection is opened at `now`.
    pub fn opens(&mut self, now: Time) {
        self.opened = now;
    }

    /// An acknowledgement leaves at `now`.
    pub fn acknowledges(&mut self, now: Time) {
        let tick = self.tick(now);
        if self.acknowledged.back().is_none_or(|last| self.tick(*last) < tick) {
            self.acknowledged.push_back(now);
        }
    }

    /// Full packets arrive at `now` that left at `stamped`.
    pub fn arrive(&mut self, stamped: Time, now: Time) {
        let way = *self.way.get_or_insert(stamped.since(self.opened));
        while self.acknowledged.get(1).is_some_and(|next| *next + way <= stamped) {
            self.acknowledged.pop_front();
        }
        let Some(tick) = self.acknowledged.front().map(|echoed| self.tick(*echoed)) else { return };
        if self.echoed.replace(tick) == Some(tick) {
            return;
        }
        let sample = (self.tick(now) - tick) as f64 / 1e3;
        match self.smoothed {
            _ if sample == 0.0 => {}
            Some(rtt) if sample >= rtt => self.smoothed = Some(rtt + (sample - rtt) / PARTS),
            _ => self.smoothed = Some(sample),
        }
    }

    /// All below `next` has arrived in order at `now`; as much more as was offered ends in the packet before `offered`.
    pub fn advance(&mut self, next: u64, offered: u64, now: Time) {
        if self.below.is_some_and(|below| next < below) {
            return;
        }
        if self.below.is_some() {
            let took = now.since(self.since).max(Span::from_us(1)).as_secs();
            self.smoothed = Some(self.smoothed.map_or(took, |rtt| rtt.min(took)));
        }
        (self.since, self.below) = (now, Some(offered));
    }

    /// Smoothed, seconds; none before the first sample.
    pub fn smoothed(&self) -> Option<f64> {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A round trip of 9.8 ms from 10.1 ms on ends in the same tenth millisecond, and where the clock is 0.5 ms further in its
    /// tick in the next one.
    #[test]
    fn the_phase_of_the_clock_decides_about_a_part_of_a_tick() {
        let measured = |phase| {
            let mut rtt = ReceiverRtt::of(Span::from_us(phase));
            rtt.opens(at(10_100));
            rtt.acknowledges(at(10_100));
            rtt.arrive(at(15_000), at(19_900));
            rtt.smoothed().map(|s| (s * 1e3).round())
        };
        assert_eq!([0, 500].map(measured), [Some(9.0), Some(10.0)]);
    }

    /// The answer leaves at 10.2 ms and takes 5 ms. What leaves at 15.2 ms echoes it, and arrives at 20.2: 10 ms. The next
    /// acknowledgements leave at 20.2, 20.4 and 21.1 ms; what leaves at 25.3 echoes tick 20, and at 35.5 it is 15 ms
    /// old, the second packet with it gives nothing. What echoes tick 21 at 31.9 is 10 ms old again.
    #[test]
    fn a_new_echo_gives_a_sample() {
        let mut rtt = ReceiverRtt::default();
        rtt.opens(at(10_200));
        rtt.acknowledges(at(10_200));
        let mut arrives = |left, now| {
            rtt.arrive(at(left), at(now));
            rtt.acknowledges(at(now));
            rtt.smoothed().map(|rtt| (rtt * 1e6).round())
        };
        assert_eq!(arrives(15_200, 20_200), Some(10_000.0));
        assert_eq!(arrives(15_300, 21_100), Some(10_000.0));
        assert_eq!(arrives(25_300, 35_500), Some(10_625.0));
        assert_eq!(arrives(25_400, 39_500), Some(10_625.0));
        assert_eq!(arrives(26_200, 31_900), Some(10_000.0));
    }

    /// What was offered arrives within 8 ms, which is less than 10, and then within 12.
    #[test]
    fn the_time_of_a_window_counts_if_it_is_shorter() {
        let mut rtt = ReceiverRtt { smoothed: Some(0.01), ..ReceiverRtt::default() };
        let mut advances = |next, offered, us| {
            rtt.advance(next, offered, at(us));
            rtt.smoothed().map(|rtt| (rtt * 1e6).round())
        };
        assert_eq!([advances(1, 45, 1000), advances(44, 90, 8000)], [Some(10_000.0); 2]);
        assert_eq!([advances(45, 90, 9000), advances(90, 180, 21_000)], [Some(8000.0); 2]);
    }
}
