//! The first round trips: the connection is open, and the rules for what it does beyond slow start.

use fairhaul_cc::{AckEvent, Controller, Window};
use fairhaul_experiment::{Rto, Startup};
use fairhaul_units::{Ack, Span, Time};

use super::{CaState, Outcome, Sender};
use crate::tcp::{First, StartupAck};

impl<C: Controller + Clone> Sender<C> {
    /// The answer to the request to open.
    #[cold]
    pub(super) fn on_opened(&mut self, ack: &Ack, now: Time) -> Outcome {
        if ack.opens {
            self.hear_window(ack);
            self.sample(now.since(ack.echo));
            let was_lost = self.rtt.is_backed_off();
            self.rtt.progress();
            if was_lost && self.config.rto == Rto::Rfc6298 {
                self.rtt.wait_after_lost_request();
            }
            self.state = CaState::Open;
            self.timer = Time::NEVER;
            if self.config.accecn.is_some() {
                self.controller.on_ecn_feedback(self.accurate.is_some());
            }
            self.begin_first();
        }
        Outcome::Quiet
    }

    /// The connection is open, with its first round trip: the initial window may become larger, or be spread. Not where the
    /// request was lost, which has made it one packet.
    #[cold]
    fn begin_first(&mut self) {
        let rtt = self.rtt.smoothed();
        if self.window.cwnd == self.config.window().cwnd {
            let all = self.all_at_once(rtt);
            self.first = First::new(self.config.startup, &mut self.window, rtt, all).map(Box::new);
            self.window.cwnd = self.window.cwnd.min(self.config.max_window);
        }
    }

    /// Whether the next acknowledgement asks what the application has ready.
    #[inline(always)]
    pub fn asks_what_is_ready(&self) -> bool {
        let is_first = || self.first.is_some() || matches!(self.state, CaState::Opening { .. });
        self.config.startup != Startup::None && is_first()
    }

    /// Packets that the sender could send in a round trip if no window limited it.
    fn all_at_once(&self, rtt: Span) -> f64 {
        let ready = self.total.min(self.ready).min(self.config.buffers.end()) as f64;
        ready.min((self.config.line * rtt.as_secs()).ceil())
    }

    /// The time between two packets that the first round trips spread.
    #[inline(always)]
    pub(super) fn first_gap(&self) -> Option<Span> {
        self.first.as_ref().and_then(|first| first.gap(self.board.next()))
    }

    /// Whether a rule of the first round trips, and nothing else, moves the window.
    #[inline(always)]
    pub(super) fn is_held_by_first(&self) -> bool {
        self.first.as_ref().is_some_and(|first| first.holds_window())
    }

    /// By how many times what slow start adds the window grows.
    #[inline(always)]
    pub(super) fn first_growth(&self) -> f64 {
        self.first.as_ref().map_or(1.0, |first| first.growth(self.rtt.smallest()))
    }

    /// An acknowledgement was processed: what the first round trips do with the window, and its bound.
    #[inline(always)]
    pub(super) fn settle_window(&mut self, event: &AckEvent, now: Time) {
        if self.first.is_some() {
            self.continue_first(event, now);
        }
        if self.window.cwnd > self.config.max_window {
            self.window.cwnd = self.config.max_window;
        }
    }

    #[inline(never)]
    fn continue_first(&mut self, event: &AckEvent, now: Time) {
        let reacts_to_mark = self.board.una() <= self.marked_below && self.marked_below > 0;
        let ack = StartupAck {
            now,
            delivered: event.packets,
            lost: event.lost,
            rtt: event.rtt,
            min_rtt: event.min_rtt,
            una: self.board.una(),
            next: self.board.next(),
            in_flight: self.board.in_flight() as f64,
            has_more: self.may_send_new(),
            recovering: self.state != CaState::Open || reacts_to_mark,
        };
        let lost = self.board.lost();
        if let Some(first) = &mut self.first
            && first.on_ack(&mut self.window, &ack, lost)
        {
            self.first = None;
        }
    }

    /// The controller has reduced the window for a loss or a mark, which was `before`.
    #[inline(never)]
    pub(super) fn first_congestion(&mut self, before: Window) {
        let next = self.board.next();
        if let Some(first) = &mut self.first
            && first.on_congestion(&mut self.window, before, next)
        {
            self.first = None;
        }
    }
}
