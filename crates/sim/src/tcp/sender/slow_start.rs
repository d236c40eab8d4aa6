//! Slow start: how fast the window grows, and what ends slow start before a loss.

use fairhaul_cc::{AckEvent, Controller, Pacing};
use fairhaul_experiment::{Limit, SearchVariant, SlowStart};
use fairhaul_units::Time;

use super::Sender;
use crate::tcp::{HyStart, HyStartPp, LongestTrain, Search};

/// What ends slow start by the delay, as long as it may; boxed, since few have it and none for long.
#[derive(Clone, Debug)]
pub(super) enum DelayExit {
    /// Nothing does.
    None,
    /// A train of acknowledgements or the delay [HYSTART, LINUX].
    HyStart(Box<HyStart>),
    /// The delay, in the first slow start [RFC 9406].
    HyStartPp(Box<HyStartPp>),
    /// Deliveries that fall behind [SEARCH].
    Search(Box<Search>),
    /// Slow start has ended, and the window comes down to that [SEARCH].
    Drain(f64),
}

impl DelayExit {
    /// That of the first slow start.
    pub(super) fn new(slow_start: SlowStart) -> DelayExit {
        match slow_start {
            SlowStart::HyStartPp => DelayExit::HyStartPp(Box::default()),
            SlowStart::Search { variant, .. } => DelayExit::Search(Box::new(Search::new(variant))),
            _ => DelayExit::after_timeout(slow_start, Time::ZERO, 0),
        }
    }

    /// That of the slow start after a timeout at `now`, when all below `next` was sent.
    pub(super) fn after_timeout(slow_start: SlowStart, now: Time, next: u64) -> DelayExit {
        match slow_start {
            SlowStart::HyStart => DelayExit::HyStart(Box::new(HyStart::anew(now, next))),
            // Unclear in [SEARCH]: whether later slow starts, which know a threshold, end by it. Only in the module for
            // Linux.
            SlowStart::Search { variant: variant @ SearchVariant::Linux, .. } => {
                DelayExit::Search(Box::new(Search::new(variant)))
            }
            _ => DelayExit::None,
        }
    }

    /// A loss or the echo of a mark reduces the window: the first slow start is over.
    pub(super) fn on_reduction(&mut self) {
        if self.takes_every_ack() {
            *self = DelayExit::None;
        }
    }

    /// Whether it takes every acknowledgement of new data, also where the window does not limit the sender.
    #[inline(always)]
    pub(super) fn takes_every_ack(&self) -> bool {
        matches!(self, DelayExit::HyStartPp(_) | DelayExit::Search(_) | DelayExit::Drain(_))
    }
}

impl<C: Controller + Clone> Sender<C> {
    /// Whether slow start ends here, by a train of acknowledgements or the delay.
    pub(super) fn ends_slow_start(&mut self, event: &AckEvent) -> bool {
        let DelayExit::HyStart(_) = self.delay_exit else { return false };
        let longest = self.longest_train_of_acks();
        let DelayExit::HyStart(hystart) = &mut self.delay_exit else { return false };
        let over = hystart.is_over(event, self.window.cwnd, self.board.una(), self.board.next(), longest);
        if over {
            self.window.ssthresh = self.window.cwnd;
            self.delay_exit = DelayExit::None;
        }
        over
    }

    /// How long the acknowledgements of a round may follow each other before slow start ends [LINUX, hystart_ack_delay].
    fn longest_train_of_acks(&self) -> LongestTrain {
        let Some(segmentation) = self.config.segmentation else { return LongestTrain::UNPACED };
        let paced = self.fq.is_some() || matches!(self.pacing(), Pacing::Even(_));
        LongestTrain::of_bursts(segmentation.time_of_largest(self.pacing_rate()), paced)
    }

