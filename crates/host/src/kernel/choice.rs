//! Which twin is to be installed under which name, with which parameters: checked before anything
//! is changed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use fairhaul_twins::{MISSING, Note, Parameter, object, objects};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::nearest::hint;

/// What every name in the kernel begins with.
pub const PREFIX: &str = "fh_";
/// The kernel's room for a name, without the zero at its end.
const LONGEST_NAME: usize = 15;

/// A twin as a request names it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// Name of a twin that this build carries, or the path of an object (`*.bpf.o`).
    pub twin: String,
    /// Its name in the kernel, where it is not to be `fh_<twin>`.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
    /// Parameters that are not to have their defaults, as somebody writes them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// A twin that can be loaded.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What it says of itself.
    pub note: Note,
    /// Its name in the kernel.
    pub name: String,
    /// The object.
    pub elf: Cow<'static, [u8]>,
    /// Values of all its parameters.
    pub values: BTreeMap<String, u32>,
}

impl Wish {
    /// The twin that is meant.
    pub fn choose(&self) -> Result<Choice> {
        let (note, elf) = self.find()?;
        let name = self.name.clone().unwrap_or_else(|| note.kernel_name());
        check_name(&name)?;
        let mut values: BTreeMap<String, u32> =
            note.parameters.iter().map(|p| (p.name.clone(), p.default)).collect();
        values.extend(read_values(&note.name, &note.parameters, &self.set)?);
        Ok(Choice { note, name, elf, values })
    }

    fn find(&self) -> Result<(Note, Cow<'static, [u8]>)> {
        if self.twin.ends_with(".o") {
            return from_file(&self.twin);
        }
        if let Some(found) = object(&self.twin) {
            return Ok((found.note, Cow::Borrowed(found.elf)));
        }
        if let Some(reason) = MISSING {
            return Err(Error::refused(format!("this build carries no twins: {reason}")));
        }
        let known = objects();
        let hint = hint(&self.twin, known.iter().map(|object| object.note.name.as_str()));
        Err(Error::refused(format!("there is no twin {:?}; {hint}", self.twin)))
    }
}

/// An object in a file: it has to carry a note of ours, and whole. A note is no signature; whoever
/// may load programs into the kernel answers for the file.
fn from_file(path: &str) -> Result<(Note, Cow<'static, [u8]>)> {
    let elf = fs::read(path).map_err(|error| Error::refused(format!("{path}: {error}")))?;
    let refuse = |error| Error::refused(format!("{path} is not loaded: {error}"));
    let note = Note::of(&elf).map_err(refuse)?;
    fairhaul_twins::Twin::new(&elf).map_err(refuse)?;
    Ok((note, Cow::Owned(elf)))
}

fn check_name(name: &str) -> Result<()> {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if plain && name.starts_with(PREFIX) && name.len() > PREFIX.len() && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(Error::refused(format!(
        "{name:?} cannot be a twin's name: wanted {PREFIX} and then small letters, digits and _, at most \
         {LONGEST_NAME} characters in all, such as fh_site"
    )))
}

/// The values of parameters as somebody has written them: a whole number counts the twin's own units,
/// and what has its unit with it, or a point, is converted: `c=20000` and `c=20/s` are the same.
pub fn read_values(
    twin: &str,
    parameters: &[Parameter],
    set: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, u32>> {
    set.iter().map(|(key, text)| Ok((key.clone(), read_value(twin, parameters, key, text)?))).collect()
}

fn read_value(twin: &str, parameters: &[Parameter], key: &str, text: &str) -> Result<u32> {
    let Some(parameter) = parameters.iter().find(|parameter| parameter.name == key) else {
        let hint = hint(key, parameters.iter().map(|parameter| parameter.name.as_str()));
        return Err(Error::refused(format!("{twin} has no parameter {key:?}; {hint}")));
    };
    let Parameter { least, most, unit, .. } = parameter;
    match amount(text, unit) {
        Some(value) if (*least..=*most).contains(&value) => Ok(value),
        _ => {
            let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
            Err(Error::refused(format!(
                "{twin}: {key} = {text}: wanted a whole number{of} from {least} to {most}"
            )))
        }
    }
}

/// How many units of a twin's parameter a text is. Such a unit is a number, a word or both: `0.001/s`.
fn amount(text: &str, unit: &str) -> Option<u32> {
    if let Ok(whole) = text.trim().parse() {
        return Some(whole);
    }
    let word_at = unit.find(|c: char| !"0123456789.-e".contains(c)).unwrap_or(unit.len());
    let (scale, word) = unit.split_at(word_at);
    let scale: f64 = if scale.is_empty() { 1.0 } else { scale.parse().ok()? };
    let number = text.trim().strip_suffix(word.trim()).unwrap_or(text).trim();
    let units = number.parse::<f64>().ok()? / scale;
    let whole = units.round();
    let near = (units - whole).abs() <= 1e-6 * whole.max(1.0);
    (near && (0.0..=f64::from(u32::MAX)).contains(&whole)).then_some(whole as u32)
}

/// Whether these values freeze flows on short paths, so that the host must not have them as its default.
pub fn freezes_short_paths(twin: &str, values: &BTreeMap<String, u32>) -> bool {
    let is = |key: &str, value: u32| values.get(key) == Some(&value);
    twin == "fhstcp" && is("factor", 1) && !is("factor_floor", 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_units_unless_its_unit_is_with_it() {
        assert_eq!(amount("20000", "0.001/s"), Some(20_000));
        assert_eq!(amount("20/s", "0.001/s"), Some(20_000));
        assert_eq!(amount("0.125", "1e-6"), Some(125_000));
        assert_eq!(amount("0.01 packets", "1e-6 packets"), Some(10_000));
        assert_eq!(amount("100us", "us"), Some(100));
        assert_eq!(amount("20 ms", "us"), None);
        assert_eq!(amount("0.0000001", "1e-6"), None);
        assert_eq!(amount("-1", ""), None);
    }

    #[test]
    fn only_the_literal_factor_freezes_short_paths() {
        let with = |factor, floor| {
            freezes_short_paths("fhstcp", &[("factor".into(), factor), ("factor_floor".into(), floor)].into())
        };
        assert!(with(1, 0) && with(1, 1));
        assert!(!with(1, 2) && !with(0, 0));
    }

    #[test]
    fn a_name_fits_the_kernel_and_is_told_from_its_own() {
        assert!(check_name("fh_site").is_ok() && check_name("fh_abcdefghijkl").is_ok());
        for wrong in ["cubic", "fh_", "fh_abcdefghijklm", "fh_Site", "fh_a b"] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
