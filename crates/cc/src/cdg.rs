//! CAIA Delay-Gradient [CDG]: backs off at random, more often the faster the round-trip time rises.
//!
//! Once in a round the change of the smallest and of the largest round-trip time is averaged over eight rounds. A rising
//! delay of g ms makes a reduction of 1 - exp(-g / 3) probable. Five reductions without an effect are the last: another
//! flow keeps the queue. A shadow window, not reduced by delays, is what a loss halves.

use std::collections::VecDeque;

use fairhaul_units::{Gauge, Parameter, Settings, Span, Time, parameters, words};

use crate::draw::draw;
use crate::{AckEvent, Catalogued, Cause, Congestion, Controller, ProbeCycle, Window};

/// CAIA Delay-Gradient.
#[derive(Clone, Debug)]
pub struct Cdg {
    parameters: CdgParameters,
    state: Box<State>,
}

/// The smallest and the largest sample of a round, or their changes, in microseconds.
type Extremes = [i64; 2];

#[derive(Clone, Debug)]
struct State {
    /// Of the round under way, and of the one before; zero before there is a sample.
    rtt: Extremes,
    before: Extremes,
    /// The changes of the last rounds, and how many there have been.
    changes: VecDeque<Extremes>,
    /// What the window would be without reductions for delays; zero before the first acknowledgement.
    shadow: f64,
    /// Reductions for delays since the last one with an effect.
    ineffective: u64,
    /// Whether the last changes show that the queue is not full, so that a loss does not count as congestion.
    is_not_full: bool,
    /// Whether a reduction for a delay is under way, until the next round begins.
    reduces: bool,
    /// Acknowledgements of one packet that may have been delayed.
    delayed_acks: u32,
    train: Train,
}

/// The hybrid slow start of Linux's CDG.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    base_us: i64,
    samples: u32,
    /// When the train of the round began, and its last acknowledgement; none at the start of a round.
    span: Option<(Time, Time)>,
}

