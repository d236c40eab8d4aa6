//! A record on its way from one process to another, as JSON: what is not a number is `null`, a time
//! whole picoseconds, and a word one of those that there are.

use serde::de::{Deserialize, Deserializer, Error};

use crate::record::Record;

/// The engines.
const ENGINES: [&str; 2] = ["sim", "lab"];
/// What can happen to a flow.
const KINDS: [&str; 6] = ["reduction", "marked", "timeout", "recovered", "undone", "mode"];

impl Record {
    /// The record as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a record has no keys but strings")
    }

    /// The record that [`to_json`](Self::to_json) wrote; the error says what is wrong with the text.
    pub fn from_json(text: &[u8]) -> Result<Record, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }
}

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
        .find(|one| **one == word)
        .copied()
        .ok_or_else(|| D::Error::custom(format!("no such word: {word:?}")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{EventRow, FlowRow, LinkRow, TransferRow, grid};
    use fairhaul_units::Span;

    #[test]
    fn a_record_arrives_as_it_was_sent() {
        let record = Record {
            engine: "lab",
            grid: grid(Span::from_s(1), Span::from_ms(300), 1, 1),
            flows: vec![vec![FlowRow { sent: 7, rtt_s: f64::NAN, cwnd_packets: 0.1, ..FlowRow::default() }]],
            links: vec![vec![LinkRow { busy_s: 1.0 / 3.0, ..LinkRow::default() }]],
            gauges: vec![vec![0.25, f64::NAN]],
            transfers: vec![TransferRow { flow: 0, start_s: 0.125, end_s: f64::NAN, bytes: u64::MAX }],
            events: vec![EventRow { t_s: 0.7, kind: "timeout", flow: 0, value: 0.2 }],
            packets: 7,
        };
        let back = Record::from_json(&record.to_json()).unwrap();
        // What is not a number equals nothing, so the texts are compared.
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
    }

    #[test]
    fn a_word_that_is_none_is_an_error() {
        let text = r#"{"t_s":0.0,"kind":"luck","flow":0,"value":0.0}"#;
        let error = serde_json::from_str::<EventRow>(text).unwrap_err();
        assert!(error.to_string().contains("no such word: \"luck\""));
    }
}
