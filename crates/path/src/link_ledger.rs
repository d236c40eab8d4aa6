//! Where the port of a link records what happens there.

use fairhaul_units::Time;

use crate::link::Departure;
use crate::packet::{Burst, LinkPacket};
use crate::schedule::LinkRate;

/// The ledger of a run, as the ports of its links see it. Each link has a number there.
pub trait LinkLedger {
    /// Where the queue of `link` records what its gauges show at `now`, and when they are to be read next.
    fn gauges(&mut self, link: u32, now: Time) -> (&mut Vec<f64>, Time);

    /// A packet is offered to `link`, which refuses it.
    fn refused(&mut self, link: u32, now: Time);

    /// A packet of `size` is offered to `link` and taken into its queue.
    fn enqueued(&mut self, link: u32, size: u32, now: Time);

    /// Counts the packets of a burst, each of `size` and the first of them at `now`, as [enqueued](LinkLedger::enqueued): whether
    /// it could do so at once.
    fn enqueued_together(&mut self, _link: u32, _size: u32, _burst: Burst, _now: Time) -> bool {
        false
    }

    /// The queue of `link` marks a packet that was offered at `offered`.
    fn marked(&mut self, link: u32, offered: Time, now: Time);

    /// The queue of `link` drops a packet of `size` that it had taken at `offered`.
    fn dropped(&mut self, link: u32, size: u32, offered: Time, now: Time);

    /// A packet that was offered at `offered` leaves the queue of `link`, which can send at that rate.
    fn departed(
        &mut self,
        link: u32,
        packet: &LinkPacket,
        offered: Time,
        departure: Departure,
        rate: &LinkRate,
    );

    /// Counts the packets of a burst, which leave right behind each other, as [departed](LinkLedger::departed): whether it could
    /// do so at once. The first was offered at `offered` and has that departure.
    fn departed_together(
        &mut self,
        _link: u32,
        _packet: &LinkPacket,
        _burst: Burst,
        _offered: Time,
        _first: Departure,
    ) -> bool {
        false
    }

    /// A packet is taken into the queue of `link` at `now`, and it is known how it leaves.
    #[inline(always)]
    fn passed(&mut self, link: u32, packet: &LinkPacket, now: Time, departure: Departure, rate: &LinkRate) {
        self.enqueued(link, packet.size, now);
        self.departed(link, packet, now, departure, rate);
    }

    /// Counts what `link` sends from one time to another; called where the ledger counts bytes.
    fn sent_by_link(&mut self, link: u32, when: (Time, Time), rate: &LinkRate);

    /// `link` loses a packet behind its queue that was offered at `offered`.
    fn lost_after_queue(&mut self, link: u32, offered: Time, now: Time);
}
