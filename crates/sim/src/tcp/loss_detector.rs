//! How a sender detects losses: which packets it marks as lost, what it retransmits, and the timers that go with it.
//!
//! The scoreboard counts the packets. The sender owns the window, recovery and the retransmission timeout; it reports
//! to the detector what happens, and asks it what to do. What only one of the two kinds does has no effect with the other.

mod dup_threshold;
mod flight;
mod rack;
mod rack_tlp;

use fairhaul_experiment::Recovery;
use fairhaul_units::{Ack, Span, Time};

use super::{RttEstimator, Scoreboard};
use dup_threshold::DupThreshold;
pub use rack::Timing;
use rack_tlp::RackTlp;
pub use rack_tlp::TimerEvent;

/// See the module.
#[derive(Clone, Debug)]
pub enum LossDetector {
    /// By duplicate acknowledgements or reports above a gap [RFC 5681, RFC 6675].
    DupThreshold(DupThreshold),
    /// By time, with a probe before the timeout [RFC 8985]; boxed, because few senders have it.
    RackTlp(Box<RackTlp>),
}

impl LossDetector {
    /// That of a sender with this recovery, and this least margin of its retransmission timer.
    pub fn new(recovery: Recovery, min_rto: Span, by_kernel_clock: bool) -> LossDetector {
        match recovery {
            Recovery::Rack => LossDetector::RackTlp(Box::new(RackTlp::new(min_rto, by_kernel_clock))),
            _ => LossDetector::DupThreshold(DupThreshold::new(recovery)),
        }
    }

    /// Whether it goes by time.
    #[inline(always)]
    pub fn is_by_time(&self) -> bool {
        self.rack_tlp().is_some()
    }

    /// What its notes of packets take, bytes.
    pub fn memory(&self) -> usize {
        self.rack_tlp().map_or(0, |rack_tlp| rack_tlp.rack.memory())
    }

    #[inline(always)]
    fn rack_tlp(&self) -> Option<&RackTlp> {
        if let LossDetector::RackTlp(rack_tlp) = self { Some(rack_tlp) } else { None }
    }

    #[inline(always)]
    fn rack_tlp_mut(&mut self) -> Option<&mut RackTlp> {
        if let LossDetector::RackTlp(rack_tlp) = self { Some(rack_tlp) } else { None }
    }
}

/// What an acknowledgement says.
impl LossDetector {
    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    #[inline(always)]
    pub fn take_ack(&mut self, board: &mut Scoreboard, ack: &Ack, rtt: &RttEstimator, now: Time) -> u64 {
        match self {
            LossDetector::DupThreshold(dup) => dup.take_ack(board, ack),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.take_ack(board, ack, Timing::of(rtt, now)),
        }
    }

    /// Marks as lost what the last acknowledgement shows to be. `recovering`: the sender is in a recovery that the
    /// acknowledgement does not end.
    #[inline(always)]
    pub fn find_losses(&mut self, board: &mut Scoreboard, recovering: bool, rtt: &RttEstimator, now: Time) {
        if let LossDetector::RackTlp(rack_tlp) = self {
            rack_tlp.find_losses(board, recovering, Timing::of(rtt, now));
        }
    }

    /// Whether what an acknowledgement delivers beyond a gap lets the window grow.
    #[inline(always)]
    pub fn grows_beyond_gaps(&self) -> bool {
        self.rack_tlp().is_some_and(|rack_tlp| rack_tlp.rack.grows_beyond_gaps())
    }

    /// The first of the packets that the last acknowledgement delivered and that were sent once, where that is known.
    pub fn first_original(&self) -> Option<u64> {
        self.rack_tlp()?.rack.first_original()
    }

    /// When the packet left that has waited longest, where that is known.
    pub fn first_sent(&self) -> Option<Time> {
        self.rack_tlp()?.rack.first_sent()
    }

