//! Reads the controller of a flow, and parameters by the descriptions in the catalogues of controllers and queues.

use std::sync::Arc;

use fairhaul_cc::{ControllerChoice, OwnChoice, OwnKind, OwnValue, OwnValues, entries};
use fairhaul_units::{Formula, Kind, Parameter, Value};

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
        let own_kinds = Arc::clone(&notes.own);
        let own_names = own_kinds.controllers.keys().map(String::as_str);
        let known: Vec<&str> = own_names.chain(entries().iter().map(|e| e.name)).collect();
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
        if let Some(kind) = own_kinds.controllers.get(name) {
            return own(name, &**kind, chosen, given, notes);
        }
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
                        choice.settings.give(parameter.name, value);
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
        match choice.entry.check(&choice.settings) {
            Ok(()) => Some(choice),
            Err(text) => {
                notes.note(chosen.origin, format!("controller \"{name}\": {text}"));
                None
            }
        }
    }
}

/// A controller that is not of the catalogue, whose kind checks its values itself.
fn own(
    name: &str,
    kind: &dyn OwnKind,
    chosen: &Node,
    given: &[TomlEntry],
    notes: &mut Notes,
) -> Option<ControllerChoice> {
    let values = own_values(given, notes);
    match kind.with(&values) {
        Ok(maker) => Some(ControllerChoice::own(OwnChoice { name: name.to_owned(), values, maker })),
        Err(text) => {
            notes.note(chosen.origin, format!("controller \"{name}\": {text}"));
            None
        }
    }
}

/// The values of keys beside `kind`, as they are given.
pub(super) fn own_values(given: &[TomlEntry], notes: &mut Notes) -> OwnValues {
    let mut values = OwnValues::new();
    for given in given.iter().filter(|given| given.key != "kind") {
        let value = match &given.node.value {
            TomlValue::Text(text) => OwnValue::Text(text.clone()),
            TomlValue::Number(number) => OwnValue::Number(*number),
            TomlValue::Whole(whole) => match i64::try_from(*whole) {
                Ok(whole) => OwnValue::Whole(whole),
                Err(_) => OwnValue::Number(*whole as f64),
            },
            TomlValue::Switch(switch) => OwnValue::Switch(*switch),
            TomlValue::Date(_) | TomlValue::List(_) | TomlValue::Table(_) => {
                let text = "wanted a number, a text, true or false";
                refuse::<()>(&given.node, &given.key, text.into(), notes);
                continue;
            }
        };
        values.push((given.key.clone(), value));
    }
    values
}

/// The value of a parameter; `None`: it is wrong, which has been noted.
pub(crate) fn setting(node: &Node, parameter: &Parameter, notes: &mut Notes) -> Option<Value> {
    let value = accepted(node, parameter.kind);
    value.map_or_else(|text| refuse(node, parameter.name, text, notes), Some)
}

/// What a node is as a value of this kind.
fn accepted(node: &Node, kind: Kind) -> Result<Value, String> {
    match kind {
        Kind::Formula { variables, .. } => formula(node, variables).map(Value::Formula),
        kind => number(node, kind).map(Value::Number),
    }
}

/// A formula; a number is one, too.
fn formula(node: &Node, variables: &[&str]) -> Result<Formula, String> {
    let any = Kind::Number { least: f64::MIN, most: f64::MAX, unit: "" };
    let text = match (node.text(), number(node, any)) {
        (Some(text), _) => text.to_owned(),
        (None, Ok(number)) => number.to_string(),
        (None, Err(_)) => return Err(format!("wanted a formula, not {}", clip(&node.to_string()))),
    };
    Formula::new(&text, variables).map_err(|error| {
        let way_out = error.unknown.as_ref().map_or(String::new(), |(name, known)| {
            way_out(name, &known.iter().map(String::as_str).collect::<Vec<_>>())
        });
        format!("\"{}\", {error}{way_out}", clip(&text))
    })
}

/// The number of a value of this kind, which is not a formula.
fn number(node: &Node, kind: Kind) -> Result<f64, String> {
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
        Kind::Formula { .. } => Err(wrong("a number".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::mistake::SourceSpan;
    use crate::read::toml_tree::fragment;

    #[test]
    fn a_parameter_takes_what_its_kind_says() {
        let set = |text: &str, kind| number(&fragment(text, SourceSpan::Line(1)), kind);
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

    #[test]
    fn a_formula_is_a_text_or_a_number_and_its_mistakes_have_a_way_out() {
        let kind = Kind::Formula { variables: &["w", "rtt"], default: "1" };
        let read = |text: &str| match accepted(&fragment(text, SourceSpan::Line(1)), kind)? {
            Value::Formula(formula) => Ok(formula.value(&[50.0, 0.1])),
            Value::Number(_) => Err("a number".to_owned()),
        };
        assert_eq!(read("0.01 * w"), Ok(0.5));
        assert_eq!(read("2"), Ok(2.0));
        assert_eq!(
            read("sqr(w)"),
            Err("\"sqr(w)\", at character 1: unknown function \"sqr\"; did you mean \"sqrt\"?".into())
        );
        assert_eq!(read("true"), Err("wanted a formula, not true".into()));
        assert_eq!(
            read("1 +"),
            Err("\"1 +\", at its end: wanted a number, a variable, a function or \"(\"".into())
        );
    }
}
