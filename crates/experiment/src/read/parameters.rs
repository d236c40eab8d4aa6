//! Reads the controller of a flow, and parameters by the descriptions in the catalogues of controllers and queues.

use fairhaul_cc::{ControllerChoice, entries};
use fairhaul_units::{Kind, Parameter};

use super::field::{Accepts, bounds};
use super::mistake::{Notes, clip, way_out};
use super::quantities::{self, unwanted};
use super::reader::{FromToml, refuse};
use super::toml_tree::{Node, TomlEntry, TomlValue};

/// A controller of the catalogue, alone or in a table with its parameters.
impl FromToml for ControllerChoice {
    type Value = ControllerChoice;
    const ACCEPTS: Accepts = Accepts::Controller;

    fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<ControllerChoice> {
        let known: Vec<&str> = entries().iter().map(|e| e.name).collect();
        let (chosen, given): (&Node, &[TomlEntry]) = match &node.value {
            TomlValue::Table(entries) => match node.get("kind") {
                Some(kind) => (kind, entries),
                None => {
                    let text = format!("needs \"kind\": one of {}", known.join(", "));
                    return refuse(node, key, text, notes);
                }
            },
            _ => (node, &[]),
        };
        let Some(name) = chosen.text() else {
            return refuse(chosen, key, unwanted(&Self::ACCEPTS, chosen), notes);
        };
        let Some(mut choice) = ControllerChoice::named(name) else {
            let name = clip(name);
            notes.note(chosen.origin, format!("unknown controller \"{name}\"{}", way_out(&name, &known)));
            return None;
        };
        let parameters = choice.entry.parameters;
        for given in given.iter().filter(|e| e.key != "kind") {
            match parameters.iter().find(|parameter| parameter.name == given.key) {
                Some(parameter) => {
                    if let Some(value) = setting(&given.node, parameter, notes) {
                        choice.settings.set(parameter.name, value);
                    }
                }
                None => {
                    let keys: Vec<&str> = parameters.iter().map(|p| p.name).collect();
                    let key = clip(&given.key);
                    let nearest = way_out(&key, &keys);
                    notes.note(
                        given.origin,
                        format!("controller \"{name}\" has no parameter \"{key}\"{nearest}"),
                    );
                }
            }
        }
        Some(choice)
    }
}

/// The value of a parameter as its number; `None`: it is wrong, which has been noted.
pub(crate) fn setting(node: &Node, parameter: &Parameter, notes: &mut Notes) -> Option<f64> {
    let value = accepted(node, parameter.kind);
    value.map_or_else(|text| refuse(node, parameter.name, text, notes), Some)
}

/// The number of a value of this kind.
fn accepted(node: &Node, kind: Kind) -> Result<f64, String> {
    let wrong = |wanted: String| format!("wanted {wanted}, not {}", clip(&node.to_string()));
    match kind {
        Kind::Number { least, most, unit } => {
            let range = format!(
                "a number{}{}{unit}",
                bounds(least, most, false),
                if unit.is_empty() { "" } else { " " }
            );
            quantities::number(node, least, most, false).and_then(Result::ok).ok_or_else(|| wrong(range))
        }
        Kind::Whole { least, most } => {
            let whole = quantities::whole(node, least, most).and_then(Result::ok);
            whole.map(|whole| whole as f64).ok_or_else(|| wrong(Accepts::Whole { least, most }.wanted()))
        }
        Kind::Switch => match node.value {
            TomlValue::Switch(switch) => Ok(f64::from(u8::from(switch))),
            _ => Err(wrong(Accepts::Switch.wanted())),
        },
        Kind::Word(words) => match node.text().and_then(|text| words.iter().position(|w| *w == text)) {
            Some(index) => Ok(index as f64),
            None => Err(wrong(format!("one of {}", words.join(", ")))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::mistake::SourceSpan;
    use crate::read::toml_tree::fragment;

    #[test]
    fn a_parameter_takes_what_its_kind_says() {
        let set = |text: &str, kind| accepted(&fragment(text, SourceSpan::Line(1)), kind);
        let number = Kind::Number { least: 0.0, most: 100.0, unit: "/s" };
        assert_eq!(set("10", number), Ok(10.0));
        assert_eq!(set("0.5", number), Ok(0.5));
        assert_eq!(set("101", number), Err("wanted a number from 0 to 100 /s, not 101".into()));
        assert_eq!(set("nan", number), Err("wanted a number from 0 to 100 /s, not NaN".into()));
        assert_eq!(set("3", Kind::Whole { least: 1, most: 4 }), Ok(3.0));
        assert!(set("3.5", Kind::Whole { least: 1, most: 4 }).is_err());
        assert_eq!(set("true", Kind::Switch), Ok(1.0));
        assert!(set("1", Kind::Switch).is_err());
        assert_eq!(set("linux", Kind::Word(&["kelly", "linux"])), Ok(1.0));
        assert_eq!(set("x", Kind::Word(&["a", "b"])), Err("wanted one of a, b, not \"x\"".into()));
    }
}
