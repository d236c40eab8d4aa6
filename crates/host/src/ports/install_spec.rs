//! The specification of an installation (which eBPF port, under which name, with which parameters), checked
//! before anything is changed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fairhaul_ports::{MISSING, NAME_BYTES, Note, PREFIX, PortParameter, object, objects};
use fairhaul_units::hint;
use serde::Deserialize;

use super::object_file;
use super::unit::Unit;
use crate::error::{Error, Result};

/// The longest name that the kernel allows, without the terminating zero.
const LONGEST_NAME: usize = NAME_BYTES - 1;

/// One installation as a request specifies it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallSpec {
    /// Name of an eBPF port that this build carries, or the path of an object (`mine.bpf.o`), followed by the name of
    /// a controller if it has several (`mine.bpf.o:NAME`).
    pub port: String,
    /// Its name in the kernel; default: `fh_<eBPF port>`.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
    /// Parameters with other values than their defaults, as the user wrote them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// A checked installation: an eBPF port that can be loaded.
#[derive(Clone, Debug)]
pub struct ResolvedInstall {
    /// The note in its object.
    pub note: Note,
    /// Its name in the kernel.
    pub name: String,
    /// The object.
    pub elf: Cow<'static, [u8]>,
    /// Values of all its parameters.
    pub values: BTreeMap<String, u32>,
}

impl InstallSpec {
    /// Finds the eBPF port and checks its name and parameters.
    pub fn resolve(&self) -> Result<ResolvedInstall> {
        let (note, elf) = self.find()?;
        let name = self.name.clone().unwrap_or_else(|| note.kernel_name());
        check_name(&name)?;
        let mut values: BTreeMap<String, u32> =
            note.parameters.iter().map(|p| (p.name.clone(), p.default)).collect();
        values.extend(read_values(&note.name, &note.parameters, &self.set)?);
        Ok(ResolvedInstall { note, name, elf, values })
    }

    fn find(&self) -> Result<(Note, Cow<'static, [u8]>)> {
        if let Some((path, controller)) = file(&self.port) {
            return from_file(path, controller);
        }
        if let Some(object) = object(&self.port) {
            return Ok((object.note, Cow::Borrowed(object.elf)));
        }
        if let Some(reason) = MISSING {
            return Err(Error::refused(format!("this build contains no eBPF ports: {reason}")));
        }
        let known = objects();
        let hint = hint(&self.port, known.iter().map(|object| object.note.name.as_str()));
        Err(Error::refused(format!("unknown eBPF port {:?}; {hint}", self.port)))
    }
}

/// The path of an object and the name of a controller in it, if the text names a file.
fn file(text: &str) -> Option<(&str, Option<&str>)> {
    match text.rsplit_once(':') {
        _ if text.ends_with(".o") => Some((text, None)),
        Some((path, controller)) if path.ends_with(".o") => Some((path, Some(controller))),
        _ => None,
    }
}

/// Reads an object file. One with a note of Fairhaul's is checked as a port; a note is not a signature: a user who may
/// load programs into the kernel is responsible for the file.
fn from_file(path: &str, controller: Option<&str>) -> Result<(Note, Cow<'static, [u8]>)> {
    let elf = object_file::read(path)?;
    let refuse = |error| Error::refused(format!("{path} is not loaded: {error}"));
    let note = Note::of(&elf, controller).map_err(refuse)?;
    Ok((note, Cow::Owned(elf)))
}

/// Whether an eBPF port can have this name in the kernel, which is also a name of files.
pub fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    plain && name.starts_with(PREFIX) && name.len() > PREFIX.len() && name.len() <= LONGEST_NAME
}

fn check_name(name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    Err(Error::refused(format!(
        "{name:?} is not a valid name for a controller: wanted {PREFIX} followed by lower-case letters, \
         digits and _, at most {LONGEST_NAME} characters in total, such as fh_site"
    )))
}

