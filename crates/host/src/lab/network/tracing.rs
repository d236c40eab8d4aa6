//! The packet trace of a flow: its packets as they leave a host, are dropped or reach the other host. What is neither data,
//! nor opens the connection, nor acknowledges data is not in it, because the simulator has no such packets: the sender's
//! answer to the answer of its request, and the end of the connection.

use std::collections::BTreeMap;

use fairhaul_experiment::{PacketRecorder, PacketRow, PacketTrace, PacketWhat};
use fairhaul_units::Time;

use super::{Network, Travel};
use crate::lab::headers::Segment;
use crate::lab::packet_numbers::PacketNumbers;
use crate::lab::tcp_header::TcpHeader;

impl Network {
    /// Records the packet trace of `flow` from now on.
    pub fn trace(&mut self, flow: u32) {
        self.tracer = Some(PacketTracer::new(flow, self.ledger.end()));
    }

    /// Ends the packet trace, and returns it if there is one.
    pub fn take_trace(&mut self) -> Option<PacketTrace> {
        self.tracer.take().map(PacketTracer::close)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PacketTracer {
    recorder: PacketRecorder,
    connections: BTreeMap<u32, PacketNumbers>,
    /// The rows of packets in flight, by their slots in the network.
    on_way: BTreeMap<u32, PacketRow>,
}

impl PacketTracer {
    /// An empty trace of `flow`, in a run that ends at `end`.
    pub fn new(flow: u32, end: Time) -> PacketTracer {
        PacketTracer {
            recorder: PacketRecorder::new(flow, end),
            connections: BTreeMap::new(),
            on_way: BTreeMap::new(),
        }
    }

    /// A packet leaves its host; `is_accurate`: its connection has requested accurate feedback.
    pub fn sent(&mut self, slot: u32, travel: &Travel, packet: &[u8], is_accurate: bool) {
        // Without room for a row, nothing has to be known about later packets.
        if travel.flow != self.recorder.flow() || self.recorder.is_full() {
            return;
        }
        if let Some(row) = self.row(travel, packet) {
            let row = if is_accurate { with_feedback(row, packet) } else { row };
            self.recorder.keep(travel.flow, travel.sent, || row.clone());
            self.on_way.insert(slot, row);
        }
    }

    /// A packet reaches its host, or is dropped.
    pub fn ends(&mut self, slot: u32, travel: &Travel, arrives: bool, now: Time) {
        let Some(row) = self.on_way.remove(&slot) else { return };
        let what = match (row.what, arrives) {
            (PacketWhat::Sent, true) => PacketWhat::Received,
            (PacketWhat::Sent, false) => PacketWhat::Dropped,
            (_, true) => PacketWhat::AckReceived,
            (_, false) => PacketWhat::AckDropped,
        };
        let row = PacketRow { t_s: now.as_secs(), what, ecn: travel.headers.ecn, ..row };
        self.recorder.keep(travel.flow, now, || row);
    }

    /// A link makes a second packet of one.
    pub fn copied(&mut self, slot: u32, copy: u32) {
        if let Some(row) = self.on_way.get(&slot).cloned() {
            self.on_way.insert(copy, row);
        }
    }

    /// The trace.
    pub fn close(self) -> PacketTrace {
        self.recorder.close()
    }

    /// The row of a packet as it leaves its host; `None` if it is not in the trace.
    fn row(&mut self, travel: &Travel, packet: &[u8]) -> Option<PacketRow> {
        let Travel { headers, forward, sent, .. } = travel;
        let connection = headers.from.1;
        let numbers = self.connections.entry(connection).or_default();
        let row = PacketRow {
            t_s: sent.as_secs(),
            what: if *forward { PacketWhat::Sent } else { PacketWhat::AckSent },
            connection,
            number: 0,
            size: headers.size,
            opens: headers.segment.is_some_and(|segment| segment.opens),
            retransmitted: false,
            ecn: headers.ecn,
            cwr: false,
            ece: false,
            ace: None,
            counters: None,
            blocks: Vec::new(),
            cwnd_packets: f64::NAN,
            srtt_s: f64::NAN,
        };
        let Some(Segment { acknowledges, opens, .. }) = headers.segment else {
            let is_data = *forward && headers.carries_data();
            return is_data.then(|| PacketRow { number: numbers.sends_datagram(), ..row });
        };
        // In the packets that open a connection, the flags negotiate.
        let header = TcpHeader::of(packet).filter(|_| !opens);
        if *forward {
            let (number, retransmitted) = numbers.sends(&headers.segment?, headers.payload);
            let is_row = opens || headers.carries_data();
            return is_row.then(|| PacketRow {
                number,
                retransmitted,
                cwr: header.is_some_and(|header| header.cwr()),
                ..row
            });
        }
        let next = acknowledges?;
        let sacked = header.map(|header| header.sacked(next)).unwrap_or_default();
        Some(PacketRow {
            number: numbers.waited_for(next),
            ece: header.is_some_and(|header| header.ece()),
            blocks: sacked.into_iter().filter_map(|run| numbers.complete(run)).collect(),
            ..row
        })
    }
}

/// The row of a packet of a connection with accurate feedback, whose three bits are no flags of their own.
fn with_feedback(row: PacketRow, packet: &[u8]) -> PacketRow {
    let header = TcpHeader::of(packet);
    PacketRow {
        cwr: false,
        ece: false,
        ace: header.map(|header| header.ace()),
        counters: header.and_then(|header| header.counters()),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::headers::tests::segment;
    use crate::lab::layout::{Dumbbell, Layout};
    use crate::lab::network::Network;
    use crate::lab::tcp_header::tests::{sack, with_options};
    use fairhaul_experiment::grid;
    use fairhaul_path::queue::Capacity;
    use fairhaul_units::{Ecn, Rate, Span};

    const SYN: u8 = 2;
    const CWR: u8 = 128;
    const ECE: u8 = 64;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// 8 Mbit/s, a round-trip time of 20 ms, a queue of two packets, and a trace of the second of three flows.
    fn traced(change: impl FnOnce(&mut Layout)) -> Network {
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        let (rtt, capacity) = (Span::from_ms(20), Capacity::Packets(2));
        let mut layout = Dumbbell { rate, rtt, capacity, loss: None, connections: 3 }.layout();
        change(&mut layout);
        let mut network = Network::new(&layout, grid(Span::from_s(1), Span::ZERO, 3, 2));
        network.trace(1);
        network
    }

    /// The rows: the time in microseconds, what happened, the number and the size.
    fn rows(network: &mut Network) -> Vec<(u64, &'static str, u64, u32)> {
        let trace = network.take_trace().expect("it was requested");
        let row = |row: &PacketRow| {
            assert_eq!(row.connection, 1);
            ((row.t_s * 1e6).round() as u64, PacketWhat::WORDS[row.what.index()], row.number, row.size)
        };
        trace.rows.iter().map(row).collect()
    }

    #[test]
    fn a_packet_has_a_row_as_it_leaves_its_host_and_one_as_it_arrives_or_is_dropped() {
        let mut network = traced(|_| {});
        network.accept(0, &with_options(segment(0, 1, 1, 100, 0), SYN, &[]), at(0));
        // The queue admits two beside the one that is being sent; 1000 B take 1 ms.
        for (connection, number) in [(1, 0), (0, 0), (1, 1), (1, 2), (1, 0)] {
            network.accept(0, &segment(0, 1, connection, 101 + 960 * number, 960), at(100));
        }
        // Neither data nor the opening: the answer to the answer.
        network.accept(0, &segment(0, 1, 1, 101, 0), at(110));
        let mut answer = with_options(segment(1, 0, 1, 1, 0), ECE, &sack(&[(1061, 2021)]));
        answer[28..32].copy_from_slice(&101_u32.to_be_bytes());
        network.accept(1, &answer, at(30_000));
        network.advance(at(1_000_000), |_, _, _| {});
        let expected = [
            (0, "sent", 0, 40),
            (100, "sent", 0, 1000),
            (100, "sent", 1, 1000),
            (100, "sent", 2, 1000),
            (100, "sent", 0, 1000),
            (100, "dropped", 1, 1000),
            (100, "dropped", 2, 1000),
            (100, "dropped", 0, 1000),
            (10_040, "received", 0, 40),
            (11_100, "received", 0, 1000),
            (30_000, "ack_sent", 0, 64),
            (40_064, "ack_received", 0, 64),
        ];
        assert_eq!(rows(&mut network), expected);
        let counts = network.counts();
        assert_eq!((counts.dropped, counts.inside), (4, 0), "a packet of no data was dropped, too");
    }

    #[test]
    fn flags_and_codepoints_are_those_of_the_packets_at_that_place() {
        let mut network = traced(|layout| layout.links[0].mark = Capacity::Packets(1));
        for number in 0..2 {
            let flags = if number == 0 { CWR } else { 0 };
            let mut packet = with_options(segment(0, 1, 1, 101 + 960 * number, 0), flags, &[]);
            packet.resize(1000, 0);
            packet[2..4].copy_from_slice(&1000_u16.to_be_bytes());
            packet[1] |= 2; // It can be marked.
            network.accept(0, &packet, at(0));
        }
        let mut answer = with_options(segment(1, 0, 1, 1, 0), ECE, &sack(&[(1061, 2021)]));
        answer[28..32].copy_from_slice(&101_u32.to_be_bytes());
        network.accept(1, &answer, at(30_000));
        network.advance(at(1_000_000), |_, _, _| {});
        let trace = network.take_trace().expect("it was requested");
        let marks: Vec<_> = trace.rows.iter().map(|row| (row.what, row.ecn, row.cwr, row.ece)).collect();
        use PacketWhat::{AckReceived, AckSent, Received, Sent};
        let expected = [
            (Sent, Ecn::Capable, true, false),
            (Sent, Ecn::Capable, false, false),
            (Received, Ecn::Capable, true, false),
            (Received, Ecn::Marked, false, false),
            (AckSent, Ecn::NotCapable, false, true),
            (AckReceived, Ecn::NotCapable, false, true),
        ];
        assert_eq!(marks, expected);
        assert!(trace.rows[4..].iter().all(|row| row.blocks == [(1, 2)]));
    }

    #[test]
    fn a_second_packet_that_a_link_makes_arrives_too() {
        let mut network = traced(|layout| layout.links[0].impair.duplicate = 1.0);
        network.accept(0, &segment(0, 1, 1, 101, 960), at(0));
        network.advance(at(1_000_000), |_, _, _| {});
        let received = (11_000, "received", 0, 1000);
        assert_eq!(rows(&mut network), [(0, "sent", 0, 1000), received, received]);
    }
}
