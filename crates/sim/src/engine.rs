//! The loop: visits the node where something is next and gives the connection its turn.

use fairhaul_experiment::{Record, Scenario, Transfer, TransferRow, grid, plan};
use fairhaul_path::queue::Held;
use fairhaul_units::{Span, Time};

use crate::connection::Connection;
use crate::parcel::Parcel;
use crate::route::{self, Routes};
use crate::run::{Control, RunError};
use crate::trace::Trace;
use crate::turn::{Order, Turn};
use crate::world::{Crossing, World};

/// How many turns pass between two looks at the control.
const TURNS_PER_LOOK: u32 = 8192;

/// A run under way.
pub struct Engine<'a> {
    scenario: &'a Scenario,
    routes: Routes,
    transfers: Vec<Transfer>,
    /// Transfers by start; those before `started` have begun.
    starts: Vec<u32>,
    started: usize,
    /// When the next one begins.
    next_start: Time,
    connections: Vec<Option<Box<Connection>>>,
    rows: Vec<TransferRow>,
    world: World,
}

impl<'a> Engine<'a> {
    pub fn new(scenario: &'a Scenario) -> Engine<'a> {
        let transfers = plan(scenario);
        let mut starts: Vec<u32> = (0..transfers.len() as u32).collect();
        starts.sort_by_key(|&serial| (transfers[serial as usize].start, serial));
        let grid = grid(scenario.duration, scenario.warmup, scenario.flows.len());
        let never_begun = |t: &Transfer| TransferRow {
            flow: t.flow,
            start_s: t.start.as_secs(),
            end_s: f64::NAN,
            bytes: 0,
        };
        let routes = route::compile(scenario);
        Engine {
            world: World::new(scenario, &routes, grid),
            routes,
            rows: transfers.iter().map(never_begun).collect(),
            connections: transfers.iter().map(|_| None).collect(),
            transfers,
            starts,
            started: 0,
            next_start: Time::NEVER,
            scenario,
        }
    }

    /// Keeps evidence of every packet of `flow`.
    pub fn tracing(mut self, flow: u32) -> Engine<'a> {
        self.world.trace = Some(Trace::new(flow, self.world.ledger.end()));
        self
    }

    /// Runs to the end: the record, and the evidence.
    ///
    /// What happens at a node is felt at the others no earlier than the lookahead of the routes, so the
    /// node where something is next may go so far ahead of the others. Which it is, and how far it goes,
    /// leaves no trace in what happens: each node sees its own in order of time.
    pub fn run(mut self, control: &Control) -> Result<(Record, Option<Trace>), RunError> {
        let end = self.world.ledger.end();
        let hosts = self.scenario.links.len();
        self.next_start = self.start_of_next();
        // Rows of evidence are kept in the order of the clock.
        let lookahead = if self.world.trace.is_some() { Span::ZERO } else { self.routes.lookahead };
        let mut turns = 0u32;
        loop {
            let (mut node, mut now) = self.world.agenda.next();
            if self.next_start <= now {
                (node, now) = (hosts, self.next_start);
            }
            if now >= end {
                break;
            }
            let until = (now + lookahead).min(end);
            let taken = if node == hosts { self.visit_hosts(until) } else { self.visit_link(node, until) };
            turns += taken;
            if turns >= TURNS_PER_LOOK {
                turns = 0;
                if control.look(now) {
                    return Err(RunError::Stopped);
                }
            }
        }
        control.look(end);
        self.close()
    }

    /// What is next at a link takes its turn, and what else is due there before `until`; how many turns
    /// that were.
    fn visit_link(&mut self, link: usize, until: Time) -> u32 {
        let mut turns = 0;
        let (mut now, mut order) = self.world.agenda.at_link(link);
        loop {
            turns += 1;
            match order.link() {
                Some(link) => self.departure(link, now),
                None => self.packet(now, order),
            }
            if !self.world.victims.is_empty() {
                self.bury(link as u32, now);
            }
            (now, order) = self.world.agenda.at_link(link);
            if now >= until || turns == TURNS_PER_LOOK {
                return turns;
            }
        }
    }

    /// The same at the hosts.
    fn visit_hosts(&mut self, until: Time) -> u32 {
        let mut turns = 0;
        let (mut now, mut order) = self.world.agenda.at_hosts();
        loop {
            turns += 1;
            if self.next_start <= now {
                self.begin();
            } else if order.is_packet() {
                self.packet(now, order);
            } else {
                self.timer(now, order);
            }
            (now, order) = self.world.agenda.at_hosts();
            if now.min(self.next_start) >= until || turns == TURNS_PER_LOOK {
                return turns;
            }
        }
    }

