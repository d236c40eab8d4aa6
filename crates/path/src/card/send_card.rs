//! The processor and the card of a sender: the host works for one burst after the other, and their packets leave one after the
//! other, at the rate of the card.

use fairhaul_units::{Bytes, Rate, Span, Time};

use super::Processor;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SendCard {
    rate: Option<Rate>,
    processor: Option<Processor>,
    /// Until when the host works, and until when the card is sending.
    works_until: Time,
    busy_until: Time,
}

impl SendCard {
    /// An idle one, with the limits that the host has.
    pub fn new(rate: Option<Rate>, processor: Option<Processor>) -> SendCard {
        SendCard { rate, processor, works_until: Time::ZERO, busy_until: Time::ZERO }
    }

    /// `packets` of that size are handed over at `now`, a burst or what follows its first packet: when the last bit of the
    /// first has left, and when that of the last.
    pub fn send(&mut self, size: Bytes, packets: u64, follows: bool, now: Time) -> (Time, Time) {
        let later = packets - 1;
        let (copies, on_wire) = (self.copies(size), self.on_wire(size));
        let begins = self.processor.filter(|_| !follows).map_or(Span::ZERO, |costs| costs.burst);
        let worked = self.works_until.max(now) + begins + copies;
        let first = self.busy_until.max(worked) + on_wire;
        self.works_until = worked + copies * later;
        self.busy_until = first + copies.max(on_wire) * later;
        (first, self.busy_until)
    }

    /// The time from packet to packet of a burst.
    pub fn spacing(&self, size: Bytes) -> Span {
        self.copies(size).max(self.on_wire(size))
    }

    /// Whether no more than `most` bytes wait in it at `now`; if more do, until when.
    pub fn has_room(&self, most: Bytes, now: Time) -> Result<(), Time> {
        let spare = self.on_wire(most);
        if self.busy_until > now + spare {
            return Err(Time::from_ps(self.busy_until.as_ps() - spare.as_ps()));
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
