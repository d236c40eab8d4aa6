//! Time, span, rate and size as types.
//!
//! Time is an integer number of picoseconds: at 100 Gbit/s a byte takes 80 ps, so that every
//! common rate has a whole number of picoseconds per byte, and a `u64` still holds 213 days.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub};

const PS_PER_S: u64 = 1_000_000_000_000;

/// A count as a number, for counts below 2^63: a signed one converts in a single step.
#[inline(always)]
pub const fn real(count: u64) -> f64 {
    debug_assert!(count <= i64::MAX as u64, "no count is that large");
    count as i64 as f64
}

/// A point in time, in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time, in picoseconds; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// What a link can carry, in bits per second; never zero once parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// The time that many picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, rounded to the nearest `f64`.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The span since `earlier`, zero where `earlier` is later.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole picoseconds.
    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }

    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000_000)
    }

    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000_000)
    }

    /// A span of whole seconds.
    pub const fn from_s(s: u64) -> Span {
        Span(s * PS_PER_S)
    }

    /// The span nearest to that many seconds; negative and undefined ones are zero, and what no
    /// span can hold is the longest span.
    pub fn from_secs(seconds: f64) -> Span {
        Span((seconds * PS_PER_S as f64 + 0.5) as u64)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, rounded to the nearest `f64`.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, zero where `other` is longer.
    pub fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// A rate in whole bits per second. `None` for zero: nothing can be sent at that rate.
    pub const fn from_bps(bps: u64) -> Option<Rate> {
        if bps == 0 { None } else { Some(Rate(bps)) }
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `size` occupies a link of this rate; rounded up.
    pub fn on_wire(self, size: Bytes) -> Span {
        let bits_ps = u128::from(size.0) * 8 * u128::from(PS_PER_S);
        Span(bits_ps.div_ceil(u128::from(self.0)) as u64)
    }

    /// How many whole bytes pass in `span`; rounded down.
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bits_ps = u128::from(self.0) * u128::from(span.0);
        Bytes((bits_ps / (8 * u128::from(PS_PER_S))) as u64)
    }
}

impl Mul<u64> for Rate {
    type Output = Rate;
    fn mul(self, times: u64) -> Rate {
        Rate(self.0.saturating_mul(times.max(1)))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// The span between two times. `earlier` must not be later than `self`.
impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        debug_assert!(self.0 >= earlier.0, "time runs forward");
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        debug_assert!(self.0 >= other.0, "a span is never negative");
        Span(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

/// Rounded down.
impl Div<u64> for Span {
    type Output = Span;
    fn div(self, parts: u64) -> Span {
        Span(self.0 / parts)
    }
}

/// How many whole times `other` fits.
impl Div for Span {
    type Output = u64;
    fn div(self, other: Span) -> u64 {
        self.0 / other.0
    }
}

impl Rem for Span {
    type Output = Span;
    fn rem(self, other: Span) -> Span {
        Span(self.0 % other.0)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, times: u64) -> Bytes {
        Bytes(self.0 * times)
    }
}

/// The largest unit that leaves a number of at least one, at most six decimals.
fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let unit = units.iter().find(|(size, _)| value >= *size);
    let (size, name) = unit.copied().unwrap_or(units[units.len() - 1]);
    let number = format!("{:.6}", value as f64 / size as f64);
    let number = number.trim_end_matches('0').trim_end_matches('.');
    write!(f, "{number} {name}")
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(PS_PER_S, "s"), (PS_PER_S / 1000, "ms"), (1_000_000, "us"), (1000, "ns"), (1, "ps")];
        if self.0 == 0 { f.write_str("0 s") } else { scaled(f, self.0, &units) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (PS_PER_S, "Tbit/s"),
            (1_000_000_000, "Gbit/s"),
            (1_000_000, "Mbit/s"),
            (1000, "kbit/s"),
            (1, "bit/s"),
        ];
        scaled(f, self.0, &units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(PS_PER_S, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB"), (1, "B")];
        scaled(f, self.0, &units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_bytes_at_a_gigabit_take_8_us() {
        let rate = Rate::from_bps(1_000_000_000).unwrap();
        assert_eq!(rate.on_wire(Bytes(1000)), Span::from_us(8));
        assert_eq!(rate.bytes_in(Span::from_us(8)), Bytes(1000));
    }

    #[test]
    fn time_on_the_wire_is_rounded_up_and_bytes_down() {
        // 1 byte at 3 bit/s: 8/3 s = 2.666… s.
        let rate = Rate::from_bps(3).unwrap();
        assert_eq!(rate.on_wire(Bytes(1)).as_ps(), 2_666_666_666_667);
        assert_eq!(rate.bytes_in(Span::from_ps(2_666_666_666_666)), Bytes(0));
    }

    #[test]
    fn quantities_print_in_their_largest_unit() {
        assert_eq!(Span::from_ms(80).to_string(), "80 ms");
        assert_eq!(Span::from_ms(1500).to_string(), "1.5 s");
        assert_eq!(Rate::from_bps(622_000_000).unwrap().to_string(), "622 Mbit/s");
        assert_eq!(Bytes(0).to_string(), "0 B");
    }
}
