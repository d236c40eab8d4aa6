//! The engine, an event loop: visits the node of the earliest event and lets connections process the events there.

mod gauges;
mod limits;
mod paused;

use std::sync::Arc;

use fairhaul_experiment::{PacketRecorder, Record, Scenario, Transfer, TransferRow, plan_while};
use fairhaul_path::queue::Queued;
use fairhaul_units::Time;

use crate::connection::Connection;
use crate::control::{Control, RunError};
use crate::event_key::{EventKey, EventKind};
use crate::event_queue::NextEvent;
use crate::network::Network;
use crate::route::{self, Reach, Route, Routes};
use gauges::Gauges;

/// Events between two checks of the limits of a run.
const EVENTS_PER_CHECK: u32 = 8192;
/// The same where code of a user is called, which may take milliseconds and memory each time.
const EVENTS_OF_USERS_PER_CHECK: u32 = 4;

/// A run under way.
#[derive(Clone)]
pub struct Engine {
    scenario: Arc<Scenario>,
    routes: Routes,
    transfers: Vec<Transfer>,
    /// Transfers by start, except for transfers that follow another one; all before `started` have begun.
    starts: Vec<u32>,
    started: usize,
    /// When the next one begins.
    next_start: Time,
    connections: Vec<Option<Box<Connection>>>,
    rows: Vec<TransferRow>,
    network: Network,
    gauges: Gauges,
    events_per_check: u32,
    control: Control,
}

/// Refuses what only kernels can do.
pub fn possible(scenario: &Scenario) -> Result<(), RunError> {
    let requests = scenario.kernel_requests();
    if requests.is_empty() { Ok(()) } else { Err(RunError::Refused(requests)) }
}

/// How many events are processed between two checks of the limits.
fn events_per_check(scenario: &Scenario) -> u32 {
    let of_users = scenario.flows.iter().any(|flow| flow.controller.is_users_code());
    if of_users { EVENTS_OF_USERS_PER_CHECK } else { EVENTS_PER_CHECK }
}

impl Engine {
    /// Before anything has happened. That takes its time with many flows, and ends early where `control` asks
    /// for it.
    pub fn new(scenario: Arc<Scenario>, control: Control) -> Result<Engine, RunError> {
        Engine::compiled(scenario, control, false)
    }

    /// The same for a run that is paused: nothing is done ahead of the clock at a link.
    pub fn in_steps(scenario: Arc<Scenario>, control: Control) -> Result<Engine, RunError> {
        if let Some(flow) = scenario.flows.iter().find(|flow| flow.controller.stack().is_some()) {
            let text = "its transport stack cannot be paused and copied";
            return Err(RunError::Refused(vec![format!("flow {}: {text}", flow.name)]));
        }
        Engine::compiled(scenario, control, true)
    }

    fn compiled(scenario: Arc<Scenario>, control: Control, in_steps: bool) -> Result<Engine, RunError> {
        possible(&scenario)?;
        let transfers = plan_while(&scenario, || !control.is_stopped()).ok_or(RunError::Stopped)?;
        // A transfer that follows another one begins when that one has arrived.
        let has_start = |serial: &u32| transfers[*serial as usize].start != Time::NEVER;
        let mut starts: Vec<u32> = (0..transfers.len() as u32).filter(has_start).collect();
        starts.sort_by_key(|&serial| (transfers[serial as usize].start, serial));
        let grid = scenario.grid();
        let never_begun = |t: &Transfer| TransferRow {
            flow: t.flow,
            start_s: if t.start == Time::NEVER { f64::NAN } else { t.start.as_secs() },
            end_s: f64::NAN,
            bytes: 0,
        };
        let routes = route::compile(&scenario, in_steps, &control).ok_or(RunError::Stopped)?;
        let mut engine = Engine {
            network: Network::new(&scenario, &routes, grid, &control).ok_or(RunError::Stopped)?,
            routes,
            rows: transfers.iter().map(never_begun).collect(),
            connections: transfers.iter().map(|_| None).collect(),
            transfers,
            starts,
            started: 0,
            next_start: Time::NEVER,
            gauges: Gauges::of(&scenario),
            events_per_check: events_per_check(&scenario),
            scenario,
            control,
        };
        engine.next_start = engine.start_of_next();
        Ok(engine)
    }

