//! Bursts of segmentation offload, each simulated as one object: where they pass as one, where a part of them does, and
//! where each packet is on its own.
//!
//! The packets of a burst are offered to a link one after the other, as far apart as the slowest that they have passed has
//! let them through. A link carries them as one if its queue asks for nothing but room, and if none of them comes later than it
//! could leave: then they leave right behind each other. Other flows' packets that come in between leave behind the burst. Where
//! little room is left in a queue, each packet is offered at its time. Behind bonded links, where packets of two bursts
//! interleave, each is on its own from the card on, and waits there for its time (`route`).

use fairhaul_experiment::Flow;
use fairhaul_path::{Burst, LinkSpec};
use fairhaul_units::{Data, Span, Time};

use super::Connection;
use crate::network::Network;
use crate::queued_packet::data_at_link;
use crate::route::{Leg, LegEnd, RingLane, Route};
use crate::tcp::SendCard;

/// The time from packet to packet of a burst, on the path of a connection.
#[derive(Clone, Debug)]
pub(super) struct Spacings {
    /// At the start of each leg, and at its end.
    at_legs: Box<[(Span, Span)]>,
}

impl Spacings {
    /// Those of full packets of `flow`, which leaves nothing in between where its card or a link does not.
    pub(super) fn of(flow: &Flow, route: &Route, links: &[LinkSpec]) -> Spacings {
        if flow.offload == 1 {
            return Spacings { at_legs: Box::default() };
        }
        let mut spacing = Spacings::of_card(flow);
        let at_leg = |leg: &Leg| {
            let wires = &route.wires[usize::from(leg.wires.0)..usize::from(leg.wires.1)];
            let at_start = spacing;
            spacing = wires.iter().fold(spacing, |slowest, wire| slowest.max(wire.0.on_wire(flow.packet)));
            let at_end = spacing;
            if let LegEnd::OwnLink(link) | LegEnd::Ring { link: Some(link), .. } = leg.end {
                spacing = spacing.max(links[link as usize].rate.on_wire(flow.packet));
            }
            (at_start, at_end)
        };
        Spacings { at_legs: route.forward.iter().map(at_leg).collect() }
    }

    /// That of full packets at the card of the sender of `flow`.
    pub(super) fn of_card(flow: &Flow) -> Span {
        SendCard::of(flow).map_or(Span::ZERO, |card| card.spacing(flow.packet))
    }

    /// At the sender.
    pub(super) fn at_sender(&self) -> Span {
        self.at_legs.first().map_or(Span::ZERO, |leg| leg.0)
    }

    /// At the receiver.
    pub(super) fn at_receiver(&self) -> Span {
        self.at_legs.last().map_or(Span::ZERO, |leg| leg.1)
    }

    /// At the end of a leg.
    fn at_end(&self, leg: usize) -> Span {
        self.at_legs[leg].1
    }
}

impl Connection {
    /// A burst crosses wires of the connection's own, the first of that leg: when the first packet has.
    fn burst_crosses_access(&mut self, leg: usize, (from, to): (u8, u8), data: &Data, now: Time) -> Time {
        let (size, mut now) = (data.packet_size(), now);
        let mut burst = Burst { packets: data.packets, spacing: self.spacings.at_legs[leg].0 };
        for wire in &mut self.wires[usize::from(from)..usize::from(to)] {
            now = wire.send_burst(size, burst, now).1;
            burst.spacing = burst.spacing.max(wire.occupied_by(size));
        }
        now
    }

    /// Carries a burst over that leg, to where it, or each of its packets, waits for an event or arrives.
    #[inline(never)]
    pub(super) fn forward_burst(
        &mut self,
        leg: usize,
        burst: &Data,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        let Leg { wires, end } = route.forward[leg];
        let now = self.burst_crosses_access(leg, wires, burst, now);
        match end {
            LegEnd::OwnLink(link) => self.burst_at_own_link(link, leg, burst, now, route, network),
            LegEnd::Ring { link: Some(link), lane } => self.burst_waits(link, leg, lane, burst, now, network),
            LegEnd::Ring { link: None, lane } if leg == 0 => {
                self.burst_leaves_bond(lane, burst, now, network)
            }
            LegEnd::Ring { link: None, lane } => {
                network.rings.push_data(&mut network.events, lane, self.serial, now, *burst);
            }
            LegEnd::Receiver if self.card.is_none() => self.receive_each(burst, now, route, network),
            LegEnd::Receiver => self.arrive(burst, now, route, network),
        }
    }

