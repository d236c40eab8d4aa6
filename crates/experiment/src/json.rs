//! The JSON forms of the fields of a record that one process sends to another: NaN and infinity are `null`, a time is
//! whole picoseconds, and a word is one of a known list.

use fairhaul_units::Span;
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// The engines.
const ENGINES: [&str; 3] = ["sim", "linux", "lab"];
/// What can happen to a flow.
const KINDS: [&str; 8] =
    ["reduction", "marked", "timeout", "recovered", "undone", "mode", "closed", "spurious"];

pub(crate) fn engine<'a, D: Deserializer<'a>>(from: D) -> Result<&'static str, D::Error> {
    word(&ENGINES, from)
}

pub(crate) fn kind<'a, D: Deserializer<'a>>(from: D) -> Result<&'static str, D::Error> {
    word(&KINDS, from)
}

fn word<'a, D: Deserializer<'a>>(known: &[&'static str], from: D) -> Result<&'static str, D::Error> {
    let word = String::deserialize(from)?;
    known
        .iter()
        .find(|known| **known == word)
        .copied()
        .ok_or_else(|| D::Error::custom(format!("no such word: {word:?}")))
}

/// A time in seconds.
pub(crate) fn seconds<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
    span.as_secs().serialize(to)
}

/// Numbers that may be missing.
pub(crate) mod maybe {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*value).filter(|value| value.is_finite()).serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}

/// The same of many.
pub(crate) mod gauges {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(values: &[Vec<f64>], to: S) -> Result<S::Ok, S::Error> {
        let known = |row: &Vec<f64>| -> Vec<Option<f64>> {
            row.iter().map(|value| Some(*value).filter(|value| value.is_finite())).collect()
        };
        values.iter().map(known).collect::<Vec<_>>().serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<Vec<f64>>, D::Error> {
        let rows = Vec::<Vec<Option<f64>>>::deserialize(from)?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect()).collect())
    }
}

pub(crate) mod span {
    use fairhaul_units::Span;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Span, to: S) -> Result<S::Ok, S::Error> {
        span.as_ps().serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Span, D::Error> {
        Ok(Span::from_ps(u64::deserialize(from)?))
    }
}

pub(crate) mod time {
    use fairhaul_units::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
        time.as_ps().serialize(to)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Time, D::Error> {
        Ok(Time::from_ps(u64::deserialize(from)?))
    }
}