    /// When the packet left that left last of all delivered packets, where that is known.
    pub fn latest_sent(&self) -> Option<Time> {
        Some(self.rack_tlp()?.rack.latest_sent())
    }

    /// Whether the last acknowledgement reported a packet beyond a gap that had not been, where that is known.
    pub fn has_reported(&self) -> bool {
        self.rack_tlp().is_some_and(|rack_tlp| rack_tlp.rack.has_reported())
    }

    /// The retransmitted packet that the last acknowledgement reported to have come twice, if it was not acknowledged in order
    /// before that.
    pub fn came_twice(&self) -> Option<u64> {
        self.rack_tlp()?.rack.came_twice
    }

    /// Whether the last acknowledgement, which advanced by that many packets, reveals a loss.
    #[inline(always)]
    pub fn reveals_loss(&mut self, board: &mut Scoreboard, advanced: u64) -> bool {
        match self {
            LossDetector::DupThreshold(dup) => dup.reveals_loss(board, advanced),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.rack.has_loss(),
        }
    }

    /// Whether the last acknowledgement in recovery showed another loss, as far as that counts for the reduction.
    pub fn found_loss(&self) -> bool {
        self.rack_tlp().is_some_and(|rack_tlp| rack_tlp.found_loss)
    }

    /// Round trip of the last packet that the last acknowledgement delivered and that was sent once, where it is known.
    #[inline(always)]
    pub fn rtt_sample(&self) -> Option<Span> {
        self.rack_tlp()?.rtt_sample()
    }

    /// The round trip for the kernel's timeout, if the last acknowledgement shows any, which by its echo is `echoed`.
    pub fn rtt_for_timeout(&self, echoed: Span) -> Option<Span> {
        self.rack_tlp().map_or(Some(echoed), |rack_tlp| rack_tlp.rtt_for_timeout(echoed))
    }

    /// When the packet left that left last of the packets that the last acknowledgement delivered, and when the one that
    /// left first of those in flight, where that is known.
    pub fn delivery_times(&self) -> Option<(Time, Time)> {
        Some(self.rack_tlp()?.rack.delivery_times())
    }

    /// Round trip of the packet that left last of all delivered packets, where that is known.
    #[inline(always)]
    pub fn latest_rtt(&self) -> Option<Span> {
        Some(self.rack_tlp()?.rack.latest_rtt()).filter(|rtt| !rtt.is_zero())
    }

    /// After an acknowledgement that brought `news`, if any: whether it shows that a packet was lost which the probe
    /// has replaced [RFC 8985, 7.4].
    #[inline(always)]
    pub fn probe_repaired_loss(&mut self, board: &Scoreboard, ack: &Ack, news: u64) -> bool {
        self.rack_tlp_mut().is_some_and(|rack_tlp| rack_tlp.probe_repaired_loss(board, ack, news))
    }
}

/// Recovery, timeouts and their undo.
impl LossDetector {
    /// A recovery begins.
    pub fn begin_recovery(&mut self, board: &mut Scoreboard) {
        match self {
            LossDetector::DupThreshold(dup) => dup.begin_recovery(board),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.cancel_probe(),
        }
    }

    /// An acknowledgement in recovery that advanced by that many packets and does not end it; whether a retransmission
    /// is due for it, whatever is in flight.
    pub fn on_ack_in_recovery(&mut self, board: &mut Scoreboard, advanced: u64) -> bool {
        match self {
            LossDetector::DupThreshold(dup) => dup.on_ack_in_recovery(board, advanced),
            LossDetector::RackTlp(_) => false,
        }
    }

    /// A recovery has ended.
    pub fn end_recovery(&mut self, board: &mut Scoreboard) {
        match self {
            LossDetector::DupThreshold(dup) => dup.end_recovery(board),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.rack.recovered(),
        }
    }

