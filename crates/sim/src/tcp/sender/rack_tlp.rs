//! RACK-TLP on the sender's side [RFC 8985]: the loss detection of [`Rack`], the tail loss probe, and the timer, which
//! is the retransmission timer, that of the probe or that of reordering.
//!
//! The tail loss probe [RFC 8985, 7]: where nothing is acknowledged for two round trips a packet is sent, whose
//! acknowledgement shows what is missing before the retransmission timer would.

use fairhaul_cc::{Cause, Controller};
use fairhaul_units::{Ack, Span, Time};

use super::{CaState, Outcome, Poll, Sender};
use crate::tcp::{AckTiming, Rack};

/// How much later than computed the timer of a probe or of reordering expires [LINUX, TCP_TIMEOUT_MIN_US].
const TIMER_SLACK: Span = Span::from_ms(2);

/// What the timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TimerKind {
    /// The retransmission timeout.
    #[default]
    Rto,
    /// Nothing was acknowledged: a probe is due.
    Probe,
    /// The reordering window of the overtaken packets ends.
    Reorder,
}

/// The state of a sender with RACK-TLP, beside that of every sender.
#[derive(Clone, Debug, Default)]
pub(super) struct RackTlp {
    pub(super) rack: Rack,
    timer_kind: TimerKind,
    /// When the retransmission timer runs out.
    timeout_at: Time,
    /// The last acknowledgement showed another loss.
    pub(super) found: bool,
    /// When, from the last acknowledgement, the reordering window of the overtaken packets ends.
    wait: Option<Span>,
    probe: Option<Probe>,
    /// A probe is to be sent next.
    probing: bool,
}

/// A probe that is on its way.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The first packet that had not been sent when it had left.
    end: u64,
    /// Whether it was sent before.
    again: bool,
}

impl Probe {
    /// Whether the probe was the duplicate, where a packet arrived twice and all below `una` is acknowledged.
    fn was_duplicate(&self, una: u64) -> bool {
        self.again && una >= self.end
    }
}

impl<C: Controller + Clone> Sender<C> {
    /// Takes an acknowledgement and detects losses: how many packets it newly reports as delivered.
    #[cold]
    pub(super) fn take_ack_by_rack(&mut self, ack: &Ack, now: Time) -> u64 {
        let (recovering, timing) = (self.is_recovering(ack.next), self.timing(now));
        let Some(rack_tlp) = &mut self.rack_tlp else { return 0 };
        let (lost, board) = (self.board.lost(), &mut self.board);
        let delivered = rack_tlp.rack.take_ack(board, ack, timing);
        let probe_was_duplicate = rack_tlp.probe.is_some_and(|probe| probe.was_duplicate(board.una()));
        if ack.tells_twice() && !probe_was_duplicate {
            rack_tlp.rack.widen_reorder_window(board.una(), board.next());
        }
        if let Some(rtt) = rack_tlp.rack.sample() {
            self.rtt.at_most(rtt);
        }
        rack_tlp.wait = rack_tlp.rack.detect_if_advanced(board, recovering, timing);
        rack_tlp.found = board.lost() > lost;
        delivered
    }

    /// The timer expired: the outcome, unless it is the retransmission timer.
    pub(super) fn on_rack_timer(&mut self, now: Time) -> Option<Outcome> {
        let rack_tlp = self.rack_tlp.as_mut()?;
        match std::mem::take(&mut rack_tlp.timer_kind) {
            TimerKind::Rto => None,
            TimerKind::Probe => {
                (rack_tlp.probing, self.urgent) = (true, true);
                self.restart_timer(now);
                Some(Outcome::Quiet)
            }
            TimerKind::Reorder => Some(self.on_reorder_timer(now)),
        }
    }

    /// The reordering window of overtaken packets has ended [LINUX, tcp_rack_reo_timeout].
    //
    // Differs from [LINUX]: after a timeout, packets that are found lost again are retransmitted, but they
    // begin no fast recovery, because the window is small already.
    fn on_reorder_timer(&mut self, now: Time) -> Outcome {
        let (recovering, timing) = (self.state != CaState::Open, self.timing(now));
        let Some(rack_tlp) = &mut self.rack_tlp else { return Outcome::Quiet };
        rack_tlp.rack.detect_losses(&mut self.board, recovering, timing);
        self.timer = rack_tlp.timeout_at.max(now + TIMER_SLACK);
        if self.state == CaState::Open && rack_tlp.rack.has_loss() {
            return self.enter_recovery(1, 0, now);
        }
        Outcome::Quiet
    }

    /// After an acknowledgement: where packets were overtaken, the timer waits for the end of their reordering window.
    pub(super) fn arm_reorder_timer(&mut self, now: Time) {
        if let Some(rack_tlp) = &mut self.rack_tlp
            && let Some(wait) = rack_tlp.wait.take()
            && self.board.outstanding() > 0
        {
            rack_tlp.timer_kind = TimerKind::Reorder;
            self.timer = (now + wait + TIMER_SLACK).min(rack_tlp.timeout_at);
        }
    }

