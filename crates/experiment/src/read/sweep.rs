//! `[sweep]`: the keys that vary between the runs of a file, and their values.
//!
//! A sweep is a product of axes. An axis has rows, and each row sets its keys. A list, and a range with a number of
//! points, is an axis of one key. All ranges without a number of points are one axis together: each of its rows is
//! drawn at random, or from a Latin hypercube.

use fairhaul_units::Chance;

use super::mistake::{Notes, SourceSpan, clip, way_out};
use super::range::{MOST_POINTS, Range};
use super::toml_tree::{Node, TomlEntry, TomlValue};

/// A key of a sweep: its path, and where it was written.
#[derive(Clone, Debug)]
pub(super) struct SweptKey {
    pub(super) path: String,
    pub(super) origin: SourceSpan,
}

/// Keys that vary together: each row has a value for each key.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) keys: Vec<SweptKey>,
    pub(super) rows: Vec<Vec<Node>>,
}

impl Axis {
    /// The axis with those of its keys that `keep` selects, or none.
    pub(super) fn only(self, keep: &[bool]) -> Option<Axis> {
        let Axis { keys, rows } = self;
        let keys = select(keys, keep);
        if keys.is_empty() {
            return None;
        }
        Some(Axis { keys, rows: rows.into_iter().map(|row| select(row, keep)).collect() })
    }
}

fn select<T>(all: Vec<T>, keep: &[bool]) -> Vec<T> {
    all.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(item, _)| item).collect()
}

/// How the rows of drawn keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Design {
    /// Every value is drawn by itself.
    Random,
    /// The range of every key is divided into as many equal parts as there are rows, and each part is used once
    /// [MCKAY].
    Latin,
}

const DESIGNS: [(&str, Design); 2] = [("random", Design::Random), ("latin", Design::Latin)];

/// What `[sweep]` says, in the order of the file.
#[derive(Default)]
struct Sweep {
    axes: Vec<Axis>,
    drawn: Vec<(SweptKey, Drawn)>,
    /// The number of axes before the drawn keys.
    drawn_at: usize,
    points: Option<(usize, SourceSpan)>,
    design: Option<(Design, SourceSpan)>,
    seed: Option<(u64, SourceSpan)>,
}

/// From what the values of a key are drawn.
enum Drawn {
    Range(Range),
    Any(Vec<Node>),
}

/// The axes of `[sweep]`, in the order of the file. A path may stand in quotes, or as TOML's own dotted keys, which
/// make tables.
pub(super) fn axes(sweep: &Node, notes: &mut Notes) -> Vec<Axis> {
    let TomlValue::Table(entries) = &sweep.value else {
        notes.note(
            sweep.origin,
            "sweep: wanted a table of paths of keys, each with a list of values or a range",
        );
        return Vec::new();
    };
    let mut found = Sweep::default();
    for entry in entries {
        match entry.key.as_str() {
            "points" => {
                found.points = whole(entry, 1, MOST_POINTS, notes).map(|n| (n as usize, entry.origin))
            }
            "design_seed" => found.seed = whole(entry, 0, usize::MAX, notes).map(|n| (n, entry.origin)),
            "design" => found.design = design(entry, notes).map(|d| (d, entry.origin)),
            _ => found.gather("", entry, notes),
        }
    }
    found.finish(notes)
}

fn whole(entry: &TomlEntry, least: usize, most: usize, notes: &mut Notes) -> Option<u64> {
    match entry.node.value {
        TomlValue::Whole(n) if (least as i128..=most as i128).contains(&n) => Some(n as u64),
        _ => {
            let most = if most == usize::MAX { String::new() } else { format!(", at most {most}") };
            let text = format!(
                "{}: wanted a whole number from {least}{most}, not {}",
                entry.key,
                clip(&entry.node.to_string())
            );
            notes.note(entry.node.origin, text);
            None
        }
    }
}

fn design(entry: &TomlEntry, notes: &mut Notes) -> Option<Design> {
    let word = entry.node.text().unwrap_or_default();
    let known = DESIGNS.iter().find(|(name, _)| *name == word).map(|(_, design)| *design);
    if known.is_none() {
        let names = DESIGNS.map(|(name, _)| name);
        let text = format!("unknown design {}{}", clip(&entry.node.to_string()), way_out(word, &names));
        notes.note(entry.node.origin, text);
    }
    known
}

impl Sweep {
    fn gather(&mut self, prefix: &str, entry: &TomlEntry, notes: &mut Notes) {
        let path = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
        let key = SweptKey { path, origin: entry.origin };
        match &entry.node.value {
            TomlValue::Table(_) if Range::is_one(&entry.node) => self.range(key, &entry.node, notes),
            TomlValue::Table(entries) => entries.iter().for_each(|inner| self.gather(&key.path, inner, notes)),
            TomlValue::List(values) if !values.is_empty() => self.list(key, values.clone()),
            _ => notes.note(
                entry.node.origin,
                format!(
                    "\"{}\": wanted a list of values to sweep over, or a range {{ from = …, to = …, points = … }}",
                    clip(&key.path)
                ),
            ),
        }
    }

