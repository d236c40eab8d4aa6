//! Growth of the window outside fast recovery: in slow start and in congestion avoidance.

use fairhaul_cc::{AckEvent, Controller};
use fairhaul_units::{Ack, Time, real};

use super::{CaState, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// The event for the controller of an acknowledgement that delivered packets.
    #[inline(always)]
    pub(super) fn event(&mut self, ack: &Ack, delivered: u64, now: Time) -> AckEvent {
        let lost = self.board.lost() - std::mem::replace(&mut self.lost_reported, self.board.lost());
        let rates = self.rates.as_mut();
        let rate = rates.and_then(|rates| rates.sample(ack.echo, delivered, self.board.lost(), now));
        // What was outstanding when the round began is acknowledged, and something that left since is
        // [RFC 8257, 3.3: ACK > WindowEnd; LINUX, `after` in Vegas, Illinois and HyStart]. Without the
        // second part a round would lack the packet that the first acknowledgement of it released.
        let new_round = self.board.una() > self.round_end;
        if new_round {
            self.round_end = self.board.next();
        }
        AckEvent {
            now,
            packets: real(delivered),
            marked: if ack.ece && self.exact_echo() { real(delivered) } else { 0.0 },
            lost: real(lost),
            rtt: self.detector.rtt_sample().unwrap_or(now.since(ack.echo)),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.smallest(),
            one_way: self.config.clock.reads(ack.arrived).since(ack.echo),
            in_flight: real(self.board.in_flight()),
            new_round,
            recovering: self.state != CaState::Open,
            rate,
        }
    }

    /// New data was acknowledged outside fast recovery: the window may grow.
    pub(super) fn grow(&mut self, event: Option<&AckEvent>, full: bool) {
        let may_grow = self.window.cwnd < self.config.max_window && (full || self.is_half_used());
        let Some(event) = event.filter(|_| may_grow) else { return };
        if self.window.in_slow_start() && !self.ends_slow_start(event) {
            self.slow_start(event);
        } else {
            self.avoid(event);
        }
    }
}
