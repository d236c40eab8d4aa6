//! Growth of the window, outside fast recovery.

use fairhaul_cc::{AckEvent, Controller};
use fairhaul_experiment::SlowStart;
use fairhaul_units::{Ack, Time};

use super::{Sender, State};

impl<C: Controller> Sender<C> {
    /// What the controller is told of an acknowledgement that delivered something.
    pub(super) fn event(&mut self, ack: &Ack, delivered: u64, now: Time) -> AckEvent {
        let new_round = self.board.una() >= self.round_end;
        if new_round {
            self.round_end = self.board.next();
        }
        AckEvent {
            now,
            packets: delivered as f64,
            marked: 0.0,
            lost: 0.0,
            rtt: now.since(ack.echo),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.smallest(),
            one_way: self.profile.clock.reads(ack.arrived).since(ack.echo),
            in_flight: self.board.in_flight() as f64,
            new_round,
            recovering: self.state != State::Open,
            rate: None,
        }
    }

    /// New data was acknowledged outside fast recovery: the window may grow.
    pub(super) fn grow(&mut self, event: Option<AckEvent>, full: bool) {
        let Some(event) = event.filter(|_| full && self.window.cwnd < self.profile.max_window) else {
            return;
        };
        if self.window.in_slow_start() {
            self.slow_start(&event);
        } else {
            self.controller.on_ack(&mut self.window, &event);
        }
    }

    /// As the controller would, but above `max_ssthresh` by the K-th part of it, so that a round
    /// adds at most max_ssthresh / 2 [RFC 3742, 2].
    //
    // Differs from [RFC 3742, 2]: K = cwnd / (max_ssthresh / 2) is not rounded down. Rounded, a
    // window just below a multiple would grow by up to half as much again in a round.
    fn slow_start(&mut self, event: &AckEvent) {
        let before = self.window.cwnd;
        self.controller.on_slow_start(&mut self.window, event);
        if let SlowStart::Limited { max_ssthresh } = self.profile.slow_start
            && before > max_ssthresh
        {
            let k = before / (0.5 * max_ssthresh);
            self.window.cwnd = before + (self.window.cwnd - before) / k;
        }
    }
}
