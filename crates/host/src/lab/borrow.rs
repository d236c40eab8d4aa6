//! Loads the eBPF ports that a scenario needs into the kernel for one run, under temporary names, with the
//! parameters of the scenario's controllers.

use std::collections::BTreeMap;

use fairhaul_experiment::Flow;
use fairhaul_twins::{Note, PortParameter};
use fairhaul_units::{Bytes, HEADER, Kind};

use super::plan::Twins;
use super::traffic::TIME_STAMPS;
use crate::error::{Error, Result};
use crate::kernel::install_spec::{InstallSpec, ResolvedInstall};
use crate::kernel::load::{Loaded, load};
use crate::kernel::trial::hidden_name;

/// The largest train of the eBPF port of FHSTCP, `TRAIN_BYTES`.
const TRAIN: Bytes = Bytes(64_000);

/// Loaded eBPF ports, which are removed when this is dropped.
#[derive(Debug, Default)]
pub struct Borrowed {
    /// Their names in the kernel, by the names of their controllers.
    pub names: Twins,
    _loaded: Vec<Loaded>,
}

/// Loads an eBPF port for every controller of `flows` that has one, except for Reno, which the kernel has itself.
///
/// # Errors
/// A refusal if an eBPF port cannot implement what the scenario requests.
pub fn borrow(flows: &[Flow]) -> Result<Borrowed> {
    let mut borrowed = Borrowed::default();
    for flow in flows {
        let name = flow.controller.entry.name;
        let known = fairhaul_twins::object(name).filter(|_| name != "reno");
        let (Some(object), false) = (known, borrowed.names.contains_key(name)) else { continue };
        let values = values(&object.note, flow)?;
        let spec = InstallSpec { twin: name.into(), name: Some(hidden_name()), set: BTreeMap::new() };
        let install = ResolvedInstall { values, ..spec.resolve()? };
        borrowed._loaded.push(load(&install)?);
        borrowed.names.insert(name.into(), install.name);
    }
    Ok(borrowed)
}

/// The parameters of an eBPF port that make it equivalent to a controller with `settings`.
fn values(note: &Note, flow: &Flow) -> Result<BTreeMap<String, u32>> {
    let settings = &flow.controller.settings;
    let mut values: BTreeMap<String, u32> =
        note.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.default)).collect();
    values.extend(as_the_controller(&note.name));
    for (parameter, value) in settings.pairs() {
        if (note.name.as_str(), parameter.name) == ("fhstcp", "train") {
            trains(flow, value)?;
            continue;
        }
        if let Kind::Word(words) = parameter.kind {
            match meaning(&note.name, parameter.name, settings.word(parameter.name)) {
                Some(Meaning::Set(key, value)) => drop(values.insert(key.into(), value)),
                Some(Meaning::Always) => {}
                None => return Err(no_such_word(note, parameter.name, words)),
            }
            continue;
        }
        let key = counterpart(&note.name, parameter.name);
        let in_ms = matches!(parameter.kind, Kind::Number { unit: "ms", .. });
        let value_s = if in_ms { value * 1e-3 } else { value };
        match note.parameters.iter().find(|known| known.name == key) {
            Some(known) => drop(values.insert(key.into(), units(note, known, value_s)?)),
            None if value == parameter.default => {}
            None => {
                let sentence = format!(
                    "controller \"{}\": its eBPF port supports only the default of \"{}\"; remove the key",
                    note.name, parameter.name
                );
                return Err(Error::refused(sentence));
            }
        }
    }
    // The original Sync-TCP is the modified one with empty start phases.
    if note.name == "synctcp" && settings.word("variant") == "original" {
        values.extend([("c_low".to_string(), 0), ("c_high".to_string(), 0)]);
    }
    Ok(values)
}

/// The kernel determines the trains of FHSTCP: a scenario either does not set them or sets the same length.
fn trains(flow: &Flow, packets: f64) -> Result<()> {
    let payload = flow.packet - HEADER - TIME_STAMPS;
    let most = (TRAIN.0 / payload.0).clamp(1, flow.offload);
    if packets == 0.0 || packets == most as f64 {
        return Ok(());
    }
    Err(Error::refused(format!(
        "flow \"{}\": controller \"fhstcp\": with offload = \"{} packets\" the kernel sends at most {most} \
         packets at once; set train = {most}, or remove the key",
        flow.name, flow.offload
    )))
}

