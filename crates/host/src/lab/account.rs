//! The account of a connection: what its packets show of retransmissions, of payload that has arrived in order, and of
//! the time until its receiver answers.

use std::collections::VecDeque;

use fairhaul_units::{Span, Time};

use super::headers::Segment;

/// The counters of one connection. Sequence numbers are compared as TCP does, modulo 2^32 [RFC 9293, 3.4].
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The end of the sent data, and of the acknowledged data; none before the first packet.
    ends: Option<(u32, u32)>,
    /// Payload in order, so far.
    pub in_order: u64,
    /// Segments that reached the receiver in order and are not yet acknowledged: their ends, and when they were due.
    unanswered: VecDeque<(u32, Time)>,
}

/// Whether `a` is not behind `b`.
fn reaches(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

impl Account {
    /// A segment leaves the sender; returns whether all of its payload was sent before.
    pub fn sends(&mut self, segment: &Segment, payload: u32) -> bool {
        let begins = segment.sequence.wrapping_add(u32::from(segment.opens));
        let end = begins.wrapping_add(payload);
        let (sent, _) = self.ends.get_or_insert((begins, begins));
        // What follows the end of the connection has its number, but no payload.
        if payload == 0 {
            return false;
        }
        let retransmitted = reaches(*sent, end);
        if !retransmitted {
            *sent = end;
        }
        retransmitted
    }

    /// A segment was due at the receiver. One behind a gap does not count, because no answer will be about it alone.
    pub fn arrives(&mut self, segment: &Segment, payload: u32, due: Time) {
        let Some((_, acknowledged)) = self.ends else { return };
        let edge = self.unanswered.back().map_or(acknowledged, |last| last.0);
        if payload > 0 && segment.sequence == edge {
            self.unanswered.push_back((edge.wrapping_add(payload), due));
        }
    }

    /// An acknowledgement leaves the receiver at `now`: calls `each` with the time that each segment waited for it.
    pub fn answers(&mut self, next: u32, now: Time, mut each: impl FnMut(Span)) {
        while let Some((end, due)) = self.unanswered.front()
            && reaches(next, *end)
        {
            each(now.since(*due));
            self.unanswered.pop_front();
        }
    }

    /// An acknowledgement leaves the receiver; returns the payload that it is the first to acknowledge.
    pub fn acknowledges(&mut self, next: u32) -> u64 {
        let Some((sent, acknowledged)) = &mut self.ends else { return 0 };
        // The end of a connection is acknowledged like one more byte, which is not payload.
        let next = if reaches(*sent, next) { next } else { *sent };
        if !reaches(next, *acknowledged) {
            return 0;
        }
        let fresh = u64::from(next.wrapping_sub(*acknowledged));
        *acknowledged = next;
        self.in_order += fresh;
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sequence: u32, opens: bool) -> Segment {
        Segment { sequence, acknowledges: None, opens, ends: false }
    }

    #[test]
    fn payload_is_counted_once_and_over_the_end_of_the_numbers() {
        let first = u32::MAX - 1500; // The request takes one number; of 2000 bytes, 1499 fit before zero.
        let mut account = Account::default();
        assert!(!account.sends(&segment(first, true), 0));
        assert_eq!(account.acknowledges(first.wrapping_add(1)), 0);
        assert!(!account.sends(&segment(first.wrapping_add(1), false), 1000));
        assert!(!account.sends(&segment(first.wrapping_add(1001), false), 1000));
        assert!(account.sends(&segment(first.wrapping_add(1), false), 1000));
        assert_eq!(account.acknowledges(first.wrapping_add(2001)), 2000);
        assert_eq!(account.acknowledges(first.wrapping_add(1001)), 0);
        // The end of the connection has a number, and is no payload.
        assert_eq!(account.acknowledges(first.wrapping_add(2002)), 0);
        // Nor is it once the sender has acknowledged the end of the other direction, and the receiver repeats its own.
        assert!(!account.sends(&segment(first.wrapping_add(2002), false), 0));
        assert_eq!(account.acknowledges(first.wrapping_add(2002)), 0);
        assert_eq!(account.in_order, 2000);
    }

    #[test]
    fn an_acknowledgement_answers_all_segments_in_order_before_it() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut account = Account::default();
        for number in 0..4 {
            assert!(!account.sends(&segment(number * 1000, false), 1000));
        }
        account.arrives(&segment(0, false), 1000, at(10));
        account.arrives(&segment(1000, false), 1000, at(20));
        account.arrives(&segment(3000, false), 1000, at(30)); // The third is lost.
        let answers = |account: &mut Account, next: u32, now: u64| {
            let mut waited = Vec::new();
            account.answers(next, at(now), |span| waited.push(span / Span::from_us(1)));
            account.acknowledges(next);
            waited
        };
        assert_eq!(answers(&mut account, 1000, 100), [90]);
        assert_eq!(answers(&mut account, 2000, 120), [100]);
        assert_eq!(answers(&mut account, 2000, 130), [0; 0]);
        account.arrives(&segment(2000, false), 1000, at(500));
        assert_eq!(answers(&mut account, 4000, 510), [10]);
        assert!(account.unanswered.is_empty());
    }
}
