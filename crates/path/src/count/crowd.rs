//! Flows that send at random, each its share of the packets: what counters are tried on.

use fairhaul_units::{Chance, Span, Time};

use super::Counter;

/// Flows 0, 1, … of which each next packet is one's by chance, at an even pace.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// For each flow the sum of the shares up to its own; the last is one.
    up_to: Vec<f64>,
    gap: Span,
    now: Time,
    chance: Chance,
}

impl Crowd {
    /// Flows of these weights, at least one of them above zero, and a packet every `gap`.
    pub fn new(weights: &[f64], gap: Span, chance: Chance) -> Crowd {
        let whole: f64 = weights.iter().sum();
        assert!(whole > 0.0, "somebody sends");
        let mut sum = 0.0;
        let up_to = weights.iter().map(|weight| {
            sum += weight;
            sum / whole
        });
        Crowd { up_to: up_to.collect(), gap, now: Time::ZERO, chance }
    }

    /// Weights of `flows` flows, number k as 1/k to the power of `exponent`: 0 makes all equal, 1 is Zipf's
    /// law.
    pub fn weights(flows: usize, exponent: f64) -> Vec<f64> {
        (1..=flows).map(|rank| libm::pow(rank as f64, -exponent)).collect()
    }

    /// The flow of the next packet, and when it comes.
    #[inline]
    pub fn packet(&mut self) -> (u64, Time) {
        self.now += self.gap;
        let drawn = self.chance.unit();
        let flow = self.up_to.partition_point(|up_to| *up_to <= drawn);
        (flow.min(self.up_to.len() - 1) as u64, self.now)
    }

    /// Shows `packets` packets to `counter`; when the last one came.
    pub fn pass(&mut self, packets: u64, counter: &mut Counter) -> Time {
        for _ in 0..packets {
            let (flow, now) = self.packet();
            counter.see(flow, now);
        }
        self.now
    }
}
