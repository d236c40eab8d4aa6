//! The account of a connection: what its packets show of retransmissions, of payload that has arrived in order, and of
//! the time that its hosts took.

use fairhaul_units::{Span, Time};

use super::headers::{Segment, reaches};
use super::standstill::{Answered, Receiver, Sender};

/// The counters of one connection. Sequence numbers are compared as TCP does, modulo 2^32 [RFC 9293, 3.4].
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The end of the sent data, and of the acknowledged data; none before the first packet.
    ends: Option<(u32, u32)>,
    /// Payload in order, so far.
    pub in_order: u64,
    receiver: Receiver,
    sender: Sender,
    /// The last acknowledgement number that was due at its sender.
    told: Option<u32>,
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

    /// Payload leaves a sender whose application has more to send: how long it stood still, if that shows now.
    pub fn stood_still(&mut self, payload: u32, now: Time) -> Option<Span> {
        self.sender.sends(payload.into(), now)
    }

    /// A segment was due at the receiver.
    pub fn arrives(&mut self, segment: &Segment, payload: u32, due: Time) {
        if let Some((_, acknowledged)) = self.ends {
            self.receiver.arrives(segment.sequence, payload, acknowledged, due);
        }
    }

    /// An acknowledgement leaves the receiver.
    pub fn answers(&mut self, next: u32, now: Time) -> Answered {
        self.receiver.answers(next, now)
    }

    /// An acknowledgement was due at the sender.
    pub fn told(&mut self, next: u32, due: Time) {
        let before = self.told.unwrap_or(next);
        if reaches(next, before) {
            self.sender.acknowledged(next.wrapping_sub(before).into(), due);
            self.told = Some(next);
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
}
