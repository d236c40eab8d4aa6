//! The loop: visits the node where something is next and gives the connection its turn.

use fairhaul_experiment::{Record, Scenario, Transfer, TransferRow, plan_while};
use fairhaul_path::queue::Held;
use fairhaul_units::Time;

use crate::agenda::Next;
use crate::connection::Connection;
use crate::parcel::Parcel;
use crate::route::{self, Reach, Routes};
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
    control: &'a Control,
}

impl<'a> Engine<'a> {
    /// Before anything has happened. That takes its time with many flows, and ends early where `control` asks
    /// for it.
    pub fn new(scenario: &'a Scenario, control: &'a Control) -> Result<Engine<'a>, RunError> {
        let transfers = plan_while(scenario, || !control.is_stopped()).ok_or(RunError::Stopped)?;
        let mut starts: Vec<u32> = (0..transfers.len() as u32).collect();
        starts.sort_by_key(|&serial| (transfers[serial as usize].start, serial));
        let grid = scenario.grid();
        let never_begun = |t: &Transfer| TransferRow {
            flow: t.flow,
            start_s: t.start.as_secs(),
            end_s: f64::NAN,
            bytes: 0,
        };
        let routes = route::compile(scenario, control).ok_or(RunError::Stopped)?;
        Ok(Engine {
            world: World::new(scenario, &routes, grid, control).ok_or(RunError::Stopped)?,
            routes,
            rows: transfers.iter().map(never_begun).collect(),
            connections: transfers.iter().map(|_| None).collect(),
            transfers,
            starts,
            started: 0,
            next_start: Time::NEVER,
            scenario,
            control,
        })
    }

    /// Keeps evidence of every packet of `flow`.
    pub fn tracing(mut self, flow: u32) -> Engine<'a> {
        self.world.trace = Some(Trace::new(flow, self.world.ledger.end()));
        self
    }

    /// Runs to the end: the record, and the evidence.
    ///
    /// What happens at a node is felt at another only after the shortest way between them. So the node where
    /// something is next may go ahead until what is next at the others, or what it does there itself, can have
    /// come back to it. Which it is, and how far it goes, leaves no trace in what happens: each node sees its own
    /// in order of time.
    pub fn run(mut self) -> Result<(Record, Option<Trace>), RunError> {
        let end = self.world.ledger.end();
        let hosts = self.scenario.links.len();
        self.next_start = self.start_of_next();
        // Rows of evidence are kept in the order of the clock.
        let in_order = self.world.trace.is_some();
        let mut turns = 0u32;
        loop {
            let Next { node, now, others } = self.world.agenda.next(self.next_start);
            if now >= end {
                break;
            }
            let Reach { to, from } = self.routes.reach[node];
            let until = if in_order { now } else { (others.min(now + from) + to).min(end) };
            let taken = if node == hosts { self.visit_hosts(until) } else { self.visit_link(node, until) };
            turns += taken;
            if turns >= TURNS_PER_LOOK || self.world.watch.is_due() {
                turns = 0;
                self.look(now)?;
            }
        }
        self.look(end)?;
        self.close()
    }

    /// Looks at the control, and whether what is outstanding takes too much memory.
    #[inline(never)]
    fn look(&mut self, now: Time) -> Result<(), RunError> {
        if self.control.look(now) {
            return Err(RunError::Stopped);
        }
        if self.world.watch.is_due() {
            let connections: u64 = self.connections.iter().flatten().map(|one| one.memory()).sum();
            let bytes = connections + self.world.memory();
            if self.world.watch.count(bytes) || self.world.watch.is_halted() {
                return Err(RunError::Full { at: now, what: self.what_fills(bytes) });
            }
        }
        Ok(())
    }

    /// What takes so much memory.
    fn what_fills(&self, bytes: u64) -> String {
        let open = || self.connections.iter().flatten();
        let waiting: u64 = open().map(|one| one.waiting()).sum();
        let most = open().max_by_key(|one| one.waiting());
        let of = most.map_or(String::new(), |one| {
            format!(
                ", {} of them from flow \"{}\"",
                one.waiting(),
                self.scenario.flows[one.flow() as usize].name
            )
        });
        let before = self.world.longest_queue().filter(|(_, waiting)| *waiting > 0);
        let before = before.map_or(String::new(), |(link, waiting)| {
            format!(" ({waiting} are queued at link \"{}\")", self.scenario.links[link].name)
        });
        format!(
            "the packets and connections of this run take {} MB of memory, more than its limit: {waiting} \
             packets are in flight{of}{before}; limit the window or a queue, or lower the rate",
            bytes / 1_000_000
        )
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
        let account = self.world.account(transfer.flow);
        let mut connection = Connection::new(serial, transfer, flow, account, route, self.scenario.seed);
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
        for Held { packet, size, arrived, .. } in victims.drain(..) {
            self.world.ledger.dropped(link, size, arrived, now);
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
                self.rows[serial] = connection.transfer();
            }
        }
        if self.control.is_stopped() {
            return Err(RunError::Stopped);
        }
        self.world.close();
        if self.control.is_stopped() {
            return Err(RunError::Stopped);
        }
        let crossings = self.world.crossings();
        assert_eq!(crossings.offered, crossings.refused + crossings.passed, "a link lost a packet");
        let goes_on = || !self.control.is_stopped();
        let record = self.world.ledger.close_while("sim", self.rows, goes_on);
        Ok((record.ok_or(RunError::Stopped)?, self.world.trace))
    }
}
