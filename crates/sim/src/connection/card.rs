//! The card of a receiver: packets wait in it for its interrupt.

use fairhaul_units::{Data, Time};

use super::Connection;
use crate::network::Network;
use crate::route::Route;

impl Connection {
    /// A data packet arrives at the card.
    #[inline(never)]
    pub(super) fn arrive_at_card(&mut self, data: &Data, now: Time, route: &Route, network: &mut Network) {
        while let due = self.interrupt_due()
            && due < now
        {
            self.interrupt(due, route, network);
        }
        if let Some(card) = &mut self.card {
            card.arrive(*data, now);
        }
        self.schedule_receiver(network);
    }

    /// When the card interrupts next.
    pub(super) fn interrupt_due(&self) -> Time {
        self.card.as_ref().map_or(Time::NEVER, |card| card.due())
    }

    /// The card interrupts: the receiver takes what has waited.
    pub(super) fn interrupt(&mut self, now: Time, route: &Route, network: &mut Network) {
        let Some(mut card) = self.card.take() else { return };
        card.interrupt(|data, more| {
            self.receiver.set_reads_later(more);
            self.receive(&data, now, route, network);
        });
        self.card = Some(card);
    }
}