    fn range(&mut self, key: SweptKey, node: &Node, notes: &mut Notes) {
        if let Some(any) = node.get("any") {
            match (&node.value, &any.value) {
                (TomlValue::Table(entries), TomlValue::List(values))
                    if entries.len() == 1 && !values.is_empty() =>
                {
                    self.draw(key, Drawn::Any(values.clone()));
                }
                _ => {
                    let text = format!(
                        "\"{}\": wanted {{ any = [a list of values] }} and no other key",
                        clip(&key.path)
                    );
                    notes.note(node.origin, text);
                }
            }
            return;
        }
        match Range::read(node) {
            Err((origin, text)) => notes.note(origin, format!("\"{}\": {text}", clip(&key.path))),
            Ok((range, Some(points))) => self.list(key, range.points(points)),
            Ok((range, None)) => self.draw(key, Drawn::Range(range)),
        }
    }

    fn list(&mut self, key: SweptKey, values: Vec<Node>) {
        self.axes.push(Axis { keys: vec![key], rows: values.into_iter().map(|value| vec![value]).collect() });
    }

    fn draw(&mut self, key: SweptKey, from: Drawn) {
        if self.drawn.is_empty() {
            self.drawn_at = self.axes.len();
        }
        self.drawn.push((key, from));
    }

    fn finish(mut self, notes: &mut Notes) -> Vec<Axis> {
        let Some((first, _)) = self.drawn.first() else {
            let unused = [
                ("points", self.points.map(|(_, origin)| origin)),
                ("design", self.design.map(|(_, origin)| origin)),
                ("design_seed", self.seed.map(|(_, origin)| origin)),
            ];
            for (name, origin) in unused {
                if let Some(origin) = origin {
                    let text = format!(
                        "{name} is for keys whose values are drawn, {{ from = …, to = … }} or {{ any = […] }}, and the sweep has none"
                    );
                    notes.note(origin, text);
                }
            }
            return self.axes;
        };
        let Some((points, _)) = self.points else {
            let text = format!(
                "\"{}\": the range has no number of points; write points = N within it for N values of this key alone, or in [sweep] to draw N settings of all such keys",
                clip(&first.path)
            );
            notes.note(first.origin, text);
            return self.axes;
        };
        let design = self.design.map_or(Design::Latin, |(design, _)| design);
        let seed = self.seed.map_or(1, |(seed, _)| seed);
        let columns: Vec<Vec<Node>> = self
            .drawn
            .iter()
            .map(|(key, from)| {
                positions(design, points, seed, &key.path).into_iter().map(|at| from.value(at)).collect()
            })
            .collect();
        let rows =
            (0..points).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect();
        let keys = self.drawn.into_iter().map(|(key, _)| key).collect();
        self.axes.insert(self.drawn_at, Axis { keys, rows });
        self.axes
    }
}

impl Drawn {
    /// The value at a position from 0 to 1.
    fn value(&self, at: f64) -> Node {
        match self {
            Drawn::Range(range) => range.value(at),
            Drawn::Any(values) => {
                let index = (at * values.len() as f64) as usize;
                values[index.min(values.len() - 1)].clone()
            }
        }
    }
}

/// Where in its range the values of a key lie, from 0 to 1. Every key has a random stream of its own, so that
/// another key in the sweep changes none of them.
fn positions(design: Design, points: usize, seed: u64, path: &str) -> Vec<f64> {
    let mut chance = Chance::stream(seed, path, 0);
    let mut parts: Vec<usize> = (0..points).collect();
    match design {
        Design::Random => parts.into_iter().map(|_| chance.unit()).collect(),
        Design::Latin => {
            for last in (1..points).rev() {
                parts.swap(last, chance.below(last as u64 + 1) as usize);
            }
            parts.into_iter().map(|part| (part as f64 + chance.unit()) / points as f64).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latin_hypercube_uses_every_part_of_every_range_once() {
        for path in ["bottleneck.rate", "flow.F*.rtt"] {
            let mut parts: Vec<usize> =
                positions(Design::Latin, 200, 7, path).into_iter().map(|at| (at * 200.0) as usize).collect();
            assert_ne!(parts, (0..200).collect::<Vec<_>>(), "they are in a random order");
            parts.sort_unstable();
            assert_eq!(parts, (0..200).collect::<Vec<_>>());
        }
        assert_ne!(positions(Design::Latin, 9, 7, "a"), positions(Design::Latin, 9, 7, "b"));
        assert_eq!(positions(Design::Random, 9, 7, "a"), positions(Design::Random, 9, 7, "a"));
        assert_ne!(positions(Design::Random, 9, 7, "a"), positions(Design::Random, 9, 8, "a"));
    }
}
