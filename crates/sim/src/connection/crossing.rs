//! Packets of a connection at a link: they cross it, wait in its queue, or are dropped.

use fairhaul_experiment::PacketWhat;
use fairhaul_units::{Ack, Data, Ecn, Time};

use super::Connection;
use crate::network::{Admission, Crossing, Network};
use crate::queued_packet::{DataOrAck, QueuedPacket};
use crate::route::Route;

impl Connection {
    /// A packet waits at `link`, the end of that leg of its way, unless it leaves at once.
    #[inline(never)]
    pub(super) fn hold(
        &mut self,
        link: u32,
        leg: usize,
        content: DataOrAck,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        let packet = QueuedPacket { serial: self.serial, flow: self.flow, leg: leg as u16, content };
        if let Some((packet, outcome)) = network.hold(link, &packet, now) {
            self.resolve_queued(packet, outcome, route, network);
        }
    }

    /// A packet that has waited in a queue leaves it, or is dropped.
    #[inline(always)]
    pub fn resolve_queued(
        &mut self,
        packet: QueuedPacket,
        outcome: Result<Crossing, Time>,
        route: &Route,
        network: &mut Network,
    ) {
        let leg = usize::from(packet.leg);
        match (packet.content, outcome) {
            (DataOrAck::Data(mut data), Ok(crossing)) => {
                if crossing.marked {
                    data.ecn = Ecn::Marked;
                }
                self.data_crosses(leg, &mut data, crossing, route, network);
            }
            (DataOrAck::Data(data), Err(when)) => self.data_dropped(&data, when, network),
            (DataOrAck::Ack(ack), Ok(crossing)) => self.ack_crosses(leg, &ack, crossing, route, network),
            (DataOrAck::Ack(ack), Err(when)) => self.ack_dropped(&ack, when, network),
        }
    }

    /// A data packet gets over the link at the end of that leg.
    #[inline(always)]
    pub(super) fn data_crosses(
        &mut self,
        leg: usize,
        data: &mut Data,
        crossing: Crossing,
        route: &Route,
        network: &mut Network,
    ) {
        let copies = if crossing.twice { 2 } else { 1 };
        if crossing.twice {
            self.data.launched += 1;
            network.limits.launched();
            if !data.opens {
                network.ledger.copied(self.flow, data.stamped, crossing.arrives);
            }
        }
        for _ in 0..copies {
            self.forward_data(leg + 1, data, crossing.arrives, route, network);
        }
    }

    /// A data packet gets over a link that this connection alone feeds, or is dropped there; when it has.
    #[inline(never)]
    pub(super) fn cross_alone(
        &mut self,
        link: u32,
        data: &mut Data,
        now: Time,
        network: &mut Network,
    ) -> Option<Time> {
        match self.offer(link, data, now, network) {
            Admission::Sent(crossing) => return Some(crossing.arrives),
            Admission::Dropped(when) => self.data_dropped(data, when, network),
            Admission::Queued => unreachable!("a queue that decides at departure is never fed alone"),
        }
        None
    }

    /// An acknowledgement gets over a link that this connection alone feeds, or is dropped there; when it
    /// has.
    #[inline(never)]
    pub(super) fn ack_crosses_alone(
        &mut self,
        link: u32,
        ack: &Ack,
        now: Time,
        network: &mut Network,
    ) -> Option<Time> {
        match self.offer_ack(link, ack, now, network) {
            Admission::Sent(crossing) => return Some(crossing.arrives),
            Admission::Dropped(when) => self.ack_dropped(ack, when, network),
            Admission::Queued => unreachable!("a queue that decides at departure is never fed alone"),
        }
        None
    }

    /// A data packet is dropped.
    #[inline(never)]
    pub(super) fn data_dropped(&mut self, data: &Data, when: Time, network: &mut Network) {
        self.data.dropped += 1;
        self.trace_data(PacketWhat::Dropped, data, when, network);
        if !data.opens {
            network.ledger.lost(self.flow, data.stamped, when);
        }
    }

    /// An acknowledgement gets over the link at the end of that leg.
    #[inline(always)]
    pub(super) fn ack_crosses(
        &mut self,
        leg: usize,
        ack: &Ack,
        crossing: Crossing,
        route: &Route,
        network: &mut Network,
    ) {
        let copies = if crossing.twice { 2 } else { 1 };
        self.acks.launched += copies - 1;
        for _ in 0..copies {
            self.forward_ack(leg + 1, ack, crossing.arrives, route, network);
        }
    }

    /// An acknowledgement is dropped.
    #[inline(never)]
    pub(super) fn ack_dropped(&mut self, ack: &Ack, when: Time, network: &mut Network) {
        self.acks.dropped += 1;
        self.trace_ack(PacketWhat::AckDropped, ack, when, network);
    }
}
