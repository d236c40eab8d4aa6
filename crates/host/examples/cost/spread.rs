//! The median and the range of several measurements.

use serde::Serialize;

/// The least, the median and the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// As many are below it as above.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Of these values; `None` of none.
    pub fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (&least, &most) = (values.first()?, values.last()?);
        let median = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Spread { median, least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two() {
        assert_eq!(Spread::of(vec![2.0, 9.0, 1.0]), Some(Spread { median: 2.0, least: 1.0, most: 9.0 }));
        let four = Spread { median: 2.5, least: 1.0, most: 4.0 }; // (2 + 3) / 2
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 3.0]), Some(four));
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
