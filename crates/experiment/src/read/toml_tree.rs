//! TOML as a tree whose every value knows where it was written.
//!
//! The tree is our own, and small, because `--set` and `[sweep]` alter it before it is read: a
//! value that an option put there is blamed on the option, not on a line.

use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{Notes, SourceSpan};

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TomlValue {
    Text(String),
    Whole(i128),
    Number(f64),
    Switch(bool),
    Date(String),
    List(Vec<Node>),
    Table(Vec<TomlEntry>),
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: TomlValue,
    pub(crate) origin: SourceSpan,
}

/// A key, its place and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TomlEntry {
    pub(crate) key: String,
    pub(crate) origin: SourceSpan,
    pub(crate) node: Node,
}

impl Node {
    /// An empty table.
    pub(crate) fn table(origin: SourceSpan) -> Node {
        Node { value: TomlValue::Table(Vec::new()), origin }
    }

    /// The value under `key`, where this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let TomlValue::Table(entries) = &self.value else { return None };
        entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The text, where it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        if let TomlValue::Text(text) = &self.value { Some(text) } else { None }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            TomlValue::Text(text) => write!(f, "\"{text}\""),
            TomlValue::Whole(whole) => write!(f, "{whole}"),
            TomlValue::Number(number) => write!(f, "{number}"),
            TomlValue::Switch(switch) => write!(f, "{switch}"),
            TomlValue::Date(date) => f.write_str(date),
            TomlValue::List(nodes) => {
                let items: Vec<String> = nodes.iter().map(Node::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            TomlValue::Table(entries) => {
                let items: Vec<String> = entries.iter().map(|e| format!("{} = {}", e.key, e.node)).collect();
                write!(f, "{{ {} }}", items.join(", "))
            }
        }
    }
}

/// Reads a file. Where its syntax is broken, every breach is noted and there is no tree: what a
/// parser guesses behind a breach would lead to messages about text that is not in the file.
pub(crate) fn parse(text: &str, notes: &mut Notes) -> Option<Node> {
    let lines = Lines::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let line = error.span().map_or(1, |span| lines.at(span.start));
        notes.note(SourceSpan::Line(line), syntax(text, line, error.message()));
    }
    errors.is_empty().then(|| Node { value: entries(table.get_ref(), &lines), origin: SourceSpan::Line(1) })
}

/// Reads one value, as behind `--set key=` or in a table of defaults: TOML where it is TOML, else
/// a text, so that a shell's quotes need not be doubled.
pub(crate) fn fragment(text: &str, origin: SourceSpan) -> Node {
    let plain = Node { value: TomlValue::Text(text.to_owned()), origin };
    let line = format!("value = {text}");
    let Ok(table) = DeTable::parse(&line) else { return plain };
    let table = table.into_inner();
    match table.get("value") {
        // More than one key: the text held a line break and was no single value.
        Some(value) if table.len() == 1 => match convert(value, &Lines::of(&line)) {
            Node { value: TomlValue::Date(_), .. } => plain,
            mut node => {
                place(&mut node, origin);
                node
            }
        },
        _ => plain,
    }
}

/// A sentence for a breach of syntax, with a hint at the commonest cause.
fn syntax(text: &str, line: usize, message: &str) -> String {
    let source = text.lines().nth(line - 1).unwrap_or_default();
    let value = source.split_once('=').map_or("", |(_, value)| value.trim());
    let bare = value.starts_with(|c: char| c.is_ascii_digit()) && value.contains(|c: char| c.is_alphabetic());
    let hint = if bare { "; a quantity needs quotes, e.g. \"20 ms\"" } else { "" };
    format!("invalid TOML: {}{hint}", message.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn entries(table: &DeTable<'_>, lines: &Lines) -> TomlValue {
    let entry = |(key, node): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        let origin = SourceSpan::Line(lines.at(key.span().start));
        TomlEntry { key: key.get_ref().to_string(), origin, node: convert(node, lines) }
    };
    TomlValue::Table(table.iter().map(entry).collect())
}

fn convert(node: &Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let value = match node.get_ref() {
        DeValue::String(text) => TomlValue::Text(text.to_string()),
        DeValue::Integer(whole) => match i128::from_str_radix(whole.as_str(), whole.radix()) {
            Ok(whole) => TomlValue::Whole(whole),
            Err(_) => TomlValue::Number(f64::INFINITY),
        },
        DeValue::Float(number) => TomlValue::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(switch) => TomlValue::Switch(*switch),
        DeValue::Datetime(date) => TomlValue::Date(date.to_string()),
        DeValue::Array(nodes) => TomlValue::List(nodes.iter().map(|n| convert(n, lines)).collect()),
        DeValue::Table(table) => entries(table, lines),
    };
    Node { value, origin: SourceSpan::Line(lines.at(node.span().start)) }
}

/// Moves a whole tree to one place.
fn place(node: &mut Node, origin: SourceSpan) {
    node.origin = origin;
    match &mut node.value {
        TomlValue::List(nodes) => nodes.iter_mut().for_each(|n| place(n, origin)),
        TomlValue::Table(entries) => entries.iter_mut().for_each(|e| {
            e.origin = origin;
            place(&mut e.node, origin);
        }),
        _ => {}
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The line of a byte, from 1.
    fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line() {
        let tree = parse("a = 1\n[[flow]]\nb = [\n 2,\n 3]\n", &mut Notes::default()).unwrap();
        assert_eq!(tree.get("a").unwrap().origin, SourceSpan::Line(1));
        let TomlValue::List(flows) = &tree.get("flow").unwrap().value else { panic!() };
        assert_eq!(flows[0].origin, SourceSpan::Line(2));
        let TomlValue::List(numbers) = &flows[0].get("b").unwrap().value else { panic!() };
        assert_eq!(numbers[1].origin, SourceSpan::Line(5));
    }

    #[test]
    fn what_is_not_toml_behind_a_set_is_a_text() {
        let value = |text| fragment(text, SourceSpan::Override(0)).value;
        assert_eq!(value("60 s"), TomlValue::Text("60 s".into()));
        assert_eq!(value("\"60 s\""), TomlValue::Text("60 s".into()));
        assert_eq!(value("3"), TomlValue::Whole(3));
        assert_eq!(value("1\nb = 2"), TomlValue::Text("1\nb = 2".into()));
        assert_eq!(value("0x10"), TomlValue::Whole(16));
        assert!(matches!(value("{ kind = \"reno\" }"), TomlValue::Table(_)));
    }
}
