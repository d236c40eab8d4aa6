//! Loss after the queue: the packet has used the link and does not arrive.
//!
//! Losses that come in bursts follow a chain of two states [GILBERT, ELLIOTT].

use std::collections::{BTreeSet, VecDeque};

use fairhaul_units::{Chance, Time};

use super::timed_bursts::{LinkState, TimedBursts};
use crate::packet::LinkPacket;

/// Which data packets a link loses.
#[derive(Clone, Debug, PartialEq)]
pub enum LossRule {
    /// Each with this probability.
    Probability(f64),
    /// The same, drawn as how many packets pass until the next that is lost, so that a burst passes as one where it has
    /// none of these.
    Spaced(f64),
    /// Every N-th that crosses the link; N is at least 1.
    Every(u64),
    /// Of each flow in `flows`, the first to be sent at or after each of `times`.
    At {
        /// The instants, ascending.
        times: Vec<Time>,
        /// Indices of flows in the scenario.
        flows: Vec<u32>,
    },
    /// Each burst of segmentation offload as a whole, with this probability.
    Offloaded(f64),
    /// In bursts of packets.
    Bursts(Bursts),
    /// In bursts that last a time.
    TimedBursts(TimedBursts),
}

/// A chain of two states that takes a step with each data packet, and loses it as its state says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Probability that a packet finds the state bad after one that found it good.
    pub good_to_bad: f64,
    /// Probability that a packet finds the state good after one that found it bad.
    pub bad_to_good: f64,
    /// Probability that a packet is lost in the good state.
    pub loss_good: f64,
    /// Probability that a packet is lost in the bad state.
    pub loss_bad: f64,
}

impl Bursts {
    /// The share of packets that find the state bad.
    pub fn bad(&self) -> f64 {
        self.good_to_bad / (self.good_to_bad + self.bad_to_good)
    }

    /// The share of packets that are lost.
    pub fn loss_rate(&self) -> f64 {
        self.loss_bad * self.bad() + self.loss_good * (1.0 - self.bad())
    }
}

/// A rule at work.
#[derive(Clone, Debug)]
pub struct Loss {
    rule: LossRule,
    chance: Chance,
    seen: u64,
    /// For `Spaced`: how many packets pass before the next that is lost.
    spared: u64,
    /// For `At`: how many instants each flow of the rule has paid for.
    paid: Vec<usize>,
    /// For `Bursts`: whether the last packet found the state bad.
    bad: bool,
    /// For `TimedBursts`: the state.
    state: Option<LinkState>,
    /// For `Offloaded`: the connections whose last burst was lost.
    lost: BTreeSet<u32>,
    /// From when on the rule is another, the next first.
    changes: VecDeque<(Time, LossRule)>,
}

impl Loss {
    /// A fresh start of `rule` at the beginning of a run, which draws from `chance`.
    pub fn new(rule: LossRule, chance: Chance) -> Loss {
        Loss::starting(rule, chance, Time::ZERO)
    }

    /// A fresh start of `rule` at `now`.
    fn starting(rule: LossRule, mut chance: Chance, now: Time) -> Loss {
        let flows = if let LossRule::At { flows, .. } = &rule { flows.len() } else { 0 };
        // Unclear in [ELLIOTT]: the state at the start. It is drawn, so that the first packets of a run
        // are lost as often as all others.
        let bad = matches!(&rule, LossRule::Bursts(bursts) if chance.hits(bursts.bad()));
        let state = match &rule {
            LossRule::TimedBursts(bursts) => Some(LinkState::new(bursts, now, chance.split("states"))),
            _ => None,
        };
        let spared = if let LossRule::Spaced(p) = rule { until_lost(p, &mut chance) } else { 0 };
        let (paid, lost, changes) = (vec![0; flows], BTreeSet::new(), VecDeque::new());
        Loss { rule, chance, seen: 0, spared, paid, bad, state, lost, changes }
    }

    /// The same, and from each of these times on, which ascend, another rule.
    pub fn with_changes(self, changes: &[(Time, LossRule)]) -> Loss {
        Loss { changes: changes.iter().cloned().collect(), ..self }
    }

    /// Starts `rule` afresh at `now`, with the numbers that follow. Instants that have passed strike
    /// no packet.
    pub fn change_rule(&mut self, rule: LossRule, now: Time) {
        let changes = std::mem::take(&mut self.changes);
        let passed =
            if let LossRule::At { times, .. } = &rule { times.partition_point(|&t| t < now) } else { 0 };
        *self = Loss { changes, ..Loss::starting(rule, self.chance.clone(), now) };
        self.paid.fill(passed);
    }

