//! Loss recovery: what starts fast recovery, how acknowledgements are processed in it and after a timeout, and how it
//! ends.

use fairhaul_cc::{AckEvent, Cause, Controller};
use fairhaul_experiment::Recovery;
use fairhaul_units::{Ack, Time};

use super::{CaState, Outcome, Sender};
use crate::tcp::time_stamps;

impl<C: Controller + Clone> Sender<C> {
    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    #[inline(always)]
    pub(super) fn take(&mut self, ack: &Ack, now: Time) -> u64 {
        let delivered = self.detector.take_ack(&mut self.board, ack, &self.rtt, now);
        if let Some(rtt) = self.detector.rtt_sample() {
            self.rtt.at_most(rtt, now);
        }
        delivered
    }

    /// Marks packets as lost that the acknowledgement shows to be.
    #[inline(always)]
    pub(super) fn find_losses(&mut self, ack: &Ack, now: Time) {
        if !self.holds_losses {
            let recovering = self.state != CaState::Open && ack.next < self.recover;
            self.detector.find_losses(&mut self.board, recovering, &self.rtt, now);
        }
    }

    #[inline(always)]
    pub(super) fn in_open(
        &mut self,
        event: &AckEvent,
        ece: bool,
        delivered: u64,
        advanced: u64,
        now: Time,
    ) -> Outcome {
        if self.detector.reveals_loss(&mut self.board, advanced) {
            return self.enter_recovery(delivered, advanced, now);
        }
        if self.in_cwr {
            self.continue_cwr(delivered, advanced > 0);
        }
        if advanced > 0 {
            self.rearm(now);
        }
        self.grow_in_open(event, ece, advanced);
        if delivered > 0 && self.delay_exit.takes_every_ack() {
            self.watch_delay(event);
        }
        if ece { self.on_echo(delivered, advanced > 0, now) } else { Outcome::Quiet }
    }

    /// An echo of a mark never lets the window grow, nor does a window that comes down.
    #[inline(always)]
    fn grow_in_open(&mut self, event: &AckEvent, ece: bool, advanced: u64) {
        if (advanced > 0 || self.detector.grows_beyond_gaps()) && !ece && !self.in_cwr {
            self.grow(event);
        }
    }

    /// In Linux the acknowledgement that ends a recovery, or shows that there was no need for it, lets the window grow
    /// like any other [LINUX, tcp_cong_control].
    pub(super) fn grow_after_recovery(&mut self, event: &AckEvent, ece: bool, advanced: u64) {
        if self.undoes_as_linux() && self.state == CaState::Open {
            self.grow_in_open(event, ece, advanced);
        }
    }

    /// An acknowledgement that a later one has overtaken: what it reports was delivered all the same [RFC 6675, 5]. Its
    /// time is no sample, and it ends nothing. The kernel takes it for one of long ago, by its time stamp [LINUX,
    /// tcp_disordered_ack_check].
    #[cold]
    pub(super) fn on_overtaken(&mut self, ack: &Ack, now: Time) -> Outcome {
        if !self.config.recovery.reports() || ack.blocks == 0 || self.is_old(ack) {
            return Outcome::Quiet;
        }
        let delivered = self.take(ack, now);
        if let Some(accurate) = &mut self.accurate {
            accurate.skip(); // the next one says what it has marked
        }
        self.find_losses(ack, now);
        if delivered == 0 {
            return Outcome::Quiet;
        }
        let mut event = self.event(ack, delivered, now);
        self.on_delivery(&mut event, ack, delivered);
        let mut outcome = Outcome::Quiet;
        if self.state == CaState::Open && self.detector.reveals_loss(&mut self.board, 0) {
            outcome = self.enter_recovery(delivered, 0, now);
        } else if self.state == CaState::Recovery {
            self.reduce(delivered, false);
        }
        self.arm_reorder_timer(now);
        self.window.cwnd = self.window.cwnd.min(self.config.max_window);
        outcome
    }

    fn is_old(&self, ack: &Ack) -> bool {
        self.undoes_as_linux() && time_stamps::is_old(ack.arrived, self.newest_ack)
    }

    #[cold]
    pub(super) fn enter_recovery(&mut self, delivered: u64, advanced: u64, now: Time) -> Outcome {
        let eased = self.in_cwr;
        self.finish_cwr();
        self.save_undo_state(now);
        let (heeded, cwnd) = (self.was_reduced_by_echo(), self.window.cwnd);
        if !heeded {
            self.on_congestion_event(Cause::Loss, now);
            self.pacer.restart(now);
            self.cwr = true;
        }
        self.delay_exit.on_reduction();
        self.detector.begin_recovery(&mut self.board);
        self.state = CaState::Recovery;
        self.recover = self.board.next();
        // In Linux the proportional reduction allows one packet by itself, and a window that the controller sets need not.
        self.urgent = !self.undoes_as_linux();
        // Differs from [RFC 6937, 3]: in the kernel a reduction that an echoed mark has begun continues
        // (tcp_enter_recovery).
        if !(eased && heeded) {
            self.prr.begin(self.board.outstanding(), cwnd);
        }
        self.reduce(delivered, advanced > 0);
        if advanced > 0 {
            self.rearm(now);
        }
        if heeded { Outcome::Quiet } else { Outcome::Reduced }
    }