    /// The retransmission timer expired.
    pub(super) fn mark_lost_on_timeout(&mut self, now: Time) {
        let Some(rack_tlp) = &mut self.rack_tlp else { return };
        rack_tlp.rack.mark_lost_on_timeout(&mut self.board, now);
        (rack_tlp.probe, rack_tlp.probing) = (None, false);
        // The first packet may leave, whatever is still on its way.
        self.window.cwnd = (self.board.in_flight() + 1) as f64;
    }

    /// Whether the timer is that of reordering, which sending a packet does not move.
    pub(super) fn is_reorder_timer_armed(&self) -> bool {
        self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.timer_kind == TimerKind::Reorder)
    }

    /// Whether it is in a recovery that an acknowledgement up to `next` does not end.
    fn is_recovering(&self, next: u64) -> bool {
        self.state != CaState::Open && next < self.recover
    }

    fn timing(&self, now: Time) -> AckTiming {
        AckTiming { now, min_rtt: self.rtt.smallest(), srtt: self.rtt.smoothed() }
    }
}

/// The tail loss probe.
impl<C: Controller + Clone> Sender<C> {
    /// Sets the retransmission timer to `timeout_at`, or an earlier one to send a probe.
    #[cold]
    pub(super) fn arm_timer(&mut self, timeout_at: Time, now: Time) {
        let srtt = self.rtt.smoothed();
        let calm = self.state == CaState::Open && !srtt.is_zero() && !self.board.has_reports();
        let Some(rack_tlp) = &mut self.rack_tlp else { return };
        (rack_tlp.timeout_at, rack_tlp.timer_kind, self.timer) = (timeout_at, TimerKind::Rto, timeout_at);
        if !calm || rack_tlp.probe.is_some() || rack_tlp.probing || self.board.outstanding() == 0 {
            return;
        }
        // Of a single packet the acknowledgement may be held [RFC 8985, 7.2].
        let later = if self.board.outstanding() == 1 { self.config.min_rto } else { TIMER_SLACK };
        // Where the timeout comes first, the probe takes its place, and the timeout follows a whole
        // timeout after the probe [RFC 8985, 7.2; LINUX, tcp_schedule_loss_probe].
        //
        // Differs from [LINUX]: the timeout counts from when the timer was last restarted [RFC 6298, 5.3].
        // The kernel, once something new has left, counts it from when the first packet left.
        (rack_tlp.timer_kind, self.timer) = (TimerKind::Probe, timeout_at.min(now + srtt * 2 + later));
    }

    /// New data were sent.
    #[cold]
    pub(super) fn on_new_data_sent(&mut self, now: Time) {
        let Some(rack_tlp) = &mut self.rack_tlp else { return };
        rack_tlp.rack.send_new(now);
        let timeout_at = rack_tlp.timeout_at;
        if rack_tlp.timer_kind == TimerKind::Probe && self.timer != Time::NEVER {
            self.arm_timer(timeout_at, now);
        }
    }

    /// Whether a probe is to be sent next.
    pub(super) fn is_probing(&self) -> bool {
        self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.probing)
    }

    /// Sends new data if there are any, else the last packet once more [RFC 8985, 7.3].
    #[cold]
    pub(super) fn send_probe(&mut self, now: Time) -> Poll {
        let (fresh, last) = (self.may_send_new(), self.board.next() - 1);
        if !fresh && self.rack_tlp.as_ref().is_some_and(|rack_tlp| rack_tlp.rack.is_delivered(last)) {
            self.cancel_probe(); // it came while the pacer held the probe
            return Poll::Idle;
        }
        self.pacer.go_on(self.pacer.burst().max(1)); // it waits for no burst of offload
        let poll = if fresh { self.send_new(now) } else { self.resend(last, now) };
        if let Poll::Send(_) = poll
            && let Some(rack_tlp) = &mut self.rack_tlp
        {
            rack_tlp.probing = false;
            rack_tlp.probe = Some(Probe { end: self.board.next(), again: !fresh });
            self.restart_timer(now);
        }
        poll
    }

    /// A recovery or a timeout makes a probe unnecessary.
    pub(super) fn cancel_probe(&mut self) {
        if let Some(rack_tlp) = &mut self.rack_tlp {
            (rack_tlp.probe, rack_tlp.probing) = (None, false);
        }
    }

    /// After an acknowledgement that brought `news`, if any: where a probe was the only one to show
    /// that a packet was lost, because it replaced it, that is congestion [RFC 8985, 7.4].
    #[cold]
    pub(super) fn on_ack_of_probe(&mut self, ack: &Ack, news: u64, outcome: Outcome, now: Time) -> Outcome {
        let una = self.board.una();
        self.arm_reorder_timer(now);
        let Some(rack_tlp) = &mut self.rack_tlp else { return outcome };
        if una == self.board.next() {
            rack_tlp.probing = false; // all was late
        }
        let Some(probe) = rack_tlp.probe.filter(|probe| una >= probe.end) else { return outcome };
        let answered = !probe.again || ack.tells_twice() || news == 0;
        if !answered && una == probe.end {
            return outcome; // it may have come twice, which the next one would say
        }
        rack_tlp.probe = None;
        if answered || self.state != CaState::Open {
            return outcome;
        }
        self.finish_cwr();
        self.on_congestion_event(Cause::Loss, now);
        self.cwr = true;
        if outcome == Outcome::Quiet { Outcome::Reduced } else { outcome }
    }
}