    /// Records the packet trace of `flow`.
    pub fn tracing(mut self, flow: u32) -> Engine {
        let recorder = PacketRecorder::new(flow, self.network.ledger.end());
        self.network.trace = Some(Box::new(recorder));
        self
    }

    /// Runs to the end: the record, and the packet trace.
    pub fn run(mut self) -> Result<(Record, Option<PacketRecorder>), RunError> {
        // Rows of the packet trace are kept in the order of the clock.
        let in_order = self.network.trace.is_some();
        self.advance(self.network.ledger.end(), in_order, |_| false)?;
        self.check_limits(self.network.ledger.end())?;
        self.close()
    }

    /// Processes all events before `end`, or until `stops` says so, which is asked after every visit of a node. When the
    /// next event is.
    ///
    /// An event at a node affects another node only after the shortest path between them: the lookahead. So the
    /// node of the earliest event may go ahead until the earliest event elsewhere, or an event of its own, can have
    /// come back to it; `in_order`: no node goes ahead. The record does not depend on which node goes ahead, or how far:
    /// each node processes its events in order of time.
    pub fn advance(
        &mut self,
        end: Time,
        in_order: bool,
        stops: impl Fn(&Network) -> bool,
    ) -> Result<Time, RunError> {
        let hosts = self.scenario.links.len();
        let mut events = 0u32;
        loop {
            let NextEvent { node, now, others } = self.network.events.next(self.next_start);
            if now >= end || stops(&self.network) {
                return Ok(now);
            }
            let Reach { to, from } = self.routes.reach[node];
            let until = if in_order { now } else { (others.min(now + from) + to).min(end) };
            let events_here =
                if node == hosts { self.visit_hosts(until) } else { self.visit_link(node, until) };
            events += events_here;
            if events >= self.events_per_check || self.network.limits.is_due() {
                events = 0;
                self.check_limits(now)?;
            }
        }
    }

    /// Processes the earliest event at a link, and all others there before `until`; how many events these were.
    fn visit_link(&mut self, link: usize, until: Time) -> u32 {
        let mut events = 0;
        let (mut now, mut key) = self.network.events.at_link(link);
        loop {
            events += 1;
            match key.link() {
                Some(link) => self.departure(link, now),
                None => self.packet(now, key),
            }
            if !self.network.dropped.is_empty() {
                self.report_drops(now);
            }
            (now, key) = self.network.events.at_link(link);
            if now >= until || events == self.events_per_check {
                return events;
            }
        }
    }

