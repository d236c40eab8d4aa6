//! The kernel's twins that a scenario needs, put into the kernel for one run under names that nobody
//! knows, with the values that the scenario gives its controllers.

use std::collections::BTreeMap;

use fairhaul_experiment::Flow;
use fairhaul_twins::{Note, Parameter};
use fairhaul_units::{Bytes, HEADER};

use super::plan::Twins;
use super::traffic::TIME_STAMPS;
use crate::error::{Error, Result};
use crate::kernel::choice::{Choice, Wish};
use crate::kernel::load::{Loaded, load};
use crate::kernel::trial::hidden_name;

/// What the twin of FHSTCP lets the kernel send at once, `TRAIN_BYTES`.
const TRAIN: Bytes = Bytes(64_000);

/// Twins in the kernel for as long as this lives.
#[derive(Debug, Default)]
pub struct Borrowed {
    /// Their names there, by those of their controllers.
    pub names: Twins,
    _loaded: Vec<Loaded>,
}

/// Loads a twin for every controller of `flows` that has one, but for Reno, which the kernel has itself.
///
/// # Errors
/// A refusal where a twin cannot be what the scenario says.
pub fn borrow(flows: &[Flow]) -> Result<Borrowed> {
    let mut borrowed = Borrowed::default();
    for flow in flows {
        let name = flow.controller.entry.name;
        let known = fairhaul_twins::object(name).filter(|_| name != "reno");
        let (Some(object), false) = (known, borrowed.names.contains_key(name)) else { continue };
        let values = values(&object.note, flow)?;
        let wish = Wish { twin: name.into(), name: Some(hidden_name()), set: BTreeMap::new() };
        let choice = Choice { values, ..wish.choose()? };
        borrowed._loaded.push(load(&choice)?);
        borrowed.names.insert(name.into(), choice.name);
    }
    Ok(borrowed)
}

/// The values of a twin's parameters with which it is the controller that `settings` make.
fn values(note: &Note, flow: &Flow) -> Result<BTreeMap<String, u32>> {
    let settings = &flow.controller.settings;
    let mut values: BTreeMap<String, u32> =
        note.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.default)).collect();
    values.extend(as_the_controller(&note.name));
    // The original Sync-TCP is the modified one whose phases of the start are empty.
    let original = note.name == "synctcp" && settings.word("variant") == "original";
    for (parameter, value) in
        settings.pairs().filter(|(parameter, _)| !original || parameter.name != "variant")
    {
        if (note.name.as_str(), parameter.name) == ("fhstcp", "train") {
            trains(flow, value)?;
            continue;
        }
        let (key, value) = counterpart(&note.name, parameter.name, value);
        match note.parameters.iter().find(|known| known.name == key) {
            Some(known) => drop(values.insert(key.into(), units(note, known, value)?)),
            None if value == parameter.default => {}
            None => {
                let way = match parameter.kind.word(parameter.default) {
                    Some(word) => format!("say {key} = \"{word}\""),
                    None => "leave it out".into(),
                };
                let sentence = format!(
                    "controller \"{}\": its twin in the kernel takes no other \"{key}\"; {way}",
                    note.name
                );
                return Err(Error::refused(sentence));
            }
        }
    }
    if original {
        values.extend([("c_low".to_string(), 0), ("c_high".to_string(), 0)]);
    }
    Ok(values)
}

/// The trains of FHSTCP are as long as the kernel makes them: a scenario leaves that open, or says it.
fn trains(flow: &Flow, packets: f64) -> Result<()> {
    let payload = flow.packet - HEADER - TIME_STAMPS;
    let most = (TRAIN.0 / payload.0).clamp(1, flow.offload);
    if packets == 0.0 || packets == most as f64 {
        return Ok(());
    }
    Err(Error::refused(format!(
        "flow \"{}\": controller \"fhstcp\": with offload = \"{} packets\" the kernel sends at most {most} packets at \
         once; say train = {most}, or leave it out",
        flow.name, flow.offload
    )))
}

/// What a twin does by itself and its controller does not: the factor's floor, and to forget, as clocks of two
/// hosts drift; those of the lab are one.
fn as_the_controller(twin: &str) -> Option<(String, u32)> {
    match twin {
        "fhstcp" => Some(("factor_floor".into(), 0)),
        "synctcp" => Some(("memory".into(), 0)),
        _ => None,
    }
}

/// The parameter of a twin for one of its controller, and its value in the controller's units. Words are numbered in
/// the order of the controller's page.
fn counterpart<'a>(twin: &str, key: &'a str, value: f64) -> (&'a str, f64) {
    match (twin, key) {
        ("fhstcp", "eta_floor") => ("factor_floor", value),
        ("ghstcp", "variant") => ("original", value),
        ("ghstcp", "significance") => ("significance", 1.0 - value),
        ("ghstcp", "cycle") => ("lifetime", value),
        ("ghstcp", "sigma") => ("sigma_round", value), // "cycle", the third, is beyond its bounds
        ("ghstcp", "reno_decrease") => ("reno_half", value),
        ("ghstcp", "sigma_floor") | ("synctcp", "qmax_floor") => (key, value * 1e-3), // ms
        ("synctcp", "phases") => ("always", value),
        ("synctcp", "tie") => ("tie_rises", value),
        _ => (key, value),
    }
}

/// A value in seconds or in packets as a whole number of the twin's units.
fn units(note: &Note, parameter: &Parameter, value: f64) -> Result<u32> {
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
        "controller \"{}\": its twin in the kernel takes {} from {} to {} {}",
        note.name, parameter.name, parameter.least, parameter.most, parameter.unit
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::read;

    fn of(controller: &str) -> Result<BTreeMap<String, u32>> {
        let text = format!(
            "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"20 ms\" }}\n[[flow]]\nname = \"F\"\ncontroller = {controller}\n"
        );
        let scenario = read(&text, "test", &[]).expect("it is a scenario").base;
        let flow = &scenario.flows[0];
        values(&fairhaul_twins::object(flow.controller.entry.name).expect("it has a twin").note, flow)
    }

    #[test]
    fn values_are_told_in_the_units_of_the_twin() {
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

    /// With its defaults a controller is its twin with its own, but for what is said above.
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
    fn what_a_twin_cannot_be_is_refused() {
        for (controller, word) in [
            ("{ kind = \"fhstcp\", rtt = \"sample\" }", "\"rtt\""),
            ("{ kind = \"fhstcp\", train = 44 }", "say train = 1"),
            ("{ kind = \"bic\", variant = \"linux\" }", "\"variant\""),
            ("{ kind = \"ghstcp\", sigma = \"cycle\" }", "sigma_round"),
        ] {
            let said = of(controller).unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
