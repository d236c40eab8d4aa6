//! Loss and recovery: what reveals a loss, and how each kind of recovery goes on.

use fairhaul_cc::{AckEvent, Cause, Controller};
use fairhaul_experiment::Recovery;
use fairhaul_units::{Ack, Time};

use super::{Outcome, Sender, State};
use crate::tcp::{DUP_THRESHOLD, Proportion};

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
        if self.easing {
            self.ease(delivered, advanced > 0);
        }
        if advanced > 0 {
            self.rearm(now);
            // An echo of a mark never lets the window grow, nor does a window that comes down.
            if !ece && !self.easing {
                self.grow(event, full);
            }
        }
        if let Some(event) = event
            && self.hystart.is_some()
        {
            self.watch_delay(event);
        }
        if ece { self.heed_echo(delivered, advanced > 0, now) } else { Outcome::Quiet }
    }

    /// An acknowledgement that a later one has overtaken: what it reports was delivered all the same
    /// [RFC 6675, 5; LINUX, old_ack in tcp_ack]. Its time is no sample, and it ends nothing.
    //
    // Differs from [LINUX]: if such an acknowledgement reveals a loss, proportional rate reduction counts the
    // packets that it delivers; in a recovery that has already begun it does not, as in Linux.
    #[cold]
    pub(super) fn on_overtaken(&mut self, ack: &Ack, now: Time) -> Outcome {
        if !self.profile.recovery.reports() || ack.blocks == 0 {
            return Outcome::Quiet;
        }
        let delivered = if self.timed.is_some() { self.take_timed(ack, now) } else { self.board.take(ack) };
        if delivered == 0 {
            return Outcome::Quiet;
        }
        let event = self.event(ack, delivered, now);
        self.controller.on_delivery(&mut self.window, &event);
        let mut outcome = Outcome::Quiet;
        if self.state == State::Open && self.is_loss(0) {
            outcome = self.enter_recovery(delivered, 0, now);
        } else if self.state == State::Recovery && self.timed.is_none() {
            outcome = self.in_recovery(delivered, 0, now);
        }
        self.await_settled(now);
        self.window.cwnd = self.window.cwnd.min(self.profile.max_window);
        outcome
    }

    /// Whether this acknowledgement, which advanced by that many packets, reveals a loss.
    fn is_loss(&mut self, advanced: u64) -> bool {
        if self.profile.recovery.reports() {
            return self.timed.as_ref().map_or(self.board.has_loss(), |timed| timed.rack.has_loss());
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
        let eased = self.easing;
        self.end_easing();
        self.remember(now);
        let (heeded, cwnd) = (self.is_heeded(), self.window.cwnd);
        if !heeded {
            self.tell(Cause::Loss, now);
            self.pacer.restart(now);
            self.cwr = true;
        }
        self.hystart = None;
        self.board.begin_recovery();
        self.state = State::Recovery;
        self.recover = self.board.next();
        self.partial_acks = 0;
        self.urgent = true;
        match self.profile.recovery {
            Recovery::Sack => {}
            Recovery::SackProportional => {
                self.proportion = Proportion::new(self.board.outstanding());
                self.reduce(delivered, advanced > 0);
            }
            Recovery::Rack => {
                self.forget_probe();
                // Differs from [RFC 6937, 3]: RecoverFS is the window before the reduction, not the data
                // outstanding; and a reduction that an echoed mark has begun continues (tcp_enter_recovery).
                if !(eased && heeded) {
                    self.proportion = Proportion::new(cwnd as u64);
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
            if !self.profile.recovery.reports() {
                self.board.set_left(self.board.left() + 1);
            }
            return Outcome::Quiet;
        }
        let done = self.board.una() >= self.recover;
        if done || self.profile.recovery == Recovery::Reno {
            self.leave_recovery(now);
            return self.reduce_again(delivered, advanced, now);
        }
        if let Recovery::NewReno { .. } = self.profile.recovery {
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
        let impatient = self.profile.recovery == Recovery::NewReno { impatient: true };
        impatient && self.state == State::Recovery && self.partial_acks > 1
    }

    fn leave_recovery(&mut self, now: Time) {
        self.settle();
        self.state = State::Open;
        self.dup_acks = 0;
        self.board.set_left(0);
        if let Recovery::NewReno { .. } = self.profile.recovery {
            // No burst where little is in flight [RFC 6582, 3.2 step 3, option 1].
            let in_flight = self.board.in_flight().max(1) as f64;
            self.window.cwnd = self.window.ssthresh.min(in_flight + 1.0);
        }
        if let Some(timed) = &mut self.timed {
            timed.rack.recovered();
        }
        self.controller.on_recovered(&mut self.window, now);
        self.rearm(now);
    }

    /// Proportional: moves the window with what an acknowledgement delivers.
    pub(super) fn reduce(&mut self, delivered: u64, advanced: bool) {
        if !self.is_proportional() {
            return;
        }
        let (in_flight, ssthresh) = (self.board.in_flight(), self.window.ssthresh);
        let more = match &self.timed {
            None => self.proportion.delivered(delivered, in_flight, ssthresh, advanced),
            Some(_) if delivered == 0 => return,
            Some(timed) => {
                let fine = advanced && !timed.found;
                self.proportion.delivered_in_kernel(delivered, in_flight, ssthresh, fine)
            }
        };
        self.window.cwnd = (in_flight + more) as f64;
    }

    /// Whether recovery moves the window. In the kernel a controller that models the path does so itself.
    pub(super) fn is_proportional(&self) -> bool {
        self.profile.recovery.is_proportional() && (self.timed.is_none() || self.rates.is_none())
    }

    /// Proportional: a recovery that ends leaves the window at its threshold [RFC 6937, 3].
    pub(super) fn settle(&mut self) {
        if self.is_proportional() && (self.state == State::Recovery || self.easing) {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// After a recovery has ended: in the kernel what is known to be lost beyond it, sent again or not, begins the
    /// next with the same acknowledgement, before anything leaves for the window between the two [LINUX,
    /// tcp_fastretrans_alert].
    fn reduce_again(&mut self, delivered: u64, advanced: u64, now: Time) -> Outcome {
        let lost = self.timed.as_ref().is_some_and(|timed| timed.rack.has_loss());
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
            let most = if self.profile.slow_start.is_full() { f64::INFINITY } else { 2.0 };
            let event = event.map(|event| AckEvent { packets: event.packets.min(most), ..*event });
            self.grow(event.as_ref(), true);
            if self.board.una() >= self.recover {
                self.state = State::Open;
                self.controller.on_recovered(&mut self.window, now);
                return self.reduce_again(delivered, advanced, now);
            }
        }
        Outcome::Quiet
    }
}
