//! A range of values in `[sweep]`: `{ from = "10 ms", to = "1 s", points = 5, scale = "log" }`.

use fairhaul_units::{Bytes, Rate, Span, number_and_unit};

use super::mistake::{SourceSpan, clip, way_out};
use super::toml_tree::{Node, TomlEntry, TomlValue, fragment};

/// The most values of a range.
pub(super) const MOST_POINTS: usize = 10_000;
const KEYS: [&str; 4] = ["from", "to", "points", "scale"];
const SCALES: [&str; 2] = ["linear", "log"];
/// Significant digits of the values between the ends.
const DIGITS: usize = 4;

/// The ends of a range of which values are searched, as TOML: the second in the unit of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeEnds {
    /// The first value.
    pub from: String,
    /// The last value.
    pub to: String,
    /// How the values between them are spread, if the range says so: `linear` or `log`.
    pub scale: Option<&'static str>,
}

/// Reads `{ from = …, to = …, scale = … }`; a single value is both ends.
///
/// # Errors
/// A phrase that says what is wrong.
pub fn range_ends(toml: &str) -> Result<RangeEnds, String> {
    let node = fragment(toml, SourceSpan::Override(0));
    if !matches!(node.value, TomlValue::Table(_)) {
        return Ok(RangeEnds { from: node.to_string(), to: node.to_string(), scale: None });
    }
    let (range, points) = Range::read(&node).map_err(|(_, text)| text)?;
    if points.is_some() {
        return Err("a range that is searched has no number of points".into());
    }
    let scale = node.get("scale").map(|_| SCALES[usize::from(range.log)]);
    let [from, to] = [range.from, range.to].map(|end| range.node(end).to_string());
    Ok(RangeEnds { from, to, scale })
}

/// Values between two ends of one kind.
#[derive(Clone, Debug)]
pub(super) struct Range {
    from: f64,
    to: f64,
    /// Equal ratios instead of equal differences.
    log: bool,
    /// The unit of both, or nothing where they are numbers.
    unit: Option<String>,
    /// Only whole numbers are values.
    whole: bool,
    origin: SourceSpan,
}

/// A mistake, and its place.
type Wrong = (SourceSpan, String);

/// An end of a range: a number, or one with a unit.
struct End {
    number: f64,
    unit: Option<String>,
    whole: bool,
}

impl Range {
    /// Whether a table is a range and not part of a path of keys, which has no single values.
    pub(super) fn is_one(node: &Node) -> bool {
        let TomlValue::Table(entries) = &node.value else { return false };
        let is_single = |node: &Node| !matches!(node.value, TomlValue::List(_) | TomlValue::Table(_));
        entries.iter().any(|entry| match entry.key.as_str() {
            "from" | "to" => is_single(&entry.node),
            "any" => matches!(entry.node.value, TomlValue::List(_)),
            _ => false,
        })
    }

    /// Reads a range, and how many points it has, if it says so.
    pub(super) fn read(node: &Node) -> Result<(Range, Option<usize>), Wrong> {
        let TomlValue::Table(entries) = &node.value else { unreachable!("a range is a table") };
        if let Some(TomlEntry { key, origin, .. }) = entries.iter().find(|e| !KEYS.contains(&e.key.as_str()))
        {
            return Err((*origin, format!("a range has no key \"{}\"{}", clip(key), way_out(key, &KEYS))));
        }
        let [from, to] = ["from", "to"].map(|key| {
            let end = node.get(key).ok_or_else(|| (node.origin, format!("the range has no \"{key}\"")))?;
            End::read(end).map_err(|text| (end.origin, text))
        });
        let (from, to) = (from?, to?);
        let number = to.number * from.units_in(&to).map_err(|text| (node.origin, text))?;
        let range = Range {
            from: from.number,
            to: number,
            log: is_log(node)?,
            whole: from.whole && to.whole && number.fract() == 0.0,
            unit: from.unit,
            origin: node.origin,
        };
        if range.log && (range.from <= 0.0 || range.to <= 0.0) {
            return Err((node.origin, "a range with scale = \"log\" lies above zero".into()));
        }
        Ok((range, points(node)?))
    }

