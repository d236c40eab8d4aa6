//! The queue discipline `fq` of a sender's host. A burst is made as soon as the window allows it, with the earliest time at
//! which it may depart, and waits here until then [LINUX, tcp_update_skb_after_send, fq_dequeue]. One that may depart only beyond a
//! horizon is dropped, or departs at the horizon [LINUX, fq_packet_beyond_horizon].
//
// Differs from [LINUX]: a burst that is due waits for the timer even if another burst is handed over before, which takes
// it along in the kernel.
// Differs from [LINUX]: a burst beyond the horizon is offered again when it would be taken, and not when a probe timer expires.

use std::collections::VecDeque;

use fairhaul_experiment::FqHorizon;
use fairhaul_units::{Span, Time};

/// By how much the timer of the queue may be late, and is where nothing else wakes the processor (timer_slack).
const SLACK: Span = Span::from_us(10);

/// Bursts of a flow that may wait (flow_limit).
const FLOW_LIMIT: usize = 100;

/// A burst that was handed over.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When its last packet has left the host.
    leaves: Time,
    /// What it takes of memory, bytes.
    memory: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Fq {
    horizon: FqHorizon,
    /// The earliest departure of the next burst (tcp_wstamp_ns).
    next: Time,
    /// Of the burst that was handed over last: its earliest departure, when it departs, how much later it was made than it
    /// might have departed, and its packets.
    earliest: Time,
    departs: Time,
    credit: Span,
    packets: u64,
    /// When the timer expires, or did so last.
    expires: Time,
    waiting: VecDeque<Waiting>,
    memory: u64,
    /// Too much waits until then, as far as is known.
    full_until: Time,
}

impl Fq {
    /// An empty one.
    pub fn new(horizon: FqHorizon) -> Fq {
        Fq { horizon, ..Fq::default() }
    }

    /// The earliest departure of the next burst.
    pub fn next_departure(&self) -> Time {
        self.next
    }

    /// The earliest departure of the burst that was handed over last, which its packets carry as their time stamp.
    //
    // Differs from [LINUX]: a burst that departs at the horizon has the time stamp of its departure, and in the kernel that of
    // when it would have been due, which is later than its departure.
    pub fn stamp(&self) -> Time {
        self.earliest.min(self.departs)
    }

    /// When the burst that was handed over last departs.
    pub fn departs(&self) -> Time {
        self.departs
    }

    /// Whether nothing waits at `now`.
    pub fn is_empty(&self, now: Time) -> bool {
        self.waiting.back().is_none_or(|last| last.leaves <= now)
    }

    /// Whether less than `most` bytes of memory wait at `now`; if not, when the next burst leaves [LINUX,
    /// tcp_small_queue_check].
    pub fn has_room(&mut self, most: u64, now: Time) -> Result<(), Time> {
        self.forget_departed(now);
        match self.waiting.front() {
            Some(first) if self.memory >= most => {
                self.full_until = first.leaves;
                Err(first.leaves)
            }
            _ => Ok(()),
        }
    }

    /// Whether another burst would be dropped at `now`: as many wait as may, and it is not requested before all of them have
    /// left; or it may depart only beyond the horizon, and is not requested before it may within. Both end if something else
    /// happens.
    pub fn drops(&mut self, now: Time) -> bool {
        self.forget_departed(now);
        if self.waiting.len() >= FLOW_LIMIT
            && let Some(last) = self.waiting.back()
        {
            self.full_until = last.leaves;
            return true;
        }
        let beyond = self.beyond_horizon(now);
        self.full_until = beyond.unwrap_or(self.full_until);
        beyond.is_some()
    }

    /// From when on a burst is within the horizon that is beyond it at `now`, and dropped.
    pub fn beyond_horizon(&self, now: Time) -> Option<Time> {
        let is_beyond = !self.horizon.caps && self.next > now + self.horizon.length;
        is_beyond.then(|| now + (self.next.since(now) - self.horizon.length))
    }

