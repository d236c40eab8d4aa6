//! Undo of what was done for packets that were merely late: detection by time stamps [RFC 3522],
//! response after [RFC 4015].
//!
//! A gap that an acknowledgement closes was closed by the packet whose stamp it echoes. Where that
//! stamp is older than the first retransmission, the packet was late and not lost. If that holds for
//! all that was sent again, the loss event or timeout was no sign of congestion.

use fairhaul_cc::{Controller, Window};
use fairhaul_units::{Ack, Time};

use super::{Sender, State};
use crate::tcp::RttEstimator;

/// The sender before a loss event or a timeout in the open state. What follows until all is
/// acknowledged belongs to the same episode, and is undone with it or not at all.
#[derive(Clone, Debug)]
pub(super) struct Before<C> {
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
    pub(super) fn remember(&mut self, now: Time) {
        if self.profile.undo && self.state == State::Open {
            self.before = Some(Box::new(Before {
                began: now,
                // What a loss event before this one sent again may be under way yet: its stamp is no late packet's.
                resent: self.resent_since,
                unsent: None,
                window: self.window,
                controller: self.controller.clone(),
                rtt: self.rtt.clone(),
                no_fast_below: self.no_fast_below,
            }));
        }
    }

    /// The timer ran out.
    pub(super) fn remember_timeout(&mut self) {
        if let Some(before) = &mut self.before {
            before.unsent = Some(self.board.next());
        }
    }

    /// A packet is sent again. Processing may stamp it later, never earlier.
    pub(super) fn remember_resent(&mut self, now: Time) {
        self.resent_since = self.resent_since.min(now);
        if let Some(before) = &mut self.before {
            before.resent = before.resent.min(now);
        }
    }

    /// An acknowledgement moved on. Where it shows that nothing was lost, all is as before: since
    /// when what was done is taken back.
    ///
    // Differs from [RFC 3522, 3.2]: the decision waits until all retransmissions are acknowledged, not only for
    // the first acknowledgement. Of several gaps of which one is a loss, the first to be closed may be a late
    // packet. Linux does the same.
    pub(super) fn undo(&mut self, ack: &Ack, now: Time) -> Option<Time> {
        if self.before.is_none() && self.resent_since == Time::NEVER {
            return None;
        }
        let timed = self.timed.as_ref();
        let done = timed.map_or(self.board.resent_is_done(), |timed| timed.rack.resent_is_done());
        if done {
            self.resent_since = Time::NEVER;
        }
        let before = self.before.take_if(|before| done || ack.echo >= before.resent)?;
        if ack.echo >= before.resent {
            return None;
        }
        // Differs from [RFC 4015, 3.4]: the window is restored at once, as in Linux, not set to the packets in
        // flight with slow start from there. The late packets fill most of it.
        self.window = before.window;
        self.controller.clone_from(&before.controller);
        self.no_fast_below = before.no_fast_below;
        match &mut self.timed {
            Some(timed) => timed.rack.forgive(&mut self.board),
            None => self.board.forget_losses(),
        }
        (self.state, self.easing) = (State::Open, false);
        (self.dup_acks, self.partial_acks, self.urgent) = (0, 0, false);
        self.rearm(now);
        let since = before.began;
        if before.unsent.is_some() {
            self.wary = Some(before);
        }
        Some(since)
    }

    /// After a spurious timeout the first sample of what was sent since makes the timer careful
    /// [RFC 4015, 3.5].
    pub(super) fn learn(&mut self, ack: &Ack, now: Time) {
        let una = self.board.una();
        if let Some(before) = self.wary.take_if(|before| before.unsent.is_some_and(|unsent| una > unsent)) {
            self.rtt.distrust(&before.rtt, now.since(ack.echo));
        }
    }
}
