//! Clock skew: estimates the drift of a receiver's clock and removes it from one-way transit times [MOON].
//!
//! What a clock gains is a straight line under the transit times, and a queue only lies above it.
//! So the line is one that has every sample above it and some on it: an edge of the lower convex
//! hull. The edge is the one across the middle of the time, since that line is the nearest to all
//! samples of those below them.
//!
//! ```text
//!  transit    .  :            . :  .
//!  time     . . :  .   :   . .  : __/      an edge of the hull, and the drift
//!           . : .___/--:--/~~~~
//!           :/       . middle             time
//! ```

/// Corners of the hull that are kept. Random delays leave as many as the logarithm of their number.
const CORNERS: usize = 32;
/// Of each interval only the lowest sample is kept, seconds.
const INTERVAL_S: f64 = 0.5;
/// Before so long a queue that fills looks like a drift, and a drift of 100 ppm has made but 1 ms.
const SETTLED_S: f64 = 10.0;
/// No clock of a computer drifts faster [RFC 5905]: 500 ppm.
const STEEPEST: f64 = 500e-6;

/// A transit time and when it was measured, both in seconds above those of the first sample.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    at_s: f64,
    transit_s: f64,
}

/// The line under the transit times of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Skew {
    /// Corners of the lower hull of all intervals that are over, in order of time.
    hull: Vec<Point>,
    /// The lowest sample of the interval under way, and its end.
    lowest: Point,
    until_s: f64,
    /// The line: `level_s` at the first sample, and its rise per second.
    level_s: f64,
    slope: f64,
}

impl Default for Skew {
    fn default() -> Skew {
        let lowest = Point { at_s: 0.0, transit_s: f64::INFINITY };
        let hull = Vec::with_capacity(CORNERS + 1);
        Skew { hull, lowest, until_s: INTERVAL_S, level_s: f64::INFINITY, slope: 0.0 }
    }
}

impl Skew {
    /// Takes a transit time: how far it lies above the line, seconds.
    pub(crate) fn take(&mut self, at_s: f64, transit_s: f64) -> f64 {
        if at_s >= self.until_s {
            self.close();
            self.until_s = at_s + INTERVAL_S;
        }
        let point = Point { at_s, transit_s };
        if self.above(point) < self.above(self.lowest) {
            self.lowest = point;
            // The line stays below every sample.
            self.level_s = self.level_s.min(self.rest(point));
        }
        self.above(point)
    }

    /// The sample without the drift up to it.
    fn rest(&self, point: Point) -> f64 {
        point.transit_s - self.slope * point.at_s
    }

    fn above(&self, point: Point) -> f64 {
        if self.level_s.is_finite() { self.rest(point) - self.level_s } else { self.rest(point) }
    }

    /// An interval is over: its lowest sample joins the hull, and the line is drawn anew.
    fn close(&mut self) {
        let point = std::mem::replace(&mut self.lowest, Point { at_s: 0.0, transit_s: f64::INFINITY });
        while let [.., a, b] = self.hull[..]
            && height(a, b, point) <= 0.0
        {
            self.hull.pop();
        }
        self.hull.push(point);
        if self.hull.len() > CORNERS {
            self.drop_flattest();
        }
        if point.at_s >= SETTLED_S {
            self.slope = self.drift(point.at_s / 2.0);
        }
        self.level_s = self.hull.iter().map(|corner| self.rest(*corner)).fold(f64::INFINITY, f64::min);
    }

    // Differs from [MOON]: the line is taken at the middle of the time, not of the samples, because samples are
    // denser where the window, and with it the queue, is large.
    fn drift(&self, middle_s: f64) -> f64 {
        let after = self.hull.partition_point(|corner| corner.at_s <= middle_s);
        match (after.checked_sub(1).and_then(|before| self.hull.get(before)), self.hull.get(after)) {
            (Some(a), Some(b)) => slope(*a, *b).clamp(-STEEPEST, STEEPEST),
            _ => 0.0,
        }
    }

    /// Forgets the corner, not the first or the last, that the hull is least lower for.
    fn drop_flattest(&mut self) {
        let flat = |three: &[Point]| height(three[0], three[1], three[2]);
        let heights = self.hull.windows(3).map(flat).enumerate();
        let least = heights.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index + 1);
        self.hull.remove(least.expect("a full hull has a corner between two"));
    }
}

