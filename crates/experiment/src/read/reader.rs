//! Reads a tree by the tables of `fields`: every key, its type, its unit, its range.
//!
//! What a single value can get wrong is found here; what two values get wrong together is found
//! where they are resolved. A value that was wrong is as if left out, so that the rest is read.

use fairhaul_cc::{Choice, entries, entry};
use fairhaul_units::{Bytes, Kind, Parameter, Rate, Settings, Span};

use super::field::{Accepts, Fallback, Field, Shape, Words};
use super::mistake::{Notes, Spot, clip, way_out};
use super::tree::{Entry, Node, Value, fragment};
use super::value::{self, Asked, RoundTrips, numeric, unwanted};
use crate::Start;

/// A value that was read.
#[derive(Clone, Debug)]
pub(crate) enum Got {
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
    Capacity(Asked),
    Controller(Choice),
    List(Vec<(Spot, Got)>),
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
    pub(crate) spot: Spot,
    got: Vec<(Spot, Option<Got>)>,
    given: Vec<bool>,
}

impl Values {
    /// The value of `name`; `None` where it was left out without a default, or wrong.
    pub(crate) fn get(&self, name: &str) -> Option<&Got> {
        self.got[self.index(name)].1.as_ref()
    }

    /// Where the value of `name` stands; the table's own place where it does not.
    pub(crate) fn spot(&self, name: &str) -> Spot {
        self.got[self.index(name)].0
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
                    Some(Got::$variant(value)) => Some(value.clone()),
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
    capacity: Capacity -> Asked,
    controller: Controller -> Choice,
    list: List -> Vec<(Spot, Got)>,
    table: Table -> Values,
    tables: Tables -> Vec<Values>,
}

/// Reads a table of `shape`; keys in `skip` belong to somebody else.
pub(crate) fn table(node: &Node, shape: &'static Shape, skip: &[&str], notes: &mut Notes) -> Option<Values> {
    let Value::Table(entries) = &node.value else {
        notes.note(node.spot, format!("{} must be a table, not {}", shape.name, clip(&node.to_string())));
        return None;
    };
    let known: Vec<&str> = shape.fields.iter().map(|f| f.name).collect();
    for entry in
        entries.iter().filter(|e| !known.contains(&e.key.as_str()) && !skip.contains(&e.key.as_str()))
    {
        let key = clip(&entry.key);
        notes
            .note(entry.spot, format!("\"{key}\" is not a key of {}{}", title(shape), way_out(&key, &known)));
    }
    Some(values(entries, node.spot, shape, notes))
}

/// What a shape is called in a sentence.
fn title(shape: &Shape) -> String {
    let quoted = !shape.name.contains(['[', '{', ' ']);
    if quoted { format!("\"{}\"", shape.name) } else { shape.name.to_owned() }
}

fn values(entries: &[Entry], spot: Spot, shape: &'static Shape, notes: &mut Notes) -> Values {
    let mut values = Values { shape, spot, got: Vec::new(), given: Vec::new() };
    for field in shape.fields {
        let found = entries.iter().find(|e| e.key == field.name);
        let read = found.and_then(|e| read(&e.node, field.name, &field.accepts, notes));
        if found.is_none() && matches!(field.fallback, Fallback::Required) {
            let text = format!("{} needs \"{}\": {}", title(shape), field.name, field.accepts.wanted());
            notes.note(spot, text);
        }
        let place = found.map_or(spot, |e| e.spot);
        values.got.push((place, read.or_else(|| fallback(field, spot))));
        values.given.push(found.is_some());
    }
    values
}

/// The value of a key that was left out.
fn fallback(field: &'static Field, spot: Spot) -> Option<Got> {
    let text = match (&field.fallback, &field.accepts) {
        (Fallback::Value(text), _) => text,
        (Fallback::Described, Accepts::Described(parameter)) => return Some(Got::Number(parameter.default)),
        _ => return None,
    };
    let mut notes = Notes::default();
    let got = read(&fragment(text, spot), field.name, &field.accepts, &mut notes);
    debug_assert!(notes.is_empty(), "the default of {} is one of its values", field.name);
    got
}

/// Reads one value.
fn read(node: &Node, key: &str, accepts: &'static Accepts, notes: &mut Notes) -> Option<Got> {
    match accepts {
        Accepts::Either(all) => match all.iter().find(|a| fits(node, a)) {
            Some(one) => read(node, key, one, notes),
            None => refuse(node, key, unwanted(accepts, node), notes),
        },
        Accepts::List(of) => {
            let Value::List(nodes) = &node.value else {
                return refuse(node, key, unwanted(accepts, node), notes);
            };
            if nodes.is_empty() {
                return refuse(node, key, "the list is empty".into(), notes);
            }
            let all = nodes.iter().filter_map(|n| read(n, key, of, notes).map(|got| (n.spot, got)));
            Some(Got::List(all.collect()))
        }
        Accepts::Table(shape) => table(node, shape, &[], notes).map(Got::Table),
        Accepts::Tables(shape) => {
            let Value::List(nodes) = &node.value else {
                return refuse(node, key, unwanted(accepts, node), notes);
            };
            Some(Got::Tables(nodes.iter().filter_map(|n| table(n, shape, &[], notes)).collect()))
        }
        Accepts::Words(words) => word(node, key, words, accepts, notes).map(Got::Table),
        Accepts::Controller => controller(node, notes).map(Got::Controller),
        Accepts::Described(parameter) => match setting(node, parameter) {
            Ok(value) => Some(Got::Number(value)),
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
    notes.note(node.spot, format!("{key}: {text}"));
    None
}

/// A value without parts; `None` where it is of another type.
fn single(node: &Node, accepts: &Accepts) -> Option<Result<Got, String>> {
    let text = || node.text();
    Some(match *accepts {
        Accepts::Text => Ok(Got::Text(text()?.to_owned())),
        Accepts::Name => name(text()?).map(Got::Text),
        Accepts::Span { least, most } => value::span(text()?, least, most).map(Got::Span),
        Accepts::Rate => value::rate(text()?).map(Got::Rate),
        Accepts::RateOrZero => value::rate_or_zero(text()?).map(Got::RateOrZero),
        Accepts::Size { least, most } => value::size(text()?, least, most).map(Got::Size),
        Accepts::Number { least, most, open } => value::number(node, least, most, open)?.map(Got::Number),
        Accepts::Whole { least, most } => {
            let Value::Whole(whole) = node.value else { return None };
            let inside = u64::try_from(whole).ok().filter(|n| (least..=most).contains(n));
            inside.map(Got::Whole).ok_or_else(|| format!("wanted {}, not {whole}", accepts.wanted()))
        }
        Accepts::Switch => match node.value {
            Value::Switch(switch) => Ok(Got::Switch(switch)),
            _ => return None,
        },
        Accepts::Frequency => value::frequency(text()?).map(Got::Number),
        Accepts::RoundTrips => value::round_trips(node)?.map(Got::RoundTrips),
        Accepts::Start => value::start(text()?).map(Got::Start),
        Accepts::Overhead => value::overhead(text()?).map(Got::Span),
        Accepts::Burst => value::burst(text()?).map(Got::Capacity),
        Accepts::Capacity => value::capacity(text()?).map(Got::Capacity),
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
        (Value::Text(_), Accepts::Either(all)) => all.iter().any(|a| fits(node, a)),
        (Value::Text(text), Accepts::Words(_)) => !numeric(text),
        (Value::Text(_), Accepts::Overhead) => true, // "uniform …" begins with a word
        (Value::Text(text), _) => value::quantity(accepts) && numeric(text),
        (Value::Whole(_) | Value::Number(_), _) => matches!(accepts, Accepts::Number { .. }),
        (Value::Switch(_), _) => matches!(accepts, Accepts::Switch),
        (Value::Table(_), _) => matches!(accepts, Accepts::Table(_) | Accepts::Words(_)),
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
    let (chosen, entries): (&Node, &[Entry]) = match &node.value {
        Value::Text(_) => (node, &[]),
        Value::Table(entries) => match node.get(words.tag) {
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
        notes.note(chosen.spot, format!("unknown {key} \"{text}\"{}", way_out(&text, &known)));
        return None;
    };
    let as_table = Node { value: Value::Table(entries.to_vec()), spot: node.spot };
    table(&as_table, case, &[words.tag], notes)
}

/// A controller of the catalogue, alone or in a table with its parameters.
fn controller(node: &Node, notes: &mut Notes) -> Option<Choice> {
    let known: Vec<&str> = entries().iter().map(|e| e.name).collect();
    let (chosen, given): (&Node, &[Entry]) = match &node.value {
        Value::Table(entries) => match node.get("kind") {
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
        notes.note(chosen.spot, format!("unknown controller \"{name}\"{}", way_out(&name, &known)));
        return None;
    };
    let mut settings = Settings::defaults(entry.parameters);
    let keys: Vec<&str> = entry.parameters.iter().map(|p| p.name).collect();
    for entry in given.iter().filter(|e| e.key != "kind") {
        let Some(parameter) = keys.iter().position(|k| *k == entry.key) else {
            let key = clip(&entry.key);
            notes.note(
                entry.spot,
                format!("controller \"{name}\" has no parameter \"{key}\"{}", way_out(&key, &keys)),
            );
            continue;
        };
        let parameter = &parameters(name)[parameter];
        match setting(&entry.node, parameter) {
            Ok(value) => settings.set(parameter.name, value),
            Err(text) => notes.note(entry.node.spot, format!("{}: {text}", parameter.name)),
        }
    }
    Some(Choice { entry, settings })
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
            value::number(node, least, most, false).and_then(Result::ok).ok_or_else(|| wrong(range))
        }
        Kind::Whole { least, most } => {
            let accepts = Accepts::Whole { least, most };
            match single(node, &accepts) {
                Some(Ok(Got::Whole(whole))) => Ok(whole as f64),
                _ => Err(wrong(accepts.wanted())),
            }
        }
        Kind::Switch => match node.value {
            Value::Switch(switch) => Ok(f64::from(u8::from(switch))),
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
        let set = |text: &str, kind| setting(&fragment(text, Spot::Line(1)), &parameter(kind));
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
