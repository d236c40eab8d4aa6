//! Random delays of what a host takes over.

use fairhaul_units::{Chance, Span};

/// The 99 % point of the standard normal distribution.
const P99: f64 = 2.326_347_874_040_841;

/// How long a delivery is delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Noise {
    /// Uniform between zero and that; zero: not at all.
    Uniform(Span),
    /// Log-normal, as the time until a program or a softirq gets a processor.
    LogNormal {
        /// Half of the delays are shorter.
        median: Span,
        /// One delay in a hundred is longer; not below the median.
        p99: Span,
    },
}

impl Default for Noise {
    fn default() -> Noise {
        Noise::NONE
    }
}

impl Noise {
    /// No delay.
    pub const NONE: Noise = Noise::Uniform(Span::ZERO);

    /// Whether it delays nothing.
    pub fn is_none(self) -> bool {
        self == Noise::NONE
    }

    /// The delay of the next delivery.
    pub fn draw(self, chance: &mut Chance) -> Span {
        match self {
            Noise::Uniform(longest) => chance.span(longest),
            Noise::LogNormal { median, p99 } => {
                let sigma = libm::log(p99.as_secs() / median.as_secs()) / P99;
                Span::from_secs(median.as_secs() * libm::exp(sigma * chance.normal()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_delays_are_below_the_median_and_one_in_a_hundred_is_above_the_other_bound() {
        let (median, p99) = (Span::from_us(5), Span::from_us(50));
        let noise = Noise::LogNormal { median, p99 };
        let mut chance = Chance::stream(1, "card", 0);
        let mut delays: Vec<Span> = (0..100_000).map(|_| noise.draw(&mut chance)).collect();
        delays.sort();
        // The standard errors of these quantiles are 0.5 and 2.6 %.
        let ratios = [delays[50_000].as_secs() / median.as_secs(), delays[99_000].as_secs() / p99.as_secs()];
        assert!((ratios[0] - 1.0).abs() < 0.02 && (ratios[1] - 1.0).abs() < 0.08, "{ratios:?}");
        assert!(Noise::NONE.is_none() && Noise::NONE.draw(&mut chance) == Span::ZERO);
    }
}