/// The rise per second from one point to a later one.
fn slope(a: Point, b: Point) -> f64 {
    (b.transit_s - a.transit_s) / (b.at_s - a.at_s)
}

/// How far `b` lies below the line from `a` to `c`.
fn height(a: Point, b: Point, c: Point) -> f64 {
    a.transit_s + slope(a, c) * (b.at_s - a.at_s) - b.transit_s
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queueing delay at a time: a sawtooth of 7.3 s up to 40 ms.
    fn queue_s(at_s: f64) -> f64 {
        0.040 * (at_s / 7.3).fract()
    }

    /// The largest errors of the estimate from 20 s and from 60 s on, over 600 s with a sample in
    /// each millisecond, of a clock that drifts by `ppm` and is read in stamps of `stamp_s`; and the
    /// error at the end without the line.
    fn worst(ppm: f64, stamp_s: f64) -> [f64; 3] {
        let mut skew = Skew::default();
        let (mut soon, mut later) = (0.0f64, 0.0f64);
        let (mut plain, mut least, mut first) = (0.0, f64::INFINITY, None);
        for sample in 0..590_000 {
            // Odd steps, so that every tooth begins with samples at all phases of a stamp.
            let at_s = f64::from(sample) * 0.001_017_3;
            let arrived = (at_s + 0.030 + queue_s(at_s)) * (1.0 + ppm * 1e-6);
            let transit_s = (arrived / stamp_s).floor() * stamp_s - at_s;
            let corrected = skew.take(at_s, transit_s - *first.get_or_insert(transit_s));
            least = f64::min(least, transit_s);
            plain = transit_s - least - queue_s(at_s);
            assert!(corrected >= 0.0);
            let error = (corrected - queue_s(at_s)).abs();
            soon = if at_s >= 20.0 { soon.max(error) } else { soon };
            later = if at_s >= 60.0 { later.max(error) } else { later };
        }
        [soon, later, plain]
    }

    /// A stamp and a fifth of a millisecond; half of one while three teeth are all there is.
    #[test]
    fn the_queueing_delay_stays_within_a_stamp_whatever_the_drift() {
        for ppm in [-100.0, -10.0, 0.0, 10.0, 50.0, 100.0] {
            for stamp_s in [1e-6, 1e-3] {
                let [soon, later, _] = worst(ppm, stamp_s);
                let what = format!("{ppm} ppm, stamps of {stamp_s} s: {soon:.6} s, then {later:.6} s");
                println!("{what}");
                assert!(soon <= stamp_s + 5e-4 && later <= stamp_s + 2e-4, "{what}");
            }
        }
    }

    /// 10, 50 and 100 ppm of 600 s are 6, 30 and 60 ms.
    #[test]
    fn without_the_line_the_error_grows_with_the_time() {
        for ppm in [10.0, 50.0, 100.0] {
            let [_, _, plain] = worst(ppm, 1e-6);
            assert!((plain / (ppm * 600e-6) - 1.0).abs() < 0.02, "{ppm} ppm: {plain} s");
        }
    }

    /// An hour of one-second teeth at 100 ppm leaves 3600 points on one line; convex ones never fall
    /// out by themselves, and 1000 of them are thinned to 32.
    #[test]
    fn memory_is_bounded() {
        let mut skew = Skew::default();
        for second in 0..1000 {
            let at_s = f64::from(second);
            skew.take(at_s, 1e-7 * at_s * at_s);
        }
        assert!(skew.hull.len() <= CORNERS && skew.hull.capacity() <= CORNERS + 1);
    }

    /// A queue that fills by 40 ms in its first 4 s rises 10 000 ppm, and the line stays level.
    #[test]
    fn a_queue_that_fills_is_no_drift() {
        let mut skew = Skew::default();
        let mut corrected = 0.0;
        for sample in 0..400 {
            let at_s = f64::from(sample) * 0.01;
            corrected = skew.take(at_s, 0.01 * at_s);
        }
        assert!((corrected - 0.0399).abs() < 1e-9, "{corrected}");
    }
}
