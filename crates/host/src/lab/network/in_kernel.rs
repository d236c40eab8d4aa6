//! What the network does in the engine `linux` alone: with packets in queues of the kernel, and with payload.

use fairhaul_path::queue::FlowLabel;
use fairhaul_path::{Departure, LinkLedger};
use fairhaul_units::{Ecn, Time};

use super::{Network, PacketInFlight};
use crate::lab::address::labelled_address;
use crate::lab::headers::{Headers, set_codepoint};
use crate::lab::kernel_queue::{Entered, Waiting};

impl Network {
    /// Keeps this much of the beginning of each packet, for hosts that read no payload.
    pub fn keep_only(&mut self, bytes: usize) {
        self.kept = bytes;
    }

    /// Calls `hand` for every packet that has come to a queue of the kernel since the last call, with the number of its
    /// device, and the mark by which the packet is known when it leaves.
    pub fn hand_to_kernel(&mut self, mut hand: impl FnMut(u8, u32, &[u8])) {
        let Network { kernel_queues, packets, .. } = self;
        let mut labelled = Vec::new();
        for Entered { device, mark, label } in kernel_queues.entered() {
            let PacketInFlight { travel, bytes } = &packets[mark as usize - 1];
            let Some(label) = label else {
                hand(device, mark, bytes);
                continue;
            };
            labelled.clear();
            labelled.extend_from_slice(bytes);
            write_label(&mut labelled, label, travel.headers.from.1, travel.forward);
            hand(device, mark, &labelled);
        }
    }

    /// A packet leaves a queue of the kernel at `now`; returns when its last bit has left the link. `None`: it came from no
    /// link.
    pub fn leave_kernel(&mut self, mark: u32, bytes: &[u8], now: Time) -> Option<Time> {
        let Waiting { link, packet, label, arrived, begins } = self.kernel_queues.leave(mark, now)?;
        let stored = &mut self.packets[packet.slot as usize];
        let ecn = Headers::read(bytes).map_or(packet.at_link.ecn, |headers| headers.ecn);
        let marked = ecn == Ecn::Marked && packet.at_link.ecn != Ecn::Marked;
        if label.is_some() {
            set_codepoint(&mut stored.bytes, ecn);
        } else {
            stored.bytes.clear();
            stored.bytes.extend_from_slice(&bytes[..bytes.len().min(self.kept)]);
        }
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

/// Writes the class of a packet and the addresses of its hosts where a queue discipline reads them. Its ports become the number
/// of its connection, because connections that share their hosts here have addresses of their own there, and perhaps the same
/// ports. Queue disciplines check no sums.
fn write_label(packet: &mut [u8], label: FlowLabel, connection: u32, forward: bool) {
    let at = usize::from(packet[0] & 15) * 4;
    let FlowLabel { source, destination, dscp } = label;
    let (from, to) = if forward { (source, destination) } else { (destination, source) };
    packet[1] = dscp << 2 | packet[1] & 3;
    packet[12..16].copy_from_slice(&labelled_address(from).octets());
    packet[16..20].copy_from_slice(&labelled_address(to).octets());
    let [_, high, ports @ ..] = connection.to_be_bytes();
    let (of_sender, of_receiver) = (ports, [0, high]);
    let ports = if forward { [of_sender, of_receiver] } else { [of_receiver, of_sender] };
    if let Some(place) = packet.get_mut(at..at + 4) {
        place.copy_from_slice(ports.as_flattened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::headers::tests::segment;

    /// Connection 65538 = 1 x 65536 + 2, of class EF, which is 46, between hosts 3 and 300 = 256 + 44.
    #[test]
    fn a_discipline_reads_the_class_and_the_hosts_of_a_flow() {
        let label = FlowLabel { source: 3, destination: 300, dscp: 46 };
        let written = |from, to, forward| {
            let mut packet = segment(from, to, 65_538, 1, 100);
            set_codepoint(&mut packet, Ecn::Capable);
            write_label(&mut packet, label, 65_538, forward);
            assert_eq!(packet.len(), 140);
            (packet[1], packet[12..20].to_vec(), packet[20..24].to_vec())
        };
        let class = 46 << 2 | 2;
        assert_eq!(written(0, 1, true), (class, vec![10, 0, 0, 3, 10, 0, 1, 44], vec![0, 2, 0, 1]));
        assert_eq!(written(1, 0, false), (class, vec![10, 0, 1, 44, 10, 0, 0, 3], vec![0, 1, 0, 2]));
    }
}
