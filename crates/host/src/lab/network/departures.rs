//! When the data of a connection leave its sender, which takes a random time to process each packet (`overhead`). The draws
//! are those of the simulator.

use fairhaul_path::card::MOST_LINKS;
use fairhaul_units::{Chance, Span, Time};

use super::Network;

/// See the module.
#[derive(Clone, Debug)]
pub struct Departures {
    chance: Chance,
    /// On each link.
    last: [Time; MOST_LINKS],
}

impl Departures {
    /// Those of a connection, in a run with this seed.
    pub fn new(seed: u64, connection: u32) -> Departures {
        Departures {
            chance: Chance::stream(seed, "overhead", connection.into()),
            last: [Time::ZERO; MOST_LINKS],
        }
    }

    /// A packet that the sender hands over at `now` leaves it, after those before on that link, at this time.
    pub fn next(&mut self, overhead: Span, link: usize, now: Time) -> Time {
        let last = &mut self.last[link];
        *last = (*last).max(now + self.chance.span(overhead));
        *last
    }
}

impl Network {
    /// When a packet of a sender, handed over at `now`, leaves it on that link.
    pub(super) fn departure(&mut self, connection: u32, flow: u32, link: usize, now: Time) -> Time {
        let overhead = self.routes[flow as usize].overhead;
        if overhead.is_zero() {
            return now;
        }
        let seed = self.seed;
        let connection_state = self.connections[connection as usize].get_or_insert_default();
        let new = || Departures::new(seed, connection);
        connection_state.departures.get_or_insert_with(new).next(overhead, link, now)
    }
}
