//! The emulated network and its time: a packet that was read from a host passes the hops of its path, and is
//! delivered when it is due at the other host.
//!
//! Nothing here has a clock. A late call delays deliveries, but changes neither the rate of a link nor the fate
//! of a packet.

mod capturing;
mod counting;
mod departures;
mod in_kernel;
mod marks;
mod requests;
mod tracing;

use fairhaul_experiment::{Grid, Hop, Ledger};
use fairhaul_path::queue::Queued;
use fairhaul_path::{Admission, Departure, LinkLedger, LinkPacket, LinkPort, PacketKind, Wire};
use fairhaul_units::{Ecn, Sending, Time};

use super::account::Account;
use super::event_queue::{Event, EventQueue, Lane};
use super::headers::{Headers, mark};
use super::kernel_queue::KernelQueues;
use super::layout::{FlowPath, Layout};
use super::network_counts::NetworkCounts;
use super::queued_packet::QueuedPacket;
use super::standstill::Waits;
use capturing::Captures;
use departures::Departures;
use requests::Requests;
use tracing::PacketTracer;

/// A packet in flight.
#[derive(Clone, Debug)]
struct PacketInFlight {
    travel: Travel,
    bytes: Vec<u8>,
}

/// The connection of a packet, and its position on the path.
#[derive(Clone, Copy, Debug)]
struct Travel {
    headers: Headers,
    flow: u32,
    /// Whether it travels in the direction of data.
    forward: bool,
    sending: Sending,
    hop: usize,
    sent: Time,
}

/// The network's state of a connection.
#[derive(Clone, Debug, Default)]
struct ConnectionState {
    /// Its own wires, by hop of the forward and of the reverse path, and the packets on them.
    wires: [Vec<Option<(Wire, Lane)>>; 2],
    account: Account,
    /// Of a sender with a processing time, from its first packet on.
    departures: Option<Departures>,
}

/// See the module.
pub struct Network {
    seed: u64,
    routes: Vec<FlowPath>,
    /// The link that counts the payload of each flow.
    bottlenecks: Vec<Option<u32>>,
    flows: Vec<u32>,
    /// By number, from their first packet on.
    connections: Vec<Option<Box<ConnectionState>>>,
    ports: Vec<LinkPort<QueuedPacket>>,
    /// Packets in queues of the kernel.
    kernel_queues: KernelQueues,
    /// By link: the departure for which a service was last scheduled.
    services: Vec<Option<Time>>,
    requests: Requests,
    events: EventQueue,
    /// Packets that hosts have just sent.
    sent: Lane,
    /// Packets behind each link.
    behind: Vec<Lane>,
    packets: Vec<PacketInFlight>,
    /// Free slots.
    free: Vec<u32>,
    /// Packets that a queue has just dropped.
    dropped: Vec<Queued<QueuedPacket>>,
    counts: NetworkCounts,
    waits: Waits,
    /// How much of each packet is kept.
    kept: usize,
    /// The trace of a flow, if one was requested.
    tracer: Option<PacketTracer>,
    /// Captures of flows, if they were requested.
    captures: Captures,
    ledger: Ledger,
}

impl Network {
    /// An idle network.
    pub fn new(layout: &Layout, grid: Grid) -> Network {
        let counts_bytes = layout.links.iter().any(|link| link.schedule.rates.is_some());
        let ports = (0..).zip(&layout.links);
        let mut events = EventQueue::default();
        Network {
            seed: layout.seed,
            ports: ports.map(|(link, spec)| LinkPort::new(spec, link, layout.seed, counts_bytes)).collect(),
            kernel_queues: KernelQueues::of(&layout.links),
            services: vec![None; layout.links.len()],
            requests: Requests::of(&layout.links),
            routes: layout.routes.clone(),
            bottlenecks: layout.bottlenecks.clone(),
            flows: layout.connections.clone(),
            connections: vec![None; layout.connections.len()],
            sent: events.lane(),
            behind: layout.links.iter().map(|_| events.lane()).collect(),
            events,
            packets: Vec::new(),
            free: Vec::new(),
            dropped: Vec::new(),
            counts: NetworkCounts::default(),
            waits: Waits::default(),
            kept: usize::MAX,
            tracer: None,
            captures: Captures::default(),
            ledger: Ledger::new(grid, layout.routes.len(), layout.links.len()),
        }
    }

