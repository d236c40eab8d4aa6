//! When data leave their sender, which takes a random time to process each packet or burst (`overhead`).

use fairhaul_experiment::{Flow, Rto};
use fairhaul_units::{Chance, Data, Span, Time};

/// See the module.
#[derive(Clone)]
pub struct Departures {
    overhead: Span,
    /// The kernel stamps packets before that time, ns-2 after it.
    stamps_before: bool,
    chance: Chance,
    /// What the last burst took, and when the last packet left.
    took: Span,
    last: Time,
}

impl Departures {
    /// Those of the connection with that number.
    pub fn new(flow: &Flow, serial: u32, seed: u64) -> Departures {
        Departures {
            overhead: flow.overhead,
            stamps_before: flow.rto == Rto::Linux,
            chance: Chance::stream(seed, "overhead", serial.into()),
            took: Span::ZERO,
            last: Time::ZERO,
        }
    }

    /// Stamps data that leave the card of their sender at `now`, or that TCP hands over then; they leave, after those
    /// before, at the time that is returned.
    #[inline(always)]
    pub fn next(&mut self, data: &mut Data, now: Time) -> Time {
        if self.overhead.is_zero() {
            return now;
        }
        if !data.sending.follows() {
            self.took = self.chance.span(self.overhead);
        }
        self.last = self.last.max(now + self.took);
        if !self.stamps_before {
            data.stamped = self.last;
        }
        self.last
    }
}
