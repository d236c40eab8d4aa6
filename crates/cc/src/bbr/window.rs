//! The window: towards what the model allows, and in recovery at first what is in flight [BBR, LINUX].

use fairhaul_units::Time;

use super::model::{BbrModel, BbrState, LEAST_WINDOW};
use super::recovering::{Before, Recovering};
use crate::{AckEvent, Window};

impl BbrModel {
    /// Remembers the window for when a recovery or a probe is over.
    pub(super) fn save(&mut self, window: &Window) {
        let untouched = !self.recovering.now && self.state != BbrState::ProbeRtt;
        let prior_cwnd = self.recovering.prior_cwnd;
        self.recovering.prior_cwnd = if untouched { window.cwnd } else { prior_cwnd.max(window.cwnd) };
    }

    pub(super) fn set_window(&mut self, window: &mut Window, ack: &AckEvent) {
        let target = self.target();
        let recovering = &mut self.recovering;
        (recovering.in_flight, recovering.packets) = (ack.in_flight, ack.packets);
        recovering.now = ack.recovering;
        let timed_out = std::mem::take(&mut recovering.timed_out);
        if ack.recovering && !timed_out {
            window.cwnd = (window.cwnd - ack.lost).max(1.0);
        }
        recovering.conserves &= ack.recovering && !self.rounds.started;
        if recovering.conserves {
            window.cwnd = window.cwnd.max(ack.in_flight + ack.packets);
        } else {
            if self.filled {
                window.cwnd = (window.cwnd + ack.packets).min(target);
            } else if window.cwnd < target || self.delivered < self.first_window {
                window.cwnd += ack.packets;
            }
            window.cwnd = window.cwnd.max(LEAST_WINDOW);
        }
        if self.state == BbrState::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }

    /// A mark: in Linux the window is remembered as before a loss.
    pub(super) fn on_mark(&mut self, window: &mut Window) {
        if self.is_linux() {
            self.save(window);
        } else {
            window.ssthresh = window.cwnd;
        }
    }

    /// A loss begins a recovery.
    pub(super) fn on_loss(&mut self, window: &mut Window, now: Time) {
        if let Some(before) = self.unfinished(now) {
            self.recovering.prior_cwnd = before.prior_cwnd.max(before.cwnd);
            window.cwnd = before.cwnd;
            if !before.in_loss {
                (self.recovering.now, self.recovering.conserves) = (true, before.conserves);
                return;
            }
        } else {
            if !self.is_linux() {
                window.ssthresh = window.cwnd;
            }
            self.save(window);
        }
        let recovering = &mut self.recovering;
        (recovering.now, recovering.conserves) = (true, true);
        window.cwnd = (recovering.in_flight + recovering.packets.max(1.0)).min(window.cwnd);
        self.rounds.restart(self.delivered);
    }

    /// The recovery that the same acknowledgement has ended. In Linux the controller is asked after both, so to it the
    /// recovery goes on, and the window is not restored between the two. What follows a timeout is no recovery: the first
    /// round of one begins.
    fn unfinished(&mut self, now: Time) -> Option<Before> {
        let ended = self.recovering.ended.take().filter(|&(at, _)| self.is_linux() && at == now);
        ended.map(|(_, before)| before)
    }

    // Differs from [LINUX]: packets that a timeout finds lost count for the policer only with the next acknowledgement,
    // because the timeout is reported to the controller before they are counted.
    pub(super) fn on_timeout(&mut self, window: &mut Window, now: Time) {
        self.save(window);
        (self.recovering.now, self.recovering.in_loss) = (true, true);
        if self.is_linux() {
            // The first round of a recovery does not end with a timeout.
            self.recovering.timed_out = true;
            self.restart_plateau(now);
        } else {
            self.recovering.conserves = false;
            window.ssthresh = window.cwnd;
        }
        window.cwnd = 1.0;
    }

    /// A recovery, or what follows a timeout, is over: the window is what it was before.
    pub(super) fn on_recovered(&mut self, window: &mut Window, now: Time) {
        let recovering = &mut self.recovering;
        let Recovering { prior_cwnd, conserves, in_loss, .. } = *recovering;
        let before = Before { cwnd: window.cwnd, prior_cwnd, conserves, in_loss };
        recovering.ended = Some((now, before));
        (recovering.now, recovering.conserves, recovering.in_loss) = (false, false, false);
        if self.state == BbrState::ProbeRtt {
            return;
        }
        if !self.is_linux() {
            window.cwnd = prior_cwnd.max(window.cwnd.min(window.ssthresh));
        } else {
            let cwnd = window.cwnd.max(prior_cwnd);
            window.cwnd = if self.filled { cwnd.min(self.target()) } else { cwnd };
        }
    }
}
