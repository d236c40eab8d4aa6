//! The eBPF ports of a run: loads the ports that a scenario needs into the kernel under temporary names, with the
//! parameters of the scenario's controllers, and removes them afterwards.

use std::collections::BTreeMap;

use fairhaul_bpf::BpfMaker;
use fairhaul_cc::words::{
    BicVariant, ClassicEcnFallback, GhstcpVariant, HighspeedGrowth, MinimumOver, PhasesApply, RenoDecrease,
    RttEstimate, ScalableVariant, SigmaSamples, SynctcpVariant, Trend, TrendTest,
};
use fairhaul_experiment::Flow;
use fairhaul_ports::{Note, PortParameter};
use fairhaul_units::{Bytes, HEADER, Kind, TIME_STAMPS, Word};

use super::flow_controller::{KernelNames, identity};
use crate::error::{Error, Result};
use crate::ports::install_spec::ResolvedInstall;
use crate::ports::load::{Loaded, has_options, hidden_name, load};
use crate::ports::{capabilities, cgroup, congestion};

/// The largest train of the eBPF port of FHSTCP, `TRAIN_BYTES`.
const TRAIN: Bytes = Bytes(64_000);

/// The parameter of a port that is an L4S sender with ECT(0), too.
const CODEPOINT: &str = "ect0";

/// Loaded eBPF ports, which are removed when this is dropped.
#[derive(Debug, Default)]
pub struct TemporaryPorts {
    /// Their names in the kernel.
    pub names: KernelNames,
    _loaded: Vec<Loaded>,
}

/// Loads what the controllers of `flows` need: an eBPF port of each that has one, except for Reno, which the kernel has
/// itself, and for those with which a scenario requests the kernel's own, where it has them; and the objects of users.
/// Without root nothing can be loaded, and the plan of the lab refuses what is missing.
///
/// # Errors
/// A refusal if an eBPF port cannot implement what the scenario requests, or an object has no such parameter; a failure
/// if the kernel rejects it.
pub fn load_ports(flows: &[Flow]) -> Result<TemporaryPorts> {
    let mut ports = TemporaryPorts::default();
    if !capabilities::lacking().is_empty() {
        return Ok(ports);
    }
    let available = congestion::available()?;
    for flow in flows {
        let known = identity(flow);
        if ports.names.contains_key(&known) || is_kernels_own(flow, &available) {
            continue;
        }
        let needed = match &flow.controller.own {
            Some(own) => BpfMaker::of(&*own.maker).map(|maker| from_object(maker, flow)),
            None => port(flow),
        };
        let Some(mut install) = needed.transpose()? else { continue };
        // The kernel sends no data with ECT(1); the network of the engine `linux` makes ECT(1) of the ECT(0) of such a flow.
        if flow.ect1
            && let Some(counts) = install.values.get_mut(CODEPOINT)
        {
            *counts = 1;
        }
        let mut loaded = load(&install)?;
        if has_options(&install.elf) {
            loaded.attach_options(cgroup::of_this_process()?)?;
        }
        ports._loaded.push(loaded);
        ports.names.insert(known, install.name);
    }
    Ok(ports)
}

/// The eBPF objects of flows, each with the name of its controller.
///
/// # Errors
/// A scenario requests of an eBPF port what it cannot do, or an object has no such parameter.
pub fn objects(flows: &[Flow]) -> Result<Vec<(Vec<u8>, String)>> {
    let mut objects = Vec::new();
    for flow in flows {
        let of_user = flow.controller.own.as_ref().and_then(|own| BpfMaker::of(&*own.maker));
        let object = match of_user {
            Some(maker) => Some((maker.object.clone(), maker.controller.clone())),
            None => port(flow).transpose()?.map(|port| (port.elf.to_vec(), port.note.table.controller)),
        };
        objects.extend(object.filter(|object| !objects.contains(object)));
    }
    Ok(objects)
}

/// Whether a flow has the variant of Linux of a controller that the kernel has.
fn is_kernels_own(flow: &Flow, available: &[String]) -> bool {
    let choice = &flow.controller;
    let is_variant = |(parameter, value): (&str, f64)| choice.settings.number(parameter) == value;
    choice.entry.linux.is_some_and(is_variant) && available.iter().any(|name| name == choice.name())
}