/// Switches off what only an eBPF port does: the lower bound of the factor, and forgetting the smallest transit
/// time, because the hosts of the lab share one clock.
fn as_the_controller(twin: &str) -> Option<(String, u32)> {
    match twin {
        "fhstcp" => Some(("factor_floor".into(), 0)),
        "synctcp" => Some(("memory".into(), 0)),
        _ => None,
    }
}

/// Converts a parameter of the controller that is a number or a switch.
fn counterpart<'a>(twin: &str, key: &'a str) -> &'a str {
    match (twin, key) {
        ("fhstcp", "eta_floor") => "factor_floor",
        _ => key,
    }
}

/// The meaning of a controller's word for its eBPF port.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    /// A value of that parameter.
    Set(&'static str, u32),
    /// The eBPF port always behaves so.
    Always,
}

/// The words that eBPF ports support. `None`: unsupported, as is every new word until it is added here.
fn meaning(twin: &str, key: &str, word: &str) -> Option<Meaning> {
    use Meaning::{Always, Set};
    Some(match (twin, key, word) {
        ("bic", "variant", "paper")
        | ("highspeed", "growth", "formula")
        | ("scalable", "variant", "kelly") => Always,
        ("fhstcp", "rtt", "smoothed") => Always,
        ("ghstcp", "variant", "refined") => Set("original", 0),
        ("ghstcp", "variant", "original") => Set("original", 1),
        ("ghstcp", "significance", "none") => Set("significance", 0),
        ("ghstcp", "significance", "0.05") => Set("significance", 1),
        ("ghstcp", "cycle", "two") => Set("lifetime", 0),
        ("ghstcp", "cycle", "lifetime") => Set("lifetime", 1),
        ("ghstcp", "sigma", "minimum") => Set("sigma_round", 0),
        ("ghstcp", "sigma", "round") => Set("sigma_round", 1),
        ("ghstcp", "reno_decrease", "highspeed") => Set("reno_half", 0),
        ("ghstcp", "reno_decrease", "half") => Set("reno_half", 1),
        // Set by the bounds of its phases.
        ("synctcp", "variant", "modified" | "original") => Always,
        ("synctcp", "phases", "start") => Set("always", 0),
        ("synctcp", "phases", "always") => Set("always", 1),
        ("synctcp", "tie", "decreasing") => Set("tie_rises", 0),
        ("synctcp", "tie", "increasing") => Set("tie_rises", 1),
        _ => return None,
    })
}

fn no_such_word(note: &Note, key: &str, words: &[&str]) -> Error {
    let known = words.iter().filter(|word| meaning(&note.name, key, word).is_some());
    let known: Vec<String> = known.map(|word| format!("{key} = \"{word}\"")).collect();
    let way =
        if known.is_empty() { "it supports no value".into() } else { format!("set {}", known.join(" or ")) };
    Error::refused(format!(
        "controller \"{}\": its eBPF port does not support this value of \"{key}\"; {way}",
        note.name
    ))
}

