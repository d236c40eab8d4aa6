//! Quantities as people write them: `"80 ms"`, `"1 Gbit/s"`, `"64 kB"`.
//!
//! A number, an optional space, a unit. The number is read as a decimal, not as a float, so that
//! `"0.1 s"` is exactly 10^11 ps. It may have an exponent, as programs print it: `"1.58e+03 s"`.

use std::fmt;
use std::str::FromStr;

use crate::nearest::closest;
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

/// What people write for units, in small letters: of every unit the other names that it has. Bytes per
/// second are excluded, because a rate is in bits and a guess would be wrong by a factor of eight. A size
/// alone, such as `1 GB`, is what many write for the rate in bits.
const MEANT: &[(&str, &[&str])] = &[
    ("ps", &["psec", "picoseconds"]),
    ("ns", &["nsec", "nanosecond", "nanoseconds"]),
    ("us", &["usec", "μs", "microsecond", "microseconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("min", &["mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("bit/s", &["bps", "b/s", "bit", "bits", "bits/s", "bit/sec"]),
    ("kbit/s", &["k", "kb", "kbps", "kb/s", "kbit", "kbits", "kbits/s", "kbit/sec"]),
    ("Mbit/s", &["m", "mb", "mbps", "mb/s", "mbit", "mbits", "mbits/s", "mbit/sec"]),
    ("Gbit/s", &["g", "gb", "gbps", "gb/s", "gbit", "gbits", "gbits/s", "gbit/sec"]),
    ("Tbit/s", &["t", "tb", "tbps", "tb/s", "tbit", "tbits", "tbits/s", "tbit/sec"]),
    ("B", &["byte", "bytes"]),
    ("kB", &["k"]),
    ("KiB", &["ki"]),
    ("MB", &["m"]),
    ("MiB", &["mi"]),
    ("GB", &["g"]),
    ("GiB", &["gi"]),
    ("TB", &["t"]),
];

impl Span {
    /// The unit of a time that `unit` was probably meant to be.
    pub fn unit_meant(unit: &str) -> Option<&'static str> {
        meant(unit, SPANS)
    }
}

impl Bytes {
    /// The unit of a size that `unit` was probably meant to be.
    pub fn unit_meant(unit: &str) -> Option<&'static str> {
        meant(unit, SIZES)
    }
}

