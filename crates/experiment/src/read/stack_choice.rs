//! Reads the transport stack of a flow, which replaces its sender, its receiver and its controller.

use std::sync::Arc;

use fairhaul_cc::{ControllerChoice, OwnChoice, OwnValue, STACK};

use super::field::Accepts;
use super::mistake::{Notes, clip};
use super::parameters::own_values;
use super::quantities::unwanted;
use super::reader::{FromToml, refuse};
use super::toml_tree::{Node, TomlEntry, TomlValue};

/// A stack: a name or the path of a library, alone or in a table with its settings.
pub(crate) struct StackChoice;

impl FromToml for StackChoice {
    type Value = ControllerChoice;
    const ACCEPTS: Accepts = Accepts::Stack;

    fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<ControllerChoice> {
        let (chosen, given): (&Node, &[TomlEntry]) = match &node.value {
            TomlValue::Table(entries) => match node.get("kind") {
                Some(kind) => (kind, entries),
                None => return refuse(node, key, Self::ACCEPTS.wanted(), notes),
            },
            _ => (node, &[]),
        };
        let Some(name) = chosen.text() else {
            return refuse(chosen, key, unwanted(&Self::ACCEPTS, chosen), notes);
        };
        let own = Arc::clone(&notes.own);
        let Some(kind) = &own.stacks else {
            return refuse(chosen, key, "this program cannot load transport stacks".into(), notes);
        };
        let values = own_values(given, notes);
        let mut all = vec![(STACK.to_owned(), OwnValue::Text(name.to_owned()))];
        all.extend(values.iter().cloned());
        match kind.with(&all) {
            Ok(maker) => Some(ControllerChoice::own(OwnChoice { name: name.to_owned(), values, maker })),
            Err(text) => {
                notes.note(chosen.origin, format!("stack \"{}\": {text}", clip(name)));
                None
            }
        }
    }
}
