//! The fairness mechanism of [XCP-TCP]: an XCP router that drops just enough TCP packets to leave XCP its share.
//!
//! It counts the flows that ask routers for a rate, N, and the other flows, M. While the link is full and the
//! latter send more than C M / (N + M), their packets are dropped with a probability that grows slowly; it shrinks
//! while they send less. XCP takes what is left by its own rules.

use fairhaul_units::{Chance, Span, Time, parameters, words};

use super::XcpRule;
use crate::count::{
    Counter, FlowTable, FlowTableRule, HashBins, HashBinsRule, ListRule, ListStart, ZombieRule, Zombies,
};
use crate::steps::count_step;

/// The mechanism before it has counted.
#[derive(Clone, Debug)]
pub struct XcpTcpRule {
    given: XcpTcpParameters,
    /// Between two updates; `None`: the control interval of XCP.
    period: Option<Span>,
    counters: [Counter; 2],
    chance: Chance,
}

words! {
    /// How the probability follows the rate of those who do not ask.
    pub enum DropLaw {
        /// By fixed factors from a fixed least, as published.
        Literal = "literal",
        /// By what of their rate is too much, and how much loss they turned out to need.
        Adaptive = "adaptive",
    }

    /// What counts the flows of a class.
    pub enum FlowCounter {
        /// The zombie list of SRED.
        Sred = "sred",
        /// A table of the flows.
        Exact = "exact",
        /// The bins of NRED.
        Nred = "nred",
    }
}

parameters! {
    /// The parameters of an XCP router that limits those who do not ask.
    pub struct XcpTcpParameters {
        xcp: Parameters(XcpRule), "those of the router";
        rule: Word(DropLaw) = DropLaw::Literal,
            "literal: the drop probability changes by fixed factors; adaptive: it follows the current and accumulated excess of the TCP rate [XCP-TCP]";
        counter: Word(FlowCounter) = FlowCounter::Sred, "flow counter [XCP-TCP]";
        gate: Number(0.0..=1.0) = 0.95, "smallest utilisation of the link at which it acts [XCP-TCP]";
        tolerance: Number(0.0..=0.5) = 0.02,
            "difference between a rate and its share that counts as equal, as a fraction of the link's rate";
        period: Number(0.0..=10_000.0, "ms") = 0.0,
            "time between updates, at least 0.001 ms; 0: the control interval of XCP";
        min_p: Number(1e-9..=1.0) = 1e-4,
            "literal: lower bound and initial value of the drop probability [XCP-TCP]";
        max_p: Number(1e-6..=1.0) = 0.1,
            "upper bound of the drop probability; higher values turn losses into timeouts";
        up: Number(1.0..=10.0) = 1.01,
            "literal: factor of the drop probability while the TCP rate is above its share and does not fall [XCP-TCP]";
        down: Number(0.1..=1.0) = 0.99,
            "literal: factor of the drop probability while the TCP rate is below its share [XCP-TCP]";
        at_floor: Switch = false,
            "literal: also drop while the TCP rate is not above its share, with the current probability";
        horizon: Number(1.0..=10_000.0) = 10.0,
            "adaptive: number of round trips over which an accumulated excess or deficit is compensated";
        inspect: Number(0.001..=1.0) = 1.0, "fraction of packets that the counters inspect [XCP-TCP]";
        stale: Seconds(0.0..=1000.0) = 1.0,
            "sred: time without a packet of a class after which its number of flows is 0; 0: never";
        list: Parameters(ListRule), "those of the zombie lists";
        begin: Parameters(ListStart), "how the zombie lists begin";
    }
}

