//! The processor and the card of a sender: the host works for one burst after the other, and their packets leave one after the
//! other, at the rate of the card. A card of several links, which are bonded, gives each burst to the next of them (balance-rr)
//! [LINUX, bond_xmit_roundrobin], so that packets of two bursts may interleave behind it.

use fairhaul_units::{Bytes, Rate, Span, Time};

use super::Processor;

/// Links of a card, at most.
pub const MOST_LINKS: usize = 4;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SendCard {
    rate: Option<Rate>,
    processor: Option<Processor>,
    /// Until when the host works.
    works_until: Time,
    /// Of each link, until when it is sending.
    busy_until: [Time; MOST_LINKS],
    links: u8,
    /// The link of the last burst.
    link: u8,
}

impl SendCard {
    /// An idle one, with the limits that the host has.
    pub fn new(rate: Option<Rate>, processor: Option<Processor>) -> SendCard {
        let busy_until = [Time::ZERO; MOST_LINKS];
        SendCard { rate, processor, works_until: Time::ZERO, busy_until, links: 1, link: 0 }
    }

    /// The same with that many links, each of its rate.
    pub fn bonded(self, links: u8) -> SendCard {
        assert!((1..=MOST_LINKS).contains(&links.into()), "a card has a bounded number of links");
        SendCard { links, ..self }
    }

    /// `packets` of that size are handed over at `now`, a burst or what follows its first packet: when the last bit of the
    /// first has left, and when that of the last.
    pub fn send(&mut self, size: Bytes, packets: u64, follows: bool, now: Time) -> (Time, Time) {
        if self.links > 1 && !follows {
            self.link = (self.link + 1) % self.links;
        }
        let later = packets - 1;
        let (copies, on_wire) = (self.copies(size), self.on_wire(size));
        let begins = self.processor.filter(|_| !follows).map_or(Span::ZERO, |costs| costs.burst);
        let worked = self.works_until.max(now) + begins + copies;
        let busy_until = &mut self.busy_until[usize::from(self.link)];
        let first = worked.max(*busy_until) + on_wire;
        *busy_until = first + copies.max(on_wire) * later;
        self.works_until = worked + copies * later;
        (first, *busy_until)
    }

    /// The link of the burst that was handed over last.
    pub fn link(&self) -> usize {
        self.link.into()
    }

    /// The time from packet to packet of a burst.
    pub fn spacing(&self, size: Bytes) -> Span {
        self.copies(size).max(self.on_wire(size))
    }

    /// Whether no more than `most` bytes wait in it at `now`, on all links; if more do, until when.
    pub fn has_room(&self, most: Bytes, now: Time) -> Result<(), Time> {
        let spare = self.on_wire(most);
        if self.links > 1 {
            return self.bond_has_room(spare, now);
        }
        let busy_until = self.busy_until[0];
        if busy_until > now + spare {
            return Err(Time::from_ps(busy_until.as_ps() - spare.as_ps()));
        }
        Ok(())
    }

    /// The same where links send side by side: they have no more to send together than one does in `spare`.
    fn bond_has_room(&self, spare: Span, now: Time) -> Result<(), Time> {
        let mut busy = self.busy_until.map(|until| u128::from(until.as_ps()));
        busy.sort_unstable_by(|a, b| b.cmp(a));
        let (now, spare) = (u128::from(now.as_ps()), u128::from(spare.as_ps()));
        if busy.iter().map(|until| until.saturating_sub(now)).sum::<u128>() <= spare {
            return Ok(());
        }
        // While the first of them send alone, all others are done.
        let mut sum = 0;
        for (sending, until) in (1u128..).zip(busy) {
            sum += until;
            let ends = sum.saturating_sub(spare).div_ceil(sending);
            if busy.get(sending as usize).is_none_or(|next| ends >= *next) {
                return Err(Time::from_ps(ends as u64));
            }
        }
        Ok(())
    }

    fn on_wire(&self, size: Bytes) -> Span {
        self.rate.map_or(Span::ZERO, |rate| rate.on_wire(size))
    }

    fn copies(&self, size: Bytes) -> Span {
        self.processor.map_or(Span::ZERO, |costs| costs.copies(size.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// 1500 B take 12 us at 1 Gbit/s.
    fn bond(links: u8) -> SendCard {
        SendCard::new(Rate::from_bps(1_000_000_000), None).bonded(links)
    }

    /// Bursts of three and of two packets leave side by side, and the next one is behind the first.
    #[test]
    fn bonded_links_take_turns_by_the_burst() {
        let mut card = bond(2);
        let mut send = |packets, follows, at| card.send(Bytes(1500), packets, follows, us(at));
        assert_eq!(send(3, false, 0), (us(12), us(36)));
        assert_eq!(send(2, false, 0), (us(12), us(24)));
        assert_eq!(send(1, false, 0), (us(48), us(48)));
        // What follows a packet of a burst leaves on its link.
        assert_eq!(send(1, true, 0), (us(60), us(60)));
        assert_eq!(send(1, false, 0), (us(36), us(36)));
    }

    /// One processor works for the bursts of both links: 8 us for each, so that the second is 8 us later than the first.
    #[test]
    fn bonded_links_share_the_processor() {
        let costs = Processor { burst: Span::from_us(8), kilobyte: Span::ZERO, packet: Span::ZERO };
        let mut card = SendCard::new(Rate::from_bps(1_000_000_000), Some(costs)).bonded(2);
        let sent = [0, 0].map(|_| card.send(Bytes(1500), 1, false, us(0)).0);
        assert_eq!(sent, [us(20), us(28)]);
    }

    /// At 100 us the links have 40 and 10 us to send, 50 in all. 20 us are left when the first has them alone, at 120, and
    /// 45 when each has sent 2.5.
    #[test]
    fn what_waits_is_counted_over_all_links() {
        let mut card = bond(3);
        card.busy_until[..2].copy_from_slice(&[us(140), us(110)]);
        let bytes = |us: u64| Bytes(us * 125);
        assert_eq!(card.has_room(bytes(50), us(100)), Ok(()));
        assert_eq!(card.has_room(bytes(20), us(100)), Err(us(120)));
        let ns = |ns: u64| Time::from_ps(1000 * ns);
        assert_eq!(card.has_room(bytes(45), us(100)), Err(ns(102_500)));
        assert_eq!(
            (card.has_room(bytes(20), us(120)), card.has_room(bytes(45), ns(102_500))),
            (Ok(()), Ok(()))
        );
    }
}
