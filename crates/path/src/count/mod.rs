//! Flow counters: how many flows send over a link, estimated from its packets one by one, and their list.
//!
//! A counter is shown each packet that it is to count and answers at any time. Its owner decides which packets
//! those are: to count flows, the data packets of one direction.

mod exact;
mod nred;
mod sred;
mod zipf_traffic;

use fairhaul_units::{Chance, Kind, Parameter, Settings, Time};

pub use exact::{FlowTable, FlowTableRule};
pub use nred::{HashBins, HashBinsRule};
pub use sred::{AverageStart, ListFill, ListRule, ListStart, ZombieRule, Zombies};
pub use zipf_traffic::{ZipfTraffic, estimated_flows};

/// Any counter, dispatched without a virtual call.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant is the counter of that name")]
pub enum Counter {
    Exact(FlowTable),
    Sred(Zombies),
    Nred(HashBins),
}

impl Counter {
    /// A packet of `flow` passes at `now`, which must not run backwards.
    #[inline]
    pub fn count_packet(&mut self, flow: u64, now: Time) {
        match self {
            Counter::Exact(table) => table.count_packet(flow, now),
            Counter::Sred(zombies) => {
                zombies.count_packet(flow, now);
            }
            Counter::Nred(bins) => bins.count_packet(flow, now),
        }
    }

    /// How many flows are active at `now`; 0 where none has ever sent.
    pub fn flows(&mut self, now: Time) -> f64 {
        match self {
            Counter::Exact(table) => table.flows(now) as f64,
            Counter::Sred(zombies) => zombies.flows(now),
            Counter::Nred(bins) => bins.flows(now) as f64,
        }
    }

    /// Until when the answer is what it is at `now`, if no packet passes.
    pub fn constant_until(&mut self, now: Time) -> Time {
        match self {
            Counter::Exact(table) => table.constant_until(now),
            Counter::Sred(zombies) => zombies.constant_until(now),
            Counter::Nred(bins) => bins.constant_until(now),
        }
    }
}

/// What the list says of one counter.
#[derive(Debug)]
pub struct CounterEntry {
    /// Its word and its file.
    pub name: &'static str,
    /// One line of what it is.
    pub title: &'static str,
    /// The key of its source, empty for none.
    pub source: &'static str,
    /// Its parameters; the first is its size.
    pub parameters: &'static [Parameter],
    build: fn(&Settings, Chance) -> Counter,
}

static LIST: [CounterEntry; 3] = [
    CounterEntry {
        name: "exact",
        title: FlowTable::TITLE,
        source: "",
        parameters: FlowTableRule::LIST,
        build: |settings, _| Counter::Exact(FlowTable::new(settings.into())),
    },
    CounterEntry {
        name: "sred",
        title: Zombies::TITLE,
        source: Zombies::SOURCE,
        parameters: ZombieRule::LIST,
        build: |settings, chance| Counter::Sred(Zombies::new(settings.into(), chance)),
    },
    CounterEntry {
        name: "nred",
        title: HashBins::TITLE,
        source: HashBins::SOURCE,
        parameters: HashBinsRule::LIST,
        build: |settings, chance| Counter::Nred(HashBins::new(settings.into(), chance)),
    },
];

/// The counters.
pub fn entries() -> &'static [CounterEntry] {
    &LIST
}

/// The counter `name`.
///
/// # Errors
/// There is no counter of that name; the sentence lists the names.
pub fn entry(name: &str) -> Result<&'static CounterEntry, String> {
    entries().iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = entries().iter().map(|entry| entry.name).collect();
        format!("unknown counter {name:?}; choose from {}", names.join(", "))
    })
}

impl CounterEntry {
    /// The counter under values given as texts, the others at their defaults; `chance` is its own.
    ///
    /// # Errors
    /// A parameter that it does not have, or a value that the parameter does not take.
    pub fn build(&self, values: &[(String, String)], chance: Chance) -> Result<Counter, String> {
        let mut settings = Settings::defaults(self.parameters);
        for (name, text) in values {
            let known = self.parameters.iter().find(|parameter| parameter.name == name);
            let parameter = known.ok_or_else(|| {
                let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
                format!("{} has no parameter {name:?}; choose from {}", self.name, names.join(", "))
            })?;
            let value = value(parameter, text)
                .map_err(|wanted| format!("{}: {name}: wanted {wanted}, not {text:?}", self.name))?;
            settings.set(parameter.name, value);
        }
        Ok((self.build)(&settings, chance))
    }
}