/// The state of the mechanism at one queue.
#[derive(Clone, Debug)]
pub(super) struct Fair {
    rule: XcpTcpRule,
    /// Of the interval under way: when it began and ends, what those who do not ask sent, how much of it
    /// was let in, in how many packets, and what left, bytes.
    begins: Time,
    ends: Time,
    offered: f64,
    let_in: f64,
    packets: f64,
    left: f64,
    /// Their rate in the last interval, bytes/s.
    before: f64,
    p: f64,
    /// How much more than their share they count for, by what they have had of it lately.
    aggressiveness: f64,
    drops: bool,
    /// What the last update found: N, M, and C M / (N + M) as a share of C.
    found: [f64; 3],
}

impl XcpTcpRule {
    /// The counter of one class of flows.
    pub fn counter(given: &XcpTcpParameters, chance: Chance) -> Counter {
        let XcpTcpParameters { counter, list, begin, stale, .. } = *given;
        match counter {
            // What the counters see has been drawn before.
            FlowCounter::Sred => {
                Counter::Sred(Zombies::new(ZombieRule { list, inspect: 1.0, begin, stale }, chance))
            }
            FlowCounter::Exact => Counter::Exact(FlowTable::new(FlowTableRule::default())),
            FlowCounter::Nred => Counter::Nred(HashBins::new(HashBinsRule::default(), chance)),
        }
    }

    /// The rule of these parameters; `chance` is the queue's.
    pub(crate) fn new(given: XcpTcpParameters, mut chance: Chance) -> XcpTcpRule {
        let period = Span::from_secs(given.period * 1e-3);
        let counters = ["asking", "plain"].map(|class| XcpTcpRule::counter(&given, chance.split(class)));
        XcpTcpRule { given, period: (!period.is_zero()).then_some(period), counters, chance }
    }
}

impl Fair {
    pub fn new(rule: XcpTcpRule, first: Span) -> Fair {
        let p = if rule.given.rule == DropLaw::Literal { rule.given.min_p } else { 0.0 };
        Fair {
            begins: Time::ZERO,
            ends: Time::ZERO + rule.period.unwrap_or(first),
            rule,
            offered: 0.0,
            let_in: 0.0,
            packets: 0.0,
            left: 0.0,
            before: 0.0,
            p,
            aggressiveness: 1.0,
            drops: false,
            found: [0.0; 3],
        }
    }

    /// What its gauges show.
    pub fn gauges(&self) -> [f64; 4] {
        [self.found[0], self.found[1], self.found[2], if self.drops { self.p } else { 0.0 }]
    }

    /// Makes the updates that were due by `now`: `capacity` bytes/s can leave, round trips take `rtt`
    /// seconds, and the control interval of XCP is `interval`.
    pub fn advance(&mut self, now: Time, capacity: f64, rtt: f64, interval: Span) {
        if self.ends > now {
            return;
        }
        self.update(1, self.ends - self.begins, capacity, rtt);
        let step = self.rule.period.unwrap_or(interval);
        self.ends += step;
        // Nothing came or left in the rest of the silence, so that only what the counters tell can differ from one
        // period to the next.
        while self.ends <= now {
            count_step();
            let stands = self.constant_until(self.ends).min(now + Span::from_ps(1));
            let more = stands.since(self.ends).saturating_sub(Span::from_ps(1)) / step;
            self.update(1 + more, step, capacity, rtt);
            self.ends += step * (1 + more);
        }
        self.begins = Time::from_ps(self.ends.as_ps() - step.as_ps());
    }

    /// The time until which the counters report the same as at `at` if no packet arrives.
    fn constant_until(&mut self, at: Time) -> Time {
        let [asking, plain] = self.rule.counters.each_mut().map(|counter| counter.constant_until(at));
        asking.min(plain)
    }

    /// A data packet of `flow` arrives, which asks or does not; whether it is let in.
    pub fn admits(&mut self, size: u32, flow: u32, asks: bool, now: Time) -> bool {
        let inspect = self.rule.given.inspect;
        if inspect >= 1.0 || self.rule.chance.hits(inspect) {
            self.rule.counters[usize::from(!asks)].count_packet(flow.into(), now);
        }
        if asks {
            return true;
        }
        self.offered += f64::from(size);
        if self.drops && self.p > 0.0 && self.rule.chance.hits(self.p) {
            return false;
        }
        self.let_in += f64::from(size);
        self.packets += 1.0;
        true
    }