    /// Whether it says of several packets at once that it loses none of them.
    pub fn is_spaced(&self) -> bool {
        matches!(self.rule, LossRule::Spaced(_)) && self.changes.is_empty()
    }

    /// How many packets it passes before it loses the next, where it [is spaced](Loss::is_spaced).
    pub fn spared(&self) -> u64 {
        self.spared
    }

    /// Lets that many packets pass, which are [spared](Loss::spared).
    pub fn pass(&mut self, packets: u8) {
        self.spared -= u64::from(packets);
    }

    /// Whether the packet that reaches the link at `now` is lost.
    pub fn loses(&mut self, packet: &LinkPacket, now: Time) -> bool {
        while self.changes.front().is_some_and(|change| change.0 <= now) {
            if let Some((at, rule)) = self.changes.pop_front() {
                self.change_rule(rule, at);
            }
        }
        match &self.rule {
            LossRule::Probability(p) => self.chance.hits(*p),
            LossRule::Spaced(p) => {
                let lost = self.spared == 0;
                self.spared = if lost { until_lost(*p, &mut self.chance) } else { self.spared - 1 };
                lost
            }
            LossRule::Every(n) => {
                self.seen += 1;
                self.seen.is_multiple_of(*n)
            }
            LossRule::At { times, flows } => {
                let Some(which) = flows.iter().position(|&f| f == packet.flow) else { return false };
                let due = times.partition_point(|&t| t <= now);
                let lost = due > self.paid[which];
                self.paid[which] = self.paid[which].max(due);
                lost
            }
            LossRule::Offloaded(p) => {
                if !packet.sending.follows() {
                    if self.chance.hits(*p) {
                        self.lost.insert(packet.connection);
                    } else {
                        self.lost.remove(&packet.connection);
                    }
                }
                self.lost.contains(&packet.connection)
            }
            LossRule::Bursts(bursts) => {
                let leaves = if self.bad { bursts.bad_to_good } else { bursts.good_to_bad };
                self.bad ^= self.chance.hits(leaves);
                self.chance.hits(if self.bad { bursts.loss_bad } else { bursts.loss_good })
            }
            LossRule::TimedBursts(bursts) => {
                let state = self.state.as_mut().expect("its rule has one");
                self.chance.hits(state.loss(bursts, now))
            }
        }
    }
}