/// The eBPF port of a controller with its values, if it needs one; refused where no values make it equivalent.
pub(super) fn port(flow: &Flow) -> Option<Result<ResolvedInstall>> {
    let object =
        fairhaul_ports::object(flow.controller.name()).filter(|object| object.note.name != "reno")?;
    let values = values(&object.note, flow);
    let install =
        |values| ResolvedInstall { note: object.note, name: hidden_name(), elf: object.elf.into(), values };
    Some(values.map(install))
}

/// The object of a user, with the values of its variables.
fn from_object(maker: &BpfMaker, flow: &Flow) -> Result<ResolvedInstall> {
    let refuse = |reason: String| {
        Error::refused(format!("flow \"{}\": controller \"{}\": {reason}", flow.name, flow.controller.name()))
    };
    let note = Note::of(&maker.object, Some(&maker.controller)).map_err(|error| refuse(error.to_string()))?;
    let mut values: BTreeMap<String, u32> =
        note.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.default)).collect();
    for (name, value) in &maker.variables {
        let value = u32::try_from(*value).ok();
        let Some((place, value)) = values.get_mut(name).zip(value) else {
            let reason = "in the kernel only variables and constants of four bytes can be set";
            return Err(refuse(format!("`{name}`: {reason}")));
        };
        *place = value;
    }
    Ok(ResolvedInstall { note, name: hidden_name(), elf: maker.object.clone().into(), values })
}

/// The parameters of an eBPF port that make it equivalent to a controller with `settings`.
fn values(note: &Note, flow: &Flow) -> Result<BTreeMap<String, u32>> {
    let settings = &flow.controller.settings;
    let mut values: BTreeMap<String, u32> =
        note.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.default)).collect();
    let numbers = || settings.pairs().filter_map(|(parameter, value)| Some((parameter, value.number()?)));
    for (parameter, value) in numbers() {
        match parameter.kind {
            Kind::Word(_) => {}
            _ if (note.name.as_str(), parameter.name) == ("fhstcp", "train") => trains(flow, value)?,
            _ => values.extend(of_number(note, parameter, value)?),
        }
    }
    // Last, because a word can take the place of numbers.
    for (parameter, value) in numbers() {
        if let Kind::Word(words) = parameter.kind {
            let chosen = of_word(&note.name, parameter.name, value);
            let chosen = chosen.ok_or_else(|| no_such_word(note, parameter.name, words))?;
            values.extend(chosen.iter().map(|(key, value)| (key.to_string(), *value)));
        }
    }
    Ok(values)
}

/// The value of an eBPF port for the `value` of its controller's `parameter`, a number or a switch; `None` if the
/// port has no such parameter and does what the default says.
fn of_number(
    note: &Note,
    parameter: &fairhaul_units::Parameter,
    value: f64,
) -> Result<Option<(String, u32)>> {
    let in_ms = matches!(parameter.kind, Kind::Number { unit: "ms", .. });
    let value_s = if in_ms { value * 1e-3 } else { value };
    match note.parameters.iter().find(|known| known.name == parameter.name) {
        Some(known) => Ok(Some((known.name.clone(), units(note, known, value_s)?))),
        None if value == parameter.default => Ok(None),
        None => Err(Error::refused(format!(
            "controller \"{}\": its eBPF port supports only the default of \"{}\"; remove the key",
            note.name, parameter.name
        ))),
    }
}

/// The trains of FHSTCP are as long as the kernel makes them: a scenario leaves that open, or says it.
fn trains(flow: &Flow, packets: f64) -> Result<()> {
    let payload = flow.packet - HEADER - TIME_STAMPS;
    let most = (TRAIN.0 / payload.0).clamp(1, flow.offload);
    if packets == 0.0 || packets == most as f64 {
        return Ok(());
    }
    let offload = match flow.offload {
        Flow::BURSTS_OF_KERNEL => "auto".to_owned(),
        packets => format!("{packets} packets"),
    };
    Err(Error::refused(format!(
        "flow \"{}\": controller \"fhstcp\": with offload = \"{offload}\" the kernel sends at most {most} \
         packets at once; set train = {most}, or remove the key",
        flow.name
    )))
}

