//! Growth of a window that is not used [RATE-LIMITED]: it may become what the controller would reach after one window of the
//! most that was in flight since the last reduction, and no more.

use fairhaul_cc::{AckEvent, Controller, Window};

use super::Sender;

/// The most that was in flight since the window was last reduced (maxFS).
#[derive(Clone, Copy, Debug)]
pub(super) struct FlightLimit {
    /// Packets; `None`: nothing has been sent since.
    most: Option<f64>,
    /// The window when it was last looked at.
    cwnd: f64,
}

impl FlightLimit {
    /// At the start the initial window counts as having been in flight.
    pub(super) fn new(initial_window: f64) -> FlightLimit {
        FlightLimit { most: Some(initial_window), cwnd: initial_window }
    }

    /// A reduction for whatever reason forgets what was in flight before it.
    fn look(&mut self, cwnd: f64) {
        if cwnd < self.cwnd {
            self.most = None;
        }
        self.cwnd = cwnd;
    }

    /// With a window of `cwnd`, `flight` packets are in flight.
    fn sent(&mut self, cwnd: f64, flight: f64) {
        self.look(cwnd);
        self.most = Some(self.most.unwrap_or(0.0).max(flight));
    }
}

impl<C: Controller + Clone> Sender<C> {
    /// New data have left.
    #[inline(always)]
    pub(super) fn note_flight(&mut self) {
        if let Some(limit) = &mut self.flight_limit {
            limit.sent(self.window.cwnd, self.board.outstanding() as f64);
        }
    }

    /// The window grows for an acknowledgement as far as what was in flight allows, whether or not the window limits the
    /// sender.
    //
    // Unclear in [RATE-LIMITED]: the cap is on the window, so that it would also lower a window which was larger, as where
    // slow start ends by itself. It bounds the increase only.
    #[inline(never)]
    pub(super) fn grow_within_flight(&mut self, event: &AckEvent) {
        let before = self.window;
        self.grow_freely(event);
        let Some(mut limit) = self.flight_limit.take() else { return };
        limit.look(before.cwnd);
        if let Some(most) = limit.most
            && (self.board.outstanding() as f64) < before.cwnd
            && most < self.window.cwnd
        {
            let bound = if before.in_slow_start() { 2.0 * most } else { self.after_a_window(most, event) };
            self.window.cwnd = self.window.cwnd.min(bound.max(before.cwnd));
        }
        limit.look(self.window.cwnd);
        self.flight_limit = Some(limit);
    }

    /// What the controller would reach after a window of `most` packets.
    fn after_a_window(&self, most: f64, event: &AckEvent) -> f64 {
        let mut window = Window { cwnd: most.max(1.0), ssthresh: self.window.ssthresh.min(most.max(1.0)) };
        self.controller.clone().on_ack(&mut window, event);
        most + (window.cwnd - most.max(1.0)).max(0.0) * most / event.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [RATE-LIMITED]: at any reduction maxFS becomes 0, and what is sent afterwards counts, also if it is less.
    #[test]
    fn a_reduction_forgets_what_was_in_flight_before_it() {
        let mut limit = FlightLimit::new(10.0);
        limit.sent(40.0, 30.0);
        assert_eq!(limit.most, Some(30.0));
        limit.look(20.0);
        assert_eq!(limit.most, None);
        limit.sent(20.0, 4.0);
        assert_eq!(limit.most, Some(4.0));
        limit.look(25.0);
        assert_eq!(limit.most, Some(4.0), "growth is no reduction");
    }
}
