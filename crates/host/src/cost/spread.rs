//! Several measurements of one thing: the middle one, and how far the others are from it.

use serde::Serialize;

/// The median, and between what half of all are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Half of all are not above it.
    pub median: f64,
    /// A quarter is not above it.
    pub low: f64,
    /// Three quarters are not above it.
    pub high: f64,
}

impl Spread {
    /// That of `seen`; none of nothing.
    pub fn of(mut seen: Vec<f64>) -> Option<Spread> {
        seen.sort_by(f64::total_cmp);
        let last = seen.len().checked_sub(1)?;
        // Of those that are there, the next to each share of the way from the least to the most.
        let at = |quarters: usize| seen[(last * quarters + 2) / 4];
        Some(Spread { median: at(2), low: at(1), high: at(3) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_nine_the_third_the_fifth_and_the_seventh() {
        let seen = vec![9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0];
        assert_eq!(Spread::of(seen), Some(Spread { median: 5.0, low: 3.0, high: 7.0 }));
        assert_eq!(Spread::of(vec![2.0]), Some(Spread { median: 2.0, low: 2.0, high: 2.0 }));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
