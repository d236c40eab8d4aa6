//! A timeout that only asks: the sender probes and keeps its window, until what is acknowledged shows persistent
//! congestion [RFC 9002, 6.2, 7.6].

use fairhaul_cc::Controller;
use fairhaul_units::Time;

use super::{CaState, Outcome, Sender};

/// Congestion persists if what was lost had left over more timeouts than these [RFC 9002, 7.6.1].
const PERSISTENT_TIMEOUTS: u64 = 3;

/// What was asked since something was last acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    /// The first packet that was outstanding when the first probe left, and when it had left.
    first: Option<(u64, Time)>,
    /// When the timer expired for each probe, ascending.
    probes: Vec<Time>,
}

impl<C: Controller + Clone> Sender<C> {
    /// Whether the retransmission timer only asks.
    pub(super) fn only_asks(&self) -> bool {
        self.silence.is_some() && !matches!(self.state, CaState::Opening { .. })
    }

    /// A probe is due: it leaves next.
    pub(super) fn ask(&mut self, now: Time) -> Outcome {
        let first = self.detector.first_sent().map(|sent| (self.board.una(), sent));
        if let Some(silence) = &mut self.silence {
            silence.first = silence.first.or(first);
            silence.probes.push(now);
        }
        self.urgent = true;
        self.restart_timer(now);
        Outcome::Quiet
    }

    /// Nothing was acknowledged since the last probe: another one is due, and the next after twice the time.
    #[cold]
    pub(super) fn ask_again(&mut self, now: Time) -> Outcome {
        self.rtt.back_off();
        self.detector.ask_again();
        self.ask(now)
    }

    /// Something was delivered, with that outcome, or what was lost before shows persistent congestion.
    #[cold]
    pub(super) fn end_silence(&mut self, outcome: Outcome, now: Time) -> Outcome {
        if self.lost_for_long() { self.on_persistent_congestion(now) } else { outcome }
    }

    fn lost_for_long(&mut self) -> bool {
        let Some(silence) = &mut self.silence else { return false };
        let Silence { first, probes } = std::mem::take(&mut **silence);
        let (Some((first, lost_since)), Some(delivered)) = (first, self.detector.latest_sent()) else {
            return false;
        };
        // The first was only late, and what came after it.
        if self.detector.first_original().is_some_and(|original| original <= first) {
            return false;
        }
        // The last probe up to then was delivered, the one before it is the last packet that was lost.
        let last_lost = probes.into_iter().rev().filter(|probe| *probe <= delivered).nth(1);
        let least = self.rtt.timeout_without_back_off() * PERSISTENT_TIMEOUTS;
        last_lost.is_some_and(|lost| lost.since(lost_since) > least)
    }

    /// The sender starts over.
    fn on_persistent_congestion(&mut self, now: Time) -> Outcome {
        self.finish_prr();
        self.undo_state.discard();
        self.on_timeout_event(now);
        self.start_over(now);
        self.rearm(now);
        Outcome::TimedOut(self.rtt.timeout())
    }
}
