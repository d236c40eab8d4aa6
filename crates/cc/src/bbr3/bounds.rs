//! The bounds of the packets in flight that follow from losses [BBRV3]: the long-term bound that probes find, and the
//! short-term bounds until the next probe.

use fairhaul_units::Time;

use super::{Bbr3Model, Bbr3State, LEAST_WINDOW};
use crate::{AckEvent, Congestion, RateSample, Window};

impl Bbr3Model {
    pub(super) fn with_headroom(&self) -> f64 {
        let left = (self.most * (1.0 - self.parameters.headroom)).min(self.most - 1.0);
        left.max(LEAST_WINDOW)
    }

    /// Packets were lost: whether a probe went too far.
    //
    // Differs from [BBRV3]: a loss is judged at the packet whose acknowledgement revealed it, which left three
    // packets after the lost one; losses that are revealed together are judged as one.
    pub(super) fn note_loss(&mut self, window: &Window, ack: &AckEvent, sample: &RateSample, limited: bool) {
        if ack.lost == 0.0 {
            return;
        }
        if self.losses == 0 {
            self.loss_round_end = sample.delivered_total;
            self.loss_round_over = false;
        }
        self.losses += 1;
        if self.probes && self.is_too_much(sample) {
            // Where the losses crossed the threshold.
            let (flight, lost) = (sample.in_flight_then - ack.lost, sample.lost_since - ack.lost);
            let crossed = flight
                + (self.parameters.loss_threshold * flight - lost) / (1.0 - self.parameters.loss_threshold);
            self.go_down_from(crossed, window, ack.now, limited);
        }
    }

    /// A mark was echoed, once in a round: congestion, as if more packets had been lost than is tolerated.
    //
    // Unclear in [BBRV3, 3.7]: the response to a mark, which must count as congestion. That to too many losses is
    // used, whose number an echo does not say: it ends the start and a probe, and lowers the short-term bounds between
    // probes.
    pub(super) fn note_mark(&mut self, window: &Window, event: &Congestion) {
        if self.losses == 0 {
            self.loss_round_end = self.delivered;
        }
        self.losses += 1;
        if self.state == Bbr3State::Startup {
            self.filled = true;
            self.most = self.path(1.0).max(self.latest_volume).max(LEAST_WINDOW).floor();
        } else if self.probes {
            self.go_down_from(event.in_flight, window, event.now, false);
        }
    }

    pub(super) fn is_too_much(&self, sample: &RateSample) -> bool {
        sample.lost_since > self.parameters.loss_threshold * sample.in_flight_then
    }

    pub(super) fn go_down_from(&mut self, flight: f64, window: &Window, now: Time, limited: bool) {
        (self.too_high, self.probes) = (true, false);
        // Unclear in [BBRV3]: whether a loss sets the bound if the application limited the probe. A case of the appendix
        // expects an appropriate bound then, the pseudocode leaves it alone. The pseudocode is followed.
        if !limited {
            self.most = flight.max(self.parameters.kept * self.target(window).ceil()).floor();
        }
        if self.state == Bbr3State::Up {
            self.begin_down(now);
        }
    }

    pub(super) fn target(&self, window: &Window) -> f64 {
        self.path(1.0).min(window.cwnd)
    }

    /// A round with losses while not probing lowers the second pair of bounds; one with marks may lower the second of them.
    pub(super) fn adapt_short_bounds(&mut self, window: &Window) {
        let is_marked = self.marks.any && self.is_proportional();
        if !(self.losses > 0 || is_marked) || self.is_probing() {
            return;
        }
        let flight = if self.short_flight.is_finite() { self.short_flight } else { window.cwnd };
        if self.losses > 0 {
            let rate = if self.short_rate.is_finite() { self.short_rate } else { self.rates.largest() };
            self.short_rate = self.latest_rate.max(self.parameters.kept * rate);
            self.short_flight = self.latest_volume.max(self.parameters.kept * flight);
        }
        if is_marked {
            self.short_flight = self.short_flight.min(self.flight_after_marks(flight));
        }
    }

    /// Raises the bound while it holds a probe: by twice as much in every round.
    //
    // Differs from [BBRV3]: there the window limits a sender that has used all of it at any time in the last round. Here the
    // sender says so: hosts of Linux if the window stopped them since the window of data under way began [LINUX,
    // tcp_cwnd_validate], others if it was the last thing to stop them.
    pub(super) fn raise(&mut self, window: &Window, ack: &AckEvent) {
        if !ack.window_limited || window.cwnd < self.most {
            return;
        }
        self.up_acked += ack.packets;
        let more = (self.up_acked / self.up_every).floor();
        self.up_acked -= more * self.up_every;
        self.most += more;
        if self.rounds.started {
            self.steepen(window);
        }
    }

    pub(super) fn steepen(&mut self, window: &Window) {
        self.up_every = (window.cwnd / f64::from(1u32 << self.up_rounds)).max(1.0);
        self.up_rounds = (self.up_rounds + 1).min(30);
    }

    pub(super) fn forget_short_bounds(&mut self) {
        (self.short_rate, self.short_flight) = (f64::INFINITY, f64::INFINITY);
    }
}
