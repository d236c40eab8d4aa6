//! What both versions of BBR share [BBR]: rounds by delivery, the detection of a full pipe, pacing, and the gauges of the
//! path.

use fairhaul_units::{Gauge, Span};

use crate::{Pacing, RateSample};

/// What is known of the path.
pub(crate) const PATH_GAUGES: [Gauge; 2] = [
    Gauge { name: "rate_bps", unit: "bit/s", help: "estimated rate of the path, of payload" },
    Gauge { name: "min_rtt_s", unit: "s", help: "smallest round-trip time in the window of its filter" },
];

/// Rounds counted by delivery: one is over when a packet is acknowledged that left after all that
/// had been delivered at its start. Recovery does not stop them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryRounds {
    /// How many are over.
    pub(crate) count: u64,
    /// Whether the last sample began one.
    pub(crate) started: bool,
    end: f64,
}

impl DeliveryRounds {
    /// Takes a sample.
    pub(crate) fn take(&mut self, sample: &RateSample) {
        self.started = sample.delivered_before >= self.end;
        if self.started {
            self.end = sample.delivered_total;
            self.count += 1;
        }
    }

    /// A round begins with the packets that are sent from now on, when `delivered` packets have been delivered.
    pub(crate) fn restart(&mut self, delivered: f64) {
        self.end = delivered;
    }
}

/// Whether the path is full: three rounds in which the rate did not grow by a quarter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plateau {
    rate: f64,
    rounds: u32,
}

impl Plateau {
    /// Growth counts from `rate` on.
    pub(crate) fn from(rate: f64) -> Plateau {
        Plateau { rate, rounds: 0 }
    }

    /// Growth counts from the next rate on; the rounds without growth still count.
    pub(crate) fn forget_rate(&mut self) {
        self.rate = 0.0;
    }

    /// The rate of another round: whether it has stopped growing.
    pub(crate) fn take(&mut self, rate: f64) -> bool {
        if rate >= 1.25 * self.rate {
            *self = Plateau::from(rate);
        } else {
            self.rounds += 1;
        }
        self.rounds >= 3
    }
}

/// The rate at which packets leave, per second; zero before there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spacing {
    rate: f64,
}

impl Spacing {
    /// Follows `rate`; `rising`: only upwards.
    pub(crate) fn follow(&mut self, rate: f64, rising: bool) {
        if rate > 0.0 && (!rising || rate > self.rate) {
            self.rate = rate;
        }
    }

    /// The rate, packets per second; zero before there is one.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    pub(crate) fn pacing(&self) -> Pacing {
        if self.rate > 0.0 { Pacing::Even(Span::from_secs(1.0 / self.rate)) } else { Pacing::None }
    }
}

/// Whether a sample is of a packet that left when nothing else was in flight: the path was idle.
pub(crate) fn after_idle(sample: &RateSample) -> bool {
    sample.app_limited && sample.in_flight_then <= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_by_a_quarter_begins_anew_and_three_rounds_without_it_are_enough() {
        let mut plateau = Plateau::default();
        let rates = [100.0, 125.0, 130.0, 156.25, 160.0, 170.0, 150.0];
        let full = rates.map(|rate| plateau.take(rate));
        assert_eq!(full, [false, false, false, false, false, false, true]);
    }

    /// An application that limits a flow with two packets in flight, and a path that holds one packet, are not idle.
    #[test]
    fn a_path_was_idle_if_the_application_had_left_nothing_in_flight() {
        let sample = |app_limited, in_flight_then| RateSample {
            delivered: 1.0,
            interval: Span::from_ms(10),
            delivered_before: 0.0,
            delivered_total: 1.0,
            in_flight_then,
            lost_since: 0.0,
            app_limited,
        };
        let samples = [(true, 1.0), (true, 2.0), (false, 1.0), (false, 2.0)];
        let idle = samples.map(|(limited, in_flight)| after_idle(&sample(limited, in_flight)));
        assert_eq!(idle, [true, false, false, false]);
    }
}
