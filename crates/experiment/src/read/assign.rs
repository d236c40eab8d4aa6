//! Paths of keys, by which `--set` and `[sweep]` assign values in a tree before it is read.
//!
//! `flow.F1.controller.c` is the parameter of one flow, `flow.{F1,F2}.rtt` or `flow.F*.rtt` that of
//! several. Whether a key exists and takes the value is for the reader to say, which blames the
//! option or the line that brought it.

use super::mistake::{clip, way_out};
use super::program_flow::make_room;
use super::toml_tree::{Node, TomlEntry, TomlValue};

/// The deepest path of a scenario has five keys (`flow.F1.traffic.size.mean`).
const DEEPEST: usize = 8;
/// Keys whose value may be a word alone; a parameter behind it makes it a table.
const WORDS: &[(&str, &str)] = &[
    ("controller", "kind"),
    ("stack", "kind"),
    ("recovery", "kind"),
    ("slow_start", "kind"),
    ("traffic", "kind"),
    ("queue", "kind"),
    ("size", "law"),
];
/// Arrays of tables, whose entries a path names.
const NAMED: &[&str] = &["flow", "node", "link"];

/// One step into a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathStep {
    /// A key of a table.
    Key(String),
    /// An entry of a list.
    Index(usize),
}

/// A place in a tree.
pub(super) type Target = Vec<PathStep>;

/// The places that a path names, or a phrase that says why there are none.
pub(super) fn targets(tree: &Node, path: &str) -> Result<Vec<Target>, String> {
    let steps = split(path)?;
    let key = |step: &str| PathStep::Key(step.to_owned());
    let Some(&list) = NAMED.iter().find(|list| **list == steps[0]) else {
        return match steps[0] {
            "sweep" => Err("[sweep] cannot be set".into()),
            _ => Ok(vec![steps.iter().map(|s| key(s)).collect()]),
        };
    };
    if steps.len() < 3 {
        return Err(format!("\"{}\" is not a complete path; write {list}.NAME.key", clip(path)));
    }
    let Some(TomlValue::List(nodes)) = tree.get(list).map(|n| &n.value) else {
        return Err(format!("the scenario has no [[{list}]]"));
    };
    let names: Vec<Option<String>> = nodes.iter().map(name).collect();
    let hits = names.iter().enumerate().filter(|(_, name)| {
        name.as_ref().is_some_and(|name| name == steps[1] || fast_glob::glob_match(steps[1], name))
    });
    let rest = || steps[2..].iter().map(|s| key(s));
    let targets: Vec<Target> = hits
        .map(|(index, _)| [key(list), PathStep::Index(index)].into_iter().chain(rest()).collect())
        .collect();
    if targets.is_empty() {
        let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        let wanted = clip(steps[1]);
        return Err(format!("unknown {list} \"{wanted}\"{}", way_out(&wanted, &known)));
    }
    Ok(targets)
}

/// What an entry of a list is called: its name, or that of a link without one.
fn name(node: &Node) -> Option<String> {
    let text = |key| node.get(key).and_then(Node::text);
    let ends = || Some(format!("{}-{}", text("from")?, text("to")?));
    text("name").map(str::to_owned).or_else(ends)
}

/// The steps of a path; a dot within braces separates nothing.
fn split(path: &str) -> Result<Vec<&str>, String> {
    let mut inside = false;
    let steps: Vec<&str> = path
        .split(|c: char| {
            inside = (inside || c == '{') && c != '}';
            c == '.' && !inside
        })
        .map(str::trim)
        .collect();
    if steps.iter().any(|step| step.is_empty()) {
        return Err(format!("\"{}\" is not a path of keys; wanted e.g. flow.F1.rtt", clip(path)));
    }
    if steps.len() > DEEPEST {
        return Err(format!("\"{}\" has more parts than any key of a scenario", clip(path)));
    }
    Ok(steps)
}

/// Puts `value` in a place; tables on the way are made, and a word becomes a table with its kind.
pub(super) fn put(tree: &mut Node, target: &[PathStep], value: &Node) -> Result<(), String> {
    let Some((step, rest)) = target.split_first() else {
        *tree = value.clone();
        return Ok(());
    };
    match (step, &mut tree.value) {
        (PathStep::Index(index), TomlValue::List(nodes)) => {
            if let [PathStep::Key(key)] = rest {
                make_room(&mut nodes[*index], key);
            }
            put(&mut nodes[*index], rest, value)
        }
        (PathStep::Key(key), TomlValue::Table(entries)) => {
            let entry = match entries.iter().position(|e| e.key == *key) {
                Some(index) => &mut entries[index],
                None => {
                    entries.push(TomlEntry {
                        key: key.clone(),
                        origin: value.origin,
                        node: Node::table(value.origin),
                    });
                    entries.last_mut().expect("one was pushed")
                }
            };
            if rest.is_empty() {
                entry.origin = value.origin;
            } else {
                unfold(key, &mut entry.node);
            }
            put(&mut entry.node, rest, value)
        }
        (PathStep::Key(key), _) => {
            Err(format!("\"{}\" cannot be set: {} has no keys", clip(key), clip(&tree.to_string())))
        }
        (PathStep::Index(_), _) => unreachable!("targets are taken from the tree"),
    }
}

/// Turns a word alone into its table.
fn unfold(key: &str, node: &mut Node) {
    let Some((_, tag)) = WORDS.iter().find(|(word, _)| *word == key) else { return };
    if matches!(node.value, TomlValue::Text(_)) {
        let word = node.clone();
        node.value =
            TomlValue::Table(vec![TomlEntry { key: (*tag).to_owned(), origin: word.origin, node: word }]);
    }
}
