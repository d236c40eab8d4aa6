//! Reads a tree by the tables of `fields`: every key, its type, its unit, its range.
//!
//! What a single value can get wrong is found here; what two values get wrong together is found
//! where they are resolved. A value that was wrong is as if left out, so that the rest is read.

use fairhaul_cc::{ControllerChoice, entries, entry};
use fairhaul_units::{Bytes, Kind, Parameter, Rate, Settings, Span};

use super::field::{Accepts, Fallback, Field, Shape, Words};
use super::mistake::{Notes, SourceSpan, clip, way_out};
use super::quantities::{self, CapacitySpec, RoundTrips, numeric, unwanted};
use super::toml_tree::{Node, TomlEntry, TomlValue, fragment};
use crate::Start;

/// A value that was read.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Span(Span),
    Rate(Rate),
    RateOrZero(Option<Rate>),
    Size(Bytes),
    Number(f64),
    Whole(u64),
    Switch(bool),
    RoundTrips(RoundTrips),
    Start(Start),
    Capacity(CapacitySpec),
    Controller(ControllerChoice),
    List(Vec<(SourceSpan, Value)>),
    /// A table, or a word and its parameters.
    Table(Values),
    Tables(Vec<Values>),
}

/// The values of a table, in the order of its shape.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// Which table, or which word.
    pub(crate) shape: &'static Shape,
    /// Where it stands.
    pub(crate) origin: SourceSpan,
    values: Vec<(SourceSpan, Option<Value>)>,
    given: Vec<bool>,
}

impl Values {
    /// The value of `name`; `None` where it was left out without a default, or wrong.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.values[self.index(name)].1.as_ref()
    }

    /// Where the value of `name` stands; the table's own place where it does not.
    pub(crate) fn origin(&self, name: &str) -> SourceSpan {
        self.values[self.index(name)].0
    }

    /// Whether `name` is a key of this table.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.shape.fields.iter().any(|field| field.name == name)
    }

    /// Whether the user wrote `name`, rightly or wrongly.
    pub(crate) fn given(&self, name: &str) -> bool {
        self.given[self.index(name)]
    }

    fn index(&self, name: &str) -> usize {
        let found = self.shape.fields.iter().position(|f| f.name == name);
        found.expect("the code asks only for keys of the table")
    }
}

/// Typed access: asking for another type than the table's is a fault of ours.
macro_rules! access {
    ($($method:ident: $variant:ident -> $type:ty),+ $(,)?) => {
        impl Values {
            $(pub(crate) fn $method(&self, name: &str) -> Option<$type> {
                match self.get(name) {
                    None => None,
                    Some(Value::$variant(value)) => Some(value.clone()),
                    Some(other) => unreachable!("{name} is {other:?}"),
                }
            })+
        }
    };
}

access! {
    text: Text -> String,
    span: Span -> Span,
    rate: Rate -> Rate,
    rate_or_zero: RateOrZero -> Option<Rate>,
    size: Size -> Bytes,
    number: Number -> f64,
    whole: Whole -> u64,
    round_trips: RoundTrips -> RoundTrips,
    start: Start -> Start,
    capacity: Capacity -> CapacitySpec,
    controller: Controller -> ControllerChoice,
    list: List -> Vec<(SourceSpan, Value)>,
    table: Table -> Values,
    tables: Tables -> Vec<Values>,
}

/// Reads a table of `shape`; keys in `skip` are read elsewhere.
pub(crate) fn table(node: &Node, shape: &'static Shape, skip: &[&str], notes: &mut Notes) -> Option<Values> {
    let TomlValue::Table(entries) = &node.value else {
        notes.note(node.origin, format!("{} must be a table, not {}", shape.name, clip(&node.to_string())));
        return None;
    };
    let known: Vec<&str> = shape.fields.iter().map(|f| f.name).collect();
    for entry in
        entries.iter().filter(|e| !known.contains(&e.key.as_str()) && !skip.contains(&e.key.as_str()))
    {
        let key = clip(&entry.key);
        notes.note(
            entry.origin,
            format!("\"{key}\" is not a key of {}{}", title(shape), way_out(&key, &known)),
        );
    }
    Some(values(entries, node.origin, shape, notes))
}

/// What a shape is called in a sentence.
fn title(shape: &Shape) -> String {
    let quoted = !shape.name.contains(['[', '{', ' ']);
    if quoted { format!("\"{}\"", shape.name) } else { shape.name.to_owned() }
}

fn values(entries: &[TomlEntry], origin: SourceSpan, shape: &'static Shape, notes: &mut Notes) -> Values {
    let mut values = Values { shape, origin, values: Vec::new(), given: Vec::new() };
    for field in shape.fields {
        let found = entries.iter().find(|e| e.key == field.name);
        let read = found.and_then(|e| read(&e.node, field.name, &field.accepts, notes));
        if found.is_none() && matches!(field.fallback, Fallback::Required) {
            let text = format!("{} needs \"{}\": {}", title(shape), field.name, field.accepts.wanted());
            notes.note(origin, text);
        }
        let place = found.map_or(origin, |e| e.origin);
        values.values.push((place, read.or_else(|| fallback(field, origin))));
        values.given.push(found.is_some());
    }
    values
}

