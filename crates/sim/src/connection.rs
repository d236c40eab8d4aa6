//! One connection: both ends, its own access links, and its packets that wait for events where flows meet.

use fairhaul_cc::Builtin;
use fairhaul_experiment::{
    Grain, Limit, NextTransfer, PacketWhat, RecordedWindow, Recovery, Scenario, Source, Traffic, Transfer,
};
use fairhaul_path::{Admission, Wire};
use fairhaul_units::{Ack, CongestionHeader, Data, Time, mix};

mod application;
mod burst;
mod card;
mod crossing;
mod departures;
mod packet_counts;
mod paused;
mod receiver_timer;
mod recording;
mod sending;
mod share;
mod stack;

use crate::network::{BottleneckAccount, Network};
use crate::queued_packet::{DataOrAck, ack_at_link, data_at_link};
use crate::route::{Leg, LegEnd, Route};
use crate::stack::StackPair;
use crate::tcp::{Card, Datagrams, ReceiveWindow, Receiver, Sender, SenderConfig};
use application::Application;
use burst::Spacings;
use departures::Departures;
use packet_counts::PacketCounts;
use share::Share;

/// See the module.
#[derive(Clone)]
pub struct Connection {
    serial: u32,
    flow: u32,
    /// The index of its route.
    route: u32,
    account: BottleneckAccount,
    start: Time,
    end: Option<Time>,
    sender: Sender<Builtin>,
    receiver: Receiver,
    /// The card of the receiver, where it does anything.
    card: Option<Box<Card>>,
    /// `None`: all packets are ready at once.
    application: Option<Box<Application>>,
    /// Its part of a transfer that it carries with others.
    share: Option<Share>,
    /// The receiving end of datagrams, which have no other sender than the source.
    datagrams: Option<Box<Datagrams>>,
    /// Both ends of another transport stack, which take the place of `sender` and `receiver`.
    stack: Option<Box<StackPair>>,
    /// Whether it has neither.
    is_tcp: bool,
    in_order: u64,
    /// The transfer that starts once all has arrived.
    next: Option<NextTransfer>,
    wires: Vec<Wire>,
    data: PacketCounts,
    acks: PacketCounts,
    departures: Departures,
    spacings: Spacings,
    timer_at: Time,
    paced_at: Time,
    delayed_ack_at: Time,
    interrupt_at: Time,
    /// The window as the ledger has it.
    recorded_window: RecordedWindow,
    /// What keeps it back, as the ledger has it.
    limit: Option<Limit>,
    mode: Option<u8>,
    /// What its controller takes, bytes, and the copy that is kept for a spurious loss event.
    of_controller: u64,
}

impl Connection {
    /// The connection of `transfer`, which opens at its start; `account`: that of its flow, as are the route and its
    /// index; `records`: its packets are traced.
    pub fn new(
        serial: u32,
        transfer: &Transfer,
        scenario: &Scenario,
        account: BottleneckAccount,
        (index, route): (u32, &Route),
        records: bool,
    ) -> Connection {
        let flow = &scenario.flows[transfer.flow as usize];
        let random = mix(scenario.seed ^ mix(serial.into()));
        let controller = flow.controller.build_for(random);
        let sender = Sender::new(SenderConfig::of(flow, transfer), controller)
            .with_whole_bursts(scenario.grain == Grain::Auto);
        let spacings = Spacings::of(flow, route, &scenario.links);
        let accurate = sender.accurate_feedback();
        let exact = sender.exact_echo() && accurate.is_none();
        let mut receiver = Receiver::new(flow.recovery.reports(), flow.delayed_ack, exact)
            .with_accurate_ecn(accurate)
            .with_feedback_sum(sender.sums_feedback())
            .with_dsack(flow.recovery == Recovery::Rack)
            .with_options(flow.has_options())
            .with_window(ReceiveWindow::of(flow, random));
        let share = Share::of(flow, transfer);
        if share.is_none() {
            receiver.set_end(sender.config().packets());
        }
        let datagrams = matches!(flow.traffic, Traffic::Cbr { .. }).then(Box::default);
        let stack = stack::pair(flow, serial, scenario.seed, transfer.start, records);
        Connection {
            serial,
            flow: transfer.flow,
            account,
            start: transfer.start,
            end: None,
            recorded_window: RecordedWindow::default(),
            limit: None,
            mode: None,
            of_controller: 2 * flow.controller.memory(),
            sender,
            receiver,
            card: Card::of(flow, serial, scenario.seed, spacings.at_receiver()).map(Box::new),
            application: Source::of(scenario, transfer.flow, transfer.start)
                .map(|source| Box::new(Application::new(source))),
            share,
            is_tcp: datagrams.is_none() && stack.is_none(),
            datagrams,
            stack,
            in_order: 0,
            next: transfer.next,
            route: index,
            wires: route.wires.iter().map(|&(rate, delay)| Wire::new(rate, delay)).collect(),
            data: PacketCounts::default(),
            acks: PacketCounts::default(),
            departures: Departures::new(flow, serial, scenario.seed, Spacings::of_card(flow)),
            spacings,
            timer_at: Time::NEVER,
            paced_at: Time::NEVER,
            delayed_ack_at: Time::NEVER,
            interrupt_at: Time::NEVER,
        }
    }