    /// Whether a packet that is still lost when a recovery has ended, retransmitted or not, begins the next recovery
    /// with the same acknowledgement, before anything leaves for the window between the two. In the kernel it does
    /// [LINUX, tcp_fastretrans_alert].
    pub fn begins_next_recovery(&self) -> bool {
        self.rack_tlp().is_some_and(|rack_tlp| rack_tlp.rack.has_loss())
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, board: &mut Scoreboard, now: Time) {
        match self {
            LossDetector::DupThreshold(dup) => dup.on_timeout(board),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.on_timeout(board, now),
        }
    }

    /// Without SACK: the first packet that duplicate acknowledgements may retransmit.
    pub fn no_fast_below(&self) -> u64 {
        match self {
            LossDetector::DupThreshold(dup) => dup.no_fast_below(),
            LossDetector::RackTlp(_) => 0,
        }
    }

    /// The packets marked lost were only late; `no_fast_below`: as it was before.
    pub fn undo(&mut self, board: &mut Scoreboard, no_fast_below: u64) {
        match self {
            LossDetector::DupThreshold(dup) => dup.undo(board, no_fast_below),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.rack.undo_losses(board),
        }
    }

    /// Whether all retransmissions are delivered.
    pub fn retransmissions_are_done(&self, board: &Scoreboard) -> bool {
        match self {
            LossDetector::DupThreshold(dup) => dup.retransmissions_are_done(board),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.rack.retransmissions() == 0,
        }
    }

    /// Retransmissions in flight, where that is counted.
    pub fn retransmissions(&self) -> u64 {
        self.rack_tlp().map_or(0, |rack_tlp| rack_tlp.rack.retransmissions())
    }

    /// A gap was closed by a packet that was late, not by its retransmission: packets from `una` on are reordered.
    pub fn note_reordering(&mut self, una: u64) {
        if let Some(rack_tlp) = self.rack_tlp_mut() {
            rack_tlp.rack.note_reordering(una);
        }
    }

    /// Duplicates have shown that all retransmissions of a recovery were needless.
    pub fn persist_longer(&mut self) {
        if let Some(rack_tlp) = self.rack_tlp_mut() {
            rack_tlp.rack.persist_longer();
        }
    }
}

/// What leaves.
impl LossDetector {
    /// Whether a tail loss probe is to be sent next.
    #[inline(always)]
    pub fn is_probe_due(&self) -> bool {
        self.rack_tlp().is_some_and(RackTlp::is_probe_due)
    }

    /// The lost packet to retransmit next, if any.
    pub fn next_lost_to_retransmit(&mut self, board: &Scoreboard) -> Option<u64> {
        match self {
            LossDetector::DupThreshold(dup) => dup.next_lost_to_retransmit(board),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.rack.next_lost_to_retransmit(),
        }
    }

    /// Where nothing new may leave in recovery: a packet to retransmit that is not known to be lost, if any
    /// [RFC 6675, NextSeg rule 3].
    pub fn next_gap_to_retransmit(&mut self, board: &Scoreboard) -> Option<u64> {
        match self {
            LossDetector::DupThreshold(dup) => dup.next_gap_to_retransmit(board),
            LossDetector::RackTlp(_) => None,
        }
    }

    /// Whether this recovery may still retransmit one packet to save a timeout [RFC 6675, NextSeg rule 4].
    pub fn may_rescue(&self, board: &Scoreboard) -> bool {
        matches!(self, LossDetector::DupThreshold(dup) if dup.may_rescue(board))
    }

    /// This packet leaves, the highest below `recover`: its number.
    pub fn rescue(&mut self, board: &mut Scoreboard, recover: u64) -> Option<u64> {
        match self {
            LossDetector::DupThreshold(dup) => dup.rescue(board, recover),
            LossDetector::RackTlp(_) => None,
        }
    }

    /// A packet leaves once more.
    pub fn retransmit(&mut self, board: &mut Scoreboard, number: u64, now: Time) {
        match self {
            LossDetector::DupThreshold(dup) => dup.retransmit(board, number),
            LossDetector::RackTlp(rack_tlp) => rack_tlp.rack.retransmit(board, number, now),
        }
    }

