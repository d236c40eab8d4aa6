//! The gauges of controllers, which are read at the start of every bin, before anything happens then.
//!
//! A controller changes only with an event of its host. So all are read together before the first event at the hosts at
//! or after the start of a bin, and a packet costs nothing more. Of the connections of a flow the newest that is open is
//! read.

use fairhaul_experiment::Scenario;
use fairhaul_units::Time;

use super::Engine;
use crate::connection::Connection;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Gauges {
    /// When they are to be read next; never, where no flow has gauges.
    due: Time,
    /// How many gauges each flow has, and its connections that may be open, the newest last.
    flows: Vec<(usize, Vec<u32>)>,
}

impl Gauges {
    pub(super) fn of(scenario: &Scenario) -> Gauges {
        let flows: Vec<_> = scenario.flows.iter().map(|flow| (flow.gauges().len(), Vec::new())).collect();
        let due = if flows.iter().any(|(gauges, _)| *gauges > 0) { Time::ZERO } else { Time::NEVER };
        Gauges { due, flows }
    }

    #[inline(always)]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// A connection of `flow` was opened. Connections that are over are forgotten when there is no room for another.
    pub(super) fn opened(&mut self, flow: u32, serial: u32, connections: &[Option<Box<Connection>>]) {
        let opened = &mut self.flows[flow as usize].1;
        if opened.len() == opened.capacity() {
            opened.retain(|&serial| open_connection(serial, connections).is_some());
            opened.reserve(opened.len().max(1));
        }
        opened.push(serial);
    }
}

/// That connection, if it is open.
fn open_connection(serial: u32, connections: &[Option<Box<Connection>>]) -> Option<&Connection> {
    connections[serial as usize].as_deref().filter(|connection| connection.is_open())
}

impl Engine {
    /// Reads the gauges of controllers up to `now`, before an event at the hosts at that time.
    #[inline(always)]
    pub(super) fn read_gauges(&mut self, now: Time) {
        if self.gauges.due <= now {
            self.read_due_gauges(now);
        }
    }

    #[cold]
    fn read_due_gauges(&mut self, now: Time) {
        while self.gauges.due <= now && self.gauges.due != Time::NEVER && !self.control.is_stopped() {
            for (flow, (gauges, opened)) in self.gauges.flows.iter_mut().enumerate() {
                while opened.pop_if(|serial| open_connection(*serial, &self.connections).is_none()).is_some()
                {
                }
                let newest = opened.last().and_then(|serial| open_connection(*serial, &self.connections));
                let values = self.network.ledger.flow_gauges(flow as u32);
                let so_far = values.len();
                match newest {
                    Some(connection) if *gauges > 0 => connection.gauges(values),
                    _ => values.resize(so_far + *gauges, f64::NAN),
                }
                debug_assert_eq!(values.len(), so_far + *gauges, "a controller shows what its entry names");
            }
            self.gauges.due = self.network.ledger.next_start(self.gauges.due);
        }
    }

    /// The controllers of another scenario follow at `now`, up to which gauges have been read.
    pub(super) fn change_gauges(&mut self, scenario: &Scenario, now: Time) {
        let grid = self.scenario.grid();
        let bins = (grid.bin(now) + 1).min(grid.len());
        for (flow, (before, after)) in self.scenario.flows.iter().zip(&scenario.flows).enumerate() {
            if before.gauges() != after.gauges() {
                self.network.ledger.change_gauges(flow as u32, before.gauges(), after.gauges(), bins);
                self.gauges.flows[flow].0 = after.gauges().len();
            }
        }
        let any = self.gauges.flows.iter().any(|(gauges, _)| *gauges > 0);
        self.gauges.due = if any { self.network.ledger.next_start(now) } else { Time::NEVER };
    }
}
