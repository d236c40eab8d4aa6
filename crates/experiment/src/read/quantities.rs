//! Reads single values: a text, number or list becomes a quantity, or a phrase that says what was wanted.

use std::fmt::Display;

use fairhaul_units::{Bytes, Rate, Span, nearest};

use super::field::{Accepts, bounds};
use super::mistake::clip;
use super::toml_tree::{Node, TomlValue};
use crate::Start;

/// The highest rate; its bits in 100 days still fit the arithmetic.
pub(crate) const FASTEST_BPS: u64 = 1_000_000_000_000_000;
/// Longest run: sums of times stay far below what a `Span` holds.
pub(crate) const LONGEST_RUN: Span = Span::from_s(100 * 86_400);
/// The longest round-trip time.
const LONGEST_RTT: Span = Span::from_s(100_000);
/// The largest transfer, bytes.
pub(crate) const LARGEST_TRANSFER: u64 = 1_000_000_000_000_000;
/// The largest burst: a thousand times what Linux hands over.
const LARGEST_BURST: Bytes = Bytes(64_000_000);
/// The same in packets, of the smallest size.
const MOST_IN_BURST: u64 = LARGEST_BURST.0 / 64;
/// The most arrivals in a second.
const MOST_PER_S: f64 = 1e6;

/// Round-trip times as the file states them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RoundTrips {
    /// The same for all.
    One(Span),
    /// Spread evenly, both ends included.
    Spread(Span, Span),
    /// One for each.
    Each(Vec<Span>),
}

/// A capacity as the file states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CapacitySpec {
    /// No limit.
    Unlimited,
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// What the link sends in that time.
    Time(Span),
    /// Millionths of the bandwidth-delay product.
    Bdp(u64),
}

/// A burst as the file states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BurstSpec {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// As the kernel of the sender chooses.
    Auto,
}

/// What a person gives outside of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A duration, in seconds.
    Time,
    /// A round-trip time, in seconds.
    RoundTrip,
    /// A rate, in bits per second.
    Rate,
    /// The size of a transfer, in bytes.
    Size,
}

/// A value and what stands in its place: the phrase for a wrong type.
pub(crate) fn unwanted(accepts: &Accepts, node: &Node) -> String {
    let text = clip(&node.to_string());
    let takes_unit = !matches!(accepts, Accepts::Number { .. } | Accepts::Whole { .. } | Accepts::Switch);
    match node.value {
        TomlValue::Whole(_) | TomlValue::Number(_) if takes_unit && is_quantity(accepts) => {
            format!("{text} has no unit; wanted {}", accepts.wanted())
        }
        TomlValue::List(_) if matches!(accepts, Accepts::Words(_)) => {
            format!("wanted {}, not {text}: one of them, because they exclude each other", accepts.wanted())
        }
        _ => format!("wanted {}, not {text}", accepts.wanted()),
    }
}

/// Whether a text of this kind begins with a number.
pub(crate) fn is_quantity(accepts: &Accepts) -> bool {
    use Accepts::*;
    match accepts {
        Span { .. }
        | Rate
        | RateOrZero
        | Size { .. }
        | Frequency
        | RoundTrips
        | Start
        | Overhead
        | Capacity
        | Burst => true,
        Either(all) => all.iter().any(is_quantity),
        _ => false,
    }
}

/// Whether a text looks like a quantity.
pub(crate) fn numeric(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
}

/// A time within bounds.
pub(crate) fn span(text: &str, least: Span, most: Span) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e| format!("{e}"))?;
    match () {
        () if span < least && span.is_zero() => Err("must be above zero".into()),
        () if span < least => Err(format!("{span} is too short; at least {least}")),
        () if span > most => Err(format!("{span} is too long; at most {most}")),
        () => Ok(span),
    }
}

/// A size within bounds.
pub(crate) fn size(text: &str, least: u64, most: u64) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e| format!("{e}"))?;
    match size.0 {
        n if n < least => Err(format!("{size} is too small; at least {}", Bytes(least))),
        n if n > most => Err(format!("{size} is too large; at most {}", Bytes(most))),
        _ => Ok(size),
    }
}

/// Reads a quantity with the units and the bounds that it has in a scenario.
///
/// # Errors
/// A phrase that says what was wanted.
pub fn quantity(kind: Quantity, text: &str) -> Result<f64, String> {
    match kind {
        Quantity::Time => span(text, Span::from_ps(1), LONGEST_RUN).map(Span::as_secs),
        Quantity::RoundTrip => span(text, Span::from_ps(1), LONGEST_RTT).map(Span::as_secs),
        Quantity::Rate => rate(text).map(|rate| rate.as_bps() as f64),
        Quantity::Size => size(text, 1, LARGEST_TRANSFER).map(|size| size.0 as f64),
    }
}

