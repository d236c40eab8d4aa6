//! LEDBAT++ [LEDBATPP]: uses what other traffic leaves of the path, by the queueing delay of the round trip.
//!
//! Below the target of 60 ms the window grows, by at most one packet per round trip; above it the window shrinks in
//! proportion to the excess. From time to time it falls to two packets, so that all flows see the path without a queue.

use std::collections::VecDeque;

use fairhaul_units::{Gauge, Parameter, Span, Time, parameters};

use crate::gauge::seconds;
use crate::recent_minimum::RecentMinimum;
use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    parameters: LedbatParameters,
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    /// The smallest round-trip time of the last ten minutes, and the last four samples.
    base: Span,
    history: RecentMinimum,
    samples: VecDeque<Span>,
    /// The queueing delay.
    delay: Span,
    phase: Phase,
    /// When the last slowdown began, and when the next one does; never before the first slow start is over.
    slowed_at: Time,
    slows_at: Time,
}

/// What the window does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The first slow start, which ends by the delay or at the threshold.
    First,
    /// The window follows the delay.
    Usual,
    /// The window is two packets, until then.
    Slowed { until: Time },
    /// Slow start after a slowdown, up to the window before it.
    Ramp,
}

parameters! {
    /// The parameters of LEDBAT++.
    pub(crate) struct LedbatParameters {
        target: Milliseconds(0.1..=10_000.0) = 60.0, "queueing delay that the window aims at [LEDBATPP]";
        constant: Number(0.0..=100.0) = 1.0,
            "factor of the decrease with the excess of the delay over the target [LEDBATPP]";
        slowdowns: Switch = true, "periodic slowdowns, in which the path is measured without a queue [LEDBATPP]";
        period: Number(1.0..=1e6) = 9.0, "time between two slowdowns, over the duration of the last one [LEDBATPP]";
    }
}

/// The largest divisor of the growth.
const MOST_DIVISOR: f64 = 16.0;
/// Parts of the history of base delays, and the length of each.
const MINUTES: usize = 10;
const MINUTE: Span = Span::from_s(60);
/// Samples of which the smallest is the current delay.
const SAMPLES: usize = 4;
/// The window of a slowdown, packets, and its round trips.
const SLOWED: f64 = 2.0;
const SLOWED_ROUNDS: u64 = 2;

impl LedbatPlusPlus {
    pub(crate) const TITLE: &'static str = "LEDBAT++: uses what other traffic leaves, by the queueing delay";
    pub(crate) const SOURCE: &'static str = "LEDBATPP";
    pub(crate) const PARAMETERS: &'static [Parameter] = LedbatParameters::LIST;

    pub(crate) fn new(given: LedbatParameters) -> LedbatPlusPlus {
        let state = State {
            base: Span::ZERO,
            history: RecentMinimum::new(MINUTES),
            samples: VecDeque::with_capacity(SAMPLES + 1),
            delay: Span::ZERO,
            phase: Phase::First,
            slowed_at: Time::ZERO,
            slows_at: Time::NEVER,
        };
        LedbatPlusPlus { parameters: given, state: Box::new(state) }
    }

    /// Packets that a round trip adds: one where the path is as long as twice the target, less on a shorter path.
    fn gain(&self) -> f64 {
        let twice = 2.0 * self.parameters.target.as_secs();
        1.0 / (twice / self.state.base.as_secs()).ceil().clamp(1.0, MOST_DIVISOR)
    }

    /// The delay over the target.
    fn ratio(&self) -> f64 {
        self.state.delay.as_secs() / self.parameters.target.as_secs()
    }

    /// What a round trip adds to a window.
    fn change(&self, cwnd: f64) -> f64 {
        let (gain, ratio) = (self.gain(), self.ratio());
        if ratio < 1.0 {
            return gain;
        }
        (gain - self.parameters.constant * cwnd * (ratio - 1.0)).max(-cwnd / 2.0)
    }

    /// The next slowdown is due after that time.
    fn plan_slowdown(&mut self, now: Time, after: Span) {
        if self.parameters.slowdowns {
            self.state.slows_at = now + after;
        }
    }

    /// Begins and ends slowdowns.
    fn slow_down(&mut self, window: &mut Window, ack: &AckEvent) {
        match self.state.phase {
            Phase::Usual if ack.now >= self.state.slows_at => {
                window.ssthresh = window.cwnd.max(SLOWED);
                window.cwnd = SLOWED;
                self.state.phase = Phase::Slowed { until: ack.now + ack.srtt * SLOWED_ROUNDS };
                (self.state.slowed_at, self.state.slows_at) = (ack.now, Time::NEVER);
            }
            Phase::First if !window.in_slow_start() => {
                self.state.phase = Phase::Usual;
                self.plan_slowdown(ack.now, ack.srtt * SLOWED_ROUNDS);
            }
            Phase::Slowed { until } if ack.now >= until => self.state.phase = Phase::Ramp,
            Phase::Ramp if !window.in_slow_start() => {
                self.state.phase = Phase::Usual;
                let took = ack.now.since(self.state.slowed_at).as_secs();
                self.plan_slowdown(ack.now, Span::from_secs(self.parameters.period * took));
            }
            _ => {}
        }
    }

    /// A loss event ends the first slow start, and a slowdown.
    fn end_slow_start(&mut self, event: &Congestion) {
        if self.state.phase != Phase::Usual {
            self.state.phase = Phase::Usual;
            self.plan_slowdown(event.now, event.srtt * SLOWED_ROUNDS);
        }
    }
}

