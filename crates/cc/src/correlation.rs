//! How closely two series move together: Pearson's coefficient of correlation, and Student's t test
//! of whether it is above zero.

/// The sums of a series of pairs, kept around their running means.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Correlation {
    pairs: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

/// The one-sided 5 % points of Student's distribution for 6 to 28 degrees of freedom.
#[rustfmt::skip]
static T_95: [f64; 23] = [
    1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729,
    1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701,
];
/// That of the normal distribution, for more.
const NORMAL_95: f64 = 1.645;
/// Fewer pairs than this tell nothing.
pub(crate) const FEWEST: f64 = 8.0;

impl Correlation {
    pub(crate) fn add(&mut self, x: f64, y: f64) {
        self.pairs += 1.0;
        let (off_x, off_y) = (x - self.x, y - self.y);
        self.x += off_x / self.pairs;
        self.y += off_y / self.pairs;
        self.xx += off_x * (x - self.x);
        self.yy += off_y * (y - self.y);
        self.xy += off_x * (y - self.y);
    }

    /// Whether y rises with x. Not where either stands still, for then nothing rises.
    pub(crate) fn rises(&self) -> bool {
        self.xy > 0.0 && self.xx > 0.0 && self.yy > 0.0
    }

    /// Whether y rises with x so clearly that chance alone would do it once in 20 times at most:
    /// r sqrt((n - 2) / (1 - r^2)) > t, without the division by what is zero on a straight line. To
    /// be asked of [`FEWEST`] pairs or more.
    pub(crate) fn rises_clearly(&self) -> bool {
        debug_assert!(self.pairs >= FEWEST, "so few pairs tell nothing");
        let squared = self.xy * self.xy / (self.xx * self.yy);
        let t = T_95.get(self.pairs as usize - FEWEST as usize).copied().unwrap_or(NORMAL_95);
        self.rises() && squared * (self.pairs - 2.0) > t * t * (1.0 - squared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ys: &[f64]) -> Correlation {
        let mut pairs = Correlation::default();
        ys.iter().enumerate().for_each(|(x, y)| pairs.add(x as f64, *y));
        pairs
    }

    /// x = 0..4, y = 0, 2, 1, 3: the sums of squares are 5 and 5, of products 4, so that r = 0.8.
    #[test]
    fn four_pairs_have_the_coefficient_of_the_textbook() {
        let Correlation { xx, yy, xy, .. } = of(&[0.0, 2.0, 1.0, 3.0]);
        assert!((xy / (xx * yy).sqrt() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn a_straight_line_rises_clearly_and_a_level_one_does_not() {
        let line: Vec<f64> = (0..10).map(f64::from).collect();
        assert!(of(&line).rises_clearly());
        let falling: Vec<f64> = (0..10).map(|y| -f64::from(y)).collect();
        assert!(!of(&falling).rises() && !of(&falling).rises_clearly());
        assert!(!of(&[5.0; 10]).rises() && !of(&[5.0; 10]).rises_clearly());
    }

    /// y = 0, 1, 0, 1, ... over x = 0..8: sums of squares 42 and 2, of products 2, r = 0.218,
    /// t = 0.218 sqrt(6 / 0.952) = 0.548 < 1.943: it rises by its sign, and by no test.
    #[test]
    fn a_rise_that_chance_explains_is_none() {
        let wave = of(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        assert!(wave.rises() && !wave.rises_clearly());
    }

    /// At 102 pairs r must exceed 1.645 / sqrt(100 + 1.645^2) = 0.1623. Over x = 0..102 and y = k x
    /// plus +1, -1, -1, +1, ..., r = 0.16 and 0.17 lie on either side.
    #[test]
    fn a_hundred_pairs_need_a_correlation_of_0_16() {
        let with_slope = |k: f64| {
            let noise = |x: u32| if matches!(x % 4, 0 | 3) { 1.0 } else { -1.0 };
            of(&(0..102).map(|x| k * f64::from(x) + noise(x)).collect::<Vec<_>>())
        };
        let r = |c: &Correlation| c.xy / (c.xx * c.yy).sqrt();
        for thousandth in 0..20 {
            let correlation = with_slope(f64::from(thousandth) / 1000.0);
            assert_eq!(correlation.rises_clearly(), r(&correlation) > 0.1623, "r = {}", r(&correlation));
        }
    }
}
