//! RACK-TLP [RFC 8985]: the loss detection of [`Rack`], the tail loss probe, and the timer, which is the retransmission
//! timer, that of the probe or that of reordering.
//!
//! The tail loss probe [RFC 8985, 7]: where nothing is acknowledged for two round trips a packet is sent, whose
//! acknowledgement shows what is missing before the retransmission timer would.

use fairhaul_units::{Ack, Span, Time};

use super::rack::{Rack, Timing};
use crate::tcp::{Scoreboard, kernel_timer};

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

/// What the timer was for that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerEvent {
    /// The retransmission timeout.
    Timeout,
    /// A probe is due.
    ProbeDue,
    /// The wait for reordered packets is over, and packets that have not come are marked as lost.
    ReorderingOver,
}

/// The tail loss probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Probe {
    #[default]
    None,
    /// It is to be sent next.
    Due,
    /// It is in flight.
    Sent {
        /// The first packet that had not been sent when it had left (TLP.end_seq).
        end: u64,
        /// Whether it is a retransmission (TLP.is_retrans).
        retransmission: bool,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct RackTlp {
    pub(super) rack: Rack,
    /// The last acknowledgement showed another loss.
    pub(super) found_loss: bool,
    /// The least margin of the retransmission timer.
    min_rto: Span,
    /// Its clocks are those of the kernel: timers count ticks, and time stamps milliseconds.
    by_kernel_clock: bool,
    /// The round trip by the time stamp of the last acknowledgement, if all that it acknowledged was retransmitted.
    stamped_rtt: Option<Span>,
    timer_kind: TimerKind,
    /// When, from the last acknowledgement, the reordering window of the overtaken packets ends.
    wait: Option<Span>,
    probe: Probe,
}

impl RackTlp {
    /// That of a sender that has sent nothing, with that least margin of its retransmission timer; `by_kernel_clock`: its
    /// timers count ticks, and its time stamps milliseconds.
    pub fn new(min_rto: Span, by_kernel_clock: bool) -> RackTlp {
        RackTlp {
            rack: Rack::default(),
            found_loss: false,
            min_rto,
            by_kernel_clock,
            stamped_rtt: None,
            timer_kind: TimerKind::default(),
            wait: None,
            probe: Probe::None,
        }
    }

    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    #[cold]
    pub fn take_ack(&mut self, board: &mut Scoreboard, ack: &Ack, timing: Timing) -> u64 {
        let una = board.una();
        let delivered = self.rack.take_ack(board, ack, timing);
        let is_stamp_alone = self.rack.sample().is_none() && board.una() > una;
        self.stamped_rtt =
            (self.by_kernel_clock && is_stamp_alone).then(|| between_stamps(ack.echo, timing.now));
        if ack.has_dsack() && !self.probe_was_duplicate(board.una()) {
            self.rack.widen_reorder_window(board.una(), board.next());
        }
        self.found_loss = false;
        delivered
    }

    /// Detects losses by what the last acknowledgement delivered. `recovering`: the sender is in a recovery.
    #[cold]
    pub fn find_losses(&mut self, board: &mut Scoreboard, recovering: bool, timing: Timing) {
        let lost = board.lost();
        self.wait = self.rack.detect_if_advanced(board, recovering, timing);
        self.found_loss = board.lost() > lost;
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, board: &mut Scoreboard, now: Time) {
        self.rack.doubt_degree(board);
        self.rack.mark_lost_on_timeout(board, now);
        self.probe = Probe::None;
    }

    /// The timer expired: what it was for. `recovering`: the sender is in recovery. If it was that of reordering, it
    /// stays so until it is armed again.
    pub fn on_timer(&mut self, board: &mut Scoreboard, recovering: bool, timing: Timing) -> TimerEvent {
        match self.timer_kind {
            TimerKind::Rto => TimerEvent::Timeout,
            TimerKind::Probe => {
                (self.probe, self.timer_kind) = (Probe::Due, TimerKind::Rto);
                TimerEvent::ProbeDue
            }
            TimerKind::Reorder => {
                self.rack.detect_losses(board, recovering, timing);
                TimerEvent::ReorderingOver
            }
        }
    }

    /// After an acknowledgement: if packets were overtaken, when the timer expires that waits for the end of their
    /// reordering window, and not later than the timeout `rto` from now.
    pub fn arm_reorder_timer(&mut self, board: &Scoreboard, rto: Span, now: Time) -> Option<Time> {
        let wait = self.wait.take()?;
        if board.outstanding() == 0 {
            return None;
        }
        self.timer_kind = TimerKind::Reorder;
        Some(self.expires(now, now + (wait + TIMER_SLACK).min(rto)))
    }

    /// Whether the timer is that of reordering, which sending a packet does not move.
    pub fn is_reorder_timer_armed(&self) -> bool {
        self.timer_kind == TimerKind::Reorder
    }

    /// The retransmission timer is armed with the timeout `rto`: when the timer expires, which may be earlier, to send a
    /// probe. `open`: the sender is not in recovery. `sent_new`: it is armed because a packet has left for the first time
    /// behind a probe.
    ///
    /// Where the timeout comes first, the probe takes its place, and the timeout follows a whole timeout after the probe
    /// [RFC 8985, 7.2; LINUX, tcp_schedule_loss_probe].
    #[cold]
    pub fn arm_timer(
        &mut self,
        rto: Span,
        board: &Scoreboard,
        open: bool,
        sent_new: bool,
        timing: Timing,
    ) -> Time {
        let Timing { now, srtt, .. } = timing;
        let waited = std::mem::take(&mut self.timer_kind) != TimerKind::Rto;
        let calm = open && !srtt.is_zero() && !board.has_reports();
        let probes = calm && self.probe == Probe::None && board.outstanding() > 0;
        let counts_from_first = if probes { sent_new } else { waited };
        let timeout_at = if counts_from_first { self.timeout_of_first(rto, now) } else { now + rto };
        if !probes {
            return self.expires(now, timeout_at);
        }
        self.timer_kind = TimerKind::Probe;
        // Of a single packet the acknowledgement may be held [RFC 8985, 7.2].
        let later = if board.outstanding() == 1 { self.min_rto } else { TIMER_SLACK };
        self.expires(now, timeout_at.min(now + srtt * 2 + later))
    }

    /// When a timer expires that is set for `due`.
    fn expires(&self, now: Time, due: Time) -> Time {
        if self.by_kernel_clock { kernel_timer::expires(now, due) } else { due }
    }

    /// The round trip of the last packet that the last acknowledgement delivered and that was sent once; if there is none,
    /// that of its time stamp, where the kernel takes that [LINUX, tcp_ack_update_rtt].
    pub fn rtt_sample(&self) -> Option<Span> {
        self.rack.sample().or(self.stamped_rtt)
    }

    /// The round trip for the kernel's timeout, if the last acknowledgement shows any, which by its echo is `echoed`.
    pub fn rtt_for_timeout(&self, echoed: Span) -> Option<Span> {
        if self.rack.sample().is_some() { Some(echoed) } else { self.stamped_rtt }
    }

    /// After a probe or reordering was waited for, the timeout counts from when the first packet left last [LINUX,
    /// tcp_rto_delta_us].
    fn timeout_of_first(&self, rto: Span, now: Time) -> Time {
        let sent = self.rack.first_sent().unwrap_or(now);
        (sent + rto).max(now + TIMER_SLACK)
    }

    /// Whether the last acknowledgement, which did not advance, starts the timer anew: it reported a packet that had
    /// left before the first was retransmitted [LINUX, tcp_clean_rtx_queue].
    pub fn restarts_timer(&self, now: Time) -> bool {
        let (Some(sample), Some(sent)) = (self.rack.sample(), self.rack.first_sent()) else { return false };
        self.rack.has_reported() && sample > now.since(sent)
    }

    /// `packets` leave together for the first time. Whether the timer is that of a probe, which has to be armed anew.
    #[cold]
    pub fn send_new(&mut self, packets: u64, now: Time) -> bool {
        self.rack.send_new(packets, now);
        self.timer_kind == TimerKind::Probe
    }

    /// Whether a probe is to be sent next.
    pub fn is_probe_due(&self) -> bool {
        self.probe == Probe::Due
    }

    /// Nothing was acknowledged since the probe: another one is due.
    pub fn ask_again(&mut self) {
        self.probe = Probe::Due;
    }

    /// The probe left; `end`: all below it was sent; `retransmission`: the probe was a retransmission.
    pub fn probe_sent(&mut self, end: u64, retransmission: bool) {
        self.probe = Probe::Sent { end, retransmission };
    }

    /// A recovery makes a probe unnecessary, or an acknowledgement of all that was sent.
    pub fn cancel_probe(&mut self) {
        self.probe = Probe::None;
    }

    /// After an acknowledgement that brought `news`, if any: whether it shows that a packet was lost which the probe
    /// has replaced [RFC 8985, 7.4].
    #[cold]
    pub fn probe_repaired_loss(&mut self, board: &Scoreboard, ack: &Ack, news: u64) -> bool {
        let una = board.una();
        if self.is_probe_due() && una == board.next() {
            self.probe = Probe::None; // all was late
        }
        let Probe::Sent { end, retransmission } = self.probe else { return false };
        if una < end {
            return false;
        }
        let answered = !retransmission || ack.has_dsack() || news == 0;
        if !answered && una == end {
            return false; // it may have come twice, which the next one would say
        }
        self.probe = Probe::None;
        !answered
    }

    /// Whether the probe was the duplicate, where a packet arrived twice and all below `una` is acknowledged.
    fn probe_was_duplicate(&self, una: u64) -> bool {
        matches!(self.probe, Probe::Sent { end, retransmission: true } if una >= end)
    }
}

/// What the kernel takes for the time between a time stamp and `now`: both are in whole milliseconds (tcp_rtt_tsopt_us).
fn between_stamps(stamp: Time, now: Time) -> Span {
    let [stamp, now] = [stamp, now].map(|time| time.since(Time::ZERO) / Span::from_ms(1));
    Span::from_ms((now - stamp).max(1))
}