impl Catalogued for LedbatPlusPlus {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "base_rtt_s", unit: "s", help: "smallest round-trip time of ten minutes" },
        Gauge { name: "queueing_delay_s", unit: "s", help: "smallest of four samples less the base" },
    ];
}

impl Controller for LedbatPlusPlus {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let state = &mut *self.state;
        state.base = state.history.take(ack.now, ack.rtt, MINUTE);
        state.samples.push_back(ack.rtt);
        if state.samples.len() > SAMPLES {
            state.samples.pop_front();
        }
        let current = state.samples.iter().min().copied().unwrap_or(ack.rtt);
        state.delay = current.saturating_sub(state.base);
        if !ack.recovering {
            self.slow_down(window, ack);
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Phase::Slowed { .. } = self.state.phase {
            return;
        }
        if self.state.phase == Phase::First && self.ratio() > 0.75 {
            window.ssthresh = window.cwnd;
            return;
        }
        window.cwnd = (window.cwnd + self.gain() * ack.packets.min(2.0)).min(window.ssthresh);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Phase::Slowed { .. } = self.state.phase {
            return;
        }
        let change = self.change(window.cwnd) * ack.packets / window.cwnd;
        window.move_to(window.cwnd + change);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.end_slow_start(event);
        window.give_up(0.5);
    }

    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        self.end_slow_start(event);
        window.start_over();
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([seconds(self.state.base), self.state.delay.as_secs()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, acknowledge, avoidance, close};

    /// A flow on a path of `base_ms` whose queueing delay is `delay_ms`, after its first slow start.
    fn flow(base_ms: u64, delay_ms: u64) -> LedbatPlusPlus {
        let mut flow = LedbatPlusPlus::new(Default::default());
        let mut window = avoidance(100.0);
        flow.on_delivery(&mut window, &ack(Span::from_ms(base_ms)));
        for _ in 0..4 {
            flow.on_delivery(&mut window, &ack(Span::from_ms(base_ms + delay_ms)));
        }
        flow.state.phase = Phase::Usual;
        flow
    }

    /// 1 / min(16, ceil(120 ms / base)).
    #[test]
    fn the_gain_is_smaller_on_a_short_path() {
        for (base_ms, gain) in [(200, 1.0), (120, 1.0), (119, 0.5), (40, 1.0 / 3.0), (5, 1.0 / 16.0)] {
            assert_eq!(flow(base_ms, 0).gain(), gain);
        }
    }

    /// At 120 ms the gain is one. 100 packets: at 66 ms 1 - 100 x 0.1 = -9; at 120 ms 1 - 100, of which half of the
    /// window is the limit.
    #[test]
    fn above_the_target_the_window_shrinks_with_the_excess() {
        for (delay_ms, change) in [(0, 1.0), (59, 1.0), (66, -9.0), (120, -50.0)] {
            assert!((flow(120, delay_ms).change(100.0) - change).abs() < 1e-9);
        }
    }

    /// Below 45 ms, three quarters of 60 ms, the window doubles in a round trip of 120 ms.
    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        for (delay_ms, grows) in [(45, true), (46, false)] {
            let mut flow = flow(120, delay_ms);
            flow.state.phase = Phase::First;
            let mut window = Window { cwnd: 100.0, ssthresh: 1e9 };
            flow.on_slow_start(&mut window, &ack(Span::from_ms(120 + delay_ms)));
            assert_eq!((window.cwnd > 100.0, window.in_slow_start()), (grows, grows));
        }
    }

    /// Two round trips after the first slow start, for two round trips; then slow start back to 100 packets ends in round 9.
    /// The next slowdown begins nine times these 7 rounds later.
    #[test]
    fn a_slowdown_leaves_two_packets_for_two_round_trips_and_comes_again() {
        let mut flow = flow(120, 0);
        let mut window = avoidance(100.0);
        flow.plan_slowdown(Time::ZERO, Span::from_ms(240));
        let mut slowed = Vec::new();
        for number in 0..60 {
            for part in 0..window.cwnd as u64 {
                let now = Time::ZERO + Span::from_ms(120 * number) + Span::from_us(part);
                acknowledge(&mut flow, &mut window, &AckEvent { now, ..ack(Span::from_ms(120)) });
            }
            if window.cwnd == SLOWED {
                slowed.push(number);
            }
        }
        assert_eq!(slowed, [2, 3]);
        assert_eq!(flow.state.phase, Phase::Usual);
        close(flow.state.slows_at.as_secs() / 0.12, 9.0 + 63.0, 0.03);
    }

    /// One flow alone keeps 60 ms of queue: 60 packets at 1000 a second.
    #[test]
    fn alone_it_keeps_the_target_queued() {
        let parameters = LedbatParameters { slowdowns: false, ..Default::default() };
        let mut flows = [(LedbatPlusPlus::new(parameters), avoidance(50.0))];
        flows[0].0.state.phase = Phase::Usual;
        let mut path = SharedPath::new(Span::from_ms(100), 1000.0);
        let queued = (0..600).map(|_| path.round(&mut flows)).last().unwrap();
        close(queued, 60.0, 0.05);
    }

    #[test]
    fn a_loss_takes_half_and_ends_the_first_slow_start() {
        let mut flow = LedbatPlusPlus::new(Default::default());
        let mut window = Window { cwnd: 100.0, ssthresh: 1e9 };
        flow.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, flow.state.phase), (50.0, Phase::Usual));
    }
}