/// The value of a key that was left out.
fn fallback(field: &'static Field, origin: SourceSpan) -> Option<Value> {
    let text = match (&field.fallback, &field.accepts) {
        (Fallback::Value(text), _) => text,
        (Fallback::Described, Accepts::Described(parameter)) => {
            return Some(Value::Number(parameter.default));
        }
        _ => return None,
    };
    let mut notes = Notes::default();
    let got = read(&fragment(text, origin), field.name, &field.accepts, &mut notes);
    debug_assert!(notes.is_empty(), "the default of {} is one of its values", field.name);
    got
}

/// Reads one value.
fn read(node: &Node, key: &str, accepts: &'static Accepts, notes: &mut Notes) -> Option<Value> {
    match accepts {
        Accepts::Either(all) => match all.iter().find(|a| fits(node, a)) {
            Some(one) => read(node, key, one, notes),
            None => refuse(node, key, unwanted(accepts, node), notes),
        },
        Accepts::List(of) => {
            let TomlValue::List(nodes) = &node.value else {
                return refuse(node, key, unwanted(accepts, node), notes);
            };
            if nodes.is_empty() {
                return refuse(node, key, "the list is empty".into(), notes);
            }
            let all = nodes.iter().filter_map(|n| read(n, key, of, notes).map(|got| (n.origin, got)));
            Some(Value::List(all.collect()))
        }
        Accepts::Table(shape) => table(node, shape, &[], notes).map(Value::Table),
        Accepts::Tables(shape) => {
            let TomlValue::List(nodes) = &node.value else {
                return refuse(node, key, unwanted(accepts, node), notes);
            };
            Some(Value::Tables(nodes.iter().filter_map(|n| table(n, shape, &[], notes)).collect()))
        }
        Accepts::Words(words) => word(node, key, words, accepts, notes).map(Value::Table),
        Accepts::Controller => controller(node, notes).map(Value::Controller),
        Accepts::Described(parameter) => match setting(node, parameter) {
            Ok(value) => Some(Value::Number(value)),
            Err(text) => refuse(node, key, text, notes),
        },
        // Taken out of the tree before it is read.
        Accepts::Sweep => None,
        _ => match single(node, accepts) {
            Some(Ok(got)) => Some(got),
            Some(Err(text)) => refuse(node, key, text, notes),
            None => refuse(node, key, unwanted(accepts, node), notes),
        },
    }
}

fn refuse<T>(node: &Node, key: &str, text: String, notes: &mut Notes) -> Option<T> {
    notes.note(node.origin, format!("{key}: {text}"));
    None
}

/// A value without parts; `None` where it is of another type.
fn single(node: &Node, accepts: &Accepts) -> Option<Result<Value, String>> {
    let text = || node.text();
    Some(match *accepts {
        Accepts::Text => Ok(Value::Text(text()?.to_owned())),
        Accepts::Name => name(text()?).map(Value::Text),
        Accepts::Span { least, most } => quantities::span(text()?, least, most).map(Value::Span),
        Accepts::Rate => quantities::rate(text()?).map(Value::Rate),
        Accepts::RateOrZero => quantities::rate_or_zero(text()?).map(Value::RateOrZero),
        Accepts::Size { least, most } => quantities::size(text()?, least, most).map(Value::Size),
        Accepts::Number { least, most, open } => {
            quantities::number(node, least, most, open)?.map(Value::Number)
        }
        Accepts::Whole { least, most } => {
            let TomlValue::Whole(whole) = node.value else { return None };
            let inside = u64::try_from(whole).ok().filter(|n| (least..=most).contains(n));
            inside.map(Value::Whole).ok_or_else(|| format!("wanted {}, not {whole}", accepts.wanted()))
        }
        Accepts::Switch => match node.value {
            TomlValue::Switch(switch) => Ok(Value::Switch(switch)),
            _ => return None,
        },
        Accepts::Frequency => quantities::frequency(text()?).map(Value::Number),
        Accepts::RoundTrips => quantities::round_trips(node)?.map(Value::RoundTrips),
        Accepts::Start => quantities::start(text()?).map(Value::Start),
        Accepts::Overhead => quantities::overhead(text()?).map(Value::Span),
        Accepts::Burst => quantities::burst(text()?).map(Value::Capacity),
        Accepts::Capacity => quantities::capacity(text()?).map(Value::Capacity),
        _ => unreachable!("{accepts:?} has parts"),
    })
}

/// A name that a path of keys can hold.
fn name(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!("wanted {}, not \"{}\"", Accepts::Name.wanted(), clip(text)))
    }
}