    #[inline(never)]
    pub(super) fn in_recovery(
        &mut self,
        event: &AckEvent,
        ece: bool,
        delivered: u64,
        advanced: u64,
        now: Time,
    ) -> Outcome {
        self.reduce(delivered, advanced > 0);
        let done = self.board.una() >= self.recover || self.config.recovery == Recovery::Reno;
        if advanced > 0 && done {
            self.leave_recovery(now);
            let outcome = self.reduce_again(delivered, advanced, now);
            self.grow_after_recovery(event, ece, advanced);
            return outcome;
        }
        self.urgent |= self.detector.on_ack_in_recovery(&mut self.board, advanced);
        if self.detector.restarts_timer(advanced, now) {
            self.restart_timer(now);
        }
        Outcome::Quiet
    }

    fn leave_recovery(&mut self, now: Time) {
        self.finish_prr();
        self.state = CaState::Open;
        self.detector.end_recovery(&mut self.board);
        if let Recovery::NewReno { .. } = self.config.recovery {
            // No burst where little is in flight [RFC 6582, 3.2 step 3, option 1].
            let in_flight = self.board.in_flight().max(1) as f64;
            self.window.cwnd = self.window.ssthresh.min(in_flight + 1.0);
        }
        self.controller.on_recovered(&mut self.window, now);
        self.rearm(now);
    }

    /// Proportional: moves the window with what an acknowledgement delivers.
    pub(super) fn reduce(&mut self, delivered: u64, advanced: bool) {
        if self.is_held_by_first() {
            return;
        }
        let (in_flight, found_loss) = (self.board.in_flight(), self.detector.found_loss());
        let ssthresh = self.window.ssthresh;
        if let Some(more) = self.prr.delivered(delivered, in_flight, ssthresh, advanced, found_loss) {
            self.window.cwnd = (in_flight + more) as f64;
        }
    }

    /// Proportional rate reduction: a recovery that ends leaves the window at its threshold [RFC 6937, 3]. A controller
    /// that has set none, as `bbr` before its startup ends, keeps the window, as in the kernel (tcp_end_cwnd_reduction).
    pub(super) fn finish_prr(&mut self) {
        if self.reduces_in_proportion() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Whether a proportional reduction towards the threshold is under way.
    pub(super) fn reduces_in_proportion(&self) -> bool {
        let reduces = self.prr.is_used() && self.window.ssthresh.is_finite() && !self.is_held_by_first();
        reduces && (self.state == CaState::Recovery || self.in_cwr)
    }

    /// After a recovery has ended: what is lost beyond it may be another loss event.
    fn reduce_again(&mut self, delivered: u64, advanced: u64, now: Time) -> Outcome {
        let lost = self.detector.begins_next_recovery();
        if lost && self.enter_recovery(delivered, advanced, now) == Outcome::Reduced {
            Outcome::ReducedAgain
        } else {
            Outcome::Recovered
        }
    }

    /// A packet was lost that a tail loss probe replaced: that is congestion [RFC 8985, 7.4].
    #[cold]
    pub(super) fn on_repaired_loss(&mut self, outcome: Outcome, now: Time) -> Outcome {
        if self.state != CaState::Open {
            return outcome;
        }
        self.finish_cwr();
        self.on_congestion_event(Cause::Loss, now);
        self.cwr = true;
        if outcome == Outcome::Quiet { Outcome::Reduced } else { outcome }
    }

    #[inline(never)]
    pub(super) fn in_loss(&mut self, event: &AckEvent, delivered: u64, advanced: u64, now: Time) -> Outcome {
        self.ask_frto(advanced > 0);
        if advanced > 0 {
            self.rearm(now);
            // What jumps forward was received before the timeout: it is no sign of room.
            // Differs from [RFC 3168, 6.1.2]: after a timeout an echoed mark does not stop growth. The echo
            // continues until new data carry CWR, and until then the sender would be limited to one packet per
            // round.
            let most = if self.config.slow_start.is_full() { f64::INFINITY } else { 2.0 };
            self.grow_used(&AckEvent { packets: event.packets.min(most), ..*event });
            if self.board.una() >= self.recover {
                self.state = CaState::Open;
                self.controller.on_recovered(&mut self.window, now);
                return self.reduce_again(delivered, advanced, now);
            }
        } else if self.detector.restarts_timer(0, now) {
            self.restart_timer(now);
        }
        Outcome::Quiet
    }
}
