//! Duplication behind the queue: the packet arrives twice, the copy right behind it.

use fairhaul_units::Chance;

/// Duplication at work.
#[derive(Clone, Debug)]
pub struct Duplicate {
    probability: f64,
    chance: Chance,
}

impl Duplicate {
    /// Doubles each packet with `probability`, drawn from `chance`.
    pub fn new(probability: f64, chance: Chance) -> Duplicate {
        Duplicate { probability, chance }
    }

    /// Whether the next packet arrives twice.
    pub fn doubles(&mut self) -> bool {
        self.chance.hits(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_of_one_in_ten_doubles_one_in_ten() {
        let mut duplicate = Duplicate::new(0.1, Chance::stream(1, "duplicate", 0));
        let doubled = (0..100_000).filter(|_| duplicate.doubles()).count();
        assert!((9_715..10_285).contains(&doubled), "{doubled}"); // 3 sigma = 285
    }
}
