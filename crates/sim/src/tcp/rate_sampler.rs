//! The delivery rate of the path, sampled with each acknowledgement [DELIVERY-RATE].
//!
//! For each packet that is sent, the sampler stores how much had been delivered by then. The acknowledgement of the
//! packet shows how much has been delivered since, and in what time: the longer of the time in which that was sent
//! and the time in which it was acknowledged, because acknowledgements may arrive compressed.
//!
//! The entries are in the order of their stamps, by which they are found. Those of packets that are not in flight any more
//! are dropped, so each entry is added and removed once.

use std::collections::VecDeque;

use fairhaul_cc::RateSample;
use fairhaul_units::{Span, Time};

/// How many notes are compared one by one.
const NEAR: usize = 8;

/// The sampler of one sender.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    notes: VecDeque<TxRecord>,
    /// Packets delivered, and when the last of them was.
    delivered: u64,
    delivered_at: Time,
    /// When the packet left that was acknowledged last.
    first_sent: Time,
    /// Samples are limited by the application until more than this has been delivered.
    limited_until: u64,
}

/// What was known when a packet left.
#[derive(Clone, Copy, Debug)]
struct TxRecord {
    stamp: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
}

impl RateSampler {
    /// The memory that it takes, bytes.
    pub fn memory(&self) -> usize {
        self.notes.capacity() * size_of::<TxRecord>()
    }

    /// A packet leaves with that stamp, or the first of a burst; `alone`: nothing else is outstanding; `in_flight`: with it;
    /// `lost`: packets believed lost so far.
    pub fn sent(&mut self, stamp: Time, alone: bool, in_flight: u64, lost: u64) {
        if alone {
            (self.first_sent, self.delivered_at) = (stamp, stamp);
        }
        self.notes.push_back(TxRecord {
            stamp,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            in_flight,
            lost,
            app_limited: self.limited_until > 0,
        });
    }

    /// The window and the pacer let a packet go, and there is none: what is in flight, and all that
    /// leaves before it is delivered, says nothing about the path.
    pub fn app_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// An acknowledgement delivers `packets`. A sample may follow.
    #[inline(always)]
    pub fn deliver(&mut self, packets: u64, now: Time) {
        self.delivered += packets;
        self.delivered_at = now;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
    }

    /// The sample of an acknowledgement that delivers the packet sent at `sent` and none that was sent later; `oldest`: when
    /// the first was sent of what is in flight; `lost`: packets believed lost so far. `None`: nothing is known of it any
    /// more.
    #[inline(never)]
    pub fn sample(&mut self, sent: Time, oldest: Time, lost: u64, now: Time) -> Option<RateSample> {
        let note = self.note_of(sent).filter(|note| note.stamp == sent);
        self.forget_before(oldest);
        Some(self.sample_of(note?, lost, now))
    }

    /// The first note from `sent` on. It is among the first of all, unless packets overtake each other.
    fn note_of(&self, sent: Time) -> Option<TxRecord> {
        let near = self.notes.iter().take(NEAR).position(|note| note.stamp >= sent);
        let place = near.unwrap_or_else(|| self.notes.partition_point(|note| note.stamp < sent));
        self.notes.get(place).copied()
    }

    /// The same if only the echoed time stamp is known. `None`: a packet that left later was acknowledged before.
    //
    // Differs from [DELIVERY-RATE]: the packet of a sample is the one whose time stamp is echoed, where the sender does not
    // keep the time of each packet (`recovery = "newreno"` and `"sack"`). If an acknowledgement was delayed, that is the
    // first of the packets that it covers, and a packet that was overtaken gives no sample. So the interval is never below
    // the smallest round-trip time. Without SACK, duplicate acknowledgements deliver nothing.
    #[inline(never)]
    pub fn sample_echo(&mut self, echo: Time, lost: u64, now: Time) -> Option<RateSample> {
        self.forget_before(echo);
        if self.notes.front()?.stamp != echo {
            return None;
        }
        let note = self.notes.pop_front()?;
        Some(self.sample_of(note, lost, now))
    }

    fn forget_before(&mut self, stamp: Time) {
        while self.notes.front().is_some_and(|note| note.stamp < stamp) {
            self.notes.pop_front();
        }
    }