/// A value in seconds or in packets as a whole number of the eBPF port's units.
fn units(note: &Note, parameter: &PortParameter, value: f64) -> Result<u32> {
    let scale = match parameter.unit.split_whitespace().next().unwrap_or_default() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "0.001/s" => 1e-3,
        number => number.parse().unwrap_or(1.0),
    };
    let whole = (value / scale).round();
    if (f64::from(parameter.least)..=f64::from(parameter.most)).contains(&whole) {
        return Ok(whole as u32);
    }
    Err(Error::refused(format!(
        "controller \"{}\": its eBPF port supports {} from {} to {} {}",
        note.name, parameter.name, parameter.least, parameter.most, parameter.unit
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::read;
    use fairhaul_units::{Parameter, Settings};

    fn flow(controller: &str) -> Flow {
        let text = format!(
            "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"20 ms\" }}\n[[flow]]\nname = \"F\"\ncontroller = {controller}\n"
        );
        read(&text, "test", &[]).expect("it is a scenario").base.flows[0].clone()
    }

    fn note(flow: &Flow) -> Note {
        fairhaul_twins::object(flow.controller.entry.name).expect("it has a twin").note
    }

    fn of(controller: &str) -> Result<BTreeMap<String, u32>> {
        let flow = flow(controller);
        values(&note(&flow), &flow)
    }

    /// The words of a controller's page in another order, and one more of them.
    #[test]
    fn a_word_is_converted_by_its_meaning_not_by_its_index() {
        static OTHERS: [Parameter; 2] = [
            Parameter {
                name: "variant",
                kind: Kind::Word(&["original", "new", "refined"]),
                default: 2.0,
                help: "",
            },
            Parameter {
                name: "reno_decrease",
                kind: Kind::Word(&["half", "highspeed"]),
                default: 0.0,
                help: "",
            },
        ];
        let mut flow = flow("\"ghstcp\"");
        flow.controller.settings = Settings::defaults(&OTHERS);
        let found = values(&note(&flow), &flow).unwrap();
        assert_eq!((found["original"], found["reno_half"]), (0, 1));
        flow.controller.settings = Settings::defaults(&OTHERS).with("variant", 1.0);
        let said = values(&note(&flow), &flow).unwrap_err().to_string();
        assert!(said.ends_with("set variant = \"original\" or variant = \"refined\""), "{said}");
    }

    /// A new word needs a decision: a value in `meaning`, or a line here.
    #[test]
    fn every_word_of_a_controller_has_its_meaning_or_is_known_to_have_none() {
        let mut without = Vec::new();
        for object in fairhaul_twins::objects() {
            let flow = flow(&format!("\"{}\"", object.note.name));
            for parameter in flow.controller.entry.parameters {
                let Kind::Word(words) = parameter.kind else { continue };
                for word in words {
                    match meaning(&object.note.name, parameter.name, word) {
                        Some(Meaning::Set(key, _)) => {
                            assert!(object.note.parameters.iter().any(|known| known.name == key), "{key}");
                        }
                        Some(Meaning::Always) => {}
                        None => without.push(format!("{} {} {word}", object.note.name, parameter.name)),
                    }
                }
            }
        }
        assert_eq!(
            without,
            [
                "bic variant linux",
                "fhstcp rtt sample",
                "fhstcp rtt minimum",
                "ghstcp sigma cycle",
                "highspeed growth table",
                "highspeed growth linux",
                "scalable variant linux",
            ]
        );
    }

    #[test]
    fn values_are_converted_to_the_units_of_the_port() {
        let fhstcp = of("{ kind = \"fhstcp\", c = 20 }").unwrap();
        assert_eq!((fhstcp["c"], fhstcp["factor_floor"], fhstcp["blocks"]), (20_000, 0, 1));
        let ghstcp =
            of("{ kind = \"ghstcp\", variant = \"original\", free = 1.5, sigma_floor = 0.2 }").unwrap();
        assert_eq!(
            (ghstcp["original"], ghstcp["free"], ghstcp["full"], ghstcp["sigma_floor"]),
            (1, 150, 400, 200)
        );
        assert_eq!((ghstcp["significance"], ghstcp["lifetime"], ghstcp["sigma_round"]), (1, 0, 0));
        let synctcp = of("{ kind = \"synctcp\", variant = \"original\", tie = \"increasing\" }").unwrap();
        assert_eq!(
            (synctcp["c_low"], synctcp["tie_rises"], synctcp["qmax_floor"], synctcp["memory"]),
            (0, 1, 10_000, 0)
        );
        let bic = of("{ kind = \"bic\", beta = 0.2 }").unwrap();
        assert_eq!((bic["beta"], bic["smin"], bic["fast_convergence"]), (200_000, 10_000, 1));
        assert_eq!(of("\"htcp\"").unwrap()["delta_l"], 1000);
        assert_eq!(of("\"scalable\"").unwrap()["a"], 10_000);
    }

    /// With default values a controller corresponds to its eBPF port with default values, with the exceptions
    /// above.
    #[test]
    fn defaults_are_defaults() {
        for object in fairhaul_twins::objects() {
            let values = of(&format!("\"{}\"", object.note.name)).unwrap();
            for parameter in &object.note.parameters {
                let own = as_the_controller(&object.note.name).is_some_and(|(key, _)| key == parameter.name);
                let (name, key) = (&object.note.name, &parameter.name);
                assert!(own || values[key] == parameter.default, "{name}: {key} = {}", values[key]);
            }
        }
    }

    #[test]
    fn unsupported_settings_of_a_port_are_refused() {
        for (controller, word) in [
            ("{ kind = \"fhstcp\", rtt = \"sample\" }", "\"rtt\""),
            ("{ kind = \"fhstcp\", train = 44 }", "set train = 1"),
            ("{ kind = \"bic\", variant = \"linux\" }", "\"variant\""),
            ("{ kind = \"ghstcp\", sigma = \"cycle\" }", "set sigma = \"minimum\" or sigma = \"round\""),
        ] {
            let said = of(controller).unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
