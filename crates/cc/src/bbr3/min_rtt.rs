//! The smallest round-trip time, and the state ProbeRTT that measures it [BBRV3].

use super::{Acks, Bbr3Model, Bbr3State, LEAST_WINDOW};
use crate::bbr_shared::after_idle;
use crate::{AckEvent, RateSample, Window};

impl Bbr3Model {
    /// Keeps the smallest round-trip time, and probes for it when the last is old.
    pub(super) fn watch_round_trip(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        let old = if self.parameters.single_filter { self.take_in_one(ack) } else { self.take_in_two(ack) };
        if old && self.state != Bbr3State::ProbeRtt && !after_idle(sample) {
            self.state = Bbr3State::ProbeRtt;
            self.save(window);
            self.probe_ends = None;
            self.acks = Acks::Stopping;
            self.rounds.restart(self.delivered);
        }
        if self.state == Bbr3State::ProbeRtt {
            self.probe_round_trip(window, ack, sample);
        }
    }

    /// Takes a round trip; whether the last probe is old.
    fn take_in_two(&mut self, ack: &AckEvent) -> bool {
        let old = ack.now > self.recent_rtt_at + self.parameters.probe_rtt_interval;
        if ack.rtt < self.recent_rtt || old {
            (self.recent_rtt, self.recent_rtt_at) = (ack.rtt, ack.now);
        }
        if self.recent_rtt < self.min_rtt || ack.now > self.min_rtt_at + self.parameters.min_rtt_window {
            (self.min_rtt, self.min_rtt_at) = (self.recent_rtt, self.recent_rtt_at);
        }
        old
    }

    /// The same with the one filter of version 1. The window of the probe follows from what the smallest round trip was
    /// before that grew old: what it is replaced by may contain a queue [BBRV3, issue 109].
    fn take_in_one(&mut self, ack: &AckEvent) -> bool {
        let old = ack.now > self.min_rtt_at + self.parameters.min_rtt_window;
        if old && self.state != Bbr3State::ProbeRtt {
            self.kept_probe_window = Some(self.path(0.5).max(LEAST_WINDOW));
        }
        if ack.rtt < self.min_rtt || old {
            (self.min_rtt, self.min_rtt_at) = (ack.rtt, ack.now);
        }
        old
    }

    pub(super) fn probe_round_trip(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        self.probed_until = sample.delivered_total + ack.in_flight;
        let Some(ends) = self.probe_ends else {
            if ack.in_flight <= self.probe_window() {
                self.probe_ends = Some(ack.now + self.parameters.probe_rtt);
                self.probe_round_done = false;
                self.rounds.restart(self.delivered);
            }
            return;
        };
        self.probe_round_done |= self.rounds.started;
        if self.probe_round_done && ack.now > ends {
            self.recent_rtt_at = ack.now;
            if self.parameters.single_filter {
                self.min_rtt_at = ack.now;
            }
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.forget_short_bounds();
            self.state = Bbr3State::Startup;
            if self.filled {
                self.begin_down(ack.now);
                self.state = Bbr3State::Cruise;
            }
        }
    }

    pub(super) fn probe_window(&self) -> f64 {
        self.kept_probe_window.unwrap_or_else(|| self.path(0.5).max(LEAST_WINDOW))
    }

    /// Remembers the window for when a recovery or a probe is over.
    pub(super) fn save(&mut self, window: &Window) {
        let untouched = !self.recovering && self.state != Bbr3State::ProbeRtt;
        self.prior_cwnd = if untouched { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }
}