/// The value that `text` is for `parameter`, or what is wanted.
fn value(parameter: &Parameter, text: &str) -> Result<f64, String> {
    match parameter.kind {
        Kind::Number { least, most, unit } => {
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("a number from {least} to {most} {unit}").trim_end().to_owned())
        }
        Kind::Whole { least, most } => {
            let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
            number.map(|number| number as f64).ok_or_else(|| format!("a whole number from {least} to {most}"))
        }
        Kind::Switch => match text {
            "true" => Ok(1.0),
            "false" => Ok(0.0),
            _ => Err("true or false".to_owned()),
        },
        Kind::Word(words) => {
            let index = words.iter().position(|word| *word == text);
            index.map(|index| index as f64).ok_or_else(|| format!("one of {words:?}"))
        }
        Kind::Formula { .. } => unreachable!("no flow counter has a formula"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(name: &str, values: &[(&str, &str)]) -> Result<Counter, String> {
        let values: Vec<(String, String)> =
            values.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        entry(name)?.build(&values, Chance::stream(1, "count", 0))
    }

    #[test]
    fn without_a_packet_there_is_no_flow_and_with_one_there_is_one() {
        for entry in entries() {
            let mut counter = built(entry.name, &[]).expect("defaults fit");
            assert_eq!(counter.flows(Time::NEVER), 0.0, "{}", entry.name);
            let mut counter = built(entry.name, &[]).expect("defaults fit");
            counter.count_packet(7, Time::ZERO);
            assert_eq!(counter.flows(Time::ZERO), 1.0, "{}", entry.name);
        }
    }

    /// After packets at 0 and 0.4 s: asked every 50 ms, the answer changes when it was said that it may, or later.
    #[test]
    fn an_estimate_is_kept_for_the_configured_time() {
        for entry in entries() {
            let mut counter = built(entry.name, &[]).expect("defaults fit");
            assert_eq!(counter.constant_until(Time::ZERO), Time::NEVER, "{}", entry.name);
            let at = |ms| Time::ZERO + fairhaul_units::Span::from_ms(ms);
            counter.count_packet(7, at(0));
            counter.count_packet(8, at(400));
            let mut changes = 0;
            for step in 8..100 {
                let (now, answer) = (at(50 * step), counter.flows(at(50 * step)));
                let until = counter.constant_until(now);
                assert!(until > now, "{}", entry.name);
                let mut later = counter.clone();
                if until < Time::NEVER {
                    changes += u32::from(counter.clone().flows(until) != answer);
                    assert_eq!(later.flows(Time::from_ps(until.as_ps() - 1)), answer, "{}", entry.name);
                } else {
                    assert_eq!(later.flows(Time::NEVER), answer, "{}", entry.name);
                }
            }
            assert!(changes > 0, "{}", entry.name);
        }
    }

    #[test]
    fn a_table_of_size_zero_and_weights_outside_zero_to_one_are_refused() {
        let refused = |name: &str, key: &str, text: &str| {
            built(name, &[(key, text)]).expect_err(&format!("{name}: {key} = {text}"))
        };
        for (name, key) in [("exact", "flows"), ("sred", "entries"), ("nred", "bins"), ("nred", "levels")] {
            assert!(refused(name, key, "0").contains("wanted a whole number from 1 to"));
            assert!(refused(name, key, "1.5").contains("a whole number"));
        }
        for key in ["weight", "overwrite", "inspect"] {
            for text in ["0", "-0.1", "1.001", "NaN", "much"] {
                assert!(
                    refused("sred", key, text).starts_with(&format!("sred: {key}: wanted a number from"))
                );
            }
        }
        assert_eq!(
            refused("sred", "fill", "slowly"),
            "sred: fill: wanted one of [\"at once\", \"literal\"], not \"slowly\""
        );
        assert_eq!(
            built("gred", &[]).expect_err("unknown"),
            "unknown counter \"gred\"; choose from exact, sred, nred"
        );
        assert!(refused("nred", "entries", "3").contains("choose from bins, levels, interval"));
    }
}