    /// A packet of any flow leaves.
    pub fn on_departure(&mut self, size: u32) {
        self.left += f64::from(size);
    }

    /// The update at the end of a period of `length`, which ends at `ends`; or of several at once that follow each
    /// other, where nothing came in them.
    fn update(&mut self, periods: u64, length: Span, capacity: f64, rtt: f64) {
        let length = length.as_secs();
        self.update_probability(periods, length, capacity, rtt);
        self.before = self.let_in / length;
        (self.offered, self.let_in, self.packets, self.left) = (0.0, 0.0, 0.0, 0.0);
    }

    fn update_probability(&mut self, periods: u64, length: f64, capacity: f64, rtt: f64) {
        let (given, at) = (self.rule.given, self.ends);
        let [asking, plain] = self.rule.counters.each_mut().map(|counter| counter.flows(at));
        let share = if plain > 0.0 { plain / (asking + plain) } else { 0.0 };
        self.found = [asking, plain, share];
        let full = self.left >= given.gate * capacity * length;
        if !full || asking == 0.0 || plain == 0.0 {
            self.drops = false;
            return;
        }
        let (rate, target) = (self.let_in / length, share * capacity);
        match given.rule {
            DropLaw::Literal => {
                let near = given.tolerance * capacity;
                // Unclear in [XCP-TCP, 3.3]: the reference for "do not decrease their transmission rate". It is
                // their rate in the interval before.
                if rate > target + near && rate >= self.before {
                    self.p = (self.p * given.up).min(given.max_p);
                } else if rate < target - near {
                    self.p = (self.p * libm::pow(given.down, periods as f64)).max(given.min_p);
                }
                // Unclear in [XCP-TCP, 3.3]: whether packets are dropped while the rate is below its share.
                // They are not, because "TCP flows are no longer penalized" at the smallest probability.
                self.drops = given.at_floor || rate > target;
            }
            DropLaw::Adaptive => {
                let learns = (length / (given.horizon * rtt)).min(1.0) * periods as f64;
                self.adapt_probability(learns, length, rate, target, rtt)
            }
        }
    }

