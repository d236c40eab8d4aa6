//! What can be read and changed of a run that is paused.

use std::sync::Arc;

use fairhaul_cc::{Controller, Own, Window};
use fairhaul_experiment::{EventRow, Scenario};
use fairhaul_units::Time;

use super::Engine;
use crate::connection::Connection;
use crate::control::Control;
use crate::flow_state::FlowState;
use crate::network::Network;
use crate::route::Route;

impl Engine {
    /// When the run is over.
    pub fn end_of_run(&self) -> Time {
        self.network.ledger.end()
    }

    /// The scenario, with what was changed.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// What has happened to flows so far.
    pub fn events(&self) -> &[EventRow] {
        self.network.ledger.events()
    }

    /// By what it is stopped.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// From now on it is stopped by another control.
    pub fn control_by(&mut self, control: Control) {
        self.network.limits.control_by(&control);
        self.control = control;
    }

    /// The senders of a flow.
    pub fn flow(&self, flow: u32) -> FlowState {
        let mut state = FlowState::default();
        for connection in self.connections.iter().flatten() {
            if connection.flow() == flow {
                connection.add_to(&mut state);
            }
        }
        state
    }

    /// Packets that wait at a link or are being sent there.
    pub fn queued(&mut self, link: u32, now: Time) -> u64 {
        self.network.queued(link, now)
    }

    /// Shows the controllers of the open connections of a flow that are not of the catalogue.
    pub fn own(&mut self, flow: u32, mut what: impl FnMut(&mut dyn Own)) {
        self.each_open(|connection, _, _| {
            if connection.flow() == flow
                && let Some(own) = connection.own()
            {
                what(own);
            }
        });
    }

    /// Sets window and threshold of the open connections of a flow.
    pub fn set_window(&mut self, flow: u32, cwnd: f64, ssthresh: f64, now: Time) {
        self.read_gauges(now);
        self.each_open(|connection, route, network| {
            if connection.flow() == flow {
                connection.take_window(Window { cwnd, ssthresh }, now, route, network);
            }
        });
    }

    /// Goes on with the controllers of another scenario; the name of a flow that cannot, and then nothing is changed.
    pub fn take_controllers(&mut self, scenario: Arc<Scenario>, now: Time) -> Result<(), String> {
        let differs = |index: usize| {
            let controllers =
                [&self.scenario, &scenario].map(|it| format!("{:?}", it.flows[index].controller));
            controllers[0] != controllers[1]
        };
        let flows = &scenario.flows;
        let differ: Vec<bool> = (0..flows.len()).map(differs).collect();
        for connection in self.connections.iter().flatten().filter(|connection| connection.is_open()) {
            let flow = &flows[connection.flow() as usize];
            if differ[connection.flow() as usize] && !connection.provides(flow.controller.build().needs()) {
                return Err(flow.name.clone());
            }
        }
        self.read_gauges(now);
        self.change_gauges(&scenario, now);
        self.each_open(|connection, route, network| {
            let index = connection.flow() as usize;
            if differ[index] {
                connection.take_controller(&flows[index].controller, scenario.seed, now, route, network);
            }
        });
        self.events_per_check = super::events_per_check(&scenario);
        self.scenario = Arc::clone(&scenario);
        Ok(())
    }

    fn each_open(&mut self, mut change: impl FnMut(&mut Connection, &Route, &mut Network)) {
        let Engine { connections, routes, network, .. } = self;
        for connection in connections.iter_mut().flatten().filter(|connection| connection.is_open()) {
            let route = &routes.all[connection.route()];
            change(connection, route, network);
        }
    }
}
