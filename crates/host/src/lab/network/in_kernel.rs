//! What the network does in the engine `linux` alone: with packets in queues of the kernel, and with payload.

use fairhaul_path::{Departure, LinkLedger};
use fairhaul_units::{Ecn, Time};

use super::Network;
use crate::lab::headers::Headers;
use crate::lab::kernel_queue::Waiting;

impl Network {
    /// Keeps this much of the beginning of each packet, for hosts that read no payload.
    pub fn keep_only(&mut self, bytes: usize) {
        self.kept = bytes;
    }

    /// Calls `hand` for every packet that has come to a queue of the kernel since the last call, with the number of its
    /// device, and the mark by which the packet is known when it leaves.
    pub fn hand_to_kernel(&mut self, mut hand: impl FnMut(u8, u32, &[u8])) {
        let Network { kernel_queues, packets, .. } = self;
        for (device, mark) in kernel_queues.entered() {
            hand(device, mark, &packets[mark as usize - 1].bytes);
        }
    }

    /// A packet leaves a queue of the kernel at `now`; returns when its last bit has left the link. `None`: it came from no
    /// link.
    pub fn leave_kernel(&mut self, mark: u32, bytes: &[u8], now: Time) -> Option<Time> {
        let Waiting { link, packet, arrived, begins } = self.kernel_queues.leave(mark, now)?;
        let stored = &mut self.packets[packet.slot as usize];
        let ecn = Headers::read(bytes).map_or(packet.at_link.ecn, |headers| headers.ecn);
        let marked = ecn == Ecn::Marked && packet.at_link.ecn != Ecn::Marked;
        stored.bytes.clear();
        stored.bytes.extend_from_slice(&bytes[..bytes.len().min(self.kept)]);
        stored.travel.headers.ecn = ecn;
        let port = &mut self.ports[link as usize];
        let departure = port.pass(packet.at_link, arrived, marked, begins, &mut self.ledger);
        self.kernel_queues.busy(link, departure.departs);
        self.depart(link, &packet, Departure { marked: false, ..departure });
        Some(departure.departs)
    }

    /// A queue of the kernel has dropped a packet at `now`.
    pub fn drop_in_kernel(&mut self, mark: u32, now: Time) {
        let Some(Waiting { link, packet, arrived, .. }) = self.kernel_queues.leave(mark, now) else { return };
        self.ledger.dropped(link, packet.at_link.size, arrived, now);
        self.drop(&packet, now);
    }
}
