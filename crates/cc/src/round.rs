//! The round trips of a flow, and the samples of each, for controllers that decide once per round trip.

use fairhaul_units::Span;

use crate::AckEvent;

/// What one round trip has shown.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Acknowledgements that carried a sample.
    pub samples: f64,
    /// Packets delivered.
    pub packets: f64,
    /// The smallest round-trip time.
    pub least: Span,
    /// The largest.
    pub most: Span,
    /// Mean and sum of squared differences from it, in seconds [Welford 1962].
    mean_s: f64,
    squares: f64,
}

impl Round {
    const EMPTY: Round = Round {
        samples: 0.0,
        packets: 0.0,
        least: Span::from_ps(u64::MAX),
        most: Span::ZERO,
        mean_s: 0.0,
        squares: 0.0,
    };

    /// The mean round-trip time.
    pub fn mean(&self) -> Span {
        Span::from_secs(self.mean_s)
    }

    /// The standard deviation of the samples, in seconds; zero for fewer than two.
    #[allow(dead_code, reason = "for controllers that ask how far the delay varies")]
    pub fn deviation_s(&self) -> f64 {
        if self.samples < 2.0 { 0.0 } else { (self.squares / (self.samples - 1.0)).sqrt() }
    }

    /// The packets of a window that waited in queues, where a round trip takes `base` without
    /// them: what the window is above the rate that came out times `base` [VEGAS].
    // Unclear in [VEGAS]: which round-trip time of the round is used. The smallest, as in [LINUX]: the delay
    // that a burst or a late acknowledgement adds to some samples is not a standing queue.
    pub fn backlog(&self, window: f64, base: Span) -> f64 {
        window * (1.0 - base.as_secs() / self.least.as_secs()).max(0.0)
    }

    fn add(&mut self, ack: &AckEvent) {
        self.samples += 1.0;
        self.packets += ack.packets;
        self.least = self.least.min(ack.rtt);
        self.most = self.most.max(ack.rtt);
        let off = ack.rtt.as_secs() - self.mean_s;
        self.mean_s += off / self.samples;
        self.squares += off * (ack.rtt.as_secs() - self.mean_s);
    }
}

/// Gathers samples into rounds.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    current: Round,
}

impl Default for Rounds {
    fn default() -> Rounds {
        Rounds { current: Round::EMPTY }
    }
}

impl Rounds {
    /// Takes an acknowledgement: the round that it closes, if it is the first of another.
    pub fn take(&mut self, ack: &AckEvent) -> Option<Round> {
        let closed = (ack.new_round && self.current.samples > 0.0).then_some(self.current);
        if ack.new_round {
            self.current = Round::EMPTY;
        }
        self.current.add(ack);
        closed
    }

    /// Forgets the round under way.
    pub fn restart(&mut self) {
        self.current = Round::EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::ack;

    /// 100, 110, 120 ms: mean 110, variance (100 + 0 + 100) / 2 = 100 ms^2, deviation 10 ms.
    #[test]
    fn a_round_has_the_mean_and_deviation_of_its_samples() {
        let mut rounds = Rounds::default();
        for (number, ms) in [100, 110, 120].into_iter().enumerate() {
            let event = AckEvent { new_round: number == 0, ..ack(Span::from_ms(ms)) };
            assert!(rounds.take(&event).is_none());
        }
        let next = AckEvent { new_round: true, ..ack(Span::from_ms(500)) };
        let round = rounds.take(&next).unwrap();
        assert_eq!((round.samples, round.packets), (3.0, 3.0));
        assert_eq!((round.least, round.most), (Span::from_ms(100), Span::from_ms(120)));
        assert!((round.mean().as_secs() - 0.110).abs() < 1e-9);
        assert!((round.deviation_s() - 0.010).abs() < 1e-9);
        assert_eq!(rounds.take(&next).unwrap().samples, 1.0);
    }
}
