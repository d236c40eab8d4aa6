//! What can be read and changed of a sender between two events.

use fairhaul_cc::{Builtin, Controller, Needs, Own, Window};
use fairhaul_units::real;

use super::undo::UndoState;
use super::{CaState, Sender};
use crate::flow_state::FlowState;

impl<C: Controller + Clone> Sender<C> {
    /// Adds what it is at to that of its flow.
    pub fn add_to(&self, state: &mut FlowState) {
        state.connections += 1;
        state.cwnd += self.window.cwnd;
        state.ssthresh = self.window.ssthresh;
        state.in_flight += real(self.board.in_flight());
        state.acknowledged += self.board.una();
        state.srtt = self.rtt.smoothed();
        state.min_rtt = self.rtt.smallest();
        state.recovering |= matches!(self.state, CaState::Recovery | CaState::Loss);
        state.mode = self.mode();
    }

    /// What it notes of packets that are outstanding, bytes.
    pub fn memory(&self) -> u64 {
        let rates = self.rates.as_ref().map_or(0, |rates| rates.memory());
        let waiting = self.fq.as_ref().map_or(0, |fq| fq.size());
        let waiting = waiting + (self.bursts.capacity() * size_of::<u64>()) as u64;
        (self.detector.memory() + rates) as u64 + waiting
    }

    /// The mode of the controller, if it has several.
    pub fn mode(&self) -> Option<u8> {
        if self.needs.modes { self.controller.mode() } else { None }
    }

    /// Adds what the controller holds to `values`.
    pub fn gauges(&self, values: &mut Vec<f64>) {
        self.controller.gauges(&self.window, values);
    }

    /// Goes on with another window.
    pub fn take_window(&mut self, window: Window) {
        self.window = window;
    }

    /// Goes on with another controller, which needs no other acknowledgements.
    pub fn take_controller(&mut self, mut controller: C) {
        controller.on_start(&self.config.start());
        (self.needs, self.controller) = (controller.needs(), controller);
        self.is_unpaced = self.config.is_unpaced(self.needs.pacing);
        self.undo_state = UndoState::new();
    }

    /// Whether a controller can go on that needs this, with what the connection has measured and agreed so far.
    pub fn provides(&self, needs: Needs) -> bool {
        let Needs { exact_echo, feedback_sum, rates, .. } = self.needs;
        (exact_echo, feedback_sum) == (needs.exact_echo, needs.feedback_sum) && (rates || !needs.rates)
    }
}

impl Sender<Builtin> {
    /// The controller, if it is not one of the catalogue.
    pub fn own(&mut self) -> Option<&mut dyn Own> {
        match &mut self.controller {
            Builtin::Own(own) => Some(own.as_mut()),
            _ => None,
        }
    }
}