    /// The same at the hosts, up to the next time at which the gauges of controllers are to be read.
    fn visit_hosts(&mut self, until: Time) -> u32 {
        let mut events = 0;
        let (mut now, mut key) = self.network.events.at_hosts();
        self.read_gauges(now.min(self.next_start));
        let until = until.min(self.gauges.due());
        loop {
            events += 1;
            if self.next_start <= now {
                self.begin();
            } else if key.is_packet() {
                self.packet(now, key);
            } else {
                self.timer(now, key);
            }
            (now, key) = self.network.events.at_hosts();
            if now.min(self.next_start) >= until || events == self.events_per_check {
                return events;
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
        self.open(serial);
    }

    /// Opens the connection of a transfer at its start.
    fn open(&mut self, serial: u32) {
        let transfer = &self.transfers[serial as usize];
        let index = self.routes.of[transfer.flow as usize];
        let route = &self.routes.all[index as usize];
        let account = self.network.account(transfer.flow);
        let records = self.network.trace.as_ref().is_some_and(|trace| trace.flow() == transfer.flow);
        let mut connection =
            Connection::new(serial, transfer, &self.scenario, account, (index, route), records);
        self.network.limits.take(connection.memory());
        connection.open(route, &mut self.network);
        self.gauges.opened(transfer.flow, serial, &self.connections);
        self.connections[serial as usize] = Some(Box::new(connection));
    }

    /// Processes the packet at the head of a ring.
    #[inline(always)]
    fn packet(&mut self, now: Time, key: EventKey) {
        let (connection, route, network) = self.at_connection(key.serial());
        match key.kind() {
            EventKind::Data(leg) => {
                let data = network.rings.pop_data(&mut network.events, key.ring());
                connection.process_data(leg.into(), data, now, route, network);
            }
            EventKind::Ack(leg) => {
                let ack = network.rings.pop_ack(&mut network.events, key.ring());
                connection.process_ack(leg.into(), ack, now, route, network);
            }
            _ => unreachable!("a timer is no packet"),
        }
        if connection.is_over() {
            self.end(key.serial());
        }
    }

    /// The connection of a packet, its route, and the network.
    #[inline(always)]
    fn at_connection(&mut self, serial: u32) -> (&mut Connection, &Route, &mut Network) {
        let connection = self.connections[serial as usize].as_mut();
        let connection = connection.expect("a connection is not over while a packet of it waits");
        let route = &self.routes.all[connection.route()];
        (connection, route, &mut self.network)
    }

    /// A timer of a connection is due.
    #[inline(never)]
    fn timer(&mut self, now: Time, key: EventKey) {
        let Engine { network, connections, routes, .. } = self;
        network.events.pop();
        if key.kind() == EventKind::Begin {
            self.transfers[key.serial() as usize].start = now;
            return self.open(key.serial());
        }
        let Some(connection) = &mut connections[key.serial() as usize] else {
            return; // the connection is over
        };
        let route = &routes.all[connection.route()];
        match key.kind() {
            EventKind::Ready => connection.on_ready(now, route, network),
            EventKind::ReceiverTimer => connection.on_receiver_timer(now, route, network),
            EventKind::Paced => connection.on_paced(now, route, network),
            EventKind::Timer => connection.on_timer(now, route, network),
            EventKind::Data(_) | EventKind::Ack(_) | EventKind::Begin => {
                unreachable!("a packet is no timer, and a connection that begins has none")
            }
        }
        if connection.is_over() {
            self.end(key.serial());
        }
    }

    /// A link whose queue decides at departure has sent what it was sending, and begins with the next.
    #[inline(never)]
    fn departure(&mut self, link: u32, now: Time) {
        if let Some((packet, departure)) = self.network.serve(link, now) {
            let serial = packet.serial;
            let (connection, route, network) = self.at_connection(serial);
            connection.queued_departs(packet, departure, route, network);
            if connection.is_over() {
                self.end(serial);
            }
        }
    }

    /// Reports the packets that the queue of a link has just dropped to their connections.
    #[inline(never)]
    fn report_drops(&mut self, now: Time) {
        let mut dropped = std::mem::take(&mut self.network.dropped);
        for Queued { packet, .. } in dropped.drain(..) {
            let (connection, _, network) = self.at_connection(packet.serial);
            connection.queued_dropped(&packet.content, now, network);
            if connection.is_over() {
                self.end(packet.serial);
            }
        }
        self.network.dropped = dropped;
    }

    /// A connection is over.
    fn end(&mut self, serial: u32) {
        if let Some(connection) = self.connections[serial as usize].take() {
            self.rows[serial as usize] = connection.transfer();
        }
    }

    /// Closes the ledger and checks that no packet was lost or made uncounted.
    fn close(mut self) -> Result<(Record, Option<PacketRecorder>), RunError> {
        let mut waiting = vec![0u64; self.connections.len()];
        self.network.each_serial(|serial| waiting[serial as usize] += 1);
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
        self.read_gauges(self.network.ledger.end());
        self.network.close();
        if self.control.is_stopped() {
            return Err(RunError::Stopped);
        }
        assert!(self.network.balances(), "a link lost a packet");
        // What would have followed a transfer that did not arrive.
        self.rows.retain(|row| row.start_s.is_finite());
        let goes_on = || !self.control.is_stopped();
        let record = self.network.ledger.close_while("sim", self.rows, goes_on);
        Ok((record.ok_or(RunError::Stopped)?, self.network.trace.map(|trace| *trace)))
    }
}
