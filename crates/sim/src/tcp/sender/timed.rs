//! Losses found by time, on the sender's side [RFC 8985]: what [`Rack`] is told, and the timer, which
//! stands for one of three things.

use fairhaul_cc::Controller;
use fairhaul_units::{Ack, Span, Time};

use super::probe::Probe;
use super::{Outcome, Sender, State};
use crate::tcp::{Moment, Rack};

/// How much later than reckoned a timer that is not the retransmission timer runs out [LINUX,
/// TCP_TIMEOUT_MIN_US].
pub(super) const LATER: Span = Span::from_ms(2);

/// For what the timer runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The retransmission timeout.
    #[default]
    Timeout,
    /// Nothing was acknowledged: a probe is due.
    Probe,
    /// What was overtaken has had its time.
    Settled,
}

/// What a sender that finds losses by time has beside the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Timed {
    pub(super) rack: Rack,
    pub(super) alarm: Alarm,
    /// When the retransmission timer runs out.
    pub(super) timeout_at: Time,
    /// The last acknowledgement showed another loss.
    pub(super) found: bool,
    /// How long what it shows to be overtaken has left.
    wait: Option<Span>,
    pub(super) probe: Option<Probe>,
    /// A probe is to leave next.
    pub(super) probing: bool,
}

impl<C: Controller + Clone> Sender<C> {
    /// Takes an acknowledgement, and looks for losses: how many packets it newly reports as delivered.
    #[cold]
    pub(super) fn take_timed(&mut self, ack: &Ack, now: Time) -> u64 {
        let (recovering, moment) = (self.is_recovering(ack.next), self.moment(now));
        let Some(timed) = &mut self.timed else { return 0 };
        let (lost, board) = (self.board.lost(), &mut self.board);
        let delivered = timed.rack.take(board, ack, moment);
        let probe_came_twice = timed.probe.is_some_and(|probe| probe.is_answered_by(board.una()));
        if ack.tells_twice() && !probe_came_twice {
            timed.rack.regret(board.una(), board.next());
        }
        if let Some(rtt) = timed.rack.sample() {
            self.rtt.at_most(rtt);
        }
        timed.wait = timed.rack.look(board, recovering, moment);
        timed.found = board.lost() > lost;
        delivered
    }

    /// The timer ran out: what comes of it, unless it is the retransmission timer's.
    pub(super) fn on_alarm(&mut self, now: Time) -> Option<Outcome> {
        let timed = self.timed.as_mut()?;
        match std::mem::take(&mut timed.alarm) {
            Alarm::Timeout => None,
            Alarm::Probe => {
                (timed.probing, self.urgent) = (true, true);
                self.restart_timer(now);
                Some(Outcome::Quiet)
            }
            Alarm::Settled => Some(self.on_settled(now)),
        }
    }

    /// What was overtaken has had its time [LINUX, tcp_rack_reo_timeout].
    //
    // Differs from [LINUX]: after a timeout, packets that are found lost again are retransmitted, but they
    // begin no fast recovery, because the window is small already.
    fn on_settled(&mut self, now: Time) -> Outcome {
        let (recovering, moment) = (self.state != State::Open, self.moment(now));
        let Some(timed) = &mut self.timed else { return Outcome::Quiet };
        timed.rack.find(&mut self.board, recovering, moment);
        self.timer = timed.timeout_at.max(now + LATER);
        if self.state == State::Open && timed.rack.has_loss() {
            return self.enter_recovery(1, 0, now);
        }
        Outcome::Quiet
    }

    /// After an acknowledgement: if something was overtaken, the timer runs for that.
    pub(super) fn await_settled(&mut self, now: Time) {
        if let Some(timed) = &mut self.timed
            && let Some(wait) = timed.wait.take()
            && self.board.outstanding() > 0
        {
            timed.alarm = Alarm::Settled;
            self.timer = (now + wait + LATER).min(timed.timeout_at);
        }
    }

    /// The retransmission timer ran out.
    pub(super) fn time_out(&mut self, now: Time) {
        let Some(timed) = &mut self.timed else { return };
        timed.rack.time_out(&mut self.board, now);
        (timed.probe, timed.probing) = (None, false);
        // The first packet may leave, whatever is still on its way.
        self.window.cwnd = (self.board.in_flight() + 1) as f64;
    }

    /// Whether the timer runs for what was overtaken, and is not to be moved by what leaves.
    pub(super) fn is_settling(&self) -> bool {
        self.timed.as_ref().is_some_and(|timed| timed.alarm == Alarm::Settled)
    }

    /// Whether it is in a recovery that an acknowledgement up to `next` does not end.
    fn is_recovering(&self, next: u64) -> bool {
        self.state != State::Open && next < self.recover
    }

    fn moment(&self, now: Time) -> Moment {
        Moment { now, min_rtt: self.rtt.smallest(), srtt: self.rtt.smoothed() }
    }
}
