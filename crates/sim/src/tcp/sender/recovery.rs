//! Loss and recovery: what reveals a loss, and how each kind of recovery goes on.

use fairhaul_cc::{AckEvent, Cause, Controller};
use fairhaul_experiment::Recovery;
use fairhaul_units::{Ack, Time};

use super::{CaState, Outcome, Sender};
use crate::tcp::{DUP_THRESHOLD, Prr};

impl<C: Controller + Clone> Sender<C> {
    pub(super) fn in_open(
        &mut self,
        event: Option<&AckEvent>,
        ece: bool,
        delivered: u64,
        advanced: u64,
        full: bool,
        now: Time,
    ) -> Outcome {
        if self.is_loss(advanced) {
            return self.enter_recovery(delivered, advanced, now);
        }
        if self.in_cwr {
            self.continue_cwr(delivered, advanced > 0);
        }
        if advanced > 0 {
            self.rearm(now);
            // An echo of a mark never lets the window grow, nor does a window that comes down.
            if !ece && !self.in_cwr {
                self.grow(event, full);
            }
        }
        if let Some(event) = event
            && self.hystart_pp.is_some()
        {
            self.watch_delay(event);
        }
        if ece { self.on_echo(delivered, advanced > 0, now) } else { Outcome::Quiet }
    }

    /// An acknowledgement that a later one has overtaken: what it reports was delivered all the same
    /// [RFC 6675, 5; LINUX, old_ack in tcp_ack]. Its time is no sample, and it ends nothing.
    //
    // Differs from [LINUX]: if such an acknowledgement reveals a loss, proportional rate reduction counts the
    // packets that it delivers; in a recovery that has already begun it does not, as in Linux.
    #[cold]
    pub(super) fn on_overtaken(&mut self, ack: &Ack, now: Time) -> Outcome {
        if !self.config.recovery.reports() || ack.blocks == 0 {
            return Outcome::Quiet;
        }
        let delivered =
            if self.rack_tlp.is_some() { self.take_ack_by_rack(ack, now) } else { self.board.take(ack) };
        if delivered == 0 {
            return Outcome::Quiet;
        }
        let event = self.event(ack, delivered, now);
        self.controller.on_delivery(&mut self.window, &event);
        let mut outcome = Outcome::Quiet;
        if self.state == CaState::Open && self.is_loss(0) {
            outcome = self.enter_recovery(delivered, 0, now);
        } else if self.state == CaState::Recovery && self.rack_tlp.is_none() {
            outcome = self.in_recovery(delivered, 0, now);
        }
        self.arm_reorder_timer(now);
        self.window.cwnd = self.window.cwnd.min(self.config.max_window);
        outcome
    }

