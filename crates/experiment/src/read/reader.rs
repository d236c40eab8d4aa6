//! Reads a tree by the tables of `fields`: every key, its type, its unit, its range.
//!
//! What a single value can get wrong is found here; what two values get wrong together is found
//! where they are resolved. A value that was wrong counts as missing, so that the rest is read.

use std::fmt::Display;
use std::marker::PhantomData;

use super::field::{Accepts, Field, Shape, Words};
use super::mistake::{Notes, SourceSpan, clip, way_out};
use super::quantities::{self, numeric, unwanted};
use super::toml_tree::{Node, TomlEntry, TomlValue, fragment};

/// A type of value: what a key of it accepts, and how it is read.
pub(crate) trait FromToml {
    /// What is read.
    type Value;
    /// What the key accepts.
    const ACCEPTS: Accepts;

    /// The value of `node`, which stands under `key`. `None`: it is wrong, which has been noted.
    fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<Self::Value>;
}

/// A table of keys, as `table!` makes it.
pub(crate) trait Table: FromToml<Value = Self> + Sized {
    /// Its keys.
    const SHAPE: Shape;

    /// Reads the keys.
    fn from_entries(entries: &Entries, notes: &mut Notes) -> Self;
}

/// Words to choose from, as `words!` makes them.
pub(crate) trait Choice: FromToml {
    /// The words.
    const WORDS: Words;
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// As it stands in TOML.
    pub(crate) name: &'static str,
    /// Where it stands; the place of its table if it is missing.
    pub(crate) origin: SourceSpan,
    /// Whether the user wrote it, rightly or wrongly.
    pub(crate) given: bool,
}

impl Key {
    /// Notes a mistake in its value.
    pub(crate) fn note(self, text: impl Display, notes: &mut Notes) {
        notes.note(self.origin, format!("{}: {text}", self.name));
    }
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed<T> {
    pub(crate) key: Key,
    pub(crate) value: T,
}

/// A key whose value may be missing or wrong.
pub(crate) type KeyedOption<T> = Keyed<Option<T>>;

impl<T: Copy> KeyedOption<T> {
    /// The key with its value, where it has one.
    pub(crate) fn present(&self) -> Option<Keyed<T>> {
        self.value.map(|value| Keyed { key: self.key, value })
    }
}

/// What the file has of a table.
pub(crate) struct Entries<'a> {
    pub(crate) shape: &'static Shape,
    /// Where the table stands.
    pub(crate) origin: SourceSpan,
    /// The entries that are keys of the table.
    known: Vec<&'a TomlEntry>,
}

impl<'a> Entries<'a> {
    /// The entries of a table of `shape`; those in `skip` are read elsewhere.
    fn new(
        entries: &'a [TomlEntry],
        origin: SourceSpan,
        shape: &'static Shape,
        skip: &[&str],
        notes: &mut Notes,
    ) -> Entries<'a> {
        let keys: Vec<&str> = shape.fields.iter().map(|f| f.name).collect();
        let (known, unknown): (Vec<_>, Vec<_>) = entries.iter().partition(|e| keys.contains(&e.key.as_str()));
        for entry in unknown.into_iter().filter(|e| !skip.contains(&e.key.as_str())) {
            let key = clip(&entry.key);
            let text = format!("\"{key}\" is not a key of {}{}", title(shape), way_out(&key, &keys));
            notes.note(entry.origin, text);
        }
        Entries { shape, origin, known }
    }

    /// The value of a key, as `read` takes it from its node.
    pub(crate) fn keyed<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Node) -> Option<T>,
    ) -> KeyedOption<T> {
        let entry = self.known.iter().find(|e| e.key == name);
        let origin = entry.map_or(self.origin, |e| e.origin);
        Keyed { key: Key { name, origin, given: entry.is_some() }, value: entry.and_then(|e| read(&e.node)) }
    }

    /// The value of an optional key.
    pub(crate) fn optional<T: FromToml>(
        &self,
        name: &'static str,
        notes: &mut Notes,
    ) -> KeyedOption<T::Value> {
        self.keyed(name, |node| T::read(node, name, notes))
    }

    /// The value of a required key.
    pub(crate) fn required<T: FromToml>(
        &self,
        name: &'static str,
        notes: &mut Notes,
    ) -> KeyedOption<T::Value> {
        let read = self.optional::<T>(name, notes);
        if !read.key.given {
            let text = format!("{} needs \"{name}\": {}", title(self.shape), T::ACCEPTS.wanted());
            notes.note(self.origin, text);
        }
        read
    }

    /// The value of a key, or what `toml` says.
    pub(crate) fn default<T: FromToml>(
        &self,
        name: &'static str,
        toml: &str,
        notes: &mut Notes,
    ) -> Keyed<T::Value> {
        let Keyed { key, value } = self.optional::<T>(name, notes);
        let default = || {
            let read = T::read(&fragment(toml, self.origin), name, &mut Notes::default());
            read.expect("the default of a key is one of its values")
        };
        Keyed { key, value: value.unwrap_or_else(default) }
    }
}

