//! Undo of reductions for packets that were late and not lost: spurious retransmissions are detected by time stamps
//! [RFC 3522], and the response is that of [RFC 4015]. What Linux does instead is in `undo_linux.rs`.
//!
//! A gap that an acknowledgement closes was closed by the packet whose stamp it echoes. Where that
//! stamp is older than the first retransmission, the packet was late and not lost. If that holds for
//! all retransmissions, the loss event or timeout was no sign of congestion.

use fairhaul_cc::{Controller, Window};
use fairhaul_experiment::Recovery;
use fairhaul_units::{Ack, Time};

use super::{CaState, Sender};
use crate::tcp::RttEstimator;

/// What is kept to take back what was done for packets that were merely late.
#[derive(Clone, Debug)]
pub(super) struct UndoState<C> {
    /// What is restored if nothing was lost, as long as that is possible.
    pub(super) saved: Option<Box<Saved<C>>>,
    /// The same after a spurious timeout, until the timer has adapted to it.
    rto_pending: Option<Box<Saved<C>>>,
    /// Stamp of the first retransmission since all earlier ones were acknowledged.
    pub(super) retransmitting_since: Time,
    /// Retransmissions so far, and reports of packets that came twice.
    retransmitted: u64,
    duplicates: u64,
}

/// The sender before a loss event or a timeout in the open state. What follows until all is
/// acknowledged belongs to the same episode, and is undone with it or not at all.
#[derive(Clone, Debug)]
pub(super) struct Saved<C> {
    pub(super) began: Time,
    /// Stamp of the first retransmission since, or an earlier time.
    pub(super) first_retransmission: Time,
    /// The first packet that had not been sent at the last timeout; none without a timeout.
    unsent: Option<u64>,
    /// The window; in Linux `None` where the echo of a mark forbids to give it back.
    pub(super) window: Option<Window>,
    /// All that the controller knew; `None` in Linux, where it keeps what the reduction taught it.
    controller: Option<C>,
    rtt: RttEstimator,
    no_fast_below: u64,
    /// In Linux: the first packet that was not acknowledged when it began (undo_marker).
    pub(super) from: u64,
    /// In Linux: retransmissions for which no duplicate has come; `None`: none has left (undo_retrans).
    pub(super) unanswered: Option<u64>,
}

impl<C> UndoState<C> {
    /// Nothing was done.
    pub(super) fn new() -> UndoState<C> {
        UndoState {
            saved: None,
            rto_pending: None,
            retransmitting_since: Time::NEVER,
            retransmitted: 0,
            duplicates: 0,
        }
    }

    /// What was done is not taken back.
    pub(super) fn discard(&mut self) {
        self.saved = None;
    }

    /// The timer ran out, when all below `next` was sent.
    pub(super) fn on_timeout(&mut self, next: u64) {
        if let Some(saved) = &mut self.saved {
            saved.unsent = Some(next);
        }
    }

    /// A packet is retransmitted. Processing may stamp it later, never earlier.
    pub(super) fn on_retransmission(&mut self, now: Time) {
        self.retransmitting_since = self.retransmitting_since.min(now);
        self.retransmitted += 1;
        if let Some(saved) = &mut self.saved {
            saved.first_retransmission = saved.first_retransmission.min(now);
            saved.unanswered = Some(saved.unanswered.unwrap_or(0) + 1);
        }
    }

    /// A packet is reported to have come twice; whether its sender may have caused that: more packets than it retransmitted
    /// were copied by the network [LINUX, tcp_check_dsack].
    #[cold]
    pub(super) fn hears_of_duplicate(&mut self) -> bool {
        self.duplicates += 1;
        self.duplicates <= self.retransmitted
    }

    #[inline(always)]
    fn is_idle(&self) -> bool {
        self.saved.is_none() && self.retransmitting_since == Time::NEVER
    }

    /// An acknowledgement that echoes this stamp moved on; `done`: all retransmissions are acknowledged. The state to be
    /// restored, if the acknowledgement shows that nothing was lost.
    //
    // Differs from [RFC 3522, 3.2]: the decision waits until all retransmissions are acknowledged, not only for
    // the first acknowledgement. Of several gaps of which one is a loss, the first to be closed may be a late
    // packet. Linux does the same.
    fn detect_spurious(&mut self, echo: Time, done: bool) -> Option<Box<Saved<C>>> {
        if done {
            self.retransmitting_since = Time::NEVER;
        }
        let saved = self.saved.take_if(|saved| done || echo >= saved.first_retransmission)?;
        (echo < saved.first_retransmission).then_some(saved)
    }
}

impl<C: Controller + Clone> Sender<C> {
    /// A loss event or a timeout is about to move the window.
    pub(super) fn save_undo_state(&mut self, now: Time) {
        if self.config.undo && self.state == CaState::Open {
            let in_flight = self.detector.retransmissions();
            self.undo_state.saved = Some(Box::new(Saved {
                began: now,
                // Retransmissions of an earlier loss event may still be in flight: their stamps are of no late packet.
                first_retransmission: self.undo_state.retransmitting_since,
                unsent: None,
                window: Some(self.window),
                controller: (!self.undoes_as_linux()).then(|| self.controller.clone()),
                rtt: self.rtt.clone(),
                no_fast_below: self.detector.no_fast_below(),
                from: self.board.una(),
                unanswered: (in_flight > 0).then_some(in_flight),
            }));
        }
    }

    /// Whether reductions are taken back as in Linux.
    #[inline(always)]
    pub(super) fn undoes_as_linux(&self) -> bool {
        self.config.recovery == Recovery::Rack
    }

    /// An acknowledgement came, which advanced from `una`. Where it shows that nothing was lost, what was done is taken
    /// back: since when.
    #[inline(always)]
    pub(super) fn undo(&mut self, ack: &Ack, ece: bool, una: u64, now: Time) -> Option<Time> {
        if self.undo_state.is_idle() {
            None
        } else if self.undoes_as_linux() {
            self.undo_as_in_linux(ack, ece, una, now)
        } else {
            self.undo_spurious(ack, una, now)
        }
    }

    #[inline(never)]
    fn undo_spurious(&mut self, ack: &Ack, una: u64, now: Time) -> Option<Time> {
        if self.board.una() == una {
            return None;
        }
        let saved =
            self.undo_state.detect_spurious(ack.echo, self.detector.retransmissions_are_done(&self.board))?;
        // Differs from [RFC 4015, 3.4]: the window is restored at once, as in Linux, not set to the packets in
        // flight with slow start from there. The late packets fill most of it.
        self.window = saved.window?;
        self.controller.clone_from(saved.controller.as_ref()?);
        self.detector.undo(&mut self.board, saved.no_fast_below);
        (self.state, self.in_cwr, self.urgent) = (CaState::Open, false, false);
        self.rearm(now);
        let since = saved.began;
        if saved.unsent.is_some() {
            self.undo_state.rto_pending = Some(saved);
        }
        Some(since)
    }

    /// After a spurious timeout the first sample of what was sent since makes the timer careful
    /// [RFC 4015, 3.5].
    pub(super) fn adapt_rto(&mut self, ack: &Ack, now: Time) {
        let una = self.board.una();
        let pending = &mut self.undo_state.rto_pending;
        if let Some(saved) = pending.take_if(|saved| saved.unsent.is_some_and(|unsent| una > unsent)) {
            self.rtt.distrust(&saved.rtt, now.since(ack.echo));
        }
    }
}