/// The values of an eBPF port for the word that its controller has at `key`; an empty list if the port does that
/// with any values. `None`: the port cannot do that, or does not know the key.
fn of_word(port: &str, key: &str, value: f64) -> Option<&'static [(&'static str, u32)]> {
    match (port, key) {
        ("bic", "variant") => match Word::from_value(value) {
            BicVariant::Paper => Some(&[]),
            BicVariant::Linux => None,
        },
        ("fhstcp", "rtt") => match Word::from_value(value) {
            RttEstimate::Smoothed => Some(&[]),
            RttEstimate::Sample | RttEstimate::Minimum => None,
        },
        ("ghstcp", "variant") => Some(match Word::from_value(value) {
            GhstcpVariant::Refined => &[("original", 0)],
            GhstcpVariant::Original => &[("original", 1)],
        }),
        ("ghstcp", "significance") => Some(match Word::from_value(value) {
            TrendTest::Sign => &[("significance", 0)],
            TrendTest::FivePercent => &[("significance", 1)],
        }),
        ("ghstcp", "cycle") => Some(match Word::from_value(value) {
            MinimumOver::Two => &[("lifetime", 0)],
            MinimumOver::Lifetime => &[("lifetime", 1)],
        }),
        ("ghstcp", "sigma") => match Word::from_value(value) {
            SigmaSamples::Minimum => Some(&[("sigma_round", 0)]),
            SigmaSamples::Round => Some(&[("sigma_round", 1)]),
            SigmaSamples::Cycle => None,
        },
        ("ghstcp", "reno_decrease") => Some(match Word::from_value(value) {
            RenoDecrease::Highspeed => &[("reno_half", 0)],
            RenoDecrease::Half => &[("reno_half", 1)],
        }),
        ("highspeed", "growth") => match Word::from_value(value) {
            HighspeedGrowth::Formula => Some(&[]),
            HighspeedGrowth::Table | HighspeedGrowth::Linux => None,
        },
        ("prague", "classic_ecn_fallback") => {
            (ClassicEcnFallback::from_value(value) == ClassicEcnFallback::None).then_some(&[])
        }
        ("scalable", "variant") => match Word::from_value(value) {
            ScalableVariant::Kelly => Some(&[]),
            ScalableVariant::Linux => None,
        },
        // The kernel sends trains with either variant. XCP's feedback is a sum with either, and a lost acknowledgement loses
        // none.
        ("fhstcp" | "xcp", "variant") => Some(&[]),
        ("synctcp", "variant") => Some(match Word::from_value(value) {
            SynctcpVariant::Modified => &[],
            // The original Sync-TCP is the modified one whose phases of the start are empty.
            SynctcpVariant::Original => &[("c_low", 0), ("c_high", 0)],
        }),
        ("synctcp", "phases") => Some(match Word::from_value(value) {
            PhasesApply::AtStart => &[("always", 0)],
            PhasesApply::Always => &[("always", 1)],
        }),
        ("synctcp", "tie") => Some(match Word::from_value(value) {
            Trend::Falling => &[("tie_rises", 0)],
            Trend::Rising => &[("tie_rises", 1)],
        }),
        _ => None,
    }
}