/// How many packets pass before one is lost, where each is with probability `p`: a geometric number.
fn until_lost(p: f64, chance: &mut Chance) -> u64 {
    (chance.exponential(1.0) / -libm::log1p(-p)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;
    use fairhaul_units::Sending;
    use fairhaul_units::{Ecn, Span};

    /// A packet of the flow and connection of that number.
    fn packet(flow: u32) -> LinkPacket {
        let (kind, ecn) = (PacketKind::Data, Ecn::NotCapable);
        LinkPacket { connection: flow, size: 1000, ecn, flow, kind, sending: Sending::First, counted: 0 }
    }

    fn loss(rule: LossRule) -> Loss {
        Loss::new(rule, Chance::stream(1, "loss", 0))
    }

    #[test]
    fn every_third_is_the_third_and_the_sixth() {
        let mut loss = loss(LossRule::Every(3));
        let lost: Vec<bool> = (0..6).map(|_| loss.loses(&packet(0), Time::ZERO)).collect();
        assert_eq!(lost, [false, false, true, false, false, true]);
    }

    /// Of gaps with mean 9 and standard deviation 9.5, 10,000 have a mean within 0.3, and a tenth is zero.
    #[test]
    fn spaced_losses_are_as_far_apart_as_independent_ones() {
        let mut chance = Chance::stream(3, "loss", 0);
        let gaps: Vec<u64> = (0..10_000).map(|_| until_lost(0.1, &mut chance)).collect();
        let mean = gaps.iter().sum::<u64>() as f64 / 1e4;
        let none = gaps.iter().filter(|gap| **gap == 0).count();
        assert!((mean - 9.0).abs() < 0.3 && (900..1100).contains(&none), "{mean} {none}");
        assert_eq!(until_lost(1.0, &mut chance), 0);
        let mut spaced = loss(LossRule::Spaced(0.1));
        let spared = spaced.spared();
        spaced.pass(spared as u8);
        assert!(spaced.loses(&packet(0), Time::ZERO));
    }

    #[test]
    fn a_probability_of_one_in_ten_takes_one_in_ten() {
        let mut loss = loss(LossRule::Probability(0.1));
        let lost = (0..100_000).filter(|_| loss.loses(&packet(0), Time::ZERO)).count();
        assert!((9_700..10_300).contains(&lost), "{lost}"); // 3 sigma = 285
    }

    #[test]
    fn an_instant_takes_one_packet_of_each_chosen_flow() {
        let second = |s| Time::ZERO + Span::from_s(s);
        let mut loss = loss(LossRule::At { times: vec![second(1), second(2)], flows: vec![0, 2] });
        assert!(!loss.loses(&packet(0), Time::ZERO));
        assert!(loss.loses(&packet(0), second(1)) && !loss.loses(&packet(0), second(1)));
        assert!(!loss.loses(&packet(1), second(1)) && loss.loses(&packet(2), second(1)));
        // Flow 0 was silent at 2 s: one instant, one packet.
        assert!(loss.loses(&packet(0), second(3)) && !loss.loses(&packet(0), second(3)));
    }

    #[test]
    fn a_chain_from_good_to_bad_1_in_90_and_back_1_in_10_loses_a_tenth_in_bursts_of_10() {
        // Bad: (1/90) / (1/90 + 1/10) = 0.1. A burst ends with probability 1/10 at each packet: 10 on average.
        let bursts = Bursts { good_to_bad: 1.0 / 90.0, bad_to_good: 0.1, loss_good: 0.0, loss_bad: 1.0 };
        assert!((bursts.loss_rate() - 0.1).abs() < 1e-12);
        let mut loss = loss(LossRule::Bursts(bursts));
        let n = 1_000_000;
        let losses: Vec<bool> = (0..n).map(|_| loss.loses(&packet(0), Time::ZERO)).collect();
        let lost = losses.iter().filter(|&&lost| lost).count() as f64;
        let bursts = losses.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // Packets k apart correlate as r^k with r = 1 - 1/90 - 1/10 = 0.8889: the variance of the share is
        // 0.1 x 0.9 x (1 + r) / (1 - r) / n = 1.53e-6, 3 sigma = 0.0037.
        assert!((lost / f64::from(n) - 0.1).abs() < 0.0037, "{lost}");
        // 10 000 geometric lengths of mean 10: sigma = sqrt(90) / 100 = 0.095.
        assert!((lost / bursts - 10.0).abs() < 0.285, "{}", lost / bursts);
    }

    #[test]
    fn a_burst_of_offload_is_lost_as_a_whole_also_between_packets_of_others() {
        let mut loss = loss(LossRule::Offloaded(0.3));
        let mut lost = [0; 2];
        for _ in 0..10_000 {
            let first = [0, 1].map(|flow| loss.loses(&packet(flow), Time::ZERO));
            for flow in [0, 1, 1, 0] {
                let next = LinkPacket { sending: Sending::Following, ..packet(flow) };
                assert_eq!(loss.loses(&next, Time::ZERO), first[flow as usize]);
            }
            [0, 1].into_iter().for_each(|flow: usize| lost[flow] += u32::from(first[flow]));
        }
        assert!(lost.iter().all(|lost| (2863..3138).contains(lost)), "{lost:?}"); // 3 sigma = 137
    }

    #[test]
    fn a_rule_holds_until_the_next_one_does() {
        let second = |s| Time::ZERO + Span::from_s(s);
        let instants = LossRule::At { times: vec![second(1), second(3)], flows: vec![0] };
        let changes = [(second(1), LossRule::Probability(0.0)), (second(2), instants)];
        let mut loss = loss(LossRule::Every(2)).with_changes(&changes);
        let lost = |loss: &mut Loss, s| (0..4).map(|_| loss.loses(&packet(0), second(s))).collect::<Vec<_>>();
        assert_eq!(lost(&mut loss, 0), [false, true, false, true]);
        assert_eq!(lost(&mut loss, 1), [false; 4]);
        assert_eq!(lost(&mut loss, 2), [false; 4]); // the instant at 1 s is past
        assert_eq!(lost(&mut loss, 3), [true, false, false, false]);
    }

    #[test]
    fn each_state_loses_with_its_own_probability() {
        // Half of the packets find each state: 0.5 x 0.02 + 0.5 x 0.3 = 0.16.
        let bursts = Bursts { good_to_bad: 0.5, bad_to_good: 0.5, loss_good: 0.02, loss_bad: 0.3 };
        assert!((bursts.loss_rate() - 0.16).abs() < 1e-12);
        let mut loss = loss(LossRule::Bursts(bursts));
        let lost = (0..100_000).filter(|_| loss.loses(&packet(0), Time::ZERO)).count();
        assert!((15_652..16_348).contains(&lost), "{lost}"); // 3 sigma = 348: the states are independent
    }
}
