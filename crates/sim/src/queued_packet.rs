//! A packet that waits in the queue of a link: its content, its connection, and the leg of its route.

use fairhaul_path::{LinkPacket, Packet, PacketKind};
use fairhaul_units::{Ack, CongestionHeader, Data, Sending};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// Serial of its connection.
    pub serial: u32,
    /// Index of its flow.
    pub flow: u32,
    /// The leg of its route at whose end the link is.
    pub leg: u16,
    /// Its payload, where the link counts the payload of its flow; else zero.
    pub counted: u32,
    pub content: DataOrAck,
}

/// A data packet or an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub enum DataOrAck {
    Data(Data),
    Ack(Ack),
}

impl Packet for QueuedPacket {
    fn at_link(&self) -> LinkPacket {
        match &self.content {
            DataOrAck::Data(data) => data_at_link(self.serial, self.flow, data, self.counted),
            DataOrAck::Ack(ack) => ack_at_link(self.serial, self.flow, ack),
        }
    }

    /// What reports a gap, counts marks in an option, or is a datagram of another stack says something of its own [LINUX,
    /// cake_ack_filter].
    fn covers(&self, other: &QueuedPacket) -> bool {
        let (DataOrAck::Ack(ack), DataOrAck::Ack(other_ack)) = (&self.content, &other.content) else {
            return false;
        };
        let carries_more =
            other_ack.blocks > 0 || other_ack.accurate.has_counters() || other_ack.datagram.is_some();
        let is_plain = !carries_more && !other_ack.opens;
        let same =
            self.serial == other.serial && ack.ece == other_ack.ece && ack.accurate == other_ack.accurate;
        is_plain && same && ack.next >= other_ack.next
    }

    fn congestion(&self) -> Option<&CongestionHeader> {
        match &self.content {
            DataOrAck::Data(data) => data.congestion.as_ref(),
            DataOrAck::Ack(_) => None,
        }
    }

    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
        match &mut self.content {
            DataOrAck::Data(data) => data.congestion.as_mut(),
            DataOrAck::Ack(_) => None,
        }
    }
}

/// What a link reads of a data packet of connection `serial`, of whose payload it counts that much.
#[inline(always)]
pub fn data_at_link(serial: u32, flow: u32, data: &Data, counted: u32) -> LinkPacket {
    let kind = if data.opens() { PacketKind::Control } else { PacketKind::Data };
    let &Data { size, ecn, sending, .. } = data;
    LinkPacket { connection: serial, size, ecn, flow, kind, sending, counted }
}

/// What a link reads of an acknowledgement, which is never ECN-capable [RFC 3168, 6.1.4], unless it is a datagram.
#[inline(always)]
pub fn ack_at_link(serial: u32, flow: u32, ack: &Ack) -> LinkPacket {
    LinkPacket {
        connection: serial,
        size: ack.size(),
        ecn: ack.ecn,
        flow,
        kind: if ack.opens { PacketKind::Control } else { PacketKind::Ack },
        sending: Sending::First,
        counted: 0,
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{AccurateEcn, Ecn};

    use super::*;

    // Requirement: rfc3168-5.2-b, rfc3168-6.1.4-a
    #[test]
    fn an_acknowledgement_cannot_be_marked() {
        for (opens, ece) in [(true, false), (false, false), (false, true)] {
            let ack = Ack { next: 1, opens, ece, ..Ack::default() };
            assert_eq!(ack_at_link(0, 0, &ack).ecn, Ecn::NotCapable);
        }
    }

    /// The acknowledgement of a connection of everything before a packet, with something of its own.
    fn ack(serial: u32, next: u64, own: impl FnOnce(&mut Ack)) -> QueuedPacket {
        let mut ack = Ack { next, ..Ack::default() };
        own(&mut ack);
        QueuedPacket { serial, flow: 0, leg: 0, counted: 0, content: DataOrAck::Ack(ack) }
    }

    #[test]
    fn an_acknowledgement_that_reports_something_of_its_own_is_covered_by_none() {
        let later = ack(7, 20, |_| ());
        let covered = |own: fn(&mut Ack)| later.covers(&ack(7, 10, own));
        assert!(covered(|_| ()));
        assert!(!covered(|ack| ack.blocks = 1));
        assert!(!covered(|ack| ack.ece = true));
        assert!(!covered(|ack| ack.opens = true));
        assert!(!covered(|ack| ack.accurate = AccurateEcn::of(5)));
        assert!(!later.covers(&ack(8, 10, |_| ())), "of another connection");
        assert!(!later.covers(&ack(7, 21, |_| ())), "of more packets");
    }

    /// [RFC 9768]: three bits that have not changed say nothing new; others, and the option, do.
    #[test]
    fn an_acknowledgement_whose_accurate_feedback_differs_or_has_the_option_is_kept() {
        let later = ack(7, 20, |ack| ack.accurate = AccurateEcn::of(5));
        let with = |accurate| later.covers(&ack(7, 10, |ack| ack.accurate = accurate));
        assert!(with(AccurateEcn::of(5)));
        assert!(!with(AccurateEcn::of(4)));
        let with_option = later.covers(&ack(7, 10, |ack| {
            ack.accurate = AccurateEcn::of(5);
            ack.set_counters([0, 1, 0], false);
        }));
        assert!(!with_option);
    }
}