/// A rate.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    bounded(text.parse().map_err(|e| format!("{e}"))?)
}

/// A rate, or none where it is zero.
pub(crate) fn rate_or_zero(text: &str) -> Result<Option<Rate>, String> {
    Rate::or_zero(text).map_err(|e| format!("{e}"))?.map(bounded).transpose()
}

fn bounded(rate: Rate) -> Result<Rate, String> {
    let fits = rate.as_bps() <= FASTEST_BPS;
    if fits { Ok(rate) } else { Err(format!("{rate} is too fast; at most 1000 Tbit/s")) }
}

/// A number within bounds.
pub(crate) fn number(node: &Node, least: f64, most: f64, open: bool) -> Option<Result<f64, String>> {
    let number = match node.value {
        TomlValue::Number(number) => number,
        TomlValue::Whole(whole) => whole as f64,
        _ => return None,
    };
    let fits = number.is_finite() && number <= most && if open { number > least } else { number >= least };
    Some(if fits {
        Ok(number)
    } else {
        Err(format!("wanted a number{}, not {}", bounds(least, most, open), clip(&node.to_string())))
    })
}

/// A whole number within bounds.
pub(crate) fn whole(node: &Node, least: u64, most: u64) -> Option<Result<u64, String>> {
    let TomlValue::Whole(whole) = node.value else { return None };
    let inside = u64::try_from(whole).ok().filter(|n| (least..=most).contains(n));
    Some(inside.ok_or_else(|| format!("wanted {}, not {whole}", Accepts::Whole { least, most }.wanted())))
}

/// A name that a path of keys can hold.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!("wanted {}, not \"{}\"", Accepts::Name.wanted(), clip(text)))
    }
}

/// A number per second.
pub(crate) fn frequency(text: &str) -> Result<f64, String> {
    let wanted = || {
        let number = text.trim().strip_suffix("Hz").map(str::trim_end);
        let way_out = match number.filter(|number| numeric(number)) {
            Some(number) => format!("did you mean \"{} /s\"?", clip(number)),
            None => format!("wanted {}", Accepts::Frequency.wanted()),
        };
        format!("\"{}\" is not a frequency; {way_out}", clip(text))
    };
    let number = text.trim().strip_suffix("/s").ok_or_else(wanted)?.trim_end();
    if !number.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(wanted());
    }
    match number.parse::<f64>() {
        Ok(0.0) => Err("the frequency must be above zero".into()),
        Ok(per_s) if per_s > MOST_PER_S => Err(format!("{per_s} /s is too high; at most {MOST_PER_S} /s")),
        Ok(per_s) => Ok(per_s),
        Err(_) => Err(wanted()),
    }
}

/// Two ends of a range.
fn range(text: &str, most: Span) -> Result<(Span, Span), String> {
    let wanted = || format!("\"{}\" is not a range; wanted e.g. \"0 s..2 s\"", clip(text));
    let (from, to) = text.split_once("..").ok_or_else(wanted)?;
    let (from, to) = (span(from, Span::ZERO, most)?, span(to, Span::ZERO, most)?);
    if from <= to {
        Ok((from, to))
    } else {
        Err(format!("the range \"{}\" ends before it begins", clip(text)))
    }
}

/// Round-trip times.
pub(crate) fn round_trips(node: &Node) -> Option<Result<RoundTrips, String>> {
    let single = |text: &str| span(text, Span::ZERO, LONGEST_RTT);
    Some(match &node.value {
        TomlValue::Text(text) if text.contains("..") => {
            range(text, LONGEST_RTT).map(|(a, b)| RoundTrips::Spread(a, b))
        }
        TomlValue::Text(text) => single(text).map(RoundTrips::One),
        TomlValue::List(nodes) => {
            let wanted = |n: &Node| {
                format!("wanted a time such as \"80 ms\" for every entry, not {}", clip(&n.to_string()))
            };
            let each = nodes.iter().map(|n| n.text().ok_or_else(|| wanted(n)).and_then(single));
            each.collect::<Result<_, _>>().map(RoundTrips::Each)
        }
        _ => return None,
    })
}

/// When a flow starts.
pub(crate) fn start(text: &str) -> Result<Start, String> {
    const MOST: Span = Span::from_s(100 * 86_400);
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("uniform") {
        return range(rest.trim(), MOST).map(|(a, b)| Start::Uniform(a, b));
    }
    if let Some(rest) = text.strip_prefix("exponential") {
        return span(rest.trim(), Span::from_ps(1), MOST).map(Start::Exponential);
    }
    if !numeric(text) {
        return Err(format!("\"{}\" is not a start time; wanted {}", clip(text), Accepts::Start.wanted()));
    }
    span(text, Span::ZERO, MOST).map(Start::At)
}

