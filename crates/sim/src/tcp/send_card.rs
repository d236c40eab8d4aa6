//! The card of a sender, before which no more waits than its kernel lets a socket keep there.

use fairhaul_experiment::{Flow, KernelRelease};
use fairhaul_path::card;
use fairhaul_units::{Bytes, Data, Span, Time};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SendCard {
    /// Unused where it is shared.
    card: card::SendCard,
    shared: Option<u32>,
    link: usize,
    kernel: KernelRelease,
}

impl SendCard {
    /// The card of the sender of a flow; `None`: its host has no limit.
    pub fn of(flow: &Flow) -> Option<SendCard> {
        let host = flow.host.as_deref()?;
        let is_limit = host.line_rate.is_some() || host.processor.is_some();
        let shared = host.sender.as_ref().map(|sender| sender.number);
        is_limit.then(|| SendCard { card: host.send_card(), shared, link: 0, kernel: host.release() })
    }

    /// Packets of a burst, or those after its first one, are handed over at `now`: when the last bit of the first has left,
    /// and when that of the last; `cards`: cards that several flows share.
    pub fn send(&mut self, data: &Data, now: Time, cards: &mut [card::SendCard]) -> (Time, Time) {
        let (size, packets) = (Bytes(data.packet_size().into()), data.packets.max(1).into());
        let card = self.shared.map_or(&mut self.card, |number| &mut cards[number as usize]);
        let times = card.send(size, packets, data.sending.follows(), now);
        self.link = card.link();
        times
    }

    /// Whether other flows share it.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The link of the burst that was handed over last.
    pub fn link(&self) -> usize {
        self.link
    }

    /// The time from packet to packet of a burst.
    pub fn spacing(&self, size: Bytes) -> Span {
        self.card.spacing(size)
    }

    /// How many bytes of a socket may wait in it that itself allows `limit`: no more than its kernel allows any socket, or, in
    /// older kernels, any but one that `paces`.
    pub fn most(&self, limit: u64, paces: bool) -> u64 {
        let (most, holds_for_paced) = self.kernel.most_at_card();
        if paces && !holds_for_paced { limit } else { limit.min(most) }
    }

    /// Whether no more than `most` bytes wait in it at `now`; if more do, until when.
    pub fn has_room(&self, most: u64, now: Time) -> Result<(), Time> {
        self.card.has_room(Bytes(most), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_path::card::Processor;
    use fairhaul_units::{Ecn, Rate, Sending, Span};

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn card(rate: Option<Rate>, processor: Option<Processor>) -> SendCard {
        let card = card::SendCard::new(rate, processor);
        SendCard { card, shared: None, link: 0, kernel: KernelRelease::default() }
    }

    /// When the first and the last of packets of 1500 B leave.
    fn sent(card: &mut SendCard, packets: u8, sending: Sending, now: u64) -> (Time, Time) {
        let size = 1500 * u32::from(packets);
        let (ecn, cwr, congestion) = (Ecn::Capable, false, None);
        let data = Data { number: 0, stamped: us(now), size, packets, sending, ecn, cwr, congestion };
        card.send(&data, us(now), &mut [])
    }

    #[test]
    fn packets_leave_one_after_the_other_at_the_rate_of_the_card() {
        let mut card = card(Rate::from_bps(1_000_000_000), None);
        // 1500 B at 1 Gbit/s take 12 us.
        assert_eq!(sent(&mut card, 3, Sending::Whole, 0), (us(12), us(36)));
        assert_eq!(sent(&mut card, 1, Sending::First, 10), (us(48), us(48)));
        let room = |at| card.has_room(1500, us(at));
        assert_eq!((room(30), room(36)), (Err(us(36)), Ok(())));
    }

    /// A burst costs 40 us, and each packet of 1500 B another 3: the first leaves after 43 us and its 12 us at the card.
    #[test]
    fn a_host_works_for_a_burst_before_its_packets_leave() {
        let costs = Processor { burst: Span::from_us(40), kilobyte: Span::from_us(2), packet: Span::ZERO };
        let both = |card: SendCard| {
            let (mut whole, mut single) = (card, card);
            let (first, last) = sent(&mut whole, 3, Sending::Whole, 100);
            let one = sent(&mut single, 1, Sending::First, 100).0;
            let [_, three] = [0, 0].map(|_| sent(&mut single, 1, Sending::Following, 100).1);
            assert_eq!((first, last, whole.spacing(Bytes(1500))), (one, three, (three.since(one)) / 2));
            (first, last)
        };
        assert_eq!(both(card(Rate::from_bps(1_000_000_000), Some(costs))), (us(155), us(179)));
        assert_eq!(both(card(None, Some(costs))), (us(143), us(149)));
    }
}