    fn start_of_next(&self) -> Time {
        let serial = self.starts.get(self.started);
        serial.map_or(Time::NEVER, |&serial| self.transfers[serial as usize].start)
    }

    /// Begins the next transfer.
    fn begin(&mut self) {
        let serial = self.starts[self.started];
        self.started += 1;
        self.next_start = self.start_of_next();
        let transfer = &self.transfers[serial as usize];
        let route = &self.routes.of[transfer.flow as usize];
        let flow = &self.scenario.flows[transfer.flow as usize];
        let mut connection = Connection::new(serial, transfer, flow, route, self.scenario.seed);
        connection.open(route, &mut self.world);
        self.connections[serial as usize] = Some(Box::new(connection));
    }

    /// The packet at the head of a ring takes its turn.
    #[inline(always)]
    fn packet(&mut self, now: Time, order: Order) {
        let Engine { world, connections, routes, .. } = self;
        let connection = connections[order.serial() as usize].as_mut();
        let connection = connection.expect("a connection is not over while a packet of it waits");
        let route = &routes.of[connection.flow() as usize];
        match order.turn() {
            Turn::Data(leg) => {
                let data = world.rings.take_data(&mut world.agenda, order.ring());
                connection.meet_data(leg.into(), data, now, route, world);
            }
            Turn::Ack(leg) => {
                let ack = world.rings.take_ack(&mut world.agenda, order.ring());
                connection.meet_ack(leg.into(), ack, now, route, world);
            }
            _ => unreachable!("a timer is no packet"),
        }
        if connection.is_over() {
            self.end(order.serial());
        }
    }

    /// A timer of a connection is due.
    #[inline(never)]
    fn timer(&mut self, now: Time, order: Order) {
        let Engine { world, connections, routes, .. } = self;
        world.agenda.pop();
        let Some(connection) = &mut connections[order.serial() as usize] else {
            return; // the connection is over
        };
        let route = &routes.of[connection.flow() as usize];
        match order.turn() {
            Turn::Ready => connection.on_ready(now, route, world),
            Turn::Held => connection.on_held(now, route, world),
            Turn::Paced => connection.on_paced(now, route, world),
            Turn::Timer => connection.on_timer(now, route, world),
            Turn::Data(_) | Turn::Ack(_) => unreachable!("a packet is no timer"),
        }
        if connection.is_over() {
            self.end(order.serial());
        }
    }

    /// A link whose queue decides at departure has sent what it was sending, and begins with the next.
    #[inline(never)]
    fn departure(&mut self, link: u32, now: Time) {
        if let Some((parcel, passage)) = self.world.serve(link, now) {
            self.settle(parcel, passage);
        }
    }

    /// Tells a connection what became of a packet that waited at a link.
    #[inline(always)]
    fn settle(&mut self, parcel: Parcel, passage: Result<Crossing, Time>) {
        let Engine { world, connections, routes, .. } = self;
        let serial = parcel.serial;
        let connection = connections[serial as usize].as_mut();
        let connection = connection.expect("a connection is not over while a packet of it waits");
        connection.settle(parcel, passage, &routes.of[connection.flow() as usize], world);
        if connection.is_over() {
            self.end(serial);
        }
    }

    /// Books those that the queue of a link has just dropped, and tells their connections.
    #[inline(never)]
    fn bury(&mut self, link: u32, now: Time) {
        let mut victims = std::mem::take(&mut self.world.victims);
        for Held { packet, size, .. } in victims.drain(..) {
            self.world.ledger.dropped(link, size, now);
            self.settle(packet, Err(now));
        }
        self.world.victims = victims;
    }

    /// A connection is over.
    fn end(&mut self, serial: u32) {
        if let Some(connection) = self.connections[serial as usize].take() {
            self.rows[serial as usize] = connection.transfer();
        }
    }

    /// Closes the books and checks that no packet was lost or made unseen.
    fn close(mut self) -> Result<(Record, Option<Trace>), RunError> {
        let mut waiting = vec![0u64; self.connections.len()];
        self.world.each_serial(|serial| waiting[serial as usize] += 1);
        for (serial, connection) in self.connections.iter_mut().enumerate() {
            let known = connection.as_ref().map_or(0, |connection| connection.waiting());
            assert_eq!(known, waiting[serial], "connection {serial} lost or made a packet");
            if let Some(connection) = connection {
                connection.close(&mut self.world);
                self.rows[serial] = connection.transfer();
            }
        }
        self.world.close();
        let crossings = self.world.crossings();
        assert_eq!(crossings.offered, crossings.refused + crossings.passed, "a link lost a packet");
        Ok((self.world.ledger.close("sim", self.rows), self.world.trace))
    }
}
