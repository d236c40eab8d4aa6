//! A histogram of spans whose buckets have a relative width of at most a sixteenth.

use fairhaul_units::Span;

/// Buckets per doubling.
const PARTS: u64 = 16;
/// The resolution: spans are counted in whole multiples of it.
const STEP: Span = Span::from_ps(100_000);

/// Counts of spans by length.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    most: Span,
}

impl Histogram {
    /// Counts a span.
    pub fn add(&mut self, span: Span) {
        let bucket = bucket(span / STEP);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.most = self.most.max(span);
    }

    /// The number of counted spans.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest span.
    pub fn most(&self) -> Span {
        self.most
    }

    /// The length that a fraction `share` of all spans does not exceed, to a sixteenth; none if the histogram is
    /// empty.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        let bucket = self.buckets.iter().position(|count| {
            counted += count;
            counted >= wanted
        })?;
        Some((STEP * least(bucket as u64 + 1)).min(self.most))
    }
    /// Counts per doubling: spans below each end and at least half of it.
    pub fn doublings(&self) -> Vec<(Span, u64)> {
        let mut doublings: Vec<(Span, u64)> = Vec::new();
        for (bucket, count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            let end = STEP * (least(bucket as u64) + 1).next_power_of_two();
            match doublings.last_mut() {
                Some((last, sum)) if *last == end => *sum += count,
                _ => doublings.push((end, *count)),
            }
        }
        doublings
    }
}

/// The bucket of a number of steps: one each at first, then sixteen per doubling.
fn bucket(steps: u64) -> usize {
    if steps < PARTS {
        return steps as usize;
    }
    let doublings = u64::from((steps / PARTS).ilog2());
    ((doublings + 1) * PARTS + (steps >> doublings) - PARTS) as usize
}

/// The smallest number of steps in a bucket.
fn least(bucket: u64) -> u64 {
    if bucket < PARTS {
        return bucket;
    }
    let doublings = bucket / PARTS - 1;
    (bucket % PARTS + PARTS) << doublings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_begins_where_the_one_before_it_ends() {
        for steps in 0..100_000 {
            let bucket = bucket(steps) as u64;
            assert!(least(bucket) <= steps && steps < least(bucket + 1), "{steps}");
        }
    }

    #[test]
    fn of_a_hundred_spans_of_one_to_a_hundred_microseconds_half_do_not_exceed_50() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|us| histogram.add(Span::from_us(us)));
        let half = histogram.quantile(0.5).expect("it is not empty");
        assert!(half >= Span::from_us(50) && half <= Span::from_us(54), "{half}"); // 50 x 17/16 = 53.1
        assert_eq!(histogram.quantile(1.0), Some(Span::from_us(100)));
        assert_eq!((histogram.count(), histogram.most()), (100, Span::from_us(100)));
        assert_eq!(Histogram::default().quantile(0.5), None);
        // Below 1.6 us there is 1, and then 2 and 3, 4 to 6, 7 to 12.
        let ends: Vec<(u64, u64)> =
            histogram.doublings().iter().map(|(end, count)| (*end / STEP, *count)).collect();
        assert_eq!(ends, [(16, 1), (32, 2), (64, 3), (128, 6), (256, 13), (512, 26), (1024, 49)]);
        assert_eq!(Histogram::default().doublings(), []);
    }
}