words! {
    /// Whose rule it is.
    enum CdgVariant {
        Hayes = "hayes",
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of CAIA Delay-Gradient.
    pub(crate) struct CdgParameters {
        variant: Word(CdgVariant) = CdgVariant::Hayes,
            "hayes: as published; linux: as in Linux, with a hybrid slow start and without tolerance of losses [CDG]";
        g: Milliseconds(0.001..=1e6) = 3.0,
            "mean rise of the delay per round trip at which 63 % of the rounds back off, G; 2.976 in Linux [CDG]";
        kept: Number(0.1..=1.0) = 0.7,
            "fraction of the window kept at a reduction for a delay; 0.7071 in Linux [CDG]";
        rounds: Whole(1..=256) = 8, "round trips over which changes of the delay are averaged [CDG]";
        ineffective: Whole(0..=1_000_000) = 5,
            "reductions for a delay without an effect, after which there are none until one would have an effect; 0: \
             without a limit [CDG]";
    }
}

/// Changes of the sums over eight rounds by less count as none, us.
const EFFECT_US: i64 = 32;
/// The probability in Linux, for a sum of rounds in microseconds.
const LINUX_FACTOR: f64 = 42e-6;
const LINUX_KEPT: f64 = 724.0 / 1024.0;

impl Cdg {
    pub(crate) const TITLE: &'static str = "CAIA Delay-Gradient: backs off at random, more often the faster the \
                                            round-trip time rises";
    pub(crate) const SOURCE: &'static str = "CDG";
    pub(crate) const PARAMETERS: &'static [Parameter] = CdgParameters::LIST;

    pub(crate) fn new(given: CdgParameters) -> Cdg {
        Cdg { parameters: given, state: Box::new(State::new()) }
    }

    fn is_linux(&self) -> bool {
        self.parameters.variant == CdgVariant::Linux
    }

    /// The probability that a sum of rises over all rounds, in microseconds, reduces the window.
    fn probability(&self, rise_us: f64) -> f64 {
        let exponent = if self.is_linux() {
            rise_us * LINUX_FACTOR
        } else {
            rise_us / (self.parameters.rounds as f64 * self.parameters.g.as_secs() * 1e6)
        };
        1.0 - libm::exp(-exponent)
    }

    /// A round is over: the sum of the rises of the delay over the last rounds.
    fn gradient(&mut self) -> f64 {
        let rounds = self.parameters.rounds as usize;
        let state = &mut *self.state;
        let change = [0, 1].map(|end| state.rtt[end] - state.before[end]);
        state.changes.push_back(change);
        if state.changes.len() > rounds {
            state.changes.pop_front();
        }
        let sums = state.changes.iter().fold([0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        if sums.iter().any(|&sum| sum <= -EFFECT_US) {
            state.ineffective = 0;
        }
        // Small variations are none.
        let [least, most] = sums.map(|sum| (sum as f64 / 64.0).round());
        if least > 0.0 && most <= 0.0 {
            state.is_not_full = false;
        } else if least > 0.0 && most > 0.0 || most < 0.0 {
            state.is_not_full = true;
        }
        let sum = if sums[0] > 0 { sums[0] } else { sums[1] };
        // Rounds that are not known yet are taken to be like the others.
        (sum * rounds as i64 / state.changes.len() as i64) as f64
    }

    /// A round is over: whether its delay reduces the window.
    fn judge(&mut self, window: &mut Window, now: Time) {
        if self.state.rtt[0] == 0 {
            return;
        }
        let rise_us = if self.state.before[0] > 0 { self.gradient() } else { 0.0 };
        self.state.begin_round();
        if rise_us <= 0.0 || draw(now) >= self.probability(rise_us) {
            return;
        }
        self.state.ineffective += 1;
        if self.parameters.ineffective > 0 && self.state.ineffective > self.parameters.ineffective {
            return;
        }
        self.state.shadow = self.state.shadow.max(window.cwnd);
        if self.is_linux() {
            // What was earned of the next packet is lost (tcp_init_cwnd_reduction).
            let cwnd = window.cwnd.floor();
            window.reduce_to((cwnd * LINUX_KEPT).floor());
            window.cwnd = cwnd.max(window.ssthresh);
        } else {
            window.reduce_to(window.cwnd * self.parameters.kept);
        }
        self.state.reduces = true;
    }

    /// In Linux the window comes down to its threshold with what a round trip delivers, as in fast recovery.
    fn come_down(&self, window: &mut Window, packets: f64) {
        if self.is_linux() {
            window.cwnd = (window.cwnd - packets * (1.0 - LINUX_KEPT)).max(window.ssthresh);
        }
    }

    /// What a loss leaves of the window.
    fn left(&mut self, cwnd: f64) -> f64 {
        if !self.is_linux() && self.state.is_not_full {
            return cwnd;
        }
        self.state.shadow = (self.state.shadow / 2.0).min(cwnd);
        self.state.shadow.max(cwnd / 2.0)
    }

    /// Packets that were added to the window.
    fn grow(&mut self, window: &mut Window, packets: f64) {
        if !self.state.reduces {
            window.cwnd += packets;
            self.state.shadow += packets;
        }
    }
}

impl State {
    fn new() -> State {
        State {
            rtt: [0; 2],
            before: [0; 2],
            changes: VecDeque::new(),
            shadow: 0.0,
            ineffective: 0,
            is_not_full: false,
            reduces: false,
            delayed_acks: 0,
            train: Train::default(),
        }
    }

    fn begin_round(&mut self) {
        (self.before, self.rtt) = (self.rtt, [0; 2]);
        (self.train.span, self.train.samples) = (None, 0);
    }

    /// Takes the sample of an acknowledgement. In Linux one of one packet, among others of more, may be delayed: it only
    /// lowers the minimum.
    fn take(&mut self, ack: &AckEvent, filters: bool) {
        let us = (ack.rtt.as_ps() / 1_000_000) as i64;
        if filters && ack.packets == 1.0 && self.delayed_acks > 0 {
            self.rtt[0] = self.rtt[0].min(us);
            self.delayed_acks -= 1;
            return;
        }
        if ack.packets > 1.0 {
            self.delayed_acks = (self.delayed_acks + 1).min(5);
        }
        let least = self.rtt[0];
        self.rtt = [if least == 0 { us } else { least.min(us) }, self.rtt[1].max(us)];
    }
}

impl Train {
    /// An acknowledgement in slow start: whether slow start ends.
    fn ends_slow_start(&mut self, now: Time, least_us: i64) -> bool {
        if least_us > 0 && (self.base_us == 0 || least_us < self.base_us) {
            self.base_us = least_us;
        }
        if self.base_us == 0 {
            return false;
        }
        match &mut self.span {
            None => self.span = Some((now, now)),
            Some((began, last)) if now.since(*last) < Span::from_ms(3) => {
                *last = now;
                let half = Span::from_us((self.base_us / 2).max(125) as u64);
                if now.since(*began) > half {
                    return true;
                }
            }
            Some(_) => {}
        }
        if self.samples < 8 {
            self.samples += 1;
            return false;
        }
        least_us > (self.base_us + self.base_us / 8).max(125)
    }
}

impl Catalogued for Cdg {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", CdgVariant::Linux.value()));
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "shadow_packets", unit: "packets", help: "window without reductions for delays" },
        Gauge { name: "ineffective", unit: "", help: "reductions for a delay since one that had an effect" },
    ];

    /// A reduction for a delay takes less than half of the window, which then grows as Reno does [CDG].
    fn probe_cycle(_: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle::HALF_WINDOW)
    }
}