    /// `packets` leave together for the first time. Whether the timer is that of a probe, which has to be armed anew.
    #[inline(always)]
    pub fn send_new(&mut self, packets: u64, now: Time) -> bool {
        self.rack_tlp_mut().is_some_and(|rack_tlp| rack_tlp.send_new(packets, now))
    }

    /// The last packet left with that stamp.
    #[inline(always)]
    pub fn launched(&mut self, stamp: Time) {
        if let Some(rack_tlp) = self.rack_tlp_mut() {
            rack_tlp.rack.launched(stamp);
        }
    }

    /// The probe left; `end`: all below it was sent; `retransmission`: the probe was a retransmission.
    pub fn probe_sent(&mut self, end: u64, retransmission: bool) {
        if let Some(rack_tlp) = self.rack_tlp_mut() {
            rack_tlp.probe_sent(end, retransmission);
        }
    }

    /// Nothing was acknowledged since the probe: another one is due.
    pub fn ask_again(&mut self) {
        if let Some(rack_tlp) = self.rack_tlp_mut() {
            rack_tlp.ask_again();
        }
    }

    /// No probe is needed.
    pub fn cancel_probe(&mut self) {
        if let Some(rack_tlp) = self.rack_tlp_mut() {
            rack_tlp.cancel_probe();
        }
    }
}

/// The timer.
impl LossDetector {
    /// The retransmission timer is armed with the timeout `rto`: when the timer expires, which may be earlier, to send a
    /// probe. `open`: the sender is not in recovery. `sent_new`: a packet has left for the first time behind a probe.
    #[inline(always)]
    pub fn arm_timer(
        &mut self,
        rto: Span,
        board: &Scoreboard,
        open: bool,
        sent_new: bool,
        timing: Timing,
    ) -> Time {
        match self {
            LossDetector::DupThreshold(_) => timing.now + rto,
            LossDetector::RackTlp(rack_tlp) => rack_tlp.arm_timer(rto, board, open, sent_new, timing),
        }
    }

    /// After an acknowledgement: when the timer expires, if it is to wait for packets that may only be reordered, and
    /// not longer than the timeout `rto`.
    #[inline(always)]
    pub fn arm_reorder_timer(&mut self, board: &Scoreboard, rto: Span, now: Time) -> Option<Time> {
        self.rack_tlp_mut()?.arm_reorder_timer(board, rto, now)
    }

    /// Whether the last acknowledgement, which came in a recovery and advanced by this number of packets, starts the timer
    /// anew.
    pub fn restarts_timer(&self, advanced: u64, now: Time) -> bool {
        match self {
            LossDetector::DupThreshold(dup) => advanced > 0 && !dup.is_impatient(),
            LossDetector::RackTlp(rack_tlp) => advanced > 0 || rack_tlp.restarts_timer(now),
        }
    }

    /// Whether the timer is that of reordering, which sending a packet does not move.
    pub fn is_reorder_timer_armed(&self) -> bool {
        self.rack_tlp().is_some_and(RackTlp::is_reorder_timer_armed)
    }

    /// Whether the timer runs on since the first partial acknowledgement of this recovery [RFC 6582, 4].
    pub fn is_impatient(&self) -> bool {
        matches!(self, LossDetector::DupThreshold(dup) if dup.is_impatient())
    }

    /// The timer expired: what it was for. `recovering`: the sender is in recovery.
    pub fn on_timer(&mut self, board: &mut Scoreboard, recovering: bool, timing: Timing) -> TimerEvent {
        match self {
            LossDetector::DupThreshold(_) => TimerEvent::Timeout,
            LossDetector::RackTlp(rack_tlp) => rack_tlp.on_timer(board, recovering, timing),
        }
    }
}