/// The largest processing time.
pub(crate) fn overhead(text: &str) -> Result<Span, String> {
    const MOST: Span = Span::from_s(1);
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("uniform") {
        let (from, to) = range(rest.trim(), MOST)?;
        let fits = from.is_zero();
        return if fits { Ok(to) } else { Err(format!("wanted {}", Accepts::Overhead.wanted())) };
    }
    match span(text, Span::ZERO, MOST) {
        Ok(span) if span.is_zero() => Ok(span),
        Ok(span) => {
            Err(format!("a constant delay belongs in rtt; wanted \"0 s\" or \"uniform 0 s..{span}\""))
        }
        Err(error) => Err(error),
    }
}

/// What a queue holds.
pub(crate) fn capacity(text: &str) -> Result<CapacitySpec, String> {
    let wanted = || format!("\"{}\" is not a capacity; wanted {}", clip(text), Accepts::Capacity.wanted());
    let text = text.trim();
    if text == "unlimited" {
        return Ok(CapacitySpec::Unlimited);
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(wanted)?;
    let (number, unit) = (&text[..end], text[end..].trim_start());
    match unit {
        "packet" | "packets" => match number.parse() {
            Ok(0) => Err("0 packets is too small; at least \"1 packet\"".into()),
            Ok(packets) => Ok(CapacitySpec::Packets(packets)),
            Err(_) => Err(format!("\"{}\" is not a whole number of packets", clip(text))),
        },
        // The decimal reader of times gives exact millionths: "0.5 us" is 500 000 ps.
        "bdp" => match format!("{number} us").parse::<Span>() {
            Ok(span) if span.is_zero() => Err("0 bdp is less than one packet".into()),
            Ok(span) if span > Span::from_ms(1000) => {
                Err(format!("{number} bdp is too large; at most 1000000 bdp"))
            }
            Ok(span) => Ok(CapacitySpec::Bdp(span.as_ps())),
            Err(_) => Err(wanted()),
        },
        _ => match (text.parse::<Span>(), text.parse::<Bytes>()) {
            (Ok(span), _) if span.is_zero() => Err("a time of zero is less than one packet".into()),
            (Ok(span), _) => Ok(CapacitySpec::Time(span)),
            (_, Ok(bytes)) => Ok(CapacitySpec::Bytes(bytes)),
            _ => match unit_meant(unit) {
                Some(meant) if !number.is_empty() => Err(format!(
                    "\"{}\" is not a unit of a capacity; did you mean \"{} {meant}\"?",
                    clip(unit),
                    clip(number)
                )),
                _ => Err(wanted()),
            },
        },
    }
}

/// The unit of a capacity that `unit` was probably meant to be.
fn unit_meant(unit: &str) -> Option<&'static str> {
    let other = || match &*unit.to_lowercase() {
        "p" | "pkt" | "pkts" | "segments" => Some("packets"),
        "bdps" => Some("bdp"),
        _ => nearest(unit, &["packets", "bdp"]),
    };
    Span::unit_meant(unit).or_else(|| Bytes::unit_meant(unit)).or_else(other)
}