    /// This number of values, both ends among them; whole numbers that would repeat appear once.
    pub(super) fn points(&self, points: usize) -> Vec<Node> {
        let last = (points - 1).max(1) as f64;
        let mut values: Vec<Node> = (0..points).map(|point| self.value(point as f64 / last)).collect();
        values.dedup();
        values
    }

    /// The value at a position from 0 to 1.
    pub(super) fn value(&self, at: f64) -> Node {
        let exact = if at <= 0.0 {
            self.from
        } else if at >= 1.0 {
            self.to
        } else if self.log {
            self.from * libm::pow(self.to / self.from, at)
        } else {
            self.from + (self.to - self.from) * at
        };
        self.node(if self.whole { exact.round() } else { rounded(exact) })
    }

    fn node(&self, number: f64) -> Node {
        let value = match &self.unit {
            Some(unit) => TomlValue::Text(format!("{number} {unit}")),
            None if self.whole => TomlValue::Whole(number as i128),
            None => TomlValue::Number(number),
        };
        Node { value, origin: self.origin }
    }
}

fn is_log(node: &Node) -> Result<bool, Wrong> {
    let Some(scale) = node.get("scale") else { return Ok(false) };
    let word = scale.text().unwrap_or_default();
    if SCALES.contains(&word) {
        return Ok(word == "log");
    }
    Err((scale.origin, format!("unknown scale {}{}", clip(&scale.to_string()), way_out(word, &SCALES))))
}

fn points(node: &Node) -> Result<Option<usize>, Wrong> {
    let Some(points) = node.get("points") else { return Ok(None) };
    match points.value {
        TomlValue::Whole(n) if (2..=MOST_POINTS as i128).contains(&n) => Ok(Some(n as usize)),
        _ => {
            let text = format!(
                "points: wanted a whole number from 2 to {MOST_POINTS}, not {}",
                clip(&points.to_string())
            );
            Err((points.origin, text))
        }
    }
}

/// The nearest number of few digits, so that a value reads well where it is printed.
fn rounded(number: f64) -> f64 {
    format!("{number:.*e}", DIGITS - 1).parse().unwrap_or(number)
}

impl End {
    fn read(node: &Node) -> Result<End, String> {
        let wanted =
            || format!("wanted a number or a quantity such as \"10 ms\", not {}", clip(&node.to_string()));
        match &node.value {
            TomlValue::Whole(whole) => Ok(End { number: *whole as f64, unit: None, whole: true }),
            TomlValue::Number(number) if number.is_finite() => {
                Ok(End { number: *number, unit: None, whole: false })
            }
            TomlValue::Text(text) => {
                let (number, unit) = number_and_unit(text).ok_or_else(wanted)?;
                // Parts of a packet or of a byte do not exist.
                let whole = ["packets", "packet", "B"].contains(&unit)
                    && number.fract() == 0.0
                    && !text.contains('.');
                Ok(End { number, unit: Some(unit.to_owned()), whole })
            }
            _ => Err(wanted()),
        }
    }