    /// A host has sent a packet at `now`, which must not run backwards. A packet of no connection is not carried.
    pub fn accept(&mut self, host: u8, bytes: &[u8], now: Time) {
        self.accept_segment(host, bytes, (Sending::First, 0), now);
    }

    /// The same for a packet that may be one of several that the host has handed over as one, and that leaves on one of several
    /// links, on each of which time does not run backwards.
    pub fn accept_segment(&mut self, host: u8, bytes: &[u8], (sending, link): (Sending, usize), now: Time) {
        let Some((headers, flow, forward)) = self.whose(host, bytes) else {
            self.counts.strays += 1;
            return;
        };
        self.counts.read += 1;
        let leaves = if forward { self.departure(headers.from.1, flow, link, now) } else { now };
        self.count_sent(&headers, flow, forward, leaves);
        let travel = Travel { headers, flow, forward, sending, hop: 0, sent: leaves };
        let bytes = &bytes[..headers.size as usize];
        self.captures.add(flow, forward, bytes, leaves);
        let slot = self.keep(travel, bytes);
        self.leave_with_marks(slot);
        if let Some(tracer) = &mut self.tracer {
            let PacketInFlight { travel, bytes } = &self.packets[slot as usize];
            tracer.sent(slot, travel, bytes, self.routes[flow as usize].marks.accurate);
        }
        self.events.step(self.sent, slot, leaves);
    }

    /// Processes all events up to `until`; calls `deliver` for each packet that reaches a host, with the host and
    /// the time at which it was due.
    pub fn advance(&mut self, until: Time, mut deliver: impl FnMut(u8, &[u8], Time)) {
        while let Some((at, event)) = self.events.next(until) {
            match event {
                Event::Serve(link) => self.serve(link, at),
                Event::Step { slot, .. } => self.step(slot, at, &mut deliver),
            }
        }
    }

    /// When the next event is.
    pub fn next_at(&self) -> Option<Time> {
        self.events.next_at()
    }

    /// The counts so far.
    pub fn counts(&self) -> NetworkCounts {
        let inside = (self.packets.len() - self.free.len()) as u64;
        NetworkCounts { inside, requests: self.requests.counts, ..self.counts }
    }

    /// How long hosts let packets wait.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Payload of a connection that its receiver has acknowledged.
    pub fn in_order(&self, connection: u32) -> u64 {
        self.connections[connection as usize]
            .as_ref()
            .map_or(0, |connection_state| connection_state.account.in_order)
    }

    /// The ledger, with the gauges of all queues up to the end.
    ///
    /// # Panics
    /// If a packet was lost or created without being counted.
    pub fn close(mut self) -> Ledger {
        let counts = self.counts();
        assert!(counts.balance(), "the network lost or created a packet: {counts:?}");
        let in_ports: usize = self.ports.iter().map(LinkPort::waiting).sum();
        let waiting = in_ports + self.kernel_queues.waiting();
        assert_eq!(counts.inside, (waiting + self.events.steps()) as u64, "a packet is inside, and nowhere");
        assert!(self.ports.iter().all(LinkPort::balances), "a link lost a packet");
        if let Err(error) = self.captures.close() {
            eprintln!("fairhaul: a capture is not complete: {error}");
        }
        let end = self.ledger.end();
        self.ports.iter_mut().for_each(|port| port.read_gauges(end, &mut self.ledger, || true));
        self.ledger
    }