/// What leaves in one burst: packets, bytes, or what the kernel chooses.
pub(crate) fn burst(text: &str) -> Result<BurstSpec, String> {
    if text.trim() == "auto" {
        return Ok(BurstSpec::Auto);
    }
    let bounds = |fits: bool, most: &dyn Display| {
        if fits { Ok(()) } else { Err(format!("\"{}\" is too large; at most {most}", clip(text))) }
    };
    match text.trim().strip_suffix("packets").or_else(|| text.trim().strip_suffix("packet")) {
        Some(number) => match number.trim_end().parse() {
            Ok(0) => Err("0 packets is too small; at least \"1 packet\"".into()),
            Ok(packets) => {
                bounds(packets <= MOST_IN_BURST, &format!("{MOST_IN_BURST} packets"))?;
                Ok(BurstSpec::Packets(packets))
            }
            Err(_) => Err(format!("\"{}\" is not a whole number of packets", clip(text))),
        },
        None => match text.parse::<Bytes>() {
            Ok(size) => {
                bounds(size <= LARGEST_BURST, &LARGEST_BURST)?;
                Ok(BurstSpec::Bytes(size))
            }
            Err(_) => {
                Err(format!("\"{}\" is not a burst size; wanted {}", clip(text), Accepts::Burst.wanted()))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn capacities_read_in_every_unit() {
        assert_eq!(capacity("20 ms"), Ok(CapacitySpec::Time(Span::from_ms(20))));
        assert_eq!(capacity("64 kB"), Ok(CapacitySpec::Bytes(Bytes(64_000))));
        assert_eq!(capacity("100 packets"), Ok(CapacitySpec::Packets(100)));
        assert_eq!(capacity("0.25 bdp"), Ok(CapacitySpec::Bdp(250_000)));
        assert_eq!(capacity("unlimited"), Ok(CapacitySpec::Unlimited));
        assert!(capacity("20 msec").unwrap_err().ends_with("did you mean \"20 ms\"?"));
        assert!(capacity("64 KB").unwrap_err().ends_with("did you mean \"64 kB\"?"));
        for unit in ["pkts", "paket", "Packets"] {
            let wrong = capacity(&format!("100 {unit}")).unwrap_err();
            assert!(wrong.ends_with("did you mean \"100 packets\"?"), "{wrong}");
        }
        for wrong in ["", "100", "1.5 packets", "0 packets", "0 ms", "0 bdp", "-1 bdp", "1 Gbit/s", "lots"] {
            assert!(capacity(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_quantity_outside_of_a_scenario_has_the_bounds_of_its_key() {
        assert_eq!(quantity(Quantity::Time, "2 min"), Ok(120.0));
        assert_eq!(quantity(Quantity::RoundTrip, "80ms"), Ok(0.08));
        assert_eq!(quantity(Quantity::Rate, "622Mbit/s"), Ok(622e6));
        assert_eq!(quantity(Quantity::Size, "1.5 kB"), Ok(1500.0));
        let wrong = |kind, text| quantity(kind, text).unwrap_err();
        assert_eq!(wrong(Quantity::RoundTrip, "0 s"), "must be above zero");
        assert_eq!(wrong(Quantity::RoundTrip, "200000 s"), "200000 s is too long; at most 100000 s");
        assert_eq!(wrong(Quantity::Rate, "2000 Tbit/s"), "2000 Tbit/s is too fast; at most 1000 Tbit/s");
        assert_eq!(wrong(Quantity::Size, "0 B"), "0 B is too small; at least 1 B");
        assert!(wrong(Quantity::Time, "5").starts_with("\"5\" has no unit"));
    }

    #[test]
    fn starts_and_overheads_read_as_written() {
        assert_eq!(start("uniform 0 s..2 s"), Ok(Start::Uniform(Span::ZERO, Span::from_s(2))));
        assert_eq!(start("exponential 1 s"), Ok(Start::Exponential(Span::from_s(1))));
        assert_eq!(start("3 s"), Ok(Start::At(Span::from_s(3))));
        assert!(
            start("uniform 2 s..1 s").is_err()
                && start("later").is_err()
                && start("exponential 0 s").is_err()
        );
        assert_eq!(overhead("uniform 0 s..8 us"), Ok(Span::from_us(8)));
        assert!(overhead("8 us").unwrap_err().contains("uniform 0 s..8 us"));
        assert!(overhead("uniform 1 s..2 s").is_err());
    }

    #[test]
    fn bursts_are_packets_or_bytes() {
        assert_eq!(burst("16 packets"), Ok(BurstSpec::Packets(16)));
        assert_eq!(burst("1 packet"), Ok(BurstSpec::Packets(1)));
        assert_eq!(burst("64 kB"), Ok(BurstSpec::Bytes(Bytes(64_000))));
        assert_eq!(burst("auto"), Ok(BurstSpec::Auto));
        for wrong in
            ["", "16", "0 packets", "1.5 packets", "-1 packets", "2 ms", "1 bdp", "1 GB", "9999999 packets"]
        {
            assert!(burst(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn frequencies_have_a_unit() {
        assert_eq!(frequency("20 /s"), Ok(20.0));
        assert_eq!(frequency("0.5/s"), Ok(0.5));
        assert!(frequency("20 Hz").unwrap_err().ends_with("did you mean \"20 /s\"?"));
        for wrong in ["20", "0 /s", "-1 /s", "inf /s", "nan/s", "1e9 /s", "9999999 /s", "/s", "1.2.3 /s"] {
            assert!(frequency(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_nothing_panics(text in "\\PC{0,20}|[0-9.]{0,12} ?(ms|s|bdp|packets|kB|/s|uniform|\\.\\.)?") {
            let _ = (capacity(&text), start(&text), overhead(&text), frequency(&text), burst(&text));
        }
    }
}
