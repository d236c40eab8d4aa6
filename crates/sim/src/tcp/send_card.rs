//! The card of a sender: packets leave it one after the other, at its rate.

use fairhaul_units::{Bytes, Rate, Time};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SendCard {
    rate: Rate,
    /// Until when it is sending.
    busy_until: Time,
}

impl SendCard {
    /// An idle card of that rate.
    pub fn new(rate: Rate) -> SendCard {
        SendCard { rate, busy_until: Time::ZERO }
    }

    /// `packets` of `size` bytes each are handed over at `now`: when the last bit of the first has left, and when that of the
    /// last.
    pub fn send(&mut self, size: u32, packets: u8, now: Time) -> (Time, Time) {
        let on_wire = self.rate.on_wire(Bytes(size.into()));
        let first = self.busy_until.max(now) + on_wire;
        self.busy_until = first + on_wire * u64::from(packets.saturating_sub(1));
        (first, self.busy_until)
    }

    /// Whether no more than `most` bytes wait in it at `now`; if more do, until when.
    pub fn has_room(&self, most: u64, now: Time) -> Result<(), Time> {
        let spare = self.rate.on_wire(Bytes(most));
        if self.busy_until > now + spare {
            return Err(Time::from_ps(self.busy_until.as_ps() - spare.as_ps()));
        }
        Ok(())
    }
}
