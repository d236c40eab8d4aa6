//! What waits of one socket at a card that others share: each burst counts until its last packet has left [LINUX,
//! tcp_small_queue_check].

use std::collections::VecDeque;

use fairhaul_units::{Data, Time};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct AtCard {
    /// When each burst has left, and its bytes.
    waiting: VecDeque<(Time, u64)>,
}

impl AtCard {
    /// Data are handed over at `now`, a burst or what follows its first packet, and have left at `leaves`.
    pub fn hand_over(&mut self, data: &Data, leaves: Time, now: Time) {
        while self.waiting.front().is_some_and(|first| first.0 <= now) {
            self.waiting.pop_front();
        }
        let bytes = u64::from(data.size);
        match self.waiting.back_mut().filter(|_| data.sending.follows()) {
            Some(last) => *last = (leaves, last.1 + bytes),
            None => self.waiting.push_back((leaves, bytes)),
        }
    }

    /// Whether no more than `most` bytes wait at `now`; if more do, when the next burst has left.
    pub fn has_room(&self, most: u64, now: Time) -> Result<(), Time> {
        let waiting = || self.waiting.iter().filter(|burst| burst.0 > now);
        if waiting().map(|burst| burst.1).sum::<u64>() <= most {
            return Ok(());
        }
        waiting().map(|burst| burst.0).min().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{Ecn, Sending, Span};

    #[test]
    fn a_burst_waits_until_its_last_packet_has_left() {
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        let data = |sending| Data {
            number: 0,
            stamped: Time::ZERO,
            size: 1500,
            packets: 1,
            sending,
            ecn: Ecn::Capable,
            cwr: false,
            congestion: None,
        };
        let mut card = AtCard::default();
        card.hand_over(&data(Sending::First), at(12), at(0));
        card.hand_over(&data(Sending::Following), at(24), at(0));
        card.hand_over(&data(Sending::First), at(60), at(0));
        assert_eq!((card.has_room(4500, at(0)), card.has_room(4499, at(0))), (Ok(()), Err(at(24))));
        assert_eq!((card.has_room(1500, at(24)), card.has_room(1499, at(24))), (Ok(()), Err(at(60))));
        card.hand_over(&data(Sending::Again), at(72), at(24));
        assert_eq!(card.waiting.len(), 2);
    }
}