    /// The packets of a burst leave one of several links.
    fn burst_leaves_bond(&mut self, lane: RingLane, burst: &Data, now: Time, network: &mut Network) {
        let spacing = self.spacings.at_sender();
        self.split(burst, network);
        for (place, data) in (0..).zip(burst.each()) {
            network.rings.push_data(&mut network.events, lane, self.serial, now + spacing * place, data);
        }
    }

    /// A burst begins to wait for a link where flows meet, or each of its packets does.
    fn burst_waits(
        &mut self,
        link: u32,
        leg: usize,
        lane: RingLane,
        burst: &Data,
        now: Time,
        network: &mut Network,
    ) {
        let spacing = self.spacings.at_end(leg);
        if network.carries_bursts(link, burst.packet_size(), spacing) {
            return network.rings.push_data(&mut network.events, lane, self.serial, now, *burst);
        }
        self.split(burst, network);
        for (place, data) in (0..).zip(burst.each()) {
            network.rings.push_data(&mut network.events, lane, self.serial, now + spacing * place, data);
        }
    }

    /// A burst is at a link at the end of that leg which this connection alone feeds.
    fn burst_at_own_link(
        &mut self,
        link: u32,
        leg: usize,
        burst: &Data,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        let spacing = self.spacings.at_end(leg);
        if network.carries_bursts(link, burst.packet_size(), spacing)
            && let Some(arrives) = self.offer_burst(link, leg, burst, now, network)
        {
            return self.forward_burst(leg + 1, burst, arrives, route, network);
        }
        self.split(burst, network);
        for (place, mut data) in (0..).zip(burst.each()) {
            if let Some(arrives) = self.cross_alone(link, &mut data, now + spacing * place, network) {
                self.forward_data(leg + 1, &mut data, arrives, route, network);
            }
        }
    }

    /// A burst has waited for a link where flows meet.
    #[inline(never)]
    pub(super) fn process_burst(
        &mut self,
        (link, lane): (u32, RingLane),
        leg: usize,
        burst: &Data,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        if let Some(arrives) = self.offer_burst(link, leg, burst, now, network) {
            return self.forward_burst(leg + 1, burst, arrives, route, network);
        }
        self.split(burst, network);
        let spacing = self.spacings.at_end(leg);
        for (place, data) in (0..).zip(burst.each()) {
            if place == 0 || spacing.is_zero() {
                self.process_data(leg, data, now, route, network);
            } else {
                network.rings.push_data(&mut network.events, lane, self.serial, now + spacing * place, data);
            }
        }
    }

    /// A burst is offered to a link that carries it: when its first packet is behind it. `None`: each of its packets is to be
    /// offered.
    fn offer_burst(
        &mut self,
        link: u32,
        leg: usize,
        data: &Data,
        now: Time,
        network: &mut Network,
    ) -> Option<Time> {
        let burst = Burst { packets: data.packets, spacing: self.spacings.at_end(leg) };
        let first = data.part(0, 1);
        let packet = data_at_link(self.serial, self.flow, &first, self.account.counted(link, &first));
        let departure = network.offer_burst(link, &packet, burst, now)?;
        Some(departure.arrives.min(network.ledger.end()))
    }

    /// From now on each packet of a burst counts.
    fn split(&mut self, burst: &Data, network: &mut Network) {
        self.data.launched += u64::from(burst.packets) - 1;
        (1..burst.packets).for_each(|_| network.limits.launched());
    }

    /// The packets of a burst arrive one by one.
    #[inline(never)]
    fn receive_each(&mut self, burst: &Data, now: Time, route: &Route, network: &mut Network) {
        let spacing = self.spacings.at_receiver();
        self.split(burst, network);
        for (place, data) in (0..).zip(burst.each()) {
            self.arrive(&data, now + spacing * place, route, network);
        }
    }
}