    /// How many units of this end a unit of `other` is.
    fn units_in(&self, other: &End) -> Result<f64, String> {
        let (ours, theirs) = match (&self.unit, &other.unit) {
            (None, None) => return Ok(1.0),
            (Some(ours), Some(theirs)) if ours == theirs => return Ok(1.0),
            (Some(ours), Some(theirs)) => (ours, theirs),
            _ => return Err("one end of the range has a unit and the other has none".into()),
        };
        let kinds: [fn(&str) -> Option<f64>; 3] = [
            |text| text.parse::<Span>().ok().map(|span| span.as_ps() as f64),
            |text| text.parse::<Rate>().ok().map(|rate| rate.as_bps() as f64),
            |text| text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
        ];
        let ratio =
            kinds.iter().find_map(|kind| Some(kind(&format!("1 {theirs}"))? / kind(&format!("1 {ours}"))?));
        ratio.ok_or_else(|| {
            format!("the ends of the range have different units, \"{}\" and \"{}\"", clip(ours), clip(theirs))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(range: &str) -> Vec<String> {
        let node = fragment(range, SourceSpan::Override(0));
        let (range, points) = Range::read(&node).map_err(|(_, text)| text).unwrap();
        range.points(points.unwrap()).iter().map(Node::to_string).collect()
    }

    fn wrong(range: &str) -> String {
        Range::read(&fragment(range, SourceSpan::Override(0))).unwrap_err().1
    }

    #[test]
    fn a_range_has_both_ends_and_equal_differences_or_ratios_between() {
        assert_eq!(values("{ from = 0.5, to = 2, points = 4 }"), ["0.5", "1", "1.5", "2"]);
        assert_eq!(
            values("{ from = \"0.1 bdp\", to = \"4 bdp\", points = 4, scale = \"log\" }"),
            ["\"0.1 bdp\"", "\"0.342 bdp\"", "\"1.17 bdp\"", "\"4 bdp\""]
        );
        assert_eq!(values("{ from = 1, to = 4, points = 7 }"), ["1", "2", "3", "4"]);
        assert_eq!(
            values("{ from = \"1 packets\", to = \"4 packets\", points = 3 }"),
            ["\"1 packets\"", "\"3 packets\"", "\"4 packets\""]
        );
    }

    #[test]
    fn two_units_of_one_kind_are_converted_to_the_first() {
        assert_eq!(
            values("{ from = \"10ms\", to = \"1 s\", points = 3, scale = \"log\" }"),
            ["\"10 ms\"", "\"100 ms\"", "\"1000 ms\""]
        );
        assert_eq!(
            values("{ from = \"1 Gbit/s\", to = \"500 Mbit/s\", points = 2 }"),
            ["\"1 Gbit/s\"", "\"0.5 Gbit/s\""]
        );
    }

    #[test]
    fn a_range_that_is_searched_has_two_ends_and_perhaps_a_scale() {
        let ends = |toml: &str| range_ends(toml).map(|ends| (ends.from, ends.to, ends.scale));
        let of = |from: &str, to: &str, scale| Ok((from.to_owned(), to.to_owned(), scale));
        assert_eq!(ends("{ from = 0.123456, to = 1 }"), of("0.123456", "1", None));
        assert_eq!(
            ends("{ from = \"500 kbit/s\", to = \"1 Gbit/s\", scale = \"log\" }"),
            of("\"500 kbit/s\"", "\"1000000 kbit/s\"", Some("log"))
        );
        assert_eq!(ends("\"2 bdp\""), of("\"2 bdp\"", "\"2 bdp\"", None));
        assert_eq!(ends("{ from = 1 }").unwrap_err(), "the range has no \"to\"");
        assert!(ends("{ from = 1, to = 2, points = 2 }").is_err());
    }

    #[test]
    fn a_mistake_in_a_range_says_what_was_wanted() {
        assert_eq!(
            wrong("{ from = \"10 ms\", to = \"1 bdp\" }"),
            "the ends of the range have different units, \"ms\" and \"bdp\""
        );
        assert_eq!(
            wrong("{ from = 10, to = \"1 bdp\" }"),
            "one end of the range has a unit and the other has none"
        );
        assert_eq!(
            wrong("{ from = 0, to = 1, scale = \"log\" }"),
            "a range with scale = \"log\" lies above zero"
        );
        assert_eq!(
            wrong("{ from = 1, to = 2, scale = \"lgo\" }"),
            "unknown scale \"lgo\"; did you mean \"log\"?"
        );
        assert_eq!(
            wrong("{ from = 1, to = 2, step = 1 }"),
            "a range has no key \"step\"; choose from from, to, points, scale"
        );
        assert_eq!(wrong("{ from = 1 }"), "the range has no \"to\"");
        assert_eq!(
            wrong("{ from = 1, to = 2, points = 1 }"),
            "points: wanted a whole number from 2 to 10000, not 1"
        );
        assert_eq!(
            wrong("{ from = \"ten\", to = 2 }"),
            "wanted a number or a quantity such as \"10 ms\", not \"ten\""
        );
    }
}
