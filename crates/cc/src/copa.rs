//! Copa [COPA]: aims at a rate of 1 / (delta x queueing delay), so that each flow keeps 1 / delta packets in the queue.
//!
//! The window moves towards that rate by v / (delta w) per packet, where the velocity v doubles in each round trip in which
//! the direction stays. The moves of all flows empty the queue about every five round trips. A queue that does not get
//! empty has a flow that fills buffers: then delta becomes smaller, by additive increase of 1 / delta, halved at a loss.

use std::collections::VecDeque;

use fairhaul_units::{Gauge, Parameter, Settings, Span, parameters};

use crate::gauge::seconds;
use crate::recent_minimum::RecentMinimum;
use crate::{AckEvent, Catalogued, Congestion, Controller, Needs, Pacing, ProbeCycle, Window};

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    parameters: CopaParameters,
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    /// The smallest round-trip time of the last ten seconds, and of the last half round trip.
    min_rtt: Span,
    least: RecentMinimum,
    standing: Span,
    latest: RecentMinimum,
    /// The smallest and the largest sample of each of the last rounds.
    extremes: VecDeque<(Span, Span)>,
    /// Rounds since the queue was nearly empty.
    full_rounds: u64,
    /// Packets that a flow keeps in the queue, 1 / delta.
    inverse: f64,
    competes: bool,
    velocity: f64,
    /// The window at the start of the round; whether it grew in the last one, and for how many rounds.
    began: f64,
    grew: bool,
    same: u32,
    /// Whether a packet was lost since 1 / delta last grew or could have.
    lost: bool,
}

parameters! {
    /// The parameters of Copa.
    pub(crate) struct CopaParameters {
        delta: Number(0.001..=10.0) = 0.5,
            "in the default mode the flow keeps 1 / delta packets in the queue [COPA]";
        competes: Switch = true, "whether it becomes as aggressive as flows that fill buffers [COPA]";
    }
}

/// Parts of the windows of both minima; the long one lasts 10 s, the short one half a smoothed round-trip time.
const PARTS: usize = 10;
const LONG_PART: Span = Span::from_s(1);
/// Rounds of which the largest sample counts, and rounds within which the queue is nearly empty once.
const RANGE_ROUNDS: usize = 4;
const EMPTY_ROUNDS: u64 = 5;
/// The part of the range of samples below which the queue is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Rounds in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;

impl Copa {
    pub(crate) const TITLE: &'static str = "Copa: aims at a rate that is inversely proportional to the queueing \
                                            delay";
    pub(crate) const SOURCE: &'static str = "COPA";
    pub(crate) const PARAMETERS: &'static [Parameter] = CopaParameters::LIST;

    pub(crate) fn new(given: CopaParameters) -> Copa {
        let state = State {
            min_rtt: Span::ZERO,
            least: RecentMinimum::new(PARTS),
            standing: Span::ZERO,
            latest: RecentMinimum::new(PARTS),
            extremes: VecDeque::with_capacity(RANGE_ROUNDS + 1),
            full_rounds: 0,
            inverse: 1.0 / given.delta,
            competes: false,
            velocity: 1.0,
            began: 0.0,
            grew: true,
            same: 0,
            lost: false,
        };
        Copa { parameters: given, state: Box::new(state) }
    }

    /// Whether the rate is at most the target: w / standing <= 1 / (delta x queueing delay).
    fn is_below_target(&self, window: &Window) -> bool {
        let queueing_s = self.state.standing.saturating_sub(self.state.min_rtt).as_secs();
        window.cwnd * queueing_s <= self.state.inverse * self.state.standing.as_secs()
    }

    /// What a packet moves the window by.
    fn step(&self, window: &Window) -> f64 {
        self.state.velocity * self.state.inverse / window.cwnd
    }

    fn choose_mode(&mut self) {
        let state = &mut *self.state;
        if !self.parameters.competes || state.full_rounds < EMPTY_ROUNDS {
            (state.competes, state.inverse) = (false, 1.0 / self.parameters.delta);
        } else if !state.competes {
            state.competes = true;
        } else if !std::mem::take(&mut state.lost) {
            state.inverse += 1.0;
        }
    }
}

