//! Packets of a connection at a link: they cross it, wait in its queue, or are dropped.

use fairhaul_experiment::PacketWhat;
use fairhaul_path::{Admission, Departure};
use fairhaul_units::{Ack, Data, Ecn, Time};

use super::Connection;
use crate::network::Network;
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
        let counted = match &content {
            DataOrAck::Data(data) => self.account.counted(link, data),
            DataOrAck::Ack(_) => 0,
        };
        let packet = QueuedPacket { serial: self.serial, flow: self.flow, leg: leg as u16, counted, content };
        if let Some((packet, departure)) = network.hold(link, &packet, now) {
            self.queued_departs(packet, departure, route, network);
        }
    }

    /// A packet leaves the queue in which it waited.
    #[inline(always)]
    pub fn queued_departs(
        &mut self,
        packet: QueuedPacket,
        departure: Departure,
        route: &Route,
        network: &mut Network,
    ) {
        let leg = usize::from(packet.leg);
        match packet.content {
            DataOrAck::Data(mut data) => self.data_departs(leg, &mut data, departure, route, network),
            DataOrAck::Ack(ack) => self.ack_departs(leg, &ack, departure, route, network),
        }
    }

    /// The queue in which a packet waited drops it.
    pub fn queued_dropped(&mut self, packet: &DataOrAck, when: Time, network: &mut Network) {
        match packet {
            DataOrAck::Data(data) => self.data_dropped(data, when, network),
            DataOrAck::Ack(ack) => self.ack_dropped(*ack, when, network),
        }
    }

    /// A data packet leaves the link at the end of that leg.
    #[inline(always)]
    pub(super) fn data_departs(
        &mut self,
        leg: usize,
        data: &mut Data,
        departure: Departure,
        route: &Route,
        network: &mut Network,
    ) {
        let Departure { departs, arrives, marked, copies, .. } = departure;
        if copies == 0 {
            return self.data_dropped(data, departs, network);
        }
        if marked {
            data.ecn = Ecn::Marked;
        }
        if copies == 2 {
            self.duplicate_data(leg, *data, arrives, route, network);
        }
        self.forward_data(leg + 1, data, arrives, route, network);
    }

    /// A link makes a second data packet, which goes on before the first.
    #[inline(never)]
    fn duplicate_data(
        &mut self,
        leg: usize,
        mut data: Data,
        arrives: Time,
        route: &Route,
        network: &mut Network,
    ) {
        self.data.launched += 1;
        network.limits.launched();
        if let Some(stack) = &mut self.stack {
            stack.sender.under_way.duplicate(data.number);
        }
        if !data.opens() {
            network.ledger.copied(self.flow, data.stamped, arrives);
        }
        self.forward_data(leg + 1, &mut data, arrives, route, network);
    }

    /// A data packet gets over a link that this connection alone feeds, or is dropped there; when it has, or the end
    /// of the run where that is earlier. Nothing is recorded after it, and behind an outage without an end a queue
    /// would follow the clock for ages.
    #[inline(never)]
    pub(super) fn cross_alone(
        &mut self,
        link: u32,
        data: &mut Data,
        now: Time,
        network: &mut Network,
    ) -> Option<Time> {
        match self.offer(link, data, now, network) {
            Admission::Sent(departure) => {
                if departure.marked {
                    data.ecn = Ecn::Marked;
                }
                return Some(departure.arrives.min(network.ledger.end()));
            }
            Admission::Dropped => self.data_dropped(data, now, network),
            Admission::Queued => unreachable!("a queue that decides at departure is never fed alone"),
        }
        None
    }

    /// An acknowledgement gets over a link that this connection alone feeds, or is dropped there; its departure, with an
    /// arrival at the end of the run at the latest.
    #[inline(never)]
    pub(super) fn ack_crosses_alone(
        &mut self,
        link: u32,
        ack: &Ack,
        now: Time,
        network: &mut Network,
    ) -> Option<Departure> {
        match self.offer_ack(link, ack, now, network) {
            Admission::Sent(departure) => {
                let arrives = departure.arrives.min(network.ledger.end());
                return Some(Departure { arrives, ..departure });
            }
            Admission::Dropped => self.ack_dropped(*ack, now, network),
            Admission::Queued => unreachable!("a queue that decides at departure is never fed alone"),
        }
        None
    }

    /// A data packet is dropped.
    #[inline(never)]
    pub(super) fn data_dropped(&mut self, data: &Data, when: Time, network: &mut Network) {
        self.data.dropped += 1;
        if let Some(stack) = &mut self.stack {
            stack.sender.under_way.release(data.number);
        }
        self.trace_data(PacketWhat::Dropped, data, when, network);
        if !data.opens() {
            network.ledger.lost(self.flow, data.stamped, when);
        }
    }

    /// An acknowledgement leaves the link at the end of that leg.
    #[inline(always)]
    pub(super) fn ack_departs(
        &mut self,
        leg: usize,
        ack: &Ack,
        departure: Departure,
        route: &Route,
        network: &mut Network,
    ) {
        if departure.copies == 0 {
            return self.ack_dropped(*ack, departure.departs, network);
        }
        if departure.marked {
            return self.marked_ack_departs(leg, ack, departure, route, network);
        }
        if departure.copies == 2 {
            self.duplicate_ack(leg, *ack, departure.arrives, route, network);
        }
        self.forward_ack(leg + 1, ack, departure.arrives, route, network);
    }

    /// The same of a datagram that a queue has marked.
    #[cold]
    pub(super) fn marked_ack_departs(
        &mut self,
        leg: usize,
        ack: &Ack,
        departure: Departure,
        route: &Route,
        network: &mut Network,
    ) {
        let ack = &Ack { ecn: Ecn::Marked, ..*ack };
        if departure.copies == 2 {
            self.duplicate_ack(leg, *ack, departure.arrives, route, network);
        }
        self.forward_ack(leg + 1, ack, departure.arrives, route, network);
    }

    /// A link makes a second acknowledgement.
    #[inline(never)]
    fn duplicate_ack(&mut self, leg: usize, ack: Ack, arrives: Time, route: &Route, network: &mut Network) {
        self.acks.launched += 1;
        if let Some(stack) = &mut self.stack {
            stack.receiver.under_way.duplicate(ack.next);
        }
        self.forward_ack(leg + 1, &ack, arrives, route, network);
    }

    /// An acknowledgement is dropped.
    #[inline(never)]
    pub(super) fn ack_dropped(&mut self, ack: Ack, when: Time, network: &mut Network) {
        self.acks.dropped += 1;
        if let Some(stack) = &mut self.stack {
            stack.receiver.under_way.release(ack.next);
        }
        self.trace_ack(PacketWhat::AckDropped, &ack, when, network);
    }
}