    fn forget_departed(&mut self, now: Time) {
        while let Some(first) = self.waiting.front().filter(|first| first.leaves <= now) {
            self.memory -= first.memory;
            self.waiting.pop_front();
        }
    }

    /// Until when too much waits, if it does so at `now`, and nothing has happened since that was found.
    pub fn is_full(&self, now: Time) -> Option<Time> {
        Some(self.full_until).filter(|until| now < *until)
    }

    /// Something has happened: how much may wait has perhaps changed.
    pub fn ask_again(&mut self) {
        self.full_until = Time::ZERO;
    }

    /// A burst of that many packets, which takes `memory` bytes, is handed over at `now`; `gap`: the time that the pacing
    /// rate gives a packet.
    pub fn hand_over(&mut self, packets: u64, memory: u64, gap: Span, now: Time) {
        self.earliest = self.next.max(now);
        self.credit = self.earliest.since(self.next);
        self.packets = packets;
        self.space(gap);
        let due =
            if self.horizon.caps { self.earliest.min(now + self.horizon.length) } else { self.earliest };
        // The timer takes along what is due when it expires.
        if due > now && due > self.expires {
            self.expires = due + SLACK;
        }
        self.departs = self.expires.max(now);
        self.waiting.push_back(Waiting { leaves: self.departs, memory });
        self.memory += memory;
    }

    /// One packet more is part of the burst that was handed over last.
    pub fn join(&mut self, memory: u64, gap: Span) {
        self.packets += 1;
        self.space(gap);
        self.memory += memory;
        self.waiting.iter_mut().next_back().into_iter().for_each(|last| last.memory += memory);
    }

    /// The last packet of the burst that was handed over last has left its host at `time`. On one of several links it may be
    /// ahead of those before it, with which it then counts.
    pub fn has_left(&mut self, time: Time) {
        let mut waiting = self.waiting.iter_mut().rev();
        if let Some(last) = waiting.next() {
            last.leaves = waiting.next().map_or(time, |before| time.max(before.leaves));
        }
    }

    /// Bytes that it holds.
    pub fn size(&self) -> u64 {
        (self.waiting.capacity() * size_of::<Waiting>()) as u64
    }

