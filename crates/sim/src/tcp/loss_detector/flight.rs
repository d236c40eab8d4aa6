//! Every packet that was sent and not acknowledged, in the order in which it was last sent.
//!
//! The order is a linked list through the packets, so a packet that is delivered, believed lost or retransmitted is
//! removed from it in constant time.

use std::collections::VecDeque;

use fairhaul_units::Time;

/// Stands for no packet.
const NONE: u64 = u64::MAX;

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// When it was last sent.
    pub sent: Time,
    /// It is believed to be lost, or was before it was retransmitted.
    pub lost: bool,
    /// A retransmission of it is in flight.
    pub retransmission_in_flight: bool,
    /// It has been retransmitted at least once.
    pub ever_retransmitted: bool,
    /// It was reported.
    done: bool,
    /// It is in the order.
    listed: bool,
    /// The timer, and no packet that overtook it, made it believed lost.
    timed_out: bool,
    before: u64,
    after: u64,
}

impl SentPacket {
    /// How often it is in the network.
    pub fn copies(&self) -> u64 {
        if self.done { 0 } else { u64::from(!self.lost) + u64::from(self.retransmission_in_flight) }
    }

    /// Whether it waits to be retransmitted.
    pub fn waits(&self) -> bool {
        !self.done && self.lost && !self.retransmission_in_flight
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Flight {
    /// The number of the first packet that is kept.
    base: u64,
    packets: VecDeque<SentPacket>,
    first: u64,
    last: u64,
}

impl Default for Flight {
    fn default() -> Flight {
        Flight { base: 0, packets: VecDeque::new(), first: NONE, last: NONE }
    }
}

impl Flight {
    /// A packet that was never sent leaves, the next by number.
    pub fn add(&mut self, now: Time) {
        let (lost, retransmission_in_flight, ever_retransmitted) = (false, false, false);
        self.packets.push_back(SentPacket {
            sent: now,
            lost,
            retransmission_in_flight,
            ever_retransmitted,
            done: false,
            listed: false,
            timed_out: false,
            before: NONE,
            after: NONE,
        });
        self.append(self.base + self.packets.len() as u64 - 1);
    }

    /// A packet leaves once more.
    pub fn add_retransmission(&mut self, number: u64, now: Time) {
        self.unlink(number);
        let packet = self.get(number);
        (packet.sent, packet.retransmission_in_flight, packet.ever_retransmitted) = (now, true, true);
        self.append(number);
    }

    /// What left last did so with that stamp.
    pub fn stamp(&mut self, stamp: Time) {
        if self.last != NONE {
            self.get(self.last).sent = stamp;
        }
    }

    /// A packet is reported, as it was until then.
    pub fn deliver(&mut self, number: u64) -> SentPacket {
        let packet = *self.at(number);
        self.unlink(number);
        self.get(number).done = true;
        packet
    }

    /// A packet is believed to be lost; `timed_out`: because the timer ran out.
    pub fn lose(&mut self, number: u64, timed_out: bool) {
        self.unlink(number);
        let packet = self.get(number);
        (packet.lost, packet.retransmission_in_flight, packet.timed_out) = (true, false, timed_out);
    }

    /// Nothing is lost after all; how many copies more are in the network. Of what waited to be retransmitted, what had
    /// timed out is looked at again, and what was overtaken is not before it is sent once more: in the kernel only the
    /// latter has left the order [LINUX, tcp_rack_detect_loss, tcp_undo_cwnd_reduction].
    pub fn undo_losses(&mut self) -> u64 {
        let mut copies = 0;
        for number in (self.base..self.base + self.packets.len() as u64).rev() {
            let packet = *self.at(number);
            if packet.waits() && packet.timed_out {
                self.prepend(number);
            }
            copies += u64::from(packet.lost && !packet.done);
            self.get(number).lost = false;
        }
        copies
    }

    /// All below `una` is acknowledged: whether any of it had been retransmitted.
    pub fn forget_below(&mut self, una: u64) -> bool {
        let acknowledged = (una - self.base).min(self.packets.len() as u64) as usize;
        self.base = una;
        self.packets.drain(..acknowledged).any(|packet| packet.ever_retransmitted)
    }

    /// When the packet with the lowest number was last sent, if one is kept.
    pub fn first_sent(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.sent)
    }

    /// A packet that is kept.
    pub fn at(&self, number: u64) -> &SentPacket {
        &self.packets[(number - self.base) as usize]
    }

    /// The packets in the order in which they were last sent: the first, or that behind another.
    pub fn next(&self, behind: Option<u64>) -> Option<u64> {
        let next = behind.map_or(self.first, |number| self.at(number).after);
        (next != NONE).then_some(next)
    }

    fn get(&mut self, number: u64) -> &mut SentPacket {
        &mut self.packets[(number - self.base) as usize]
    }

    fn append(&mut self, number: u64) {
        let last = std::mem::replace(&mut self.last, number);
        let packet = self.get(number);
        (packet.before, packet.after, packet.listed) = (last, NONE, true);
        *if last == NONE { &mut self.first } else { &mut self.get(last).after } = number;
    }

    fn prepend(&mut self, number: u64) {
        let first = std::mem::replace(&mut self.first, number);
        let packet = self.get(number);
        (packet.before, packet.after, packet.listed) = (NONE, first, true);
        *if first == NONE { &mut self.last } else { &mut self.get(first).before } = number;
    }

    fn unlink(&mut self, number: u64) {
        let packet = self.get(number);
        if !std::mem::take(&mut packet.listed) {
            return;
        }
        let SentPacket { before, after, .. } = *packet;
        *if before == NONE { &mut self.first } else { &mut self.get(before).after } = after;
        *if after == NONE { &mut self.last } else { &mut self.get(after).before } = before;
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Span;

    use super::*;

    fn sent(packets: u64) -> Flight {
        let mut flight = Flight::default();
        (0..packets).for_each(|n| flight.add(Time::ZERO + Span::from_ms(n)));
        flight
    }

    fn order(flight: &Flight) -> Vec<u64> {
        let numbers = std::iter::successors(flight.next(None), |&number| flight.next(Some(number)));
        numbers.collect()
    }

    #[test]
    fn what_is_sent_again_goes_to_the_end_and_what_is_lost_leaves_the_order() {
        let mut flight = sent(5);
        flight.lose(1, false);
        flight.deliver(3);
        assert_eq!((order(&flight), flight.at(1).waits()), (vec![0, 2, 4], true));
        flight.add_retransmission(1, Time::ZERO + Span::from_ms(9));
        flight.add_retransmission(0, Time::ZERO + Span::from_ms(9));
        assert_eq!(order(&flight), [2, 4, 1, 0]);
        // Number 0 was not believed lost, so it is twice in the network.
        assert_eq!([0, 1, 2, 3].map(|n| flight.at(n).copies()), [2, 1, 1, 0]);
        flight.deliver(0);
        flight.deliver(1);
        flight.forget_below(2);
        assert_eq!(order(&flight), [2, 4]);
    }

    #[test]
    fn what_waited_is_out_of_the_order_until_it_leaves_again() {
        let mut flight = sent(4);
        flight.lose(0, false);
        flight.lose(2, false);
        assert_eq!((flight.undo_losses(), order(&flight)), (2, vec![1, 3]));
        flight.lose(1, true);
        flight.lose(3, true);
        assert_eq!((flight.undo_losses(), order(&flight)), (2, vec![1, 3]));
        flight.add_retransmission(2, Time::ZERO + Span::from_ms(9));
        flight.deliver(0);
        assert_eq!(order(&flight), [1, 3, 2]);
    }
}