/// The one of `units` that `unit` was probably meant to be: the same in other letters, another name of it, or one that
/// differs in few letters.
fn meant(unit: &str, units: &[(&'static str, u64)]) -> Option<&'static str> {
    // "ms RTT": a word that says which quantity it is, and no further quantity, may stand behind the unit.
    let unit = match unit.split_once(char::is_whitespace) {
        Some((first, word)) if !word.contains(|c: char| c.is_ascii_digit()) => first,
        _ => unit,
    };
    // "m" may be minutes, milliseconds or megabytes.
    if unit == "m" || unit.ends_with("B/s") || unit.ends_with("Bps") {
        return None;
    }
    let lower = clip(unit).to_lowercase();
    let is_other = |name: &str| MEANT.iter().any(|(of, others)| *of == name && others.contains(&&*lower));
    let names: Vec<&'static str> = units.iter().map(|(name, _)| *name).collect();
    let same = names.iter().copied().find(|name| name.to_lowercase() == lower || is_other(name));
    same.or_else(|| closest(&lower, &names))
}

/// The number and the unit of a quantity such as `"80 ms"`; `None` where there is no number, no unit, or more behind it.
pub fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !".+-".contains(c))?;
    let (number, unit) = text.split_at(end + exponent(&text[end..]));
    let unit = unit.trim_start();
    let is_one = !unit.contains(|c: char| c.is_ascii_digit() || c == '.');
    number.parse().ok().filter(|_| is_one).map(|number| (number, unit))
}

/// The length of the exponent with which `text` begins, such as `e+03`; 0 where it begins with none.
fn exponent(text: &str) -> usize {
    let Some(power) = text.strip_prefix(['e', 'E']) else { return 0 };
    let sign = usize::from(power.starts_with(['+', '-']));
    let digits = power[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { 0 } else { 1 + sign + digits }
}

/// `text` short enough for a message.
fn clip(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain("…".chars()).collect()
}

fn quantity(text: &str, what: &str, example: &str, units: &[(&'static str, u64)]) -> Result<u64, ParseError> {
    let text = text.trim();
    let wanted = || ParseError(format!("\"{}\" is not {what}; wanted e.g. \"{example}\"", clip(text)));
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(if end == 0 { 0 } else { end + exponent(&text[end..]) });
    let unit = unit.trim_start();
    if number.is_empty() {
        return Err(wanted());
    }
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return Err(ParseError(format!("\"{}\" has no unit; {what} takes one of {}", clip(text), names())));
    }
    let Some(&(_, scale)) = units.iter().find(|u| u.0 == unit) else {
        let way_out = match meant(unit, units) {
            Some(meant) => format!("; did you mean \"{} {meant}\"?", clip(number)),
            None => format!("; it takes one of {}", names()),
        };
        return Err(ParseError(format!("\"{}\" is not a unit of {what}{way_out}", clip(unit))));
    };
    let value = decimal(number, scale).ok_or_else(wanted)?;
    u64::try_from(value).map_err(|_| ParseError(format!("\"{}\" is too large", clip(text))))
}

/// `number` times `scale`, rounded to the nearest whole, at most the largest; `None` where it is no decimal number.
fn decimal(number: &str, scale: u64) -> Option<u128> {
    let (digits, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() > 20 || fraction.len() > 15 || fraction.contains('.') || digits.ends_with('.') {
        return None;
    }
    // At most 35 digits: 10^35 is below 2^128.
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let power = power.parse::<i32>().ok()?.checked_sub(fraction.len() as i32)?;
    let scaled = digits.saturating_mul(u128::from(scale));
    let factor = 10u128.saturating_pow(power.unsigned_abs());
    Some(if power < 0 { scaled.saturating_add(factor / 2) / factor } else { scaled.saturating_mul(factor) })
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
    fn numbers_read_as_programs_print_them() {
        assert_eq!("1.58e+03 s".parse(), Ok(Span::from_ms(1_580_000)));
        assert_eq!("1e-3s".parse(), Ok(Span::from_ms(1)));
        assert_eq!("1E6 bit/s".parse::<Rate>().unwrap().as_bps(), 1_000_000);
        assert_eq!("2.5e3 B".parse(), Ok(Bytes(2500)));
        // Rounded to the nearest picosecond, and to none.
        assert_eq!("1.6e-12 s".parse(), Ok(Span::from_ps(2)));
        assert_eq!("1e-999999 s".parse(), Ok(Span::from_ps(0)));
        assert_eq!(number_and_unit("1e+06 bdp"), Some((1e6, "bdp")));
        let message = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(message("1.58e+03 sec"), "\"sec\" is not a unit of a time; did you mean \"1.58e+03 s\"?");
        assert!(message("1e+06").starts_with("\"1e+06\" has no unit"));
        assert!(message("1e99 s").ends_with("is too large"));
        for other in ["e3 s", "1e s", "1e+ s", "1e3.5 s", "1e99999999999 s"] {
            assert!(other.parse::<Span>().is_err(), "{other}");
        }
    }

    #[test]
    fn mistakes_say_what_was_wanted() {
        let message = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(message("80"), "\"80\" has no unit; a time takes one of ps, ns, us, µs, ms, s, min, h");
        assert_eq!(message("80 Ms"), "\"Ms\" is not a unit of a time; did you mean \"80 ms\"?");
        assert!(
            message("80 parsec").starts_with("\"parsec\" is not a unit of a time; it takes one of ps, ns")
        );
        assert!(message("-3 s").contains("wanted e.g. \"80 ms\""));
        assert!("0 bit/s".parse::<Rate>().is_err());
        assert_eq!(Rate::or_zero("0.0 Mbit/s"), Ok(None));
        assert!("99999999999999999999 s".parse::<Span>().is_err());
        assert!("1.2.3 s".parse::<Span>().is_err());
    }

    #[test]
    fn units_of_other_tools_get_a_hint() {
        let rate = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        for (given, meant) in [
            ("1.5Gbps", "1.5 Gbit/s"),
            ("622 mbit", "622 Mbit/s"),
            ("10 Kbit/s", "10 kbit/s"),
            ("9 bps", "9 bit/s"),
            ("10G", "10 Gbit/s"),
            ("100M", "100 Mbit/s"),
            ("1 GB", "1 Gbit/s"),
            ("10 Gbps link", "10 Gbit/s"),
        ] {
            assert!(rate(given).ends_with(&format!("; did you mean \"{meant}\"?")), "{given}");
        }
        // Bytes per second: a guess at bits would be wrong by a factor of eight.
        assert!(!rate("10 MB/s").contains("did you mean"));
        assert!(!rate("10 MBps").contains("did you mean"));
        assert!(!rate("10 m").contains("did you mean"));
        assert_eq!((Span::unit_meant("ms RTT"), Span::unit_meant("s 200 ms")), (Some("ms"), None));
        assert_eq!((Span::unit_meant("sec"), Span::unit_meant("mins")), (Some("s"), Some("min")));
        assert_eq!((Span::unit_meant("m"), Bytes::unit_meant("m")), (None, None));
        assert_eq!((Bytes::unit_meant("KB"), Bytes::unit_meant("bytes")), (Some("kB"), Some("B")));
    }

    #[test]
    fn a_mistyped_unit_gets_the_nearest_one() {
        let rate = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        assert!(rate("622 Mbti/s").ends_with("; did you mean \"622 Mbit/s\"?"));
        // Of two letters neither may differ.
        assert_eq!((Span::unit_meant("xs"), Span::unit_meant("mni")), (None, Some("min")));
    }

    #[test]
    fn a_quantity_has_one_number_and_one_unit() {
        assert_eq!(number_and_unit(" 2.5ms"), Some((2.5, "ms")));
        assert_eq!(number_and_unit("-0.25 bdp "), Some((-0.25, "bdp")));
        for other in ["", "80", "ms", "80 ms..200 ms", "1.2.3 s", "red"] {
            assert_eq!(number_and_unit(other), None, "{other}");
        }
    }

    #[test]
    fn a_long_text_is_quoted_in_part() {
        let long = "9".repeat(70_000);
        for text in [format!("{long} s"), long.clone(), format!("1 {}", "x".repeat(70_000))] {
            assert!(text.parse::<Span>().unwrap_err().to_string().chars().count() < 200);
        }
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