/// What a shape is called in a sentence.
fn title(shape: &Shape) -> String {
    let quoted = !shape.name.contains(['[', '{', ' ']);
    if quoted { format!("\"{}\"", shape.name) } else { shape.name.to_owned() }
}

/// How many fields tables have together.
pub(crate) const fn total(parts: &[&[Field]]) -> usize {
    match parts {
        [first, rest @ ..] => first.len() + total(rest),
        [] => 0,
    }
}

/// The fields of tables as those of one.
pub(crate) const fn joined<const N: usize>(parts: &[&[Field]]) -> [Field; N] {
    let mut fields = [parts[0][0]; N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut field = 0;
        while field < parts[part].len() {
            fields[at] = parts[part][field];
            (at, field) = (at + 1, field + 1);
        }
        part += 1;
    }
    assert!(at == N, "there is a place for every field");
    fields
}

/// Reads a table.
pub(crate) fn table<T: Table>(node: &Node, notes: &mut Notes) -> Option<T> {
    let TomlValue::Table(entries) = &node.value else {
        let text = format!("{} must be a table, not {}", T::SHAPE.name, clip(&node.to_string()));
        notes.note(node.origin, text);
        return None;
    };
    let entries = Entries::new(entries, node.origin, &T::SHAPE, &[], notes);
    Some(T::from_entries(&entries, notes))
}

/// Reads a word, alone or in a table with its keys: which of `words` it is, and the keys.
pub(crate) fn word<'a>(
    node: &'a Node,
    key: &str,
    words: &'static Words,
    notes: &mut Notes,
) -> Option<(usize, Entries<'a>)> {
    let known: Vec<&str> = words.cases.iter().map(|c| c.name).collect();
    let (chosen, entries): (&Node, &[TomlEntry]) = match &node.value {
        TomlValue::Text(_) => (node, &[]),
        TomlValue::Table(entries) => match node.get(words.tag) {
            Some(tag) => (tag, entries),
            None => {
                let text = format!("needs \"{}\": one of {}", words.tag, known.join(", "));
                return refuse(node, key, text, notes);
            }
        },
        _ => return refuse(node, key, unwanted(&Accepts::Words(words), node), notes),
    };
    let Some(text) = chosen.text() else {
        return refuse(chosen, key, format!("{} must be one of {}", words.tag, known.join(", ")), notes);
    };
    let Some(index) = known.iter().position(|word| *word == text) else {
        let text = clip(text);
        notes.note(chosen.origin, format!("unknown {key} \"{text}\"{}", way_out(&text, &known)));
        return None;
    };
    Some((index, Entries::new(entries, node.origin, &words.cases[index], &[words.tag], notes)))
}

/// A list, whose values are all of one type.
impl<T: FromToml> FromToml for Vec<T> {
    type Value = Vec<(SourceSpan, T::Value)>;
    const ACCEPTS: Accepts = Accepts::List(&T::ACCEPTS);

    fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<Self::Value> {
        let TomlValue::List(nodes) = &node.value else {
            return refuse(node, key, unwanted(&Self::ACCEPTS, node), notes);
        };
        if nodes.is_empty() {
            return refuse(node, key, "the list is empty".into(), notes);
        }
        Some(nodes.iter().filter_map(|n| T::read(n, key, notes).map(|value| (n.origin, value))).collect())
    }
}

/// An array of tables.
pub(crate) struct Tables<T>(PhantomData<T>);

impl<T: Table> FromToml for Tables<T> {
    type Value = Vec<T>;
    const ACCEPTS: Accepts = Accepts::Tables(&T::SHAPE);

    fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<Vec<T>> {
        let TomlValue::List(nodes) = &node.value else {
            return refuse(node, key, unwanted(&Self::ACCEPTS, node), notes);
        };
        Some(nodes.iter().filter_map(|n| table(n, notes)).collect())
    }
}

/// Notes what is wrong with the value of `key`.
pub(crate) fn refuse<T>(node: &Node, key: &str, text: String, notes: &mut Notes) -> Option<T> {
    notes.note(node.origin, format!("{key}: {text}"));
    None
}

/// Whether a value looks like one of this kind, rightly written or not.
pub(crate) fn fits(node: &Node, accepts: &Accepts) -> bool {
    match (&node.value, accepts) {
        (TomlValue::Text(text), Accepts::Words(_)) => !numeric(text),
        (TomlValue::Text(_), Accepts::Overhead) => true, // "uniform …" begins with a word
        (TomlValue::Text(text), _) => quantities::is_quantity(accepts) && numeric(text),
        (TomlValue::Whole(_) | TomlValue::Number(_), _) => matches!(accepts, Accepts::Number { .. }),
        (TomlValue::Switch(_), _) => matches!(accepts, Accepts::Switch),
        (TomlValue::Table(_), _) => matches!(accepts, Accepts::Table(_) | Accepts::Words(_)),
        _ => false,
    }
}