impl State {
    fn take(&mut self, ack: &AckEvent) {
        self.min_rtt = self.least.take(ack.now, ack.rtt, LONG_PART);
        self.standing = self.latest.take(ack.now, ack.rtt, ack.srtt / (2 * PARTS as u64));
        if ack.new_round || self.extremes.is_empty() {
            self.extremes.push_back((ack.rtt, ack.rtt));
            if self.extremes.len() > RANGE_ROUNDS {
                self.extremes.pop_front();
            }
        }
        if let Some((least, most)) = self.extremes.back_mut() {
            (*least, *most) = (ack.rtt.min(*least), ack.rtt.max(*most));
        }
        let most = self.extremes.iter().map(|&(_, most)| most).max().unwrap_or(ack.rtt);
        let range_s = most.saturating_sub(self.min_rtt).as_secs();
        if self.standing.saturating_sub(self.min_rtt).as_secs() <= NEARLY_EMPTY * range_s {
            self.full_rounds = 0;
        }
    }

    /// A round is over: the velocity doubles where the window has kept its direction.
    fn turn(&mut self, cwnd: f64) {
        let grows = cwnd > self.began;
        if grows == self.grew {
            self.same += 1;
            if self.same >= STEADY_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            (self.velocity, self.same) = (1.0, 0);
        }
        (self.began, self.grew) = (cwnd, grows);
    }
}

impl Catalogued for Copa {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "standing_rtt_s", unit: "s", help: "smallest round-trip time of half a round trip" },
        Gauge { name: "min_rtt_s", unit: "s", help: "smallest round-trip time of ten seconds" },
        Gauge { name: "inverse_delta", unit: "packets", help: "packets that the flow keeps in the queue" },
        Gauge { name: "velocity", unit: "", help: "factor of the moves of the window" },
    ];

    /// Its smallest round-trip time is that of ten seconds, in which it empties the queue every five round trips [COPA].
    fn probe_cycle(_: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle {
            seconds: LONG_PART.as_secs() * PARTS as f64,
            ..ProbeCycle::rounds(EMPTY_ROUNDS as f64)
        })
    }
}

impl Controller for Copa {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        self.state.take(ack);
        if !ack.new_round {
            return;
        }
        self.state.full_rounds += 1;
        if window.in_slow_start() {
            self.state.began = window.cwnd;
            return;
        }
        self.state.turn(window.cwnd);
        self.choose_mode();
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.is_below_target(window) {
            window.cwnd += ack.packets.min(2.0);
        } else {
            window.ssthresh = window.cwnd;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let grows = self.is_below_target(window);
        // A change of direction within a round: the velocity was made for the other one.
        if grows != self.state.grew && self.state.velocity > 1.0 {
            (self.state.velocity, self.state.same) = (1.0, 0);
        }
        // No move is larger than the window that has been acknowledged.
        let step = self.step(window).min(1.0) * ack.packets;
        window.move_to(if grows { window.cwnd + step } else { window.cwnd - step });
    }

