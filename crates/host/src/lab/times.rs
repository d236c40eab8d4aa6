//! Times of many packets, such as how late each was.

use fairhaul_units::{Histogram, Span};

/// A histogram of times, and the longest of them.
#[derive(Clone, Debug, Default)]
pub struct Times {
    histogram: Histogram,
    most: Span,
}

impl Times {
    /// Counts a time.
    pub fn add(&mut self, span: Span) {
        self.histogram.add(span, 1);
        self.most = self.most.max(span);
    }

    /// The number of counted times.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The longest time.
    pub fn most(&self) -> Span {
        self.most
    }

    /// The time that a fraction `share` of all times does not exceed, to a 64th; none if there is none.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let wanted = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        let (_, below, _) = self.histogram.buckets().find(|(_, _, count)| {
            counted += count;
            counted >= wanted
        })?;
        Some(below.min(self.most))
    }

    /// Counts per doubling: times below each end and at least half of it.
    pub fn doublings(&self) -> Vec<(Span, u64)> {
        let mut doublings: Vec<(Span, u64)> = Vec::new();
        for (from, _, count) in self.histogram.buckets() {
            let end = Span::from_ps((from.as_ps() + 1).next_power_of_two());
            match doublings.last_mut() {
                Some((last, sum)) if *last == end => *sum += count,
                _ => doublings.push((end, count)),
            }
        }
        doublings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_times_of_one_to_a_hundred_microseconds_half_do_not_exceed_50() {
        let mut times = Times::default();
        (1..=100).for_each(|us| times.add(Span::from_us(us)));
        let half = times.quantile(0.5).expect("there are some");
        assert!(half >= Span::from_us(50) && half <= Span::from_ps(50_800_000), "{half}"); // 50 x 65/64 = 50.8
        assert_eq!(times.quantile(1.0), Some(Span::from_us(100)));
        assert_eq!((times.count(), times.most()), (100, Span::from_us(100)));
        assert_eq!(Times::default().quantile(0.5), None);
        // Below 2^20 ps, which are 1.05 us, there is 1, and then 2, 3 and 4, 5 to 8.
        let ends: Vec<(u64, u64)> =
            times.doublings().iter().map(|(end, count)| (end.as_ps() >> 20, *count)).collect();
        assert_eq!(ends, [(1, 1), (2, 1), (4, 2), (8, 4), (16, 8), (32, 17), (64, 34), (128, 33)]);
        assert_eq!(Times::default().doublings(), []);
    }
}