    /// Whether this acknowledgement, which advanced by that many packets, reveals a loss.
    fn is_loss(&mut self, advanced: u64) -> bool {
        if self.config.recovery.reports() {
            return self.rack_tlp.as_ref().map_or(self.board.has_loss(), |rack_tlp| rack_tlp.rack.has_loss());
        }
        if advanced > 0 || self.board.outstanding() == 0 {
            self.dup_acks = 0;
            self.board.set_left(0);
            return false;
        }
        self.dup_acks += 1;
        // Limited transmit: each of the first two lets one more packet go [RFC 3042].
        self.board.set_left(self.dup_acks.min(DUP_THRESHOLD));
        let fast = self.dup_acks == DUP_THRESHOLD && self.board.una() >= self.no_fast_below;
        if !fast && self.dup_acks >= DUP_THRESHOLD {
            self.board.set_left(DUP_THRESHOLD - 1);
        }
        fast
    }

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
        self.hystart_pp = None;
        self.board.begin_recovery();
        self.state = CaState::Recovery;
        self.recover = self.board.next();
        self.partial_acks = 0;
        self.urgent = true;
        match self.config.recovery {
            Recovery::Sack => {}
            Recovery::SackPrr => {
                self.prr = Prr::new(self.board.outstanding());
                self.reduce(delivered, advanced > 0);
            }
            Recovery::Rack => {
                self.cancel_probe();
                // Differs from [RFC 6937, 3]: RecoverFS is the window before the reduction, not the data
                // outstanding; and a reduction that an echoed mark has begun continues (tcp_enter_recovery).
                if !(eased && heeded) {
                    self.prr = Prr::new(cwnd as u64);
                }
                self.reduce(delivered, advanced > 0);
            }
            Recovery::Reno => self.board.lose_below(self.board.una() + 1),
            Recovery::NewReno { .. } => {
                self.no_fast_below = self.recover;
                self.board.lose_below(self.board.una() + 1);
            }
        }
        if heeded { Outcome::Quiet } else { Outcome::Reduced }
    }

    pub(super) fn in_recovery(&mut self, delivered: u64, advanced: u64, now: Time) -> Outcome {
        self.reduce(delivered, advanced > 0);
        if advanced == 0 {
            if !self.config.recovery.reports() {
                self.board.set_left(self.board.left() + 1);
            }
            return Outcome::Quiet;
        }
        let done = self.board.una() >= self.recover;
        if done || self.config.recovery == Recovery::Reno {
            self.leave_recovery(now);
            return self.reduce_again(delivered, advanced, now);
        }
        if let Recovery::NewReno { .. } = self.config.recovery {
            self.partial_acks += 1;
            // All that the partial acknowledgement covers but the retransmission had left before.
            self.board.set_left(self.board.left().saturating_sub(advanced - 1));
            self.board.lose_below(self.board.una() + 1);
            self.urgent = true;
        }
        if !self.is_impatient() {
            self.restart_timer(now);
        }
        Outcome::Quiet
    }

    /// Whether the timer runs on since the first partial acknowledgement of this recovery
    /// [RFC 6582, 4].
    pub(super) fn is_impatient(&self) -> bool {
        let impatient = self.config.recovery == Recovery::NewReno { impatient: true };
        impatient && self.state == CaState::Recovery && self.partial_acks > 1
    }

    fn leave_recovery(&mut self, now: Time) {
        self.finish_prr();
        self.state = CaState::Open;
        self.dup_acks = 0;
        self.board.set_left(0);
        if let Recovery::NewReno { .. } = self.config.recovery {
            // No burst where little is in flight [RFC 6582, 3.2 step 3, option 1].
            let in_flight = self.board.in_flight().max(1) as f64;
            self.window.cwnd = self.window.ssthresh.min(in_flight + 1.0);
        }
        if let Some(rack_tlp) = &mut self.rack_tlp {
            rack_tlp.rack.recovered();
        }
        self.controller.on_recovered(&mut self.window, now);
        self.rearm(now);
    }

    /// Proportional: moves the window with what an acknowledgement delivers.
    pub(super) fn reduce(&mut self, delivered: u64, advanced: bool) {
        if !self.uses_prr() {
            return;
        }
        let (in_flight, ssthresh) = (self.board.in_flight(), self.window.ssthresh);
        let more = match &self.rack_tlp {
            None => self.prr.delivered(delivered, in_flight, ssthresh, advanced),
            Some(_) if delivered == 0 => return,
            Some(rack_tlp) => {
                let fine = advanced && !rack_tlp.found;
                self.prr.delivered_in_kernel(delivered, in_flight, ssthresh, fine)
            }
        };
        self.window.cwnd = (in_flight + more) as f64;
    }

    /// Whether recovery moves the window. In the kernel a controller that models the path does so itself.
    pub(super) fn uses_prr(&self) -> bool {
        self.config.recovery.uses_prr() && (self.rack_tlp.is_none() || self.rates.is_none())
    }

    /// Proportional rate reduction: a recovery that ends leaves the window at its threshold [RFC 6937, 3].
    pub(super) fn finish_prr(&mut self) {
        if self.uses_prr() && (self.state == CaState::Recovery || self.in_cwr) {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// After a recovery has ended: in the kernel what is known to be lost beyond it, sent again or not, begins the
    /// next with the same acknowledgement, before anything leaves for the window between the two [LINUX,
    /// tcp_fastretrans_alert].
    fn reduce_again(&mut self, delivered: u64, advanced: u64, now: Time) -> Outcome {
        let lost = self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.rack.has_loss());
        if lost && self.enter_recovery(delivered, advanced, now) == Outcome::Reduced {
            Outcome::ReducedAgain
        } else {
            Outcome::Recovered
        }
    }

    pub(super) fn in_loss(
        &mut self,
        event: Option<&AckEvent>,
        delivered: u64,
        advanced: u64,
        now: Time,
    ) -> Outcome {
        if advanced > 0 {
            self.rearm(now);
            // What jumps forward was received before the timeout: it is no sign of room.
            // Differs from [RFC 3168, 6.1.2]: after a timeout an echoed mark does not stop growth. The echo
            // continues until new data carry CWR, and until then the sender would be limited to one packet per
            // round.
            let most = if self.config.slow_start.is_full() { f64::INFINITY } else { 2.0 };
            let event = event.map(|event| AckEvent { packets: event.packets.min(most), ..*event });
            self.grow(event.as_ref(), true);
            if self.board.una() >= self.recover {
                self.state = CaState::Open;
                self.controller.on_recovered(&mut self.window, now);
                return self.reduce_again(delivered, advanced, now);
            }
        }
        Outcome::Quiet
    }
}