    // Differs from [COPA]: a loss in the default mode changes nothing, as in the paper, except that it ends slow start.
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        self.state.lost = true;
        if self.state.competes {
            self.state.inverse = (self.state.inverse / 2.0).max(1.0 / self.parameters.delta);
        }
        window.ssthresh = window.cwnd;
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, ..Needs::default() }
    }

    /// Twice the rate of the window, so that bursts are short and the pacer does not limit.
    fn pacing(&self, window: &Window) -> Pacing {
        if self.state.standing.is_zero() {
            return Pacing::None;
        }
        Pacing::Even(Span::from_secs(self.state.standing.as_secs() / (2.0 * window.cwnd)))
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        let state = &self.state;
        values.extend([seconds(state.standing), seconds(state.min_rtt), state.inverse, state.velocity]);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Time;

    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, avoidance, close};

    fn copa() -> Copa {
        Copa::new(Default::default())
    }

    /// A flow that measures 100 ms without a queue and `standing_ms` now.
    fn measuring(standing_ms: u64) -> Copa {
        let mut flow = copa();
        (flow.state.min_rtt, flow.state.standing) = (Span::from_ms(100), Span::from_ms(standing_ms));
        flow
    }

    /// delta = 0.5, 20 ms of queue: the target is 1 / (0.5 x 0.02 s) = 100 packets/s, 12 packets in 120 ms.
    #[test]
    fn the_target_rate_is_inverse_to_the_queueing_delay() {
        let flow = measuring(120);
        assert!(flow.is_below_target(&avoidance(11.999)));
        assert!(!flow.is_below_target(&avoidance(12.001)));
        assert!(measuring(100).is_below_target(&avoidance(1e6)), "without a queue there is no limit");
    }

    /// 100 packets at velocity 1: 1 / (0.5 x 100) each, two in a round.
    #[test]
    fn a_round_moves_the_window_by_the_velocity_over_delta() {
        for (standing_ms, after) in [(100, 102.0), (200, 98.0)] {
            let (mut flow, mut window) = (measuring(standing_ms), avoidance(100.0));
            flow.state.grew = standing_ms == 100;
            (0..100).for_each(|_| flow.on_ack(&mut window, &ack(Span::from_ms(standing_ms))));
            close(window.cwnd, after, 0.001);
        }
    }

    #[test]
    fn the_velocity_doubles_from_the_third_round_in_a_direction_on() {
        let mut state = *copa().state;
        (state.began, state.grew) = (10.0, true);
        let velocities = [11.0, 12.0, 13.0, 14.0, 13.0, 12.0].map(|cwnd| {
            state.turn(cwnd);
            state.velocity
        });
        assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 1.0, 1.0]);
    }

    /// In equilibrium a flow has 1 / delta packets in the queue, within the moves of a few packets.
    #[test]
    fn each_flow_keeps_about_two_packets_in_the_queue() {
        for number in [1, 3] {
            let parameters = CopaParameters { competes: false, ..Default::default() };
            let mut flows = vec![(Copa::new(parameters), avoidance(90.0 / number as f64)); number];
            let mut path = SharedPath::new(Span::from_ms(50), 2000.0);
            let queued: Vec<f64> = (0..400).map(|_| path.round(&mut flows)).skip(100).collect();
            let mean = queued.iter().sum::<f64>() / queued.len() as f64;
            assert!(mean > 0.5 && mean < 8.0 * number as f64, "{mean} of {number}");
        }
    }

    /// A queue that never gets empty: after five rounds 1 / delta grows by one in each round, and a loss halves it.
    #[test]
    fn beside_a_flow_that_fills_the_buffer_it_becomes_more_aggressive() {
        let (mut flow, mut window) = (copa(), avoidance(100.0));
        for number in 0..16 {
            let now = Time::ZERO + Span::from_ms(100 * number);
            let rtt = Span::from_ms(if number == 0 { 50 } else { 100 });
            flow.on_delivery(&mut window, &AckEvent { now, new_round: true, ..ack(rtt) });
        }
        assert!(flow.state.competes);
        let inverse = flow.state.inverse;
        assert!(inverse >= 8.0, "{inverse}");
        flow.on_congestion(&mut window, &CONGESTION);
        assert_eq!((flow.state.inverse, window.cwnd), (inverse / 2.0, 100.0));
    }

    #[test]
    fn a_loss_without_such_a_flow_changes_nothing() {
        let (mut flow, mut window) = (copa(), avoidance(100.0));
        flow.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, flow.state.inverse), (100.0, 2.0));
    }

    #[test]
    fn packets_leave_at_twice_the_rate_of_the_window() {
        assert_eq!(measuring(100).pacing(&avoidance(50.0)), Pacing::Even(Span::from_ms(1)));
    }
}
