//! The tail loss probe [RFC 8985, 7]: where nothing is acknowledged for two round trips a packet leaves,
//! whose acknowledgement shows what is missing before the retransmission timer would.

use fairhaul_cc::{Cause, Controller};
use fairhaul_units::{Ack, Time};

use super::timed::{Alarm, LATER};
use super::{Outcome, Poll, Sender, State};

/// A probe that is on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// The first packet that had not been sent when it had left.
    end: u64,
    /// Whether it was sent before.
    again: bool,
}

impl Probe {
    /// Whether it was needless, where something arrived twice and all below `una` is acknowledged.
    pub(super) fn is_answered_by(&self, una: u64) -> bool {
        self.again && una >= self.end
    }
}

impl<C: Controller + Clone> Sender<C> {
    /// The retransmission timer is to run out at `timeout_at`; a probe leaves then at the latest.
    #[cold]
    pub(super) fn aim(&mut self, timeout_at: Time, now: Time) {
        let srtt = self.rtt.smoothed();
        let calm = self.state == State::Open && !srtt.is_zero() && !self.board.has_reports();
        let Some(timed) = &mut self.timed else { return };
        (timed.timeout_at, timed.alarm, self.timer) = (timeout_at, Alarm::Timeout, timeout_at);
        if !calm || timed.probe.is_some() || timed.probing || self.board.outstanding() == 0 {
            return;
        }
        // Of a single packet the acknowledgement may be held [RFC 8985, 7.2].
        let later = if self.board.outstanding() == 1 { self.profile.min_rto } else { LATER };
        // Where the timeout comes first, the probe takes its place, and the timeout follows a whole
        // timeout after the probe [RFC 8985, 7.2; LINUX, tcp_schedule_loss_probe].
        //
        // Differs from [LINUX]: the timeout counts from when the timer was last restarted [RFC 6298, 5.3].
        // The kernel, once something new has left, counts it from when the first packet left.
        (timed.alarm, self.timer) = (Alarm::Probe, timeout_at.min(now + srtt * 2 + later));
    }

    /// A packet has left that was never sent before.
    #[cold]
    pub(super) fn note_new(&mut self, now: Time) {
        let Some(timed) = &mut self.timed else { return };
        timed.rack.send_new(now);
        let timeout_at = timed.timeout_at;
        if timed.alarm == Alarm::Probe && self.timer != Time::NEVER {
            self.aim(timeout_at, now);
        }
    }

    /// Whether a probe is to leave next.
    pub(super) fn is_probing(&self) -> bool {
        self.timed.as_ref().is_some_and(|timed| timed.probing)
    }

    /// Sends something new if there is, else the last packet once more [RFC 8985, 7.3].
    #[cold]
    pub(super) fn send_probe(&mut self, now: Time) -> Poll {
        let (fresh, last) = (self.may_send_new(), self.board.next() - 1);
        if !fresh && self.timed.as_ref().is_some_and(|timed| timed.rack.is_delivered(last)) {
            self.forget_probe(); // it came while the pacer held the probe
            return Poll::Idle;
        }
        self.pacer.go_on(self.pacer.burst().max(1)); // it waits for no burst of offload
        let poll = if fresh { self.send_new(now) } else { self.resend(last, now) };
        if let Poll::Send(_) = poll
            && let Some(timed) = &mut self.timed
        {
            timed.probing = false;
            timed.probe = Some(Probe { end: self.board.next(), again: !fresh });
            self.restart_timer(now);
        }
        poll
    }

    /// A recovery or a timeout says what a probe would.
    pub(super) fn forget_probe(&mut self) {
        if let Some(timed) = &mut self.timed {
            (timed.probe, timed.probing) = (None, false);
        }
    }

    /// After an acknowledgement that brought `news`, if any: where a probe was the only one to show
    /// that a packet was lost, because it replaced it, that is congestion [RFC 8985, 7.4].
    #[cold]
    pub(super) fn see_probe(&mut self, ack: &Ack, news: u64, outcome: Outcome, now: Time) -> Outcome {
        let una = self.board.una();
        self.await_settled(now);
        let Some(timed) = &mut self.timed else { return outcome };
        if una == self.board.next() {
            timed.probing = false; // all was late
        }
        let Some(probe) = timed.probe.filter(|probe| una >= probe.end) else { return outcome };
        let answered = !probe.again || ack.tells_twice() || news == 0;
        if !answered && una == probe.end {
            return outcome; // it may have come twice, which the next one would say
        }
        timed.probe = None;
        if answered || self.state != State::Open {
            return outcome;
        }
        self.end_easing();
        self.tell(Cause::Loss, now);
        self.cwr = true;
        if outcome == Outcome::Quiet { Outcome::Reduced } else { outcome }
    }
}
