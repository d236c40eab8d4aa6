//! Growth of the window, outside fast recovery.

use fairhaul_cc::{AckEvent, Controller, Pacing};
use fairhaul_experiment::SlowStart;
use fairhaul_units::{Ack, Time, real};

use super::{CaState, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// The event for the controller of an acknowledgement that delivered packets.
    #[inline(always)]
    pub(super) fn event(&mut self, ack: &Ack, delivered: u64, now: Time) -> AckEvent {
        let lost = self.board.lost() - std::mem::replace(&mut self.lost_told, self.board.lost());
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

    /// Whether slow start ends here, by a train of acknowledgements or the delay.
    fn ends_slow_start(&mut self, event: &AckEvent) -> bool {
        let Some(hystart) = &mut self.hystart else { return false };
        let over = hystart.is_over(event, self.window.cwnd, self.board.una(), self.board.next());
        if over {
            self.window.ssthresh = self.window.cwnd;
            self.hystart = None;
        }
        over
    }

    /// As the controller would, or by a part of that.
    fn slow_start(&mut self, event: &AckEvent) {
        let before = self.window.cwnd;
        self.controller.on_slow_start(&mut self.window, event);
        let divisor = self.divisor(before, event.packets);
        if divisor != 1.0 && self.window.cwnd > before {
            self.window.cwnd = before + (self.window.cwnd - before) / divisor;
        }
        if self.config.slow_start.is_full() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh.max(before));
        }
    }

    /// Limited: above `max_ssthresh` the K-th part, so that a round adds at most max_ssthresh / 2
    /// [RFC 3742, 2].
    //
    // Differs from [RFC 3742, 2]: K = cwnd / (max_ssthresh / 2) is not rounded down. Rounded, a
    // window just below a multiple would grow by up to half as much again in a round.
    fn divisor(&self, cwnd: f64, packets: f64) -> f64 {
        if let SlowStart::Limited { max_ssthresh } = self.config.slow_start
            && cwnd > max_ssthresh
        {
            return cwnd / (0.5 * max_ssthresh);
        }
        if self.config.slow_start.is_full() {
            return packets.min(2.0) / packets;
        }
        self.hystart_pp.as_ref().map_or(1.0, |hystart_pp| hystart_pp.divisor(packets, self.is_paced()))
    }

    fn is_paced(&self) -> bool {
        self.config.max_pacing_rate.is_some() || self.controller.pacing(&self.window) != Pacing::None
    }

    /// Ends the first slow start where the round-trip time says so; later ones know a threshold,
    /// and are standard [RFC 9406, 4.3].
    #[inline(never)]
    pub(super) fn watch_delay(&mut self, event: &AckEvent) {
        let Some(hystart_pp) = &mut self.hystart_pp else { return };
        let (una, next) = (self.board.una(), self.board.next());
        if self.window.in_slow_start() && !hystart_pp.is_over(event, una, next) {
            return;
        }
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        self.hystart_pp = None;
    }
}