    fn sample_of(&mut self, note: TxRecord, lost: u64, now: Time) -> RateSample {
        self.first_sent = note.stamp;
        RateSample {
            delivered: (self.delivered - note.delivered) as f64,
            interval: Span::max(note.stamp.since(note.first_sent), now.since(note.delivered_at)),
            delivered_before: note.delivered as f64,
            delivered_total: self.delivered as f64,
            in_flight_then: note.in_flight as f64,
            lost_since: (lost - note.lost) as f64,
            app_limited: note.app_limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    impl RateSampler {
        fn echoed(&mut self, echo: Time, packets: u64, lost: u64, now: Time) -> Option<RateSample> {
            self.deliver(packets, now);
            self.sample_echo(echo, lost, now)
        }
    }

    /// Packets at 0, 10, 20, ... ms, acknowledged 100 ms later. The first is alone when it leaves,
    /// so that it has 1 packet in 100 ms. That of 90 ms left when nothing had been acknowledged: at
    /// 190 ms it has 10 packets, sent in 90 ms (0 to 90) and acknowledged in 190. That of 100 ms
    /// left with the first acknowledgement: 10 packets in 100 ms.
    // Requirement: bbrv3-2.2-d, bbrv3-4.1.2.1.1-a
    #[test]
    fn a_packet_every_ten_milliseconds_is_a_hundred_per_second() {
        let mut sampler = RateSampler::default();
        let mut samples = Vec::new();
        for step in 0..30 {
            if step >= 10 {
                samples.push(sampler.echoed(at(10 * (step - 10)), 1, 0, at(10 * step)).unwrap());
            }
            sampler.sent(at(10 * step), step == 0, (step + 1).min(10), 0);
        }
        let figures = |n: usize| (samples[n].delivered, samples[n].interval, samples[n].delivered_before);
        assert_eq!(figures(0), (1.0, Span::from_ms(100), 0.0));
        assert_eq!(figures(9), (10.0, Span::from_ms(190), 0.0));
        assert_eq!(figures(10), (10.0, Span::from_ms(100), 1.0));
        assert_eq!(figures(19), (10.0, Span::from_ms(100), 10.0));
        assert_eq!((samples[19].delivered_total, samples[19].in_flight_then), (20.0, 10.0));
    }

    /// Ten leave 10 ms apart, and all acknowledgements come at once, at 200 ms. The next ten leave
    /// 10 ms apart from 200 ms on, and all of theirs come at 400 ms, one after the other: the last
    /// left 90 ms after the first and 280 ms after the packet acknowledged last, and was
    /// acknowledged 200 ms after it: 10 packets in 290 - 90 = 200 or in 400 - 200 = 200 ms.
    #[test]
    fn acknowledgements_that_come_together_do_not_make_the_path_faster() {
        let mut sampler = RateSampler::default();
        (0..10).for_each(|n| sampler.sent(at(10 * n), n == 0, n + 1, 0));
        assert!((0..10).all(|n| sampler.echoed(at(10 * n), 1, 0, at(200)).is_some()));
        (0..10).for_each(|n| sampler.sent(at(200 + 10 * n), n == 0, n + 1, 0));
        let last = (0..10).map(|n| sampler.echoed(at(200 + 10 * n), 1, 0, at(400)).unwrap()).last().unwrap();
        assert_eq!((last.delivered, last.interval), (10.0, Span::from_ms(200)));
    }

    /// Of five, packet 1 is lost: its note goes with the acknowledgement of packet 2, and when it
    /// comes after all, it gives no sample.
    // Requirement: bbrv3-4.2-a
    #[test]
    fn losses_since_a_packet_left_are_counted_and_what_was_overtaken_gives_no_sample() {
        let mut sampler = RateSampler::default();
        (0..5).for_each(|n| sampler.sent(at(n), n == 0, n + 1, 0));
        assert_eq!(sampler.echoed(at(0), 1, 0, at(100)).unwrap().lost_since, 0.0);
        assert_eq!(sampler.echoed(at(2), 1, 0, at(102)).unwrap().in_flight_then, 3.0);
        assert_eq!(sampler.echoed(at(4), 1, 1, at(104)).unwrap().lost_since, 1.0);
        assert_eq!(sampler.echoed(at(1), 1, 1, at(120)), None);
        assert_eq!((sampler.notes.len(), sampler.delivered), (0, 4));
    }

    /// Of five, packet 1 is late. The acknowledgement of packets 2 and 3 has the sample of packet 3, and packet 1, when it
    /// comes, its own.
    #[test]
    fn where_the_time_of_each_packet_is_kept_the_last_of_those_delivered_is_sampled() {
        let mut sampler = RateSampler::default();
        (0..5).for_each(|n| sampler.sent(at(n), n == 0, n + 1, 0));
        let mut sample = |sent, oldest, packets, now| {
            sampler.deliver(packets, at(now));
            sampler
                .sample(at(sent), at(oldest), 0, at(now))
                .map(|sample| (sample.in_flight_then, sample.delivered))
        };
        assert_eq!(sample(0, 1, 1, 100), Some((1.0, 1.0)));
        assert_eq!(sample(3, 1, 2, 103), Some((4.0, 3.0)));
        assert_eq!(sample(1, 4, 1, 110), Some((2.0, 4.0)));
        assert_eq!(sample(2, 4, 0, 111), None);
        assert_eq!(sampler.notes.len(), 1);
    }

    /// Three in flight when the application has no more: the three have left, so they count. What
    /// leaves before more than three are delivered is limited, what leaves after it is not.
    // Requirement: bbrv3-4.1.2.1.1-a
    #[test]
    fn the_application_limits_until_the_gap_is_delivered() {
        let mut sampler = RateSampler::default();
        (0..3).for_each(|n| sampler.sent(at(n), n == 0, n + 1, 0));
        sampler.app_limited(3);
        sampler.sent(at(50), false, 4, 0);
        let limited = |sampler: &mut RateSampler, echo, now| {
            sampler.echoed(at(echo), 1, 0, at(now)).unwrap().app_limited
        };
        assert!([0, 1, 2].iter().all(|&n| !limited(&mut sampler, n, 100 + n)));
        sampler.sent(at(110), false, 2, 0);
        assert!(limited(&mut sampler, 50, 150));
        sampler.sent(at(155), false, 2, 0);
        assert!(limited(&mut sampler, 110, 210));
        assert!(!limited(&mut sampler, 155, 255));
    }
}