/// Reads the values of parameters as the user wrote them. A number has the same meaning as in a scenario, so a
/// time or a rate needs its unit (`c=20/s`), and a share or packets are written as such (`beta=0.2`), whatever
/// unit the eBPF port uses.
pub fn read_values(
    port: &str,
    parameters: &[PortParameter],
    set: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, u32>> {
    set.iter().map(|(key, text)| Ok((key.clone(), read_value(port, parameters, key, text)?))).collect()
}

fn read_value(port: &str, parameters: &[PortParameter], key: &str, text: &str) -> Result<u32> {
    let Some(parameter) = parameters.iter().find(|parameter| parameter.name == key) else {
        let hint = hint(key, parameters.iter().map(|parameter| parameter.name.as_str()));
        let simulated =
            fairhaul_cc::entry(port).is_some_and(|of| of.parameters.iter().any(|p| p.name == key));
        let only = if simulated { ", which only the controller of the simulator has" } else { "" };
        return Err(Error::refused(format!("{port} has no parameter {key:?}{only}; {hint}")));
    };
    let unit = Unit::of(&parameter.unit);
    if unit.is_needed() && text.trim().parse::<f64>().is_ok() {
        let ways: Vec<String> =
            unit.names().iter().map(|name| format!("{key}={}{name}", text.trim())).collect();
        return Err(Error::refused(format!(
            "{port}: {key} = {text}: the number has no unit; wanted {}",
            ways.join(" or ")
        )));
    }
    if parameter.is_switch() {
        return switch(text)
            .ok_or_else(|| Error::refused(format!("{port}: {key} = {text}: wanted on or off")));
    }
    let PortParameter { least, most, .. } = *parameter;
    match unit.count(text) {
        Some(value) if (least..=most).contains(&value) => Ok(value),
        _ => {
            let number = if unit.is_plain() { "a whole number" } else { "a value" };
            let steps =
                if unit.is_plain() { String::new() } else { format!(" in steps of {}", unit.written(1)) };
            let (least, most) = (unit.written(least), unit.written(most));
            let near = unit.nearest(text, parameter).map(|near| format!("; did you mean {key}={near}?"));
            let near = near.unwrap_or_default();
            Err(Error::refused(format!(
                "{port}: {key} = {text}: wanted {number} from {least} to {most}{steps}{near}"
            )))
        }
    }
}

/// Reads a switch: in the words of this command, of a scenario, or of the eBPF port.
fn switch(text: &str) -> Option<u32> {
    match text.trim() {
        "on" | "true" | "1" => Some(1),
        "off" | "false" | "0" => Some(0),
        _ => None,
    }
}

/// Writes the value of a parameter as a user would set it.
pub fn written(parameter: &PortParameter, value: u32) -> String {
    if parameter.is_switch() {
        return if value == 0 { "off" } else { "on" }.to_owned();
    }
    Unit::of(&parameter.unit).written(value)
}

/// Whether flows on short paths would hardly grow with these values, so that the eBPF port must not be the
/// default of the host: by the printed rule of FHSTCP, or with a factor of zero.
pub fn freezes_short_paths(port: &str, values: &BTreeMap<String, u32>) -> bool {
    let is = |key: &str, value: u32| values.get(key) == Some(&value);
    port == "fhstcp" && is("factor", 1) && (is("eta_floor", 0) || is("c", 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(unit: &str) -> PortParameter {
        PortParameter {
            name: "key".into(),
            least: 0,
            most: 900_000,
            unit: unit.into(),
            default: 0,
            offset: 0,
            constant: false,
            help: String::new(),
        }
    }

    fn refusal(unit: &str, text: &str) -> String {
        read_value("port", &[parameter(unit)], "key", text).expect_err("it is refused").to_string()
    }

    /// `c=20` is 20/s in a scenario; the eBPF port counts in 0.001/s.
    #[test]
    fn a_time_or_a_rate_without_its_unit_is_refused_with_examples() {
        assert_eq!(refusal("0.001/s", "20"), "port: key = 20: the number has no unit; wanted key=20/s");
        assert!(refusal("us", "100").ends_with("wanted key=100s or key=100ms or key=100us"));
    }

    #[test]
    fn a_parameter_that_only_the_simulator_has_is_refused_with_the_reason() {
        let refusal =
            |key| read_value("prague", &[parameter("")], key, "fallback").expect_err("it is refused");
        assert_eq!(
            refusal("classic_ecn_fallback").to_string(),
            "prague has no parameter \"classic_ecn_fallback\", which only the controller of the simulator has; choose from key"
        );
        assert_eq!(refusal("nothing").to_string(), "prague has no parameter \"nothing\"; choose from key");
    }

    #[test]
    fn a_switch_is_on_or_off() {
        let parameter = PortParameter { most: 1, ..parameter("") };
        for (text, value, word) in [("on", 1, "on"), ("false", 0, "off"), ("1", 1, "on")] {
            assert_eq!(read_value("port", std::slice::from_ref(&parameter), "key", text), Ok(value));
            assert_eq!(written(&parameter, value), word);
        }
        let wrong = read_value("port", &[parameter], "key", "2").expect_err("it is refused");
        assert_eq!(wrong.to_string(), "port: key = 2: wanted on or off");
    }

    #[test]
    fn a_share_in_the_units_of_the_port_is_refused_with_the_share() {
        assert_eq!(
            refusal("1e-6", "125000"),
            "port: key = 125000: wanted a value from 0 to 0.9 in steps of 0.000001; did you mean key=0.125?"
        );
        assert!(refusal("", "0.5").ends_with("wanted a whole number from 0 to 900000"));
    }

    #[test]
    fn only_a_factor_without_a_floor_freezes_short_paths() {
        let with = |factor, floor, c| {
            let values = [("factor".into(), factor), ("eta_floor".into(), floor), ("c".into(), c)];
            freezes_short_paths("fhstcp", &values.into())
        };
        assert!(with(1, 0, 10_000) && with(1, 1, 0));
        assert!(!with(1, 1, 10_000) && !with(0, 0, 0));
    }

    #[test]
    fn a_name_fits_the_kernel_and_differs_from_its_own() {
        assert!(check_name("fh_site").is_ok() && check_name("fh_abcdefghijkl").is_ok());
        for wrong in ["cubic", "fh_", "fh_abcdefghijklm", "fh_Site", "fh_a b"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
