//! Undo of what was done for packets that were merely late: detection by time stamps [RFC 3522],
//! response after [RFC 4015].
//!
//! A gap that an acknowledgement closes was closed by the packet whose stamp it echoes. Where that
//! stamp is older than the first retransmission, the packet was late and not lost. If that holds for
//! all that was sent again, the loss event or timeout was no sign of congestion.

use fairhaul_cc::{Controller, Window};
use fairhaul_units::{Ack, Time};

use super::{CaState, Sender};
use crate::tcp::RttEstimator;

/// The sender before a loss event or a timeout in the open state. What follows until all is
/// acknowledged belongs to the same episode, and is undone with it or not at all.
#[derive(Clone, Debug)]
pub(super) struct UndoState<C> {
    began: Time,
    /// Stamp of the first retransmission since, or an earlier time.
    resent: Time,
    /// The first packet that had not been sent at the last timeout; none without a timeout.
    unsent: Option<u64>,
    window: Window,
    controller: C,
    rtt: RttEstimator,
    no_fast_below: u64,
}

impl<C: Controller + Clone> Sender<C> {
    /// A loss event or a timeout is about to move the window.
    pub(super) fn save_undo_state(&mut self, now: Time) {
        if self.config.undo && self.state == CaState::Open {
            self.undo_state = Some(Box::new(UndoState {
                began: now,
                // What a loss event before this one sent again may be under way yet: its stamp is no late packet's.
                resent: self.resent_since,
                unsent: None,
                window: self.window,
                controller: self.controller.clone(),
                rtt: self.rtt.clone(),
                no_fast_below: self.detector.no_fast_below(),
            }));
        }
    }

    /// The timer ran out.
    pub(super) fn note_timeout_for_undo(&mut self) {
        if let Some(saved) = &mut self.undo_state {
            saved.unsent = Some(self.board.next());
        }
    }

    /// A packet is sent again. Processing may stamp it later, never earlier.
    pub(super) fn note_retransmission(&mut self, now: Time) {
        self.resent_since = self.resent_since.min(now);
        if let Some(saved) = &mut self.undo_state {
            saved.resent = saved.resent.min(now);
        }
    }

    /// An acknowledgement moved on. Where it shows that nothing was lost, all is as before: since
    /// when what was done is taken back.
    ///
    // Differs from [RFC 3522, 3.2]: the decision waits until all retransmissions are acknowledged, not only for
    // the first acknowledgement. Of several gaps of which one is a loss, the first to be closed may be a late
    // packet. Linux does the same.
    pub(super) fn undo(&mut self, ack: &Ack, now: Time) -> Option<Time> {
        if self.undo_state.is_none() && self.resent_since == Time::NEVER {
            return None;
        }
        let done = self.detector.resent_is_done(&self.board);
        if done {
            self.resent_since = Time::NEVER;
        }
        let saved = self.undo_state.take_if(|saved| done || ack.echo >= saved.resent)?;
        if ack.echo >= saved.resent {
            return None;
        }
        // Differs from [RFC 4015, 3.4]: the window is restored at once, as in Linux, not set to the packets in
        // flight with slow start from there. The late packets fill most of it.
        self.window = saved.window;
        self.controller.clone_from(&saved.controller);
        self.detector.undo(&mut self.board, saved.no_fast_below);
        (self.state, self.in_cwr, self.urgent) = (CaState::Open, false, false);
        self.rearm(now);
        let since = saved.began;
        if saved.unsent.is_some() {
            self.rto_pending = Some(saved);
        }
        Some(since)
    }

    /// After a spurious timeout the first sample of what was sent since makes the timer careful
    /// [RFC 4015, 3.5].
    pub(super) fn adapt_rto(&mut self, ack: &Ack, now: Time) {
        let una = self.board.una();
        if let Some(saved) = self.rto_pending.take_if(|saved| saved.unsent.is_some_and(|unsent| una > unsent))
        {
            self.rtt.distrust(&saved.rtt, now.since(ack.echo));
        }
    }
}
