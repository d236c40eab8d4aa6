//! PIE as the kernel has it [LINUX, sch_pie].
//!
//! The delay is how long the last packet that left had waited, and zero if none is left behind it. A packet that is taken
//! leaves the queue once the packets before it are sent, which is known when it arrives. So departures are caught up in the
//! order of their times together with updates, when a packet arrives.

use std::collections::VecDeque;

use fairhaul_units::{Chance, Span, Time};

use super::{PieParameters, step, struck, verdict};
use crate::queue::{Arrival, Capacity, QueueDecision, Site};

/// The delay above which the probability rises by more, and by how much.
const HIGH: Span = Span::from_ms(250);
const HIGH_STEP: f64 = 0.02;
/// When the first update is.
const FIRST_UPDATE: Span = Span::from_ms(500);

/// The arrival law of PIE in Linux.
#[derive(Clone, Debug)]
pub struct KernelPie {
    capacity: Capacity,
    given: PieParameters,
    p: f64,
    /// How long the last packet that left had waited, and what that was at the last update.
    delay: Span,
    delay_before: Span,
    /// Packets that wait: when each leaves the queue, and how long it has waited then.
    waiting: VecDeque<(Time, Span)>,
    last_departure: Option<Time>,
    /// For how long yet nothing is dropped early, by the times of departures.
    burst: Span,
    /// The sum of the probabilities since the last drop.
    accumulated: f64,
    next_update: Time,
    chance: Chance,
}

impl KernelPie {
    /// The queue of parameters that are resolved.
    pub(crate) fn new(given: PieParameters, site: &Site, chance: Chance) -> KernelPie {
        KernelPie {
            capacity: site.capacity,
            given,
            p: 0.0,
            delay: Span::ZERO,
            delay_before: Span::ZERO,
            waiting: VecDeque::new(),
            last_departure: None,
            burst: given.max_burst,
            accumulated: 0.0,
            next_update: Time::ZERO + FIRST_UPDATE,
            chance,
        }
    }

    /// What its gauges show at `at`, after what happened before it.
    pub(crate) fn gauges(&mut self, at: Time) -> [f64; 2] {
        self.catch_up(Time::from_ps(at.as_ps().saturating_sub(1)));
        [self.p, self.delay.as_secs()]
    }

    /// What becomes of an arriving packet.
    pub(crate) fn decide(&mut self, arrival: &Arrival) -> QueueDecision {
        self.catch_up(arrival.now);
        let decision = if self.capacity.admits(arrival.size, arrival.packets, arrival.bytes) {
            self.early(arrival)
        } else {
            QueueDecision::Drop
        };
        if decision == QueueDecision::Drop {
            self.accumulated = 0.0;
        } else {
            let leaves = arrival.busy_until.max(arrival.now);
            self.waiting.push_back((leaves, leaves.since(arrival.now)));
        }
        decision
    }

    fn early(&mut self, arrival: &Arrival) -> QueueDecision {
        let PieParameters { target, mark_ecnth, mean_packet, .. } = self.given;
        let short = (arrival.waiting_bytes.0 as f64) < 2.0 * mean_packet;
        if !self.burst.is_zero() || self.delay < target / 2 && self.p < 0.2 || short {
            return QueueDecision::Enqueue;
        }
        let Some(by_chance) = struck(&mut self.accumulated, self.p, &mut self.chance) else {
            return QueueDecision::Enqueue;
        };
        if by_chance {
            self.accumulated = 0.0; // and not where the sum alone decides, unless the packet is dropped
        }
        verdict(arrival.ecn, self.p <= mark_ecnth)
    }

    /// Lets the packets leave that have left by `now`, and makes the updates that were due by then.
    fn catch_up(&mut self, now: Time) {
        loop {
            let departs = self.waiting.front().map_or(Time::NEVER, |first| first.0);
            if departs.min(self.next_update) > now {
                return;
            }
            if departs <= self.next_update {
                self.depart();
                continue;
            }
            self.update();
            self.next_update += self.given.update;
            let is_calm = self.waiting.is_empty() && self.p == 0.0 && self.delay_before.is_zero();
            if is_calm && self.delay.is_zero() && self.next_update <= now {
                // Nothing changes until now.
                self.next_update += self.given.update * (now.since(self.next_update) / self.given.update + 1);
            }
        }
    }

    /// The first packet leaves the queue [LINUX, pie_process_dequeue].
    fn depart(&mut self) {
        let Some((at, waited)) = self.waiting.pop_front() else { return };
        self.delay = if self.waiting.is_empty() { Span::ZERO } else { waited };
        let since = self.last_departure.replace(at).map_or(Span::ZERO, |last| at.since(last));
        self.burst = self.burst.saturating_sub(since);
    }