impl Controller for Cdg {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.state.shadow == 0.0 {
            self.state.shadow = window.cwnd;
        }
        self.state.take(ack, self.is_linux());
        if ack.recovering {
            return;
        }
        if self.is_linux()
            && window.in_slow_start()
            && self.state.train.ends_slow_start(ack.now, self.state.rtt[0])
        {
            window.ssthresh = window.cwnd;
        }
        if !ack.new_round {
            if self.state.reduces {
                self.come_down(window, ack.packets);
            }
            return;
        }
        if std::mem::take(&mut self.state.reduces) {
            window.cwnd = window.cwnd.min(window.ssthresh);
            self.state.begin_round();
        } else {
            self.judge(window, ack.now);
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        self.grow(window, ack.packets.min(2.0));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let packets = ack.packets / window.cwnd;
        self.grow(window, packets);
    }

    // Unclear in [CDG]: whether a mark is tolerated as a loss is. It is not: a queue has said that it is congested.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.state.is_not_full &= event.cause == Cause::Loss;
        let left = self.left(window.cwnd);
        window.reduce_to(left);
        self.state.reduces = false;
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        self.state.is_not_full = false;
        let left = self.left(window.cwnd);
        window.reduce_to(left);
        window.cwnd = 1.0;
    }

    /// Rounds with a reduction are no part of a gradient.
    fn on_recovered(&mut self, _: &mut Window, _: Time) {
        self.state.begin_round();
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([self.state.shadow, self.state.ineffective as f64]);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Settings;

    use super::*;
    use crate::test_support::{CONGESTION, ack, avoidance, close};

    fn cdg(variant: CdgVariant) -> Cdg {
        Cdg::new((&Settings::defaults(Cdg::PARAMETERS).with("variant", variant.value())).into())
    }

    /// 3 ms a round: 1 - 1/e. In Linux 1 - exp(-42e-6 x 8 x 3000) = 1 - exp(-1.008).
    #[test]
    fn a_rise_of_3_ms_a_round_backs_off_in_63_of_100_rounds() {
        close(cdg(CdgVariant::Hayes).probability(24_000.0), 0.632_121, 1e-5);
        close(cdg(CdgVariant::Linux).probability(24_000.0), 0.635_05, 1e-4);
    }

    /// A round of acknowledgements at `rtt_us`, and the first one of the next. Gives the gradient.
    fn gradient(flow: &mut Cdg, rtt_us: i64) -> f64 {
        flow.state.rtt = [rtt_us, rtt_us];
        let sum = if flow.state.before[0] > 0 { flow.gradient() } else { 0.0 };
        flow.state.begin_round();
        sum
    }

    /// 1 ms a round: a sum of 8 ms, from the first change on, by extrapolation. Where the delay stays, the oldest
    /// changes leave the sum one by one.
    #[test]
    fn the_gradient_is_a_sum_over_eight_rounds() {
        let mut flow = cdg(CdgVariant::Linux);
        let sums: Vec<f64> = (0..12).map(|n| gradient(&mut flow, 100_000 + 1000 * n)).collect();
        assert_eq!(sums, [&[0.0][..], &[8000.0; 11]].concat());
        assert_eq!([gradient(&mut flow, 111_000), gradient(&mut flow, 111_000)], [7000.0, 6000.0]);
    }

    /// The window after `rounds` rounds of which each takes 50 ms more than the one before: a back-off is all but sure.
    fn rising(flow: &mut Cdg, rounds: u64) -> Vec<f64> {
        let mut window = avoidance(100.0);
        (0..rounds)
            .map(|n| {
                let rtt = Span::from_ms(100 + 50 * n);
                let event =
                    AckEvent { now: Time::ZERO + Span::from_ms(999 * n), new_round: true, ..ack(rtt) };
                flow.on_delivery(&mut window, &event);
                window.cwnd
            })
            .collect()
    }

    /// A reduction in every second round, since the one after it has no gradient; the sixth is not made.
    #[test]
    fn five_reductions_without_an_effect_are_the_last() {
        for (variant, kept) in [(CdgVariant::Hayes, 0.7), (CdgVariant::Linux, LINUX_KEPT)] {
            let mut flow = cdg(variant);
            let windows = rising(&mut flow, 40);
            // Five times rounded down to whole packets in Linux: 70, 49, 34, 24, 16.
            let expected = if variant == CdgVariant::Linux { 16.0 } else { 100.0 * libm::pow(kept, 5.0) };
            close(*windows.last().unwrap(), expected, 1e-9);
            assert_eq!(flow.state.shadow, 100.0);
        }
    }

    /// Reduced by delays from 100 to 50: half of the shadow window is all of it, so that nothing more goes.
    #[test]
    fn a_loss_halves_the_shadow_window() {
        for (shadow, left) in [(100.0, 50.0), (60.0, 30.0), (50.0, 25.0)] {
            let (mut flow, mut window) = (cdg(CdgVariant::Linux), avoidance(50.0));
            flow.state.shadow = shadow;
            flow.on_congestion(&mut window, &CONGESTION);
            assert_eq!(window.cwnd, left);
        }
    }

    /// The smallest and the largest delay rise: the queue is not full. Only the smallest: it is.
    #[test]
    fn a_loss_without_a_full_queue_is_tolerated_as_published() {
        for (rises, left) in [([1000, 1000], 50.0), ([1000, 0], 25.0)] {
            let (mut flow, mut window) = (cdg(CdgVariant::Hayes), avoidance(50.0));
            (flow.state.before, flow.state.rtt) = ([100_000; 2], rises.map(|rise| 100_000 + rise));
            flow.gradient();
            flow.on_congestion(&mut window, &CONGESTION);
            assert_eq!(window.cwnd, left);
        }
    }

    /// Acknowledgements 2 ms apart on a path of 100 ms: a train of more than 50 ms ends slow start.
    #[test]
    fn in_linux_a_train_of_half_the_path_ends_slow_start() {
        let (mut flow, mut window) = (cdg(CdgVariant::Linux), Window { cwnd: 10.0, ssthresh: 1e9 });
        let ends = (0..60).find(|n| {
            let now = Time::ZERO + Span::from_ms(1000 + 2 * n);
            flow.on_delivery(&mut window, &AckEvent { now, ..ack(Span::from_ms(100)) });
            !window.in_slow_start()
        });
        assert_eq!(ends, Some(26));
    }
}
