//! What can be read and changed of a connection while a run is paused.

use fairhaul_cc::{ControllerChoice, Needs, Own, Window};
use fairhaul_units::{Time, mix};

use super::Connection;
use crate::flow_state::FlowState;
use crate::network::Network;
use crate::route::Route;

impl Connection {
    /// Whether it still has something to send.
    pub fn is_open(&self) -> bool {
        self.end.is_none() && self.datagrams.is_none()
    }

    /// Adds what it is at to that of its flow.
    pub fn add_to(&self, state: &mut FlowState) {
        if self.is_open() {
            self.sender.add_to(state);
        }
    }

    /// Its controller, if it is not one of the catalogue.
    pub fn own(&mut self) -> Option<&mut dyn Own> {
        self.sender.own()
    }

    /// Goes on with another window.
    pub fn take_window(&mut self, window: Window, now: Time, route: &Route, network: &mut Network) {
        self.sender.take_window(window);
        self.show_window(now, route, network);
    }

    /// Whether a controller can go on that needs this.
    pub fn provides(&self, needs: Needs) -> bool {
        self.sender.provides(needs)
    }

    /// Goes on with a fresh controller, and its window.
    pub fn take_controller(
        &mut self,
        choice: &ControllerChoice,
        seed: u64,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        self.of_controller = 2 * choice.memory();
        self.sender.take_controller(choice.build_for(mix(seed ^ mix(self.serial.into()))));
        self.show_window(now, route, network);
    }

    fn show_window(&mut self, now: Time, route: &Route, network: &mut Network) {
        self.set_window(self.sender.window(), now, network);
        self.count_ready(now);
        self.send_ready(now, route, network);
    }
}
