//! The keys of a scenario and their words, from the tables of keys: as lists for people, as a JSON Schema for editors,
//! and as the page `docs/scenario.md`.

mod page;
mod schema;

pub use page::page;
pub use schema::schema;

use fairhaul_cc::entries;
pub use fairhaul_units::Gauge;
use fairhaul_units::{Bytes, Kind, Parameter};

use serde::{Serialize, Serializer};

use crate::Recovery;
use crate::read::{Choice, Fallback, Field, QueueKeys, Shape, TrafficWords, described};

/// What a scenario can choose from, and the flow counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Catalogue {
    /// The congestion controllers.
    pub controllers: Vec<Word>,
    /// The queue disciplines.
    pub queues: Vec<Word>,
    /// The flow counters.
    pub counters: Vec<Word>,
    /// The ways to recover from loss.
    pub recoveries: Vec<Word>,
    /// The kinds of traffic.
    pub traffic: Vec<Word>,
}

/// A word that a scenario may use, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Word {
    /// As it stands in TOML.
    pub name: &'static str,
    /// One line.
    pub title: &'static str,
    /// The key of its source, empty for none.
    pub source: &'static str,
    /// The queue that a controller needs on its path, empty where any will do.
    pub queue: &'static str,
    /// What may stand beside it.
    pub keys: Vec<Key>,
    /// What it shows of itself in the record, where it is a queue or a controller.
    #[serde(serialize_with = "gauges", skip_serializing_if = "<[Gauge]>::is_empty")]
    pub gauges: &'static [Gauge],
}

/// A key beside a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// As it stands in TOML.
    pub name: &'static str,
    /// What it accepts.
    pub wanted: String,
    /// What holds without it; empty where it is required.
    pub default: String,
    /// One line.
    pub help: &'static str,
}

/// The JSON form of a gauge; its crate has no serializer.
#[derive(Serialize)]
struct GaugeJson {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
}

fn gauges<S: Serializer>(gauges: &[Gauge], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(gauges.iter().map(|&Gauge { name, unit, help }| GaugeJson { name, unit, help }))
}

/// Everything that a scenario can choose from, and the flow counters.
pub fn catalogue() -> Catalogue {
    Catalogue {
        controllers: controllers(),
        queues: queues(),
        counters: counters(),
        recoveries: recoveries(),
        traffic: traffics(),
    }
}

/// The congestion controllers.
pub fn controllers() -> Vec<Word> {
    let word = |entry: &'static fairhaul_cc::ControllerEntry| Word {
        name: entry.name,
        title: entry.title,
        source: entry.source,
        // What adds a header asks routers, and one queue reads it.
        queue: if entry.header > Bytes(0) { "xcp" } else { "" },
        keys: entry.parameters.iter().map(parameter).collect(),
        gauges: entry.gauges,
    };
    entries().iter().map(word).collect()
}

/// The queue disciplines; those of the kernel, which every engine but one refuses, are not among them.
pub fn queues() -> Vec<Word> {
    let known = |word: Word| {
        let entry = fairhaul_path::queue::entry(word.name)?;
        Some(Word { source: entry.source, gauges: entry.gauges, ..word })
    };
    words::<QueueKeys>().into_iter().filter_map(known).collect()
}

/// The flow counters, which stand in no scenario by themselves.
pub fn counters() -> Vec<Word> {
    let word = |entry: &'static fairhaul_path::count::CounterEntry| Word {
        name: entry.name,
        title: entry.title,
        source: entry.source,
        keys: entry.parameters.iter().map(parameter).collect(),
        queue: "",
        gauges: &[],
    };
    fairhaul_path::count::entries().iter().map(word).collect()
}

/// The ways to recover from loss.
pub fn recoveries() -> Vec<Word> {
    words::<Recovery>()
}

/// The kinds of traffic.
pub fn traffics() -> Vec<Word> {
    words::<TrafficWords>()
}

fn words<T: Choice>() -> Vec<Word> {
    let word = |case: &'static Shape| Word {
        name: case.name,
        title: case.help,
        source: "",
        queue: "",
        keys: case.fields.iter().map(key).collect(),
        gauges: &[],
    };
    T::WORDS.cases.iter().map(word).collect()
}

fn key(field: &Field) -> Key {
    Key { name: field.name, wanted: field.accepts.wanted(), default: default(field), help: field.help }
}

fn default(field: &Field) -> String {
    match field.fallback {
        Fallback::Described(parameter) => preset(parameter),
        Fallback::Required => String::new(),
        Fallback::Value(toml) => toml.to_owned(),
        Fallback::InWords(words) => words.to_owned(),
    }
}

/// A parameter of a controller or a counter as a key.
fn parameter(parameter: &'static Parameter) -> Key {
    Key {
        name: parameter.name,
        wanted: described(parameter),
        default: preset(parameter),
        help: parameter.help,
    }
}

/// The default of a parameter, as TOML.
fn preset(parameter: &Parameter) -> String {
    match parameter.kind {
        Kind::Number { .. } | Kind::Whole { .. } => parameter.default.to_string(),
        Kind::Switch => (parameter.default != 0.0).to_string(),
        Kind::Word(words) => format!("\"{}\"", words[parameter.default as usize]),
        Kind::Formula { default, .. } => format!("\"{default}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_come_from_the_catalogue_and_the_tables() {
        let names = |words: Vec<Word>| words.iter().map(|w| w.name).collect::<Vec<_>>();
        assert!(names(controllers()).contains(&"reno"));
        let dctcp =
            controllers().into_iter().find(|word| word.name == "dctcp").expect("it is in the catalogue");
        assert_eq!(dctcp.gauges.iter().map(|gauge| gauge.name).collect::<Vec<_>>(), ["alpha"]);
        assert_eq!(
            names(queues()),
            [
                "droptail",
                "red",
                "pie",
                "sred",
                "ack_filter",
                "codel",
                "fq_codel",
                "dualpi2",
                "fq",
                "cake",
                "xcp",
                "xcp_tcp"
            ]
        );
        assert_eq!(names(counters()), ["exact", "sred", "nred"]);
        assert_eq!(
            queues()[2].gauges.iter().map(|gauge| gauge.name).collect::<Vec<_>>(),
            ["drop_p", "delay_s"]
        );
        assert_eq!(names(recoveries()), ["sack", "newreno", "reno", "rack"]);
        assert_eq!(
            names(traffics()),
            ["bulk", "sized", "short", "web", "onoff", "limited", "cbr", "vectors", "answers"]
        );
        assert_eq!(traffics()[3].keys[1].default, "5");
    }
}
