//! Loss after the queue: the packet has used the link and does not arrive.

use fairhaul_units::{Chance, Time};

/// Which data packets a link loses.
#[derive(Clone, Debug, PartialEq)]
pub enum LossRule {
    /// Each with this probability.
    Probability(f64),
    /// Every N-th that crosses the link; N is at least 1.
    Every(u64),
    /// Of each flow in `flows`, the first to be sent at or after each of `times`.
    At {
        /// The instants, ascending.
        times: Vec<Time>,
        /// Indices of flows in the scenario.
        flows: Vec<u32>,
    },
}

/// A rule at work.
#[derive(Clone, Debug)]
pub struct Loss {
    rule: LossRule,
    chance: Chance,
    seen: u64,
    /// For `At`: how many instants each flow of the rule has paid for.
    paid: Vec<usize>,
}

impl Loss {
    /// A fresh start of `rule`, which draws from `chance`.
    pub fn new(rule: LossRule, chance: Chance) -> Loss {
        let flows = if let LossRule::At { flows, .. } = &rule { flows.len() } else { 0 };
        Loss { rule, chance, seen: 0, paid: vec![0; flows] }
    }

    /// Whether the data packet of `flow` that reaches the link at `now` is lost.
    pub fn takes(&mut self, flow: u32, now: Time) -> bool {
        match &self.rule {
            LossRule::Probability(p) => self.chance.hits(*p),
            LossRule::Every(n) => {
                self.seen += 1;
                self.seen.is_multiple_of(*n)
            }
            LossRule::At { times, flows } => {
                let Some(which) = flows.iter().position(|&f| f == flow) else { return false };
                let due = times.partition_point(|&t| t <= now);
                let lost = due > self.paid[which];
                self.paid[which] = self.paid[which].max(due);
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Span;

    fn loss(rule: LossRule) -> Loss {
        Loss::new(rule, Chance::stream(1, "loss", 0))
    }

    #[test]
    fn every_third_is_the_third_and_the_sixth() {
        let mut loss = loss(LossRule::Every(3));
        let lost: Vec<bool> = (0..6).map(|_| loss.takes(0, Time::ZERO)).collect();
        assert_eq!(lost, [false, false, true, false, false, true]);
    }

    #[test]
    fn a_probability_of_one_in_ten_takes_one_in_ten() {
        let mut loss = loss(LossRule::Probability(0.1));
        let lost = (0..100_000).filter(|_| loss.takes(0, Time::ZERO)).count();
        assert!((9_700..10_300).contains(&lost), "{lost}"); // 3 sigma = 285
    }

    #[test]
    fn an_instant_takes_one_packet_of_each_chosen_flow() {
        let second = |s| Time::ZERO + Span::from_s(s);
        let mut loss = loss(LossRule::At { times: vec![second(1), second(2)], flows: vec![0, 2] });
        assert!(!loss.takes(0, Time::ZERO));
        assert!(loss.takes(0, second(1)) && !loss.takes(0, second(1)));
        assert!(!loss.takes(1, second(1)) && loss.takes(2, second(1)));
        // Flow 0 was silent at 2 s: one instant, one packet.
        assert!(loss.takes(0, second(3)) && !loss.takes(0, second(3)));
    }
}