fn no_such_word(note: &Note, key: &str, words: &[&str]) -> Error {
    let known: Vec<String> = (words.iter().enumerate())
        .filter(|(index, _)| of_word(&note.name, key, *index as f64).is_some())
        .map(|(_, word)| format!("{key} = \"{word}\""))
        .collect();
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

    fn flow(controller: &str) -> Flow {
        let queue = if controller.contains("xcp") { "xcp" } else { "droptail" };
        let text = format!(
            "profile = \"plain\"\nduration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
             queue = {{ kind = \"{queue}\", capacity = \"20 ms\" }}\n[[flow]]\nname = \"F\"\ncontroller = {controller}\n"
        );
        read(&text, "test", &[]).expect("it is a scenario").base.flows[0].clone()
    }

    fn note(flow: &Flow) -> Note {
        fairhaul_ports::object(flow.controller.name()).expect("it has an eBPF port").note
    }

    fn of(controller: &str) -> Result<BTreeMap<String, u32>> {
        let flow = flow(controller);
        values(&note(&flow), &flow)
    }

    /// The compiler finds a word that `of_word` leaves out; this finds a key.
    #[test]
    fn every_word_of_a_controller_has_its_values_or_is_known_to_have_none() {
        let mut without = Vec::new();
        for object in fairhaul_ports::objects() {
            let settings = flow(&format!("\"{}\"", object.note.name)).controller.settings;
            for (parameter, _) in settings.pairs() {
                let Kind::Word(words) = parameter.kind else { continue };
                for (index, word) in words.iter().enumerate() {
                    match of_word(&object.note.name, parameter.name, index as f64) {
                        Some(values) => values.iter().for_each(|(key, _)| {
                            assert!(object.note.parameters.iter().any(|known| known.name == *key), "{key}");
                        }),
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
                "prague classic_ecn_fallback fallback",
                "prague classic_ecn_fallback detection",
                "scalable variant linux",
            ]
        );
    }

    #[test]
    fn values_are_converted_to_the_units_of_the_port() {
        let fhstcp = of("{ kind = \"fhstcp\", c = 20 }").unwrap();
        assert_eq!((fhstcp["c"], fhstcp["eta_floor"], fhstcp["blocks"]), (20_000, 1, 1));
        let ghstcp =
            of("{ kind = \"ghstcp\", variant = \"original\", free = 1.5, sigma_floor = 0.2 }").unwrap();
        assert_eq!(
            (ghstcp["original"], ghstcp["free"], ghstcp["full"], ghstcp["sigma_floor"]),
            (1, 150, 400, 200)
        );
        assert_eq!((ghstcp["significance"], ghstcp["lifetime"], ghstcp["sigma_round"]), (1, 0, 0));
        let synctcp =
            of("{ kind = \"synctcp\", variant = \"original\", tie = \"increasing\", memory = 0 }").unwrap();
        assert_eq!(
            (synctcp["c_low"], synctcp["tie_rises"], synctcp["qmax_floor"], synctcp["memory"]),
            (0, 1, 10_000, 0)
        );
        let bic = of("{ kind = \"bic\", beta = 0.2 }").unwrap();
        assert_eq!((bic["beta"], bic["smin"], bic["fast_convergence"]), (200_000, 10_000, 1));
        assert_eq!(of("\"htcp\"").unwrap()["delta_l"], 1000);
        assert_eq!(of("\"scalable\"").unwrap()["a"], 10_000);
    }

    /// A controller with its defaults is its eBPF port with the port's defaults, parameter by parameter.
    #[test]
    fn defaults_are_defaults() {
        for object in fairhaul_ports::objects() {
            let values = of(&format!("\"{}\"", object.note.name)).unwrap();
            for parameter in &object.note.parameters {
                let (name, key) = (&object.note.name, &parameter.name);
                assert_eq!(values[key], parameter.default, "{name}: {key}");
            }
        }
    }

    #[test]
    fn the_variant_of_linux_is_the_kernels_own_where_the_kernel_has_it() {
        let available = ["bic".to_owned(), "fhstcp".to_owned()];
        let own = |controller: &str| is_kernels_own(&flow(controller), &available);
        assert!(own("{ kind = \"bic\", variant = \"linux\" }"));
        assert!(
            !own("\"bic\"") && !own("\"fhstcp\"") && !own("{ kind = \"scalable\", variant = \"linux\" }")
        );
    }

    #[test]
    fn unsupported_settings_of_a_port_are_refused() {
        for (controller, word) in [
            ("{ kind = \"fhstcp\", rtt = \"sample\" }", "\"rtt\""),
            ("{ kind = \"fhstcp\", train = 44 }", "set train = 1"),
            ("{ kind = \"bic\", variant = \"linux\" }", "\"variant\""),
            (
                "{ kind = \"prague\", classic_ecn_fallback = \"fallback\" }",
                "set classic_ecn_fallback = \"none\"",
            ),
            ("{ kind = \"ghstcp\", sigma = \"cycle\" }", "set sigma = \"minimum\" or sigma = \"round\""),
        ] {
            let message = of(controller).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }
}
