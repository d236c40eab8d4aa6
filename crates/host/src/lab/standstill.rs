//! How long the machine let packets wait that the kernel would have sent at once: a standstill. What waited then leaves as
//! a burst, which a buffer that holds less loses.
//!
//! A receiver owes an acknowledgement as soon as two full segments have arrived in order, or one where it acknowledges
//! every packet. A sender whose application has more to send owes data for what is acknowledged; if it sends nothing,
//! and then as much at once as was acknowledged in the meantime, it stood still. A sender that reduces its window is
//! silent, too, but sends less afterwards.

use std::collections::VecDeque;

use fairhaul_units::{Span, Time};

use super::headers::reaches;
use super::times::Times;

/// How long hosts let packets wait.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Of receivers that acknowledge every packet at once: from when it was due until they have answered.
    pub answers: Times,
    /// How long hosts stood still.
    pub standstills: Times,
}

impl Waits {
    /// Counts what a receiver took to answer; `at_once`: it acknowledges every packet.
    pub fn answered(&mut self, answered: &Answered, at_once: bool) {
        let owed = if at_once { answered.waited.first().copied() } else { answered.owed };
        owed.into_iter().for_each(|stood| self.standstills.add(stood));
        if at_once {
            answered.waited.iter().for_each(|&waited| self.answers.add(waited));
        }
    }
}

/// A receiver: the segments that reached it in order and that it has not acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    unanswered: VecDeque<Unanswered>,
    /// The largest payload of a segment so far.
    full: u32,
}

#[derive(Clone, Copy, Debug)]
struct Unanswered {
    end: u32,
    payload: u32,
    due: Time,
}

/// How long a receiver took to acknowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// From when each segment was due.
    pub waited: Vec<Span>,
    /// From when two full segments were due, if as many were acknowledged.
    pub owed: Option<Span>,
}

impl Receiver {
    /// A segment was due at it; `acknowledged`: all before it was acknowledged. One behind a gap does not count,
    /// because no answer will be about it alone.
    pub fn arrives(&mut self, sequence: u32, payload: u32, acknowledged: u32, due: Time) {
        let edge = self.unanswered.back().map_or(acknowledged, |last| last.end);
        if payload > 0 && sequence == edge {
            self.full = self.full.max(payload);
            self.unanswered.push_back(Unanswered { end: edge.wrapping_add(payload), payload, due });
        }
    }

    /// It acknowledges all before `next`.
    pub fn answers(&mut self, next: u32, now: Time) -> Answered {
        let mut answered = Answered::default();
        let mut full = 0;
        while let Some(segment) = self.unanswered.front().copied()
            && reaches(next, segment.end)
        {
            let waited = now.since(segment.due);
            full += u32::from(segment.payload == self.full);
            if full == 2 {
                answered.owed.get_or_insert(waited);
            }
            answered.waited.push(waited);
            self.unanswered.pop_front();
        }
        answered
    }
}

/// A burst takes at most so long to leave; what is acknowledged meanwhile belongs to what follows.
const BURST: Span = Span::from_us(200);

/// A sender: what was acknowledged since it last sent.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    /// When the first acknowledgement came since the last packet, and the payload of all of them.
    held: Option<(Time, u64)>,
    burst: Option<Burst>,
}

/// What leaves at once after a silence.
#[derive(Clone, Copy, Debug)]
struct Burst {
    silent_since: Time,
    at: Time,
    /// Of what was acknowledged in the silence, the payload that has not left.
    missing: u64,
}

impl Sender {
    /// This number of bytes was acknowledged.
    pub fn acknowledged(&mut self, payload: u64, now: Time) {
        if payload > 0 {
            self.held.get_or_insert((now, 0)).1 += payload;
        }
    }

    /// This number of bytes leaves: how long it stood still, once as many have left as were acknowledged.
    pub fn sends(&mut self, payload: u64, now: Time) -> Option<Span> {
        let after_silence = |(silent_since, missing)| Burst { silent_since, at: now, missing };
        let held = self.held.take().map(after_silence);
        let mut burst = self.burst.take().filter(|burst| now.since(burst.at) <= BURST).or(held)?;
        burst.missing = burst.missing.saturating_sub(payload);
        self.burst = (burst.missing > 0).then_some(burst);
        self.burst.is_none().then(|| burst.at.since(burst.silent_since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn us(span: Span) -> u64 {
        span / Span::from_us(1)
    }

    #[test]
    fn an_acknowledgement_answers_all_segments_in_order_before_it() {
        let mut receiver = Receiver::default();
        receiver.arrives(0, 1000, 0, at(10));
        receiver.arrives(1000, 1000, 0, at(20));
        receiver.arrives(3000, 1000, 0, at(30)); // The third is lost.
        let mut waited =
            |next, now| Vec::from_iter(receiver.answers(next, at(now)).waited.into_iter().map(us));
        assert_eq!(waited(1000, 100), [90]);
        assert_eq!(waited(2000, 120), [100]);
        assert_eq!(waited(2000, 130), [0; 0]);
        receiver.arrives(2000, 1000, 2000, at(500));
        assert_eq!(receiver.answers(4000, at(510)).waited, [Span::from_us(10)]);
        assert!(receiver.unanswered.is_empty());
    }

    /// A single segment may wait for the delayed acknowledgement, and so may what an application has written in small
    /// pieces.
    #[test]
    fn a_receiver_owes_an_acknowledgement_from_its_second_full_segment_on() {
        let mut receiver = Receiver::default();
        let arrivals = [(0, 1000, 10), (1000, 1000, 20), (2000, 1000, 30), (3000, 500, 40), (3500, 500, 50)];
        for (sequence, payload, due) in arrivals {
            receiver.arrives(sequence, payload, 0, at(due));
        }
        assert_eq!(receiver.answers(2000, at(120)).owed, Some(Span::from_us(100)));
        assert_eq!(receiver.answers(4000, at(40_000)).owed, None);
        receiver.arrives(4000, 1000, 4000, at(50_000));
        assert_eq!(receiver.answers(5000, at(90_000)).owed, None);
    }

    #[test]
    fn a_sender_stood_still_if_it_then_sends_all_at_once() {
        let mut sender = Sender::default();
        for ms in 1..=4 {
            sender.acknowledged(2000, at(1000 * ms));
        }
        let stood = Vec::from_iter((0..10).filter_map(|_| sender.sends(1000, at(5000))).map(us));
        assert_eq!(stood, [4000]);
        // An acknowledgement that is answered at once.
        sender.acknowledged(1000, at(5100));
        assert_eq!(sender.sends(1000, at(5200)).map(us), Some(100));
    }

    #[test]
    fn a_sender_that_reduces_its_window_does_not_stand_still() {
        let mut sender = Sender::default();
        for ms in 1..=40 {
            sender.acknowledged(1000, at(1000 * ms)); // silence
        }
        assert_eq!(sender.sends(1000, at(40_100)), None);
        for ms in 41..=60 {
            sender.acknowledged(2000, at(1000 * ms)); // a packet for two
            assert_eq!(sender.sends(1000, at(1000 * ms + 100)), None);
        }
    }
}
