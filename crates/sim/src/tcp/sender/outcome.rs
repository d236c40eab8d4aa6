//! What the sender says of an acknowledgement or of its timer.

use fairhaul_units::{Span, Time};

/// What an acknowledgement or the timer has caused, for the record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing of note.
    Quiet,
    /// A loss event: the window was reduced.
    Reduced,
    /// The echo of a mark: the window was reduced.
    Marked,
    /// All that was outstanding at the loss event or the timeout is acknowledged.
    Recovered,
    /// The same, and what is lost beyond it is another loss event: the window was reduced again.
    ReducedAgain,
    /// The retransmission timer ran out; the timeout that had been set.
    TimedOut(Span),
    /// What was believed to be lost was late: the window is what it was before.
    Undone {
        /// When the first reduction or timeout was that did not stand.
        since: Time,
        /// Whether everything was acknowledged, too.
        finished: bool,
    },
    /// Everything was acknowledged.
    Finished,
}

impl Outcome {
    /// Whether everything was acknowledged.
    pub fn finishes(self) -> bool {
        matches!(self, Outcome::Finished | Outcome::Undone { finished: true, .. })
    }
}