/// Whether a value looks like one of this kind, rightly written or not.
fn fits(node: &Node, accepts: &Accepts) -> bool {
    match (&node.value, accepts) {
        (TomlValue::Text(_), Accepts::Either(all)) => all.iter().any(|a| fits(node, a)),
        (TomlValue::Text(text), Accepts::Words(_)) => !numeric(text),
        (TomlValue::Text(_), Accepts::Overhead) => true, // "uniform …" begins with a word
        (TomlValue::Text(text), _) => quantities::quantity(accepts) && numeric(text),
        (TomlValue::Whole(_) | TomlValue::Number(_), _) => matches!(accepts, Accepts::Number { .. }),
        (TomlValue::Switch(_), _) => matches!(accepts, Accepts::Switch),
        (TomlValue::Table(_), _) => matches!(accepts, Accepts::Table(_) | Accepts::Words(_)),
        _ => false,
    }
}

/// A word, alone or in a table with its parameters.
fn word(
    node: &Node,
    key: &str,
    words: &'static Words,
    accepts: &Accepts,
    notes: &mut Notes,
) -> Option<Values> {
    let known: Vec<&str> = words.cases.iter().map(|c| c.name).collect();
    let (chosen, entries): (&Node, &[TomlEntry]) = match &node.value {
        TomlValue::Text(_) => (node, &[]),
        TomlValue::Table(entries) => match node.get(words.tag) {
            Some(tag) => (tag, entries),
            None => {
                return refuse(
                    node,
                    key,
                    format!("needs \"{}\": one of {}", words.tag, known.join(", ")),
                    notes,
                );
            }
        },
        _ => return refuse(node, key, unwanted(accepts, node), notes),
    };
    let Some(text) = chosen.text() else {
        return refuse(chosen, key, format!("{} must be one of {}", words.tag, known.join(", ")), notes);
    };
    let Some(case) = words.cases.iter().find(|c| c.name == text) else {
        let text = clip(text);
        notes.note(chosen.origin, format!("unknown {key} \"{text}\"{}", way_out(&text, &known)));
        return None;
    };
    let as_table = Node { value: TomlValue::Table(entries.to_vec()), origin: node.origin };
    table(&as_table, case, &[words.tag], notes)
}

/// A controller of the catalogue, alone or in a table with its parameters.
fn controller(node: &Node, notes: &mut Notes) -> Option<ControllerChoice> {
    let known: Vec<&str> = entries().iter().map(|e| e.name).collect();
    let (chosen, given): (&Node, &[TomlEntry]) = match &node.value {
        TomlValue::Table(entries) => match node.get("kind") {
            Some(kind) => (kind, entries),
            None => {
                return refuse(
                    node,
                    "controller",
                    format!("needs \"kind\": one of {}", known.join(", ")),
                    notes,
                );
            }
        },
        _ => (node, &[]),
    };
    let Some(name) = chosen.text() else {
        return refuse(chosen, "controller", unwanted(&Accepts::Controller, chosen), notes);
    };
    let Some(entry) = entry(name) else {
        let name = clip(name);
        notes.note(chosen.origin, format!("unknown controller \"{name}\"{}", way_out(&name, &known)));
        return None;
    };
    let mut settings = Settings::defaults(entry.parameters);
    let keys: Vec<&str> = entry.parameters.iter().map(|p| p.name).collect();
    for entry in given.iter().filter(|e| e.key != "kind") {
        let Some(parameter) = keys.iter().position(|k| *k == entry.key) else {
            let key = clip(&entry.key);
            notes.note(
                entry.origin,
                format!("controller \"{name}\" has no parameter \"{key}\"{}", way_out(&key, &keys)),
            );
            continue;
        };
        let parameter = &parameters(name)[parameter];
        match setting(&entry.node, parameter) {
            Ok(value) => settings.set(parameter.name, value),
            Err(text) => notes.note(entry.node.origin, format!("{}: {text}", parameter.name)),
        }
    }
    Some(ControllerChoice { entry, settings })
}

fn parameters(controller: &str) -> &'static [Parameter] {
    entry(controller).map_or(&[], |entry| entry.parameters)
}

/// The value of a parameter as its number.
fn setting(node: &Node, parameter: &Parameter) -> Result<f64, String> {
    let wrong = |wanted: String| format!("wanted {wanted}, not {}", clip(&node.to_string()));
    match parameter.kind {
        Kind::Number { least, most, unit } => {
            let range = format!(
                "a number{}{}{unit}",
                super::field::bounds(least, most, false),
                if unit.is_empty() { "" } else { " " }
            );
            quantities::number(node, least, most, false).and_then(Result::ok).ok_or_else(|| wrong(range))
        }
        Kind::Whole { least, most } => {
            let accepts = Accepts::Whole { least, most };
            match single(node, &accepts) {
                Some(Ok(Value::Whole(whole))) => Ok(whole as f64),
                _ => Err(wrong(accepts.wanted())),
            }
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

    #[test]
    fn a_parameter_takes_what_its_kind_says() {
        let parameter = |kind| Parameter { name: "p", kind, default: 0.0, help: "" };
        let set = |text: &str, kind| setting(&fragment(text, SourceSpan::Line(1)), &parameter(kind));
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