    /// The index of its route.
    #[inline(always)]
    pub fn route(&self) -> usize {
        self.route as usize
    }

    /// The index of its flow.
    #[inline(always)]
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Whether all is acknowledged and no packet of it is in flight.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.end.is_some() && self.waiting() == 0 && self.card.as_ref().is_none_or(|card| card.is_empty())
    }

    /// Its packets that wait for an event, in a ring or before a link.
    pub fn waiting(&self) -> u64 {
        self.data.waiting() + self.acks.waiting()
    }

    /// The memory that it takes, bytes.
    pub fn memory(&self) -> u64 {
        let card = self.card.as_ref().map_or(0, |card| card.memory());
        let stack = self.stack.as_ref().map_or(0, |stack| stack.memory(self.in_order));
        size_of::<Connection>() as u64 + self.sender.memory() + self.of_controller + card + stack
    }

    /// A packet leaves the sender, or a burst, after a processing time that keeps the order.
    #[inline(always)]
    fn send_data(&mut self, data: &mut Data, now: Time, route: &Route, network: &mut Network) {
        let leaves = self.sender.hand_over(data, now, &mut network.cards);
        let leaves = self.departures.next(data, leaves, || self.sender.link());
        if !data.opens() {
            network.ledger.sent(self.flow, data.packets, data.retransmitted(), data.stamped);
        }
        self.sender.launched(data.packets, data.stamped);
        self.trace_data(PacketWhat::Sent, data, leaves, network);
        self.data.launched += 1;
        network.limits.launched();
        self.forward_data(0, data, leaves, route, network);
    }

    /// Carries a data packet over that leg and on until it must wait for an event, arrives or is dropped.
    #[inline(always)]
    fn forward_data(
        &mut self,
        leg: usize,
        data: &mut Data,
        mut now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        if data.packets > 1 {
            return self.forward_burst(leg, data, now, route, network);
        }
        for Leg { wires, end } in &route.forward[leg..] {
            now = self.cross_access(*wires, data.size, now);
            match *end {
                LegEnd::OwnLink(link) => match self.cross_alone(link, data, now, network) {
                    Some(arrives) => now = arrives,
                    None => return,
                },
                LegEnd::Ring { lane, .. } => {
                    return network.rings.push_data(&mut network.events, lane, self.serial, now, *data);
                }
                LegEnd::Receiver => return self.arrive(data, now, route, network),
            }
        }
    }

    #[inline(always)]
    fn cross_access(&mut self, (from, to): (u8, u8), size: u32, now: Time) -> Time {
        let mut now = now;
        for wire in from..to {
            now = self.wires[usize::from(wire)].send(size, now).1;
        }
        now
    }

    /// A data packet has waited at the end of a leg.
    #[inline(always)]
    pub fn process_data(
        &mut self,
        leg: usize,
        mut data: Data,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        let LegEnd::Ring { link: Some(link), lane } = route.forward[leg].end else {
            return self.forward_data(leg + 1, &mut data, now, route, network);
        };
        if data.packets > 1 {
            return self.process_burst((link, lane), leg, &data, now, route, network);
        }
        match self.offer(link, &mut data, now, network) {
            Admission::Sent(departure) => self.data_departs(leg, &mut data, departure, route, network),
            Admission::Dropped => self.data_dropped(&data, now, network),
            Admission::Queued => self.hold(link, leg, DataOrAck::Data(data), now, route, network),
        }
    }

    /// Offers a data packet to a link, which may write on it.
    #[inline(always)]
    fn offer(&self, link: u32, data: &mut Data, now: Time, network: &mut Network) -> Admission {
        let counted = self.account.counted(link, data);
        let admission = network.offer(link, data_at_link(self.serial, self.flow, data, counted), now);
        if let Admission::Sent(_) = admission {
            // A queue that decides on arrival knows nothing of XCP.
            data.congestion.iter_mut().for_each(CongestionHeader::passes_plain);
        }
        admission
    }

    /// A data packet is at the receiver.
    #[inline(always)]
    fn arrive(&mut self, data: &Data, now: Time, route: &Route, network: &mut Network) {
        self.data.arrived += 1;
        self.trace_data(PacketWhat::Received, data, now, network);
        if self.card.is_some() {
            return self.arrive_at_card(data, now, route, network);
        }
        self.receive(data, now, route, network);
    }

    /// The receiver takes a data packet, or packets that its host has merged.
    #[inline(always)]
    fn receive(&mut self, data: &Data, now: Time, route: &Route, network: &mut Network) {
        let before = self.receiver.next();
        if self.is_tcp
            && let Some(ack) = self.receiver.receive_next(data, now)
        {
            let in_order = self.sender.config().bytes_between(before, ack.next);
            self.deliver(data, data.packets, in_order, now, network);
            return self.send_ack(&ack, now, route, network);
        }
        self.receive_other(data, now, route, network);
    }

    /// The same where it is not just the next packet.
    #[inline(never)]
    fn receive_other(&mut self, data: &Data, now: Time, route: &Route, network: &mut Network) {
        if self.stack.is_some() {
            return self.receive_for_stack(data, now, route, network);
        }
        if self.datagrams.is_some() {
            return self.receive_datagram(data, now, network);
        }
        if !self.receiver.is_plain() {
            self.release_before(data, now, route, network);
        }
        let before = self.receiver.next();
        let (fresh, ack) = self.receiver.receive(data, now);
        if !data.opens() {
            let in_order = self.sender.config().bytes_between(before, self.receiver.next());
            self.deliver(data, fresh, in_order, now, network);
        }
        match &ack {
            Some(ack) => {
                self.send_ack(ack, now, route, network);
                if self.receiver.closes() {
                    self.send_ack(ack, now, route, network);
                }
                if ack.opens {
                    self.schedule_receiver(network);
                }
            }
            None => self.schedule_receiver(network),
        }
    }

    #[inline(always)]
    fn send_ack(&mut self, ack: &Ack, now: Time, route: &Route, network: &mut Network) {
        self.acks.launched += 1;
        self.trace_ack(PacketWhat::AckSent, ack, now, network);
        self.forward_ack(0, ack, now, route, network);
    }

    /// Carries an acknowledgement over that leg and on until it must wait for an event, or is dropped.
    #[inline(always)]
    fn forward_ack(&mut self, leg: usize, ack: &Ack, mut now: Time, route: &Route, network: &mut Network) {
        let size = ack.size();
        for (leg, Leg { wires, end }) in (leg..).zip(&route.reverse[leg..]) {
            now = self.cross_access(*wires, size, now);
            let link = match *end {
                LegEnd::Ring { lane, .. } => {
                    return network.rings.push_ack(&mut network.events, lane, self.serial, now, ack);
                }
                LegEnd::OwnLink(link) => link,
                LegEnd::Receiver => unreachable!("acknowledgements wait for their sender"),
            };
            match self.ack_crosses_alone(link, ack, now, network) {
                Some(departure) if departure.marked => {
                    return self.marked_ack_departs(leg, ack, departure, route, network);
                }
                Some(departure) => now = departure.arrives,
                None => return,
            }
        }
    }

    /// An acknowledgement has waited at the end of a leg; the last one ends at the sender.
    #[inline(always)]
    pub fn process_ack(&mut self, leg: usize, ack: Ack, now: Time, route: &Route, network: &mut Network) {
        if leg + 1 == route.reverse.len() {
            return self.acknowledge(&ack, now, route, network);
        }
        let LegEnd::Ring { link: Some(link), .. } = route.reverse[leg].end else {
            return self.forward_ack(leg + 1, &ack, now, route, network);
        };
        match self.offer_ack(link, &ack, now, network) {
            Admission::Sent(departure) => self.ack_departs(leg, &ack, departure, route, network),
            Admission::Dropped => self.ack_dropped(ack, now, network),
            Admission::Queued => self.hold(link, leg, DataOrAck::Ack(ack), now, route, network),
        }
    }

    /// Offers an acknowledgement to a link.
    #[inline(always)]
    fn offer_ack(&self, link: u32, ack: &Ack, now: Time, network: &mut Network) -> Admission {
        network.offer(link, ack_at_link(self.serial, self.flow, ack), now)
    }

    /// An acknowledgement is at the sender.
    #[inline(always)]
    fn acknowledge(&mut self, ack: &Ack, now: Time, route: &Route, network: &mut Network) {
        self.acks.arrived += 1;
        if self.end.is_some() {
            return self.arrives_late(ack);
        }
        if ack.datagram.is_some() {
            return self.answer_for_stack(ack, now, route, network);
        }
        self.show_share(network);
        if self.sender.asks_what_is_ready() {
            self.count_ready(now);
        }
        let outcome = self.sender.on_ack(ack, now);
        if !ack.opens {
            let (rtt, one_way) = (self.sender.round_trip(ack, now), ack.arrived.since(ack.echo));
            network.ledger.sampled(self.flow, rtt, one_way, now);
        } else {
            self.receiver.is_answered();
        }
        self.trace_ack(PacketWhat::AckReceived, ack, now, network);
        self.record_outcome(outcome, now, network);
        if self.end.is_none() {
            self.count_ready(now);
            self.send_ready(now, route, network);
        }
    }
}