    /// With the window w = target RTT / (M s), p takes p w losses of each flow in a round trip, each half
    /// of its rate. A rate of e times the target, e = 1 + excess, is to fall by its excess in four round
    /// trips, as the rate shows a loss after one or two: p w / 2 = (e - 1) / 4. What rates were before
    /// counts as a factor of e, so that means come to the target and not peaks, and grows until p is
    /// enough for flows that loss slows down less, or not at all. `learns`: the exponent with which this one counts.
    fn adapt_probability(&mut self, learns: f64, length: f64, rate: f64, target: f64, rtt: f64) {
        let size = if self.packets > 0.0 { self.let_in / self.packets } else { 1000.0 };
        let window = (target * rtt / (self.found[1] * size)).max(2.0);
        // Flows that no loss slows down get their share if only that is let in.
        let most = (1.0 - target * length / self.offered.max(1.0)).max(self.rule.given.max_p);
        let error = (rate / target).clamp(0.25, 4.0);
        if error < 1.0 || self.p < most {
            let learnt = libm::pow(error, learns);
            // To make up for what they missed they may have twice their share.
            self.aggressiveness = (self.aggressiveness * learnt).max(0.5);
        }
        self.p = ((self.aggressiveness * error - 1.0) / (2.0 * window)).clamp(0.0, most);
        self.drops = self.p > 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{QueueChoice, Site};
    use crate::steps::count_steps;
    use fairhaul_units::Bytes;

    const SECOND: Span = Span::from_s(1);
    /// 1000 packets of 1000 B a second.
    const CAPACITY: f64 = 1e6;

    fn fair(values: &[(&str, f64)]) -> Fair {
        let mut choice = QueueChoice::named("xcp_tcp").expect("it is in the catalogue");
        let all = [("counter", FlowCounter::Exact.value()), ("period", 1000.0)];
        all.iter().chain(values).for_each(|(name, value)| choice.settings.set(name, *value));
        Fair::new(XcpTcpRule::new((&choice.settings).into(), Chance::stream(1, "queue", 0)), SECOND)
    }

    /// A second in which one flow that asks and one that does not send so many packets, and so many leave.
    fn second(fair: &mut Fair, asking: u32, plain: u32, leave: u32) {
        let begins = fair.begins;
        for (count, flow) in [(asking, 0), (plain, 1)] {
            (0..count).for_each(|_| {
                fair.admits(1000, flow, flow == 0, begins + SECOND / 2);
            });
        }
        (0..leave).for_each(|_| fair.on_departure(1000));
        fair.advance(begins + SECOND, CAPACITY, 0.1, SECOND);
    }

    /// Two flows, so the share is 500 packets/s; 520 and 480 match it.
    #[test]
    fn the_probability_grows_above_the_share_shrinks_below_and_is_constant_near_it() {
        let mut fair = fair(&[("inspect", 1.0)]);
        assert_eq!(fair.p, 1e-4);
        for (plain, factor) in [(600, 1.01), (700, 1.01), (515, 1.0), (600, 1.01), (300, 0.99), (490, 1.0)] {
            let before = fair.p;
            fair.drops = false; // so that all of it is let in
            second(&mut fair, 1000 - plain, plain, 1000);
            assert!((fair.p / before - factor).abs() < 1e-12, "{plain}: {}", fair.p / before);
            assert_eq!(fair.drops, plain > 500);
        }
        assert_eq!(fair.found, [1.0, 1.0, 0.5]);
    }

    #[test]
    fn flows_that_slow_down_are_not_pressed_further_and_the_least_holds() {
        let mut fair = fair(&[]);
        second(&mut fair, 200, 800, 1000);
        let after = fair.p;
        fair.drops = false;
        second(&mut fair, 300, 700, 1000);
        assert_eq!(fair.p, after); // 700 are above the share, and fewer than 800
        (0..3).for_each(|_| second(&mut fair, 900, 100, 1000));
        assert_eq!(fair.p, 1e-4);
    }

    #[test]
    fn it_rests_while_the_link_is_not_full_or_a_class_is_absent() {
        let mut fair = fair(&[]);
        second(&mut fair, 200, 740, 940); // 0.94 of the link
        assert!(!fair.drops && fair.p == 1e-4);
        second(&mut fair, 200, 760, 960);
        assert!(fair.drops);
        let mut alone = super::tests::fair(&[]);
        second(&mut alone, 0, 1000, 1000);
        assert!(!alone.drops && alone.found == [0.0, 1.0, 1.0]);
    }

    /// The share is 500, and w = 500 * 0.1 / 1 = 50. A second is the horizon of ten round trips, so all of
    /// the error is learnt: 800 make it 1.6, and p = (1.6 * 1.6 - 1) / 100; 500 leave it, p = 0.6 / 100;
    /// 250 halve it, and 0.8 * 0.5 is below 1; 100 count as a quarter, and it stays at a half; with 900
    /// it is 0.9, and p = (0.9 * 1.8 - 1) / 100.
    #[test]
    fn the_rule_that_learns_drops_by_the_error_now_and_before() {
        let mut fair = fair(&[("rule", DropLaw::Adaptive.value())]);
        let steps =
            [(800, 1.6, 0.0156), (500, 1.6, 0.006), (250, 0.8, 0.0), (100, 0.5, 0.0), (900, 0.9, 0.0062)];
        for (plain, aggressiveness, p) in steps {
            fair.drops = false; // so that all of it is let in
            second(&mut fair, 1000 - plain, plain, 1000);
            assert!((fair.aggressiveness - aggressiveness).abs() < 1e-12, "{plain}: {}", fair.aggressiveness);
            assert!((fair.p - p).abs() < 1e-12 && fair.drops == (p > 0.0), "{plain}: {}", fair.p);
        }
    }

    /// A silence after a second with packets, for both rules and all counters, with a gate that is closed and one
    /// that is always open.
    #[test]
    fn a_silence_in_one_step_leaves_what_a_silence_in_many_steps_leaves() {
        for (rule, counter, gate) in [
            (DropLaw::Literal, FlowCounter::Exact, 0.95),
            (DropLaw::Adaptive, FlowCounter::Sred, 0.95),
            (DropLaw::Literal, FlowCounter::Nred, 0.0),
            (DropLaw::Adaptive, FlowCounter::Exact, 0.0),
        ] {
            let words = [("rule", rule.value()), ("counter", counter.value())];
            let mut parts = fair(&[words[0], words[1], ("gate", gate), ("down", 0.999)]);
            second(&mut parts, 300, 700, 1000);
            let (mut whole, begins) = (parts.clone(), parts.begins);
            for step in 1..=40 {
                parts.advance(begins + SECOND / 4 * step, CAPACITY, 0.1, SECOND);
            }
            whole.advance(begins + SECOND * 10, CAPACITY, 0.1, SECOND);
            let times = |fair: &Fair| (fair.begins, fair.ends, fair.drops, fair.found, fair.before);
            assert_eq!(times(&whole), times(&parts));
            // A power is not its factors to the last bit.
            assert!((whole.p / parts.p - 1.0).abs() < 1e-12 || whole.p == parts.p);
            assert!((whole.aggressiveness / parts.aggressiveness - 1.0).abs() < 1e-12);
        }
    }

    /// 10^10 periods, an hour of arithmetic one by one.
    #[test]
    fn a_silence_of_many_periods_is_passed_over_at_once() {
        for (rule, gate) in [(DropLaw::Literal, 0.95), (DropLaw::Literal, 0.0), (DropLaw::Adaptive, 0.0)] {
            let mut fair =
                fair(&[("rule", rule.value()), ("period", 0.001), ("gate", gate), ("down", 1.0 - 1e-12)]);
            second(&mut fair, 300, 700, 1000);
            let silence = || fair.advance(Time::ZERO + Span::from_s(10_000), CAPACITY, 0.1, SECOND);
            let ((), steps) = count_steps(silence);
            assert!(steps <= 100, "{steps}");
        }
    }

    #[test]
    fn a_period_in_which_no_packet_leaves_is_refused() {
        let resolved = |period| {
            let mut choice = QueueChoice::named("xcp_tcp").expect("it is in the catalogue");
            choice.settings.set("period", period);
            let rate = fairhaul_units::Rate::from_bps(1_000_000).expect("not zero");
            let (capacity, mark) = (crate::queue::Capacity::Packets(10), crate::queue::Capacity::Unlimited);
            choice.resolved(&Site { rate, delay: Span::ZERO, capacity, mark }, Bytes(1500)).map(drop)
        };
        assert!(resolved(0.0).is_ok() && resolved(0.001).is_ok());
        assert!(resolved(1e-6).is_err() && resolved(1e-12).is_err());
    }

    /// Flows that no loss slows down: what is let in comes to the share, a quarter of the link.
    #[test]
    fn the_rule_that_learns_polices_who_does_not_listen() {
        let mut fair = fair(&[("rule", DropLaw::Adaptive.value())]);
        for _ in 0..60 {
            let begins = fair.begins;
            for flow in 1..4 {
                fair.admits(1000, 10 + flow, true, begins + SECOND / 2);
            }
            second(&mut fair, 97, 900, 1000);
        }
        assert!((fair.before / CAPACITY - 0.2).abs() < 0.03, "{}", fair.before / CAPACITY);
    }
}
