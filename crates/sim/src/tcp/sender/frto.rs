//! After a timeout, whether all was lost [RFC 5682, 3; LINUX, tcp_process_loss]: new packets leave before anything else is
//! retransmitted, and the delivery of a packet that was sent once shows that the timeout was spurious.

use fairhaul_cc::Controller;

use super::Sender;

/// What is asked about a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// Nothing: the packets were lost, or the sender does not ask.
    #[default]
    Off,
    /// Whether a packet that was sent once is delivered.
    Asks,
    /// The same, and new packets leave for this acknowledgement instead of retransmissions.
    SendsNew,
}

impl<C: Controller + Clone> Sender<C> {
    /// Whether the last acknowledgement shows that the timeout was spurious.
    pub(super) fn is_spurious_timeout(&self) -> bool {
        self.frto != Frto::Off && self.detector.first_original().is_some_and(|number| number < self.recover)
    }

    /// An acknowledgement after a timeout, which was not undone and moved on if `advanced`: what is asked from now on.
    pub(super) fn ask_frto(&mut self, advanced: bool) {
        if self.frto == Frto::Off {
            return;
        }
        self.frto = if self.board.next() > self.recover {
            if self.detector.has_reported() { Frto::Off } else { Frto::Asks }
        } else if advanced && self.board.una() < self.recover {
            if self.may_send_new() { Frto::SendsNew } else { Frto::Off }
        } else {
            Frto::Asks
        };
    }
}
