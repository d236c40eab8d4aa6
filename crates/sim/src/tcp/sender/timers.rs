//! The timer of the sender: the retransmission timer [RFC 6298], or, before it, that of a probe or of reordering
//! [RFC 8985].

use fairhaul_cc::Controller;
use fairhaul_experiment::Rto;
use fairhaul_units::{Ack, Time};

use super::frto::Frto;
use super::slow_start::DelayExit;
use super::{CaState, Outcome, Sender};
use crate::tcp::{TimerEvent, Timing};

/// How many timeouts of a request that is not answered are equally long in Linux before they double
/// (tcp_syn_linear_timeouts).
const LINEAR_TIMEOUTS: u8 = 4;

impl<C: Controller + Clone> Sender<C> {
    #[inline(always)]
    fn timing(&self, now: Time) -> Timing {
        Timing::of(&self.rtt, now)
    }

    /// The timer has run out.
    pub fn on_timer(&mut self, now: Time) -> Outcome {
        self.ask_fq_again();
        let (recovering, timing) = (self.state != CaState::Open, self.timing(now));
        match self.detector.on_timer(&mut self.board, recovering, timing) {
            TimerEvent::Timeout if self.only_asks() => self.ask_again(now),
            TimerEvent::Timeout => self.on_timeout(now),
            TimerEvent::ProbeDue => self.ask(now),
            TimerEvent::ReorderingOver => self.on_reordering_over(now),
        }
    }

    /// The retransmission timer has run out [RFC 6298, 5.4 to 5.6].
    fn on_timeout(&mut self, now: Time) -> Outcome {
        let timeout = self.rtt.timeout();
        if let CaState::Opening { timeouts, .. } = self.state {
            self.request_timed_out(timeouts.saturating_add(1));
            return Outcome::TimedOut(timeout);
        }
        let is_backed_off = self.rtt.is_backed_off();
        self.rtt.back_off();
        self.finish_prr();
        let (in_recovery, linux) = (self.state == CaState::Recovery, self.undoes_as_linux());
        self.frto = if linux && (is_backed_off || !in_recovery) { Frto::Asks } else { Frto::Off };
        if !(linux && self.in_cwr) {
            self.save_undo_state(now);
        }
        self.undo_state.on_timeout(self.board.next());
        if !is_backed_off {
            self.on_timeout_event(now); // later the threshold stays [RFC 5681, 3.1]
        }
        self.start_over(now);
        self.restart_timer(now);
        Outcome::TimedOut(timeout)
    }

    /// The request that opens the connection, or its answer, is lost; `timeouts`: how often that has been so.
    #[cold]
    fn request_timed_out(&mut self, timeouts: u8) {
        self.state = CaState::Opening { asked: false, timeouts };
        let linux = self.config.rto == Rto::Linux;
        if !linux || timeouts > LINEAR_TIMEOUTS {
            self.rtt.back_off();
        }
        // A lost request leaves one packet to begin with [RFC 5681, 3.1], in the kernel only a second one
        // does [LINUX, tcp_init_transfer].
        if timeouts > 1 || !linux {
            self.window.cwnd = 1.0;
        }
        if timeouts > 1 {
            self.ask_without_feedback();
        }
    }

    /// What is in flight is lost as far as it is old enough, and is retransmitted in slow start.
    pub(super) fn start_over(&mut self, now: Time) {
        self.in_cwr = false;
        self.first = None;
        self.delay_exit = DelayExit::after_timeout(self.config.slow_start, now, self.board.next());
        self.detector.on_timeout(&mut self.board, now);
        // The first packet may leave, whatever is still in flight.
        self.window.cwnd = (self.board.in_flight() + 1) as f64;
        self.keep_least_window();
        self.pacer.restart(now);
        self.cwr = true;
        self.state = CaState::Loss;
        self.recover = self.board.next();
    }

    /// The reordering window of overtaken packets has ended, and the retransmission timer runs [LINUX,
    /// tcp_rack_reo_timeout].
    //
    // Differs from [LINUX]: after a timeout, packets that are found lost again are retransmitted, but they
    // begin no fast recovery, because the window is small already.
    fn on_reordering_over(&mut self, now: Time) -> Outcome {
        self.restart_timer(now);
        if self.state == CaState::Open && self.detector.reveals_loss(&mut self.board, 0) {
            return self.enter_recovery(1, 0, now);
        }
        Outcome::Quiet
    }

    /// After an acknowledgement: where packets were overtaken, the timer waits for the end of their reordering window.
    #[inline(always)]
    pub(super) fn arm_reorder_timer(&mut self, now: Time) {
        if let Some(timer) = self.detector.arm_reorder_timer(&self.board, self.rtt.timeout(), now) {
            self.timer = timer;
        }
    }

    /// With loss detection by time: what an acknowledgement means for its timer, the probe, and a silence that it ends.
    #[cold]
    pub(super) fn after_timed(
        &mut self,
        ack: &Ack,
        delivered: u64,
        advanced: u64,
        mut outcome: Outcome,
        now: Time,
    ) -> Outcome {
        self.arm_reorder_timer(now);
        if self.detector.probe_repaired_loss(&self.board, ack, delivered + advanced) {
            outcome = self.on_repaired_loss(outcome, now);
        }
        if delivered > 0 && !self.is_done() { self.end_silence(outcome, now) } else { outcome }
    }

    /// Restarts the timer while something is outstanding, stops it otherwise [RFC 6298, 5.2, 5.3].
    pub(super) fn rearm(&mut self, now: Time) {
        if self.board.outstanding() > 0 { self.restart_timer(now) } else { self.timer = Time::NEVER }
    }

    /// The retransmission timer is armed, and expires after a whole timeout; that of a probe perhaps before.
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.arm_timer(false, now);
    }

    /// The same; `sent_new`: because a packet has left for the first time behind the timer of a probe.
    pub(super) fn arm_timer(&mut self, sent_new: bool, now: Time) {
        let (open, timing) = (self.state == CaState::Open, self.timing(now));
        self.timer = self.detector.arm_timer(self.rtt.timeout(), &self.board, open, sent_new, timing);
    }
}