    /// As the controller would, or by a part of that.
    pub(super) fn slow_start(&mut self, event: &AckEvent) {
        let before = self.window.cwnd;
        self.controller.on_slow_start(&mut self.window, event);
        let divisor = self.divisor(before, event.packets);
        if divisor != 1.0 && self.window.cwnd > before {
            self.window.cwnd = before + (self.window.cwnd - before) / divisor;
        }
        let growth = self.first_growth();
        if growth != 1.0 {
            self.window.cwnd = before + growth * (self.window.cwnd - before);
        }
        if self.config.slow_start.is_full() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh.max(before));
        }
    }

    /// Limited: above `max_ssthresh` the K-th part, so that a round adds at most max_ssthresh / 2
    /// [RFC 3742, 2].
    //
    // Differs from [RFC 3742, 2]: K = cwnd / (max_ssthresh / 2) is not rounded down. Rounded, a
    // window just below a multiple would grow by up to half as much again in a round.
    fn divisor(&self, cwnd: f64, packets: f64) -> f64 {
        if let SlowStart::Limited { max_ssthresh } = self.config.slow_start
            && cwnd > max_ssthresh
        {
            return cwnd / (0.5 * max_ssthresh);
        }
        if self.config.slow_start.is_full() {
            return packets.min(2.0) / packets;
        }
        match &self.delay_exit {
            DelayExit::HyStartPp(hystart_pp) => hystart_pp.divisor(packets, self.is_paced()),
            _ => 1.0,
        }
    }

    fn is_paced(&self) -> bool {
        self.config.max_pacing_rate.is_some() || self.pacing() != Pacing::None
    }

    /// Ends the first slow start where the round-trip time, or what is delivered, says so; later ones know a threshold, and
    /// are standard [RFC 9406, 4.3].
    #[inline(never)]
    pub(super) fn watch_delay(&mut self, event: &AckEvent) {
        let (una, next) = (self.board.una(), self.board.next());
        let limited = self.limit == Some(Limit::Application);
        let is_over = match &mut self.delay_exit {
            DelayExit::HyStartPp(hystart_pp) => hystart_pp.is_over(event, una, next),
            DelayExit::Search(search) => search.is_over(event, next, limited),
            DelayExit::Drain(target) => {
                let target = *target;
                return self.drain(target, event.packets);
            }
            DelayExit::None | DelayExit::HyStart(_) => return,
        };
        if self.window.in_slow_start() && !is_over {
            return;
        }
        let target = self.drain_target(is_over);
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        self.delay_exit = target.map_or(DelayExit::None, DelayExit::Drain);
    }

    /// What the window comes down to after slow start has ended by SEARCH, where it is to; in the module for Linux at once.
    fn drain_target(&mut self, is_over: bool) -> Option<f64> {
        let DelayExit::Search(search) = &self.delay_exit else { return None };
        let SlowStart::Search { variant, drain } = self.config.slow_start else { return None };
        if !(drain && is_over) {
            return None;
        }
        let target = search.target(self.window.cwnd).max(self.config.initial_window);
        if variant == SearchVariant::Linux {
            self.window.lower_to(target);
            return None;
        }
        Some(target)
    }

    /// The window comes down by half of what is acknowledged.
    //
    // Unclear in [SEARCH]: how fast. Half as fast as acknowledgements come, so that the sender goes on at half of the rate
    // of the bottleneck while the queue drains.
    fn drain(&mut self, target: f64, packets: f64) {
        self.window.lower_to((self.window.cwnd - packets / 2.0).max(target));
        if self.window.cwnd <= target {
            self.delay_exit = DelayExit::None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: rfc9406-4.3-f
    #[test]
    fn only_the_first_slow_start_is_that_of_hystart_pp() {
        let first = || DelayExit::new(SlowStart::HyStartPp);
        assert!(matches!(first(), DelayExit::HyStartPp(_)));
        let mut reduced = first();
        reduced.on_reduction();
        assert!(matches!(reduced, DelayExit::None));
        assert!(matches!(DelayExit::after_timeout(SlowStart::HyStartPp, Time::ZERO, 10), DelayExit::None));
    }
}
