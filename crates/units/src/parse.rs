//! Quantities as people write them: `"80 ms"`, `"1 Gbit/s"`, `"64 kB"`.
//!
//! A number, an optional space, a unit. The number is read as a decimal, not as a float, so that
//! `"0.1 s"` is exactly 10^11 ps.

use std::fmt;
use std::str::FromStr;

use crate::{Bytes, Rate, Span};

/// What was wrong with a quantity, as a phrase that ends a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

const SPANS: &[(&str, u64)] = &[
    ("ps", 1),
    ("ns", 1000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];
const RATES: &[(&str, u64)] = &[
    ("bit/s", 1),
    ("kbit/s", 1000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
];
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1000),
    ("KiB", 1024),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
];

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Span, ParseError> {
        quantity(text, "a time", "80 ms", SPANS).map(Span::from_ps)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        Rate::or_zero(text)?.ok_or_else(|| ParseError("the rate must be above zero".into()))
    }
}

impl Rate {
    /// Reads a rate that may be zero, which is none.
    ///
    /// # Errors
    /// Those of reading a rate that may not.
    pub fn or_zero(text: &str) -> Result<Option<Rate>, ParseError> {
        quantity(text, "a rate", "1 Gbit/s", RATES).map(Rate::from_bps)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        quantity(text, "a size", "1000 B", SIZES).map(Bytes)
    }
}

fn quantity(text: &str, what: &str, example: &str, units: &[(&str, u64)]) -> Result<u64, ParseError> {
    let text = text.trim();
    let wanted = || ParseError(format!("\"{text}\" is not {what}; wanted one such as \"{example}\""));
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    if number.is_empty() {
        return Err(wanted());
    }
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return Err(ParseError(format!("\"{text}\" has no unit; {what} takes one of {}", names())));
    }
    let Some(&(_, scale)) = units.iter().find(|u| u.0 == unit) else {
        return Err(ParseError(format!("\"{unit}\" is not a unit of {what}; it takes one of {}", names())));
    };
    let value = decimal(number, scale).ok_or_else(wanted)?;
    u64::try_from(value).map_err(|_| ParseError(format!("\"{text}\" is too large")))
}

/// `number` times `scale`, rounded to the nearest whole; `None` where it is no decimal number.
fn decimal(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() > 20 || fraction.len() > 15 || fraction.contains('.') || number.ends_with('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let places = 10u128.pow(fraction.len() as u32);
    let scaled = part * u128::from(scale);
    Some(whole.checked_mul(u128::from(scale))? + (scaled + places / 2) / places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_written() {
        assert_eq!("80 ms".parse(), Ok(Span::from_ms(80)));
        assert_eq!("0.1s".parse(), Ok(Span::from_ms(100)));
        assert_eq!("622Mbit/s".parse::<Rate>().unwrap().as_bps(), 622_000_000);
        assert_eq!("1.5 kB".parse(), Ok(Bytes(1500)));
        assert_eq!("1.500000000000 s".parse(), Ok(Span::from_ms(1500)));
    }

    #[test]
    fn mistakes_say_what_was_wanted() {
        let said = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(said("80"), "\"80\" has no unit; a time takes one of ps, ns, us, µs, ms, s, min, h");
        assert!(said("80 Ms").starts_with("\"Ms\" is not a unit of a time"));
        assert!(said("-3 s").contains("wanted one such as \"80 ms\""));
        assert!("0 bit/s".parse::<Rate>().is_err());
        assert_eq!(Rate::or_zero("0.0 Mbit/s"), Ok(None));
        assert!("99999999999999999999 s".parse::<Span>().is_err());
        assert!("1.2.3 s".parse::<Span>().is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_written_nothing_panics(text in ".{0,30}") {
            let _ = (text.parse::<Span>(), text.parse::<Rate>(), text.parse::<Bytes>());
        }

        #[test]
        fn what_prints_exactly_reads_back(ms in 0u64..10_000_000) {
            let span = Span::from_ms(ms);
            prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        }
    }
}
