//! The states of BBR, version 3: start-up, drain, and the cycle of probing for bandwidth [BBRV3].

use fairhaul_units::{Span, Time};

use super::{Acks, Bbr3Model, Bbr3State, FULL_LOSSES, MOST_ROUNDS};
use crate::bbr_shared::Plateau;
use crate::draw::draw;
use crate::{AckEvent, RateSample, Window};

impl Bbr3Model {
    /// The start ends on a full path, or with much loss; what it queued is drained.
    //
    // Differs from [BBRV3]: as in Linux, acknowledgements that reveal a loss are counted, not ranges of lost
    // packets.
    pub(super) fn leave_start(&mut self, ack: &AckEvent, sample: &RateSample) {
        if self.state == Bbr3State::Startup {
            let long = ack.recovering && self.rounds.count > self.recovered_from;
            let lossy = self.losses >= FULL_LOSSES && self.is_too_much(sample);
            if self.loss_round_over && long && lossy {
                self.filled = true;
                self.most = self.path(1.0).max(self.latest_volume).floor();
            }
            if self.filled {
                (self.state, self.drain_began) = (Bbr3State::Drain, self.rounds.count);
            }
        }
        let slow = self.rounds.count > self.drain_began + 3;
        if self.state == Bbr3State::Drain && (ack.in_flight <= self.budget(self.path(1.0)) || slow) {
            self.begin_down(ack.now);
        }
    }

    /// One step of the cycle of probing.
    pub(super) fn go_round(&mut self, window: &Window, ack: &AckEvent, sample: &RateSample, limited: bool) {
        if self.follow_probe(window, ack, sample, limited) || !self.is_cycling() {
            return;
        }
        match self.state {
            Bbr3State::Down | Bbr3State::Cruise if self.is_time_to_probe(window, ack.now) => {
                self.begin_refill()
            }
            Bbr3State::Down if self.is_drained(ack) => self.state = Bbr3State::Cruise,
            Bbr3State::Refill if self.rounds.started => {
                self.probes = true;
                self.begin_up(window, sample);
            }
            Bbr3State::Up => self.end_up(window, ack, sample),
            _ => {}
        }
    }

    /// What the acknowledgements of a probe say: whether that has begun another state.
    pub(super) fn follow_probe(
        &mut self,
        window: &Window,
        ack: &AckEvent,
        sample: &RateSample,
        limited: bool,
    ) -> bool {
        if self.rounds.started && self.acks == Acks::Starting {
            self.acks = Acks::Feedback;
        }
        if self.rounds.started && self.acks == Acks::Stopping {
            (self.probes, self.acks) = (false, Acks::Other);
            if self.is_cycling() && !limited {
                self.cycle += 1;
            }
            if self.is_cycling() && self.cautious && !self.too_high {
                self.begin_refill();
                return true;
            }
        }
        if !self.is_too_much(sample) && !self.marks.many && self.most.is_finite() {
            self.most = self.most.max(sample.in_flight_then);
            if self.state == Bbr3State::Up {
                self.raise(window, ack);
            }
        }
        false
    }

    pub(super) fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let rounds = self.target(window).min(MOST_ROUNDS);
        now > self.cycle_began + self.wait || self.rounds_waited as f64 >= rounds
    }

    /// Whether the queue of a probe has drained. Bounds that losses have set on the rate since do not count.
    fn is_drained(&self, ack: &AckEvent) -> bool {
        let path = self.rates.largest() * self.min_rtt.as_secs();
        ack.in_flight <= self.with_headroom().min(self.budget(path))
    }

    /// Ends a probe where the path is full, or where the last one had to stop.
    //
    // Unclear in [BBRV3]: whether the packets in flight are counted before or after an acknowledgement is
    // processed. Before it when they are compared with the upper bound, as in Linux, and after it when the
    // queue has to be drained.
    pub(super) fn end_up(&mut self, window: &Window, ack: &AckEvent, sample: &RateSample) {
        self.cautious = self.too_high && ack.flight_before() >= self.most;
        let bounded = ack.window_limited && window.cwnd >= self.most;
        if !self.cautious && bounded {
            // The bound limits the rate, so that it cannot grow.
            (self.plateau, self.full_now) = (Plateau::from(sample.rate()), false);
        } else if self.cautious || self.full_now {
            self.too_high = false;
            self.begin_down(ack.now);
        }
    }

    pub(super) fn begin_down(&mut self, now: Time) {
        (self.losses, self.latest_rate, self.latest_volume) = (0, 0.0, 0.0);
        self.marks.any = false;
        self.up_every = f64::INFINITY;
        // Twice a number in [0, 1): its whole part is the one draw, the rest of it the other.
        let drawn = 2.0 * draw(now);
        self.wait = self.parameters.probe_interval
            + Span::from_secs(drawn.fract() * self.parameters.probe_interval.as_secs() / 2.0);
        self.rounds_waited = drawn as u64;
        (self.cycle_began, self.acks, self.state) = (now, Acks::Stopping, Bbr3State::Down);
        self.rounds.restart(self.delivered);
    }

    pub(super) fn begin_refill(&mut self) {
        self.forget_short_bounds();
        (self.up_rounds, self.up_acked, self.cautious) = (0, 0.0, false);
        (self.acks, self.state) = (Acks::Refilling, Bbr3State::Refill);
        self.rounds.restart(self.delivered);
    }

    pub(super) fn begin_up(&mut self, window: &Window, sample: &RateSample) {
        (self.acks, self.state) = (Acks::Starting, Bbr3State::Up);
        self.rounds.restart(self.delivered);
        (self.plateau, self.full_now) = (Plateau::from(sample.rate()), false);
        self.steepen(window);
    }
}
