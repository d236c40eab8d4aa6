//! When data leave their sender, which takes a random time to process each packet or burst (`overhead`).

use fairhaul_experiment::{Flow, Rto};
use fairhaul_path::card::MOST_LINKS;
use fairhaul_units::{Chance, Data, Span, Time};

/// See the module.
#[derive(Clone)]
pub struct Departures {
    overhead: Span,
    /// The kernel stamps packets before that time, ns-2 after it.
    stamps_before: bool,
    chance: Chance,
    /// What the last burst took, and when the next packet may leave on each link.
    took: Span,
    next: [Time; MOST_LINKS],
    /// The time from packet to packet at which their card sends.
    spacing: Span,
}

impl Departures {
    /// Those of the connection with that number, whose card sends packets with that `spacing`.
    pub fn new(flow: &Flow, serial: u32, seed: u64, spacing: Span) -> Departures {
        Departures {
            overhead: flow.overhead,
            stamps_before: flow.rto == Rto::Linux,
            chance: Chance::stream(seed, "overhead", serial.into()),
            took: Span::ZERO,
            next: [Time::ZERO; MOST_LINKS],
            spacing,
        }
    }

    /// Stamps data of which the first packet leaves the card of its sender at `now` on that link, or that TCP hands over then;
    /// it leaves, after those before on the link, at the time that is returned.
    #[inline(always)]
    pub fn next(&mut self, data: &mut Data, now: Time, link: impl FnOnce() -> usize) -> Time {
        if self.overhead.is_zero() {
            return now;
        }
        if !data.sending.follows() {
            self.took = self.chance.span(self.overhead);
        }
        let next = &mut self.next[link()];
        let leaves = (*next).max(now + self.took);
        *next = leaves + self.spacing * u64::from(data.packets);
        if !self.stamps_before {
            data.stamped = leaves;
        }
        leaves
    }
}
