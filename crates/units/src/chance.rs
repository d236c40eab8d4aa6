//! Random streams: one generator, one stream per owner.
//!
//! The generator is xoshiro256++ (Blackman and Vigna). A stream is derived from the scenario's
//! seed, the purpose's name and an index, so that adding a flow moves no other flow's numbers.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Span;

/// A stream of random numbers that one flow, queue or plan owns.
#[derive(Clone, Debug)]
pub struct Chance {
    generator: Xoshiro256PlusPlus,
}

impl Chance {
    /// The stream of `purpose` number `index` under `seed`.
    pub fn stream(seed: u64, purpose: &str, index: u64) -> Chance {
        let named = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3) // FNV-1a
        });
        let mixed = mix(mix(mix(seed) ^ named) ^ index);
        Chance { generator: Xoshiro256PlusPlus::seed_from_u64(mixed) }
    }

    /// A stream of its own for a part of the owner; it takes one number of this one.
    pub fn split(&mut self, purpose: &str) -> Chance {
        Chance::stream(self.generator.next_u64(), purpose, 0)
    }

    /// Uniform in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    pub fn hits(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform in `0..n`; zero where `n` is zero. The bias is at most n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.generator.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `0..longest`.
    pub fn span(&mut self, longest: Span) -> Span {
        Span::from_ps(self.below(longest.as_ps()))
    }

    /// Exponential with that mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Normal with mean zero and variance one (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Pareto of that mean and shape; the mean is finite for a shape above one.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let least = mean * (shape - 1.0) / shape;
        least / libm::pow(1.0 - self.unit(), 1.0 / shape)
    }
}

/// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs, different ones different ones.
pub fn mix(input: u64) -> u64 {
    let mut z = input.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_owner_draws_the_same_numbers_and_another_does_not() {
        let draw = |seed, index| Chance::stream(seed, "overhead", index).unit();
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }

    #[test]
    fn means_of_a_hundred_thousand_draws_lie_within_two_per_cent() {
        let mut chance = Chance::stream(7, "test", 0);
        let n = 100_000;
        let mean = |draw: &mut dyn FnMut() -> f64| (0..n).map(|_| draw()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || chance.unit()) - 0.5).abs() < 0.01);
        assert!((mean(&mut || chance.exponential(3.0)) - 3.0).abs() < 0.06);
        assert!((mean(&mut || chance.pareto(12.0, 3.0)) - 12.0).abs() < 0.24);
    }
}