    /// Its headers, the flow of its connection, and whether it travels in the direction of data.
    fn whose(&self, host: u8, bytes: &[u8]) -> Option<(Headers, u32, bool)> {
        let headers = Headers::read(bytes)?;
        let connection = headers.from.1;
        let flow = *self.flows.get(connection as usize)?;
        let route = &self.routes[flow as usize];
        let ends = (headers.from.0, headers.to.0);
        let headers = if route.is_opaque { Headers { segment: None, ..headers } } else { headers };
        let of_lab = headers.to.1 == connection && headers.from.0 == host;
        let forward = ends == (route.from, route.to);
        (of_lab && (forward || ends == (route.to, route.from))).then_some((headers, flow, forward))
    }

    /// Stores a packet and returns its slot. Slots are reused with their buffers.
    fn keep(&mut self, travel: Travel, bytes: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push(PacketInFlight { travel, bytes: Vec::new() });
            (self.packets.len() - 1) as u32
        });
        let packet = &mut self.packets[slot as usize];
        packet.travel = travel;
        packet.bytes.clear();
        packet.bytes.extend_from_slice(&bytes[..bytes.len().min(self.kept)]);
        slot
    }

    /// A packet is at its next hop.
    fn step(&mut self, slot: u32, now: Time, deliver: &mut impl FnMut(u8, &[u8], Time)) {
        let PacketInFlight { travel, bytes } = &mut self.packets[slot as usize];
        let Travel { headers, flow, forward, sending, hop: number, .. } = *travel;
        let route = &self.routes[flow as usize];
        let hops = if forward { &route.forward } else { &route.reverse };
        let Some(hop) = hops.get(number) else {
            route.marks.arrive(travel, bytes);
            self.captures.add(flow, !forward, bytes, now);
            deliver(headers.to.0, bytes, now);
            let travel = *travel;
            self.count_delivered(&travel, now);
            self.count_answers(slot, headers.from.1, headers.from.0);
            return self.release(slot, true, now);
        };
        travel.hop += 1;
        let connection = headers.from.1;
        match *hop {
            Hop::Access { rate, delay } => {
                let connection_state = self.connections[connection as usize].get_or_insert_default();
                let wires = &mut connection_state.wires[usize::from(!forward)];
                if wires.len() <= number {
                    wires.resize(number + 1, None);
                }
                let (wire, lane) =
                    wires[number].get_or_insert_with(|| (Wire::new(rate, delay), self.events.lane()));
                let (_, arrives) = wire.send(headers.size, now);
                self.events.step(*lane, slot, arrives);
            }
            Hop::Link(link) => {
                let kind = headers.kind(forward);
                let counts = kind == PacketKind::Data && self.bottlenecks[flow as usize] == Some(link);
                let counted = if counts { headers.payload } else { 0 };
                let at_link = LinkPacket {
                    connection,
                    size: headers.size,
                    ecn: headers.ecn,
                    flow,
                    kind,
                    sending,
                    counted,
                };
                let congestion = self.request(link, slot, connection, kind);
                self.offer(link, QueuedPacket { slot, at_link, congestion }, now);
            }
        }
    }

    /// Offers a packet to a link.
    fn offer(&mut self, link: u32, packet: QueuedPacket, now: Time) {
        if self.kernel_queues.enter(link, packet, now) {
            return self.ledger.enqueued(link, packet.at_link.size, now);
        }
        let port = &mut self.ports[link as usize];
        port.read_gauges(now, &mut self.ledger, || true);
        match port.offer(packet.at_link, now, &mut self.ledger) {
            Admission::Dropped => self.drop(&packet, now),
            Admission::Sent(departure) => self.depart(link, &packet, departure),
            Admission::Queued => {
                let next = port.hold(&packet, now, &mut self.ledger, &mut self.dropped);
                self.settle(link, next, now);
            }
        }
    }

    /// A link has sent what it was sending: it begins with the next packet.
    fn serve(&mut self, link: u32, now: Time) {
        let port = &mut self.ports[link as usize];
        port.read_gauges(now, &mut self.ledger, || true);
        let next = port.serve(now, &mut self.ledger, &mut self.dropped);
        self.settle(link, next, now);
    }

    /// The queue of a link has dropped packets, or sends the next one: what comes of it, and when it is served next.
    fn settle(&mut self, link: u32, next: Option<(QueuedPacket, Departure)>, now: Time) {
        while let Some(Queued { packet, .. }) = self.dropped.pop() {
            self.drop(&packet, now);
        }
        if let Some((packet, departure)) = next {
            self.depart(link, &packet, departure);
        }
        if let Some(at) = self.ports[link as usize].next_service()
            && self.services[link as usize].replace(at) != Some(at)
        {
            self.events.serve(link, at);
        }
    }

    fn drop(&mut self, packet: &QueuedPacket, when: Time) {
        if let Some(flow) = packet.at_link.data_of() {
            self.ledger.lost(flow, self.packets[packet.slot as usize].travel.sent, when);
        }
        self.counts.dropped += 1;
        self.release(packet.slot, false, when);
    }

    /// A packet has reached its host, or was dropped: its slot is free.
    fn release(&mut self, slot: u32, arrived: bool, now: Time) {
        if let Some(tracer) = &mut self.tracer {
            tracer.ends(slot, &self.packets[slot as usize].travel, arrived, now);
        }
        self.free.push(slot);
    }

    /// A packet leaves a link, which may lose, mark or duplicate it.
    fn depart(&mut self, link: u32, packet: &QueuedPacket, departure: Departure) {
        let Departure { departs, arrives, marked, copies, .. } = departure;
        if copies == 0 {
            return self.drop(packet, departs);
        }
        let slot = packet.slot;
        self.answer(slot, packet.congestion);
        let packet = &mut self.packets[slot as usize];
        if marked {
            mark(&mut packet.bytes);
            packet.travel.headers.ecn = Ecn::Marked;
        }
        let copy = (copies == 2).then(|| packet.clone());
        let lane = self.behind[link as usize];
        self.events.step(lane, slot, arrives);
        if let Some(PacketInFlight { travel, bytes }) = copy {
            let second = self.keep(travel, &bytes);
            self.counts.copied += 1;
            if let Some(tracer) = &mut self.tracer {
                tracer.copied(slot, second);
            }
            if travel.forward && travel.headers.carries_data() {
                self.ledger.copied(travel.flow, travel.sent, arrives);
            }
            self.events.step(lane, second, arrives);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::headers::tests::segment;
    use super::super::layout::Dumbbell;
    use super::*;
    use fairhaul_experiment::grid;
    use fairhaul_path::impair::{Impairments, JitterRule, LossRule};
    use fairhaul_path::queue::{Capacity, QueueChoice, Site};
    use fairhaul_units::{Bytes, Chance, Rate, Span};

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// 8 Mbit/s, a round-trip time of 20 ms, a queue of four packets.
    fn layout() -> Layout {
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        let rtt = Span::from_ms(20);
        Dumbbell { rate, rtt, capacity: Capacity::Packets(4), loss: None, connections: 3 }.layout()
    }

    fn network(layout: &Layout) -> Network {
        Network::new(layout, grid(Span::from_s(1), Span::ZERO, layout.routes.len(), 1))
    }

    /// The deliveries up to that time: host and time in microseconds.
    fn given(network: &mut Network, until: Time) -> Vec<(u8, u64)> {
        let mut given = Vec::new();
        network.advance(until, |host, _, due| given.push((host, due.since(Time::ZERO) / Span::from_us(1))));
        given
    }

    #[test]
    fn a_packet_is_due_after_queueing_transmission_and_propagation() {
        // 1000 B take 1 ms, 40 B take 40 us.
        let mut network = network(&layout());
        network.accept(0, &segment(0, 1, 0, 1, 960), at(0));
        network.accept(0, &segment(0, 1, 1, 1, 960), at(0));
        network.accept(1, &segment(1, 0, 2, 1, 0), at(500));
        assert_eq!(given(&mut network, at(10_999)), [(0, 10_540)]);
        assert_eq!(given(&mut network, at(20_000)), [(1, 11_000), (1, 12_000)]);
    }

    #[test]
    fn a_processing_time_delays_data_by_less_than_its_range_and_keeps_their_order() {
        let mut layout = layout();
        layout.links.iter_mut().for_each(|link| link.rate = Rate::from_bps(8_000_000_000).expect("not zero"));
        layout.routes[0].overhead = Span::from_ms(2);
        let mut network = network(&layout);
        for number in 0..100 {
            let now = at(1000 * u64::from(number));
            network.accept(0, &segment(0, 1, 0, number, 960), now);
            network.accept(0, &segment(0, 1, 1, number, 960), now);
            network.accept(1, &segment(1, 0, 0, 1, 0), now);
        }
        let (mut late, mut others) = (Vec::new(), 0);
        network.advance(at(1_000_000), |host, bytes, due| {
            if host == 1 && Headers::read(bytes).expect("it is a packet").from.1 == 0 {
                late.push(due - at(1000 * late.len() as u64) - Span::from_us(10_001));
            } else {
                others += 1;
            }
        });
        assert_eq!((late.len(), others), (100, 200));
        assert!(late.iter().all(|late| *late < Span::from_us(2010)), "{late:?}");
        assert!(late.iter().any(|late| *late > Span::from_us(1800)), "{late:?}");
        assert!(late.iter().any(|late| *late < Span::from_us(200)), "{late:?}");
    }

    #[test]
    fn an_access_of_its_own_delays_a_connection_and_no_other() {
        let mut layout = layout();
        let rate = Rate::from_bps(80_000_000).expect("not zero");
        layout.routes[1].forward.insert(0, Hop::Access { rate, delay: Span::from_ms(5) });
        let mut network = network(&layout);
        network.accept(0, &segment(0, 1, 1, 1, 960), at(0));
        network.accept(0, &segment(0, 1, 0, 1, 960), at(0));
        // 0.1 ms on the access and 5 ms of it come before the 11 ms of all.
        assert_eq!(given(&mut network, at(20_000)), [(1, 11_000), (1, 16_100)]);
    }

    #[test]
    fn a_packet_waits_in_a_queue_of_the_kernel_until_it_leaves_or_is_dropped_there() {
        let mut layout = layout();
        layout.links[0].queue = QueueChoice::of_kernel("fq_codel");
        (layout.links[0].capacity, layout.links[0].mark) = (Capacity::Unlimited, Capacity::Unlimited);
        let mut network = network(&layout);
        let packet = |connection: u32| {
            let mut packet = segment(0, 1, connection, 1, 960);
            packet[1] |= 2; // it can be marked
            packet
        };
        (0..3).for_each(|connection| network.accept(0, &packet(connection), at(0)));
        assert_eq!(given(&mut network, at(100)), []);
        let mut handed = Vec::new();
        network.hand_to_kernel(|device, mark, bytes| handed.push((device, mark, bytes.to_vec())));
        assert_eq!(
            handed.iter().map(|packet| (packet.0, packet.1)).collect::<Vec<_>>(),
            [(16, 1), (16, 2), (16, 3)]
        );
        let mut marked = handed[1].2.clone();
        mark(&mut marked);
        // 1 ms on the wire each, the second back to back although the kernel's clock was late by less than its tick.
        assert_eq!(network.leave_kernel(2, &marked, at(500)), Some(at(1500)));
        network.drop_in_kernel(1, at(700));
        let late = at(1500) + Span::from_ps(999);
        assert_eq!(network.leave_kernel(3, &handed[2].2, late), Some(at(2500)));
        assert_eq!(network.leave_kernel(3, &handed[2].2, at(2500)), None);
        assert_eq!(network.leave_kernel(0, &handed[2].2, at(2500)), None);
        let mut delivered = Vec::new();
        network.advance(at(20_000), |_, bytes, due| delivered.push((bytes[1] & 3, due)));
        assert_eq!(delivered, [(3, at(11_500)), (2, at(12_500))]);
        assert_eq!((network.counts().dropped, network.counts().inside), (1, 0));
        let record = network.close().close("linux", Vec::new());
        let sum =
            |count: fn(&fairhaul_experiment::LinkRow) -> u64| record.links[0].iter().map(count).sum::<u64>();
        assert_eq!((sum(|row| row.arrived), sum(|row| row.dropped), sum(|row| row.marked)), (3, 1, 1));
    }

    #[test]
    fn what_is_of_no_connection_is_not_carried() {
        let mut network = network(&layout());
        for (host, packet) in [
            (0, segment(0, 1, 3, 1, 10)), // there are three
            (0, segment(0, 2, 0, 1, 10)), // there are two hosts
            (1, segment(0, 1, 0, 1, 10)), // sent by another than it says
            (0, vec![0x60; 60]),          // of IPv6
        ] {
            network.accept(host, &packet, at(0));
        }
        assert_eq!(network.counts(), NetworkCounts { strays: 4, ..NetworkCounts::default() });
        assert_eq!(given(&mut network, at(1_000_000)), []);
    }

    #[test]
    fn a_lossy_way_back_loses_acknowledgements_and_not_what_opens_a_connection() {
        let mut layout = layout();
        (layout.links[1].loss, layout.links[1].loses_acks) = (Some(LossRule::Every(2)), true);
        let mut network = network(&layout);
        let mut answer = segment(1, 0, 0, 0, 0);
        answer[33] |= 2; // SYN
        network.accept(1, &answer, at(0));
        (1..=4).for_each(|number| network.accept(1, &segment(1, 0, 0, number, 0), at(100)));
        network.accept(0, &segment(0, 1, 0, 1, 960), at(0));
        assert_eq!(given(&mut network, at(20_000)).iter().filter(|packet| packet.0 == 0).count(), 3);
        assert_eq!((network.counts().dropped, network.counts().delivered), (2, 4));
    }

    /// Any queue, with everything that a link can do to packets, under random load.
    #[test]
    fn every_packet_is_delivered_dropped_or_inside_and_the_limit_holds() {
        for name in ["droptail", "red", "pie", "codel", "fq_codel", "sred", "ack_filter", "xcp", "xcp_tcp"] {
            let mut layout = layout();
            let link = &mut layout.links[0];
            let site = Site { rate: link.rate, delay: link.delay, capacity: link.capacity, mark: link.mark };
            let mut choice = QueueChoice::named(name).expect("it is in the catalogue");
            if name == "red" {
                let values = [("min_threshold", 1.0), ("max_threshold", 3.0)];
                values.iter().for_each(|(key, value)| choice.settings.set(key, *value));
            }
            link.queue = choice.resolved(&site, Bytes(1500)).expect("it fits");
            link.loss = Some(LossRule::Probability(0.05));
            let jitter = Some(JitterRule { most: Span::from_ms(3), keeps_order: false });
            link.impair = Impairments { jitter, duplicate: 0.05, ..Impairments::default() };
            let mut network = network(&layout);
            let mut chance = Chance::stream(7, "test", 0);
            let (mut now, mut delivered) = (0, 0);
            for number in 0..2000 {
                now += chance.below(1500);
                let payload = 100 + chance.below(1300) as usize;
                network.accept(0, &segment(0, 1, number % 3, number, payload), at(now));
                delivered += given(&mut network, at(now)).len() as u64;
                let counts = network.counts();
                assert!(counts.balance() && counts.delivered == delivered, "{name}: {counts:?}");
                // Four in the queue, and on 10 ms of the way with 3 ms of jitter 13 of 1 ms each at most;
                // small ones are more, and each may be there twice.
                assert!(counts.inside < 100, "{name}: {counts:?}");
            }
            let counts = network.counts();
            assert!(counts.dropped > 100 && counts.copied > 20 && counts.read == 2000, "{name}: {counts:?}");
            delivered += given(&mut network, at(now + 1_000_000)).len() as u64;
            let counts = network.counts();
            assert_eq!((counts.inside, counts.delivered), (0, delivered), "{name}");
            network.close();
        }
    }
}