    /// The probability follows the delay [LINUX, pie_calculate_probability].
    fn update(&mut self) {
        let (target_s, before_s) = (self.given.target.as_secs(), self.delay_before.as_secs());
        let delay_s = self.delay.as_secs();
        let drift = self.given.alpha * (delay_s - target_s) + self.given.beta * (delay_s - before_s);
        let moved = self.p + step(self.p, drift) + if self.delay > HIGH { HIGH_STEP } else { 0.0 };
        self.p = moved.clamp(0.0, 1.0);
        if self.delay.is_zero() && self.delay_before.is_zero() && self.waiting.is_empty() {
            self.p -= self.p / 64.0;
        }
        let half = self.given.target / 2;
        if self.p == 0.0 && self.delay < half && self.delay_before < half {
            (self.burst, self.last_departure, self.accumulated) = (self.given.max_burst, None, 0.0);
        }
        self.delay_before = self.delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueChoice;
    use fairhaul_units::{Bytes, Ecn, Rate};

    fn pie() -> KernelPie {
        let (capacity, mark) = (Capacity::Packets(1000), Capacity::Unlimited);
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        let site = Site { rate, delay: Span::ZERO, capacity, mark };
        let choice = QueueChoice::named("pie").expect("it is in the catalogue");
        let settings = choice.resolved(&site, Bytes(1000)).expect("defaults fit").settings;
        KernelPie::new((&settings).into(), &site, Chance::stream(1, "queue", 0))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn ms(ms: u64) -> Span {
        Span::from_ms(ms)
    }

    /// A packet of a millisecond that finds a queue which is empty at `busy_until`.
    fn finds(now: Time, busy_until: Time) -> Arrival {
        let packets = busy_until.since(now).as_ps().div_ceil(ms(1).as_ps());
        let (size, ecn, waiting) = (Bytes(1000), Ecn::NotCapable, packets.saturating_sub(1));
        let (bytes, waiting_bytes) = (Bytes(packets * 1000), Bytes(waiting * 1000));
        Arrival { size, ecn, flow: 0, now, packets, bytes, waiting, waiting_bytes, busy_until }
    }

    /// Of packets at 0, 0.1 and 0.2 ms the first waits for nothing, the second for 0.9 ms, and the third for 1.8 ms, but none
    /// is left behind it.
    #[test]
    fn the_delay_is_that_of_the_last_to_leave_and_zero_if_none_is_left() {
        let mut pie = pie();
        for (now, busy_until) in [(0, 0), (100, 1000), (200, 2000)] {
            assert_eq!(pie.decide(&finds(at(now), at(busy_until))), QueueDecision::Enqueue);
        }
        let delays = [150, 900, 1000, 1999, 2000].map(|us| {
            pie.catch_up(at(us));
            pie.delay
        });
        assert_eq!(delays, [0, 0, 900, 900, 0].map(Span::from_us));
    }

    /// The allowance of 150 ms shrinks by the time from one departure to the next.
    #[test]
    fn departures_use_up_the_burst_allowance() {
        let mut pie = pie();
        for (now, busy_until) in [(0, 0), (0, 1000), (0, 2000), (10_000, 10_000)] {
            pie.decide(&finds(at(now), at(busy_until)));
        }
        pie.catch_up(at(2000));
        assert_eq!(pie.burst, ms(148));
        pie.catch_up(at(10_000));
        assert_eq!(pie.burst, ms(140));
        // The update after half a second finds an empty queue without a probability: the allowance is whole again.
        pie.catch_up(at(500_000));
        assert_eq!((pie.burst, pie.last_departure), (ms(150), None));
    }

    #[test]
    fn the_probability_moves_by_the_delays_of_packets_that_left() {
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found} for {wanted}");
        let mut pie = pie();
        (pie.p, pie.delay, pie.delay_before) = (0.05, ms(35), ms(45));
        pie.waiting.push_back((Time::NEVER, Span::ZERO));
        // 0.125 x 20 ms - 1.25 x 10 ms = -0.01, by 2.
        pie.update();
        close(pie.p, 0.045);
        // From 0.2, 0.1 s after 35 ms: at most 0.02. The same above 250 ms: 0.02 more.
        (pie.p, pie.delay) = (0.2, ms(100));
        pie.update();
        close(pie.p, 0.22);
        (pie.p, pie.delay) = (0.2, ms(251));
        pie.update();
        close(pie.p, 0.24);
        // No delay twice, and packets wait: the step of -0.125 x 15 ms alone. None waits: a 64th less.
        (pie.p, pie.delay, pie.delay_before) = (0.5, Span::ZERO, Span::ZERO);
        pie.update();
        close(pie.p, 0.5 - 0.001_875);
        pie.waiting.clear();
        pie.p = 0.5;
        pie.update();
        close(pie.p, (0.5 - 0.001_875) * 63.0 / 64.0);
    }

    /// 200 packets of which each finds the queue 0.2 ms longer, looked at never and after every one, and then an hour later.
    #[test]
    fn what_was_missed_is_caught_up_in_the_order_of_its_times() {
        let (mut late, mut often) = (pie(), pie());
        let packets = (0..200).map(|n| finds(at(490_000 + n * 800), at(490_000 + n * 1000)));
        for packet in packets {
            assert_eq!(late.decide(&packet), often.decide(&packet));
            for part in 0..8 {
                often.gauges(packet.now + Span::from_us(100) * part);
            }
        }
        for now in [at(700_000), at(3_600_000_000)] {
            late.catch_up(now);
            often.catch_up(now);
            assert_eq!((late.p.to_bits(), late.delay), (often.p.to_bits(), often.delay));
            assert_eq!((late.burst, late.next_update), (often.burst, often.next_update));
        }
        assert_eq!((late.p, late.delay, late.burst), (0.0, Span::ZERO, ms(150)));
        assert_eq!(late.next_update, at(3_600_005_000));
    }

    #[test]
    fn two_packets_that_wait_are_enough_for_a_drop() {
        let drops = |busy_until| {
            let mut pie = pie();
            (pie.p, pie.delay, pie.burst, pie.next_update) = (0.5, ms(20), Span::ZERO, Time::NEVER);
            (0..50).any(|_| pie.decide(&finds(at(0), at(busy_until))) == QueueDecision::Drop)
        };
        assert!(!drops(2000)); // one waits
        assert!(drops(3000));
    }
}
