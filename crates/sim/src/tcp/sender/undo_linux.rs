//! Undo as in Linux [LINUX, tcp_fastretrans_alert]: window and threshold are given back, the controller keeps what the
//! reduction taught it unless it says otherwise, and duplicates show needless retransmissions, too.
//!
//! The evidence is a time stamp older than the first retransmission, as elsewhere, or a duplicate reported for every
//! retransmission [RFC 3708]; after a timeout also the delivery of a packet that was sent once [RFC 5682].

use fairhaul_cc::{Controller, Window};
use fairhaul_units::{Ack, Time};

use super::undo::Saved;
use super::{CaState, Sender};

/// What an acknowledgement shows of a recovery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Nothing that would be undone now.
    None,
    /// A gap was closed by a late packet: what is believed lost is not.
    Late,
    /// Every retransmission arrived twice. What else is lost stays so.
    Duplicates,
}

impl<C: Controller + Clone> Sender<C> {
    /// An acknowledgement came, which advanced from `una`: since when what was done is taken back, if it is.
    #[inline(never)]
    pub(super) fn undo_as_in_linux(&mut self, ack: &Ack, ece: bool, una: u64, now: Time) -> Option<Time> {
        let evidence = self.evidence(ack, ece, una);
        if self.detector.retransmissions() == 0 {
            self.undo_state.retransmitting_since = Time::NEVER;
        }
        if evidence == Evidence::None {
            return None;
        }
        let saved = self.undo_state.saved.take()?;
        self.give_back(&saved, now);
        match evidence {
            Evidence::Late => self.detector.undo(&mut self.board, 0),
            _ => self.detector.persist_longer(),
        }
        let recovers = self.state != CaState::Open;
        (self.state, self.in_cwr, self.urgent) = (CaState::Open, false, false);
        if recovers {
            self.controller.on_recovered(&mut self.window, now);
        }
        self.rearm(now);
        Some(saved.began)
    }

    fn evidence(&mut self, ack: &Ack, ece: bool, una: u64) -> Evidence {
        let Some(saved) = &mut self.undo_state.saved else { return Evidence::None };
        if ece {
            saved.window = None;
        }
        // Of what is not acknowledged in order, only a retransmission counts [LINUX, tcp_check_dsack, tcp_sacktag_one].
        let answers = |&number: &u64| number >= saved.from && number < una;
        if ack.dsack().filter(answers).or(self.detector.came_twice()).is_some() {
            saved.unanswered = saved.unanswered.map(|count| count.saturating_sub(1));
        }
        let answered = saved.unanswered == Some(0);
        let late = self.board.una() > una && ack.echo < saved.first_retransmission;
        let done = self.board.una() >= self.recover;
        match self.state {
            CaState::Recovery if late && !done => {
                self.detector.note_reordering(una);
                self.holds_losses = self.detector.retransmissions() > 0;
                if self.holds_losses { Evidence::None } else { Evidence::Late }
            }
            CaState::Recovery | CaState::Loss if late => Evidence::Late,
            CaState::Loss if self.is_spurious_timeout() => Evidence::Late,
            CaState::Loss if answered && self.board.una() > una => Evidence::Late,
            CaState::Open if answered && self.in_cwr => Evidence::None,
            CaState::Open | CaState::Recovery if answered => Evidence::Duplicates,
            _ => Evidence::None,
        }
    }

    /// The window is at least what it was before, and so is the threshold.
    fn give_back(&mut self, saved: &Saved<C>, now: Time) {
        let Some(before) = saved.window else { return };
        self.controller.on_undo(&mut self.window, before.cwnd, now);
        self.window.ssthresh = self.window.ssthresh.max(current_ssthresh(before));
    }
}

/// A threshold that is at least three quarters of the window, in whole packets [LINUX, tcp_current_ssthresh].
pub(super) fn current_ssthresh(window: Window) -> f64 {
    window.ssthresh.max((window.cwnd / 2.0).floor() + (window.cwnd / 4.0).floor())
}