    /// The next burst follows when the pacing rate has sent this one, except for what this one was late, up to half of it.
    fn space(&mut self, gap: Span) {
        let length = gap * self.packets;
        self.next = self.earliest + (length - (length / 2).min(self.credit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Span = Span::from_us(10);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Earliest departure and departure of a burst of ten packets, 100 us, that is handed over at `us`.
    fn handed_over(fq: &mut Fq, us: u64) -> (Time, Time) {
        fq.hand_over(10, 15_000, GAP, at(us));
        (fq.stamp(), fq.departs())
    }

    /// The second burst is due 100 us after the first, and the timer is 10 us late. The third is 70 us late, of which half
    /// a burst is given back, so that the fourth is due 50 us behind it.
    #[test]
    fn bursts_depart_at_the_pacing_rate_and_what_they_are_late_is_given_back() {
        let mut fq = Fq::default();
        assert_eq!(handed_over(&mut fq, 1000), (at(1000), at(1000)));
        assert_eq!(fq.next_departure(), at(1050));
        assert_eq!(handed_over(&mut fq, 1001), (at(1050), at(1060)));
        assert_eq!(handed_over(&mut fq, 1220), (at(1220), at(1220)));
        assert_eq!(handed_over(&mut fq, 1220), (at(1270), at(1280)));
    }

    /// Bursts of 4 us: those that are due at 1002, 1006 and 1010 leave when the timer of the first expires, at 1012; the next
    /// timer is that of 1014.
    #[test]
    fn the_timer_takes_along_what_is_due_when_it_expires() {
        let mut fq = Fq::default();
        fq.hand_over(2, 3_000, Span::from_us(2), at(996));
        let departures = [0; 5].map(|_| {
            fq.hand_over(2, 3_000, Span::from_us(2), at(998));
            fq.departs()
        });
        assert_eq!(departures, [at(998), at(1012), at(1012), at(1012), at(1024)]);
    }

    /// Two bursts of 15000 B fill 30000 B until the first of them leaves, at 1060.
    #[test]
    fn what_waits_is_limited_and_room_comes_with_a_departure() {
        let mut fq = Fq::default();
        for us in [1000, 1001, 1002] {
            assert_eq!(fq.has_room(30_000, at(us)), Ok(()));
            handed_over(&mut fq, us);
        }
        assert_eq!(fq.has_room(30_000, at(1003)), Err(at(1060)));
        assert_eq!([1059, 1060].map(|us| fq.is_full(at(us))), [Some(at(1060)), None]);
        fq.ask_again();
        assert_eq!(fq.is_full(at(1059)), None);
        assert!(!fq.is_empty(at(1060)));
        assert_eq!(fq.has_room(30_000, at(1060)), Ok(()));
        assert!(fq.is_empty(at(1160)));
    }

    /// The hundredth burst that waits is taken, and the next one dropped.
    #[test]
    fn a_hundred_bursts_of_a_flow_may_wait() {
        let mut fq = Fq::default();
        let handed_over = (0..200).take_while(|_| {
            let drops = fq.drops(at(1000));
            handed_over(&mut fq, 1000);
            !drops
        });
        // The first of them departs at once, and waits no longer.
        assert_eq!(handed_over.count(), 101);
        assert!(fq.is_full(at(2000)).is_some());
        // What has departed is forgotten, however much that is.
        let mut fq = Fq::default();
        assert!((1..500).all(|n| {
            self::handed_over(&mut fq, 1000 * n);
            !fq.drops(at(1000 * n))
        }));
    }

    /// At 1 s a packet each, ten bursts of one packet are due up to 10 s ahead; the eleventh is due at 11 s, is dropped, and is
    /// taken one second later. With a cap it departs after 10 s, and the one after it is due at 12 s all the same.
    #[test]
    fn what_is_due_beyond_the_horizon_is_dropped_or_departs_at_the_horizon() {
        let second = Span::from_s(1);
        let mut fq = Fq::new(FqHorizon::default());
        for n in 0..=10 {
            assert!(!fq.drops(Time::ZERO), "{n}");
            fq.hand_over(1, 2_000, second, Time::ZERO);
            assert_eq!(fq.stamp(), Time::ZERO + second * n);
        }
        assert!(fq.drops(Time::ZERO));
        assert_eq!(fq.is_full(Time::ZERO), Some(Time::ZERO + second));
        assert!(!fq.drops(Time::ZERO + second));

        let mut fq = Fq::new(FqHorizon { caps: true, ..FqHorizon::default() });
        let departures = [0; 13].map(|_| {
            assert!(!fq.drops(Time::ZERO));
            fq.hand_over(1, 2_000, second, Time::ZERO);
            (fq.stamp(), fq.departs())
        });
        let at = |s: u64| Time::ZERO + Span::from_s(s);
        assert_eq!(departures[9], (at(9), at(9) + SLACK));
        assert_eq!(departures[12], (at(10) + SLACK, at(10) + SLACK));
        assert_eq!(fq.next_departure(), at(13));
    }

    /// Five packets one after the other are one burst: 50 us, and five times the memory.
    #[test]
    fn a_packet_that_joins_a_burst_departs_with_it() {
        let mut fq = Fq::default();
        handed_over(&mut fq, 1000);
        fq.hand_over(1, 2_000, GAP, at(1001));
        (0..4).for_each(|_| fq.join(2_000, GAP));
        assert_eq!((fq.departs(), fq.next_departure()), (at(1060), at(1100)));
        assert_eq!(fq.has_room(10_000, at(1002)), Err(at(1060)));
    }
}
