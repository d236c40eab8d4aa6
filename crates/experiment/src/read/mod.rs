//! From the text of a scenario to a [`Study`], or to all of its mistakes.
//!
//! The text becomes a tree (`tree`), `--set` and `[sweep]` alter it (`assign`), the tables of keys
//! (`fields`, written in the language of `field`) say what is read from it (`reader`, `value`), and
//! what is left is resolved (`resolve`, `net`, `schedule`, `trace`, `impair`, `flow`).

mod assign;
mod field;
mod fields;
mod flow;
mod impair;
mod mistake;
mod net;
mod profile;
mod queue;
mod reader;
mod resolve;
mod schedule;
mod trace;
mod tree;
mod value;

use std::path::Path;

use crate::Scenario;
use assign::{Axis, Target, axes, put, targets};
pub(crate) use field::described;
pub use field::{Accepts, Fallback, Field, Shape, Words};
pub use fields::SCENARIO;
pub(crate) use fields::{QUEUE, RECOVERY, SIZE_WORDS, SLOW_START, TRAFFIC_WORDS};
pub use mistake::{Mistake, Mistakes, printable};
use mistake::{Notes, Spot};
use trace::Traces;
pub use trace::check as check_trace;
use tree::{Node, Value, fragment, parse};

/// Runs of one sweep, and flows over all of them.
const MOST_RUNS: usize = 10_000;
const MOST_SWEPT_FLOWS: usize = 2_000_000;

/// A file: its scenario, and the runs of its sweep.
#[derive(Clone, Debug)]
pub struct Study {
    /// The scenario without its sweep.
    pub base: Scenario,
    /// One entry per combination of the swept values, the last key varying fastest; empty without
    /// a sweep.
    pub sweep: Vec<Variant>,
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What is set: paths of keys, and values as TOML.
    pub settings: Vec<(String, String)>,
    /// The scenario with that.
    pub scenario: Scenario,
}

impl Variant {
    /// The settings in one line.
    pub fn label(&self) -> String {
        let parts: Vec<String> =
            self.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        parts.join(", ")
    }
}

/// Reads the text of a scenario. `file` is what mistakes call it; `overrides` are paths of keys and
/// values that replace what the file says, as `--set` gives them. Traces are looked for beside `file`. An override of a swept key takes
/// it out of the sweep.
///
/// # Errors
/// All mistakes, in the order of the file.
pub fn read(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Study, Mistakes> {
    let mut notes = Notes::default();
    let study = study(text, file, overrides, &mut notes);
    match study {
        Some(study) if notes.is_empty() => Ok(study),
        _ => {
            debug_assert!(!notes.is_empty(), "what gives no scenario is a mistake");
            Err(notes.finish(file, overrides))
        }
    }
}

/// What a scenario takes from its file beside the text.
struct Home<'a> {
    stem: &'a str,
    traces: Traces,
}

fn study(text: &str, file: &str, overrides: &[(String, String)], notes: &mut Notes) -> Option<Study> {
    let mut tree = parse(text, notes)?;
    let stem = Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or("scenario");
    let home = Home { stem, traces: Traces::beside(Path::new(file)) };
    let axes = sweep(&mut tree, notes);
    let mut fixed = Vec::new();
    for (index, (key, value)) in overrides.iter().enumerate() {
        let spot = Spot::Override(index);
        match set(&mut tree, key.trim(), &fragment(value.trim(), spot)) {
            Ok(targets) => fixed.push((spot, targets)),
            Err(text) => notes.note(spot, text),
        }
    }
    let axes = free(axes, &tree, &fixed, notes);
    let base = scenario(&tree, &home, notes);
    let sweep = variants(&tree, &home, &axes, notes);
    Some(Study { base: base?, sweep })
}

/// Takes `[sweep]` out of the tree.
fn sweep(tree: &mut Node, notes: &mut Notes) -> Vec<Axis> {
    let Value::Table(entries) = &mut tree.value else { return Vec::new() };
    let Some(found) = entries.iter().position(|e| e.key == "sweep") else { return Vec::new() };
    let sweep = entries.remove(found);
    axes(&sweep.node, notes)
}

/// Sets what a path names, and says which places that were.
fn set(tree: &mut Node, path: &str, value: &Node) -> Result<Vec<Target>, String> {
    let targets = targets(tree, path)?;
    targets.iter().try_for_each(|target| put(tree, target, value))?;
    Ok(targets)
}

/// The axes that no override fixes. One that is fixed in part would undo the override silently, and
/// so would an axis do to another that sets the same.
fn free(axes: Vec<Axis>, tree: &Node, fixed: &[(Spot, Vec<Target>)], notes: &mut Notes) -> Vec<Axis> {
    let mut free = Vec::new();
    let mut seen: Vec<Target> = Vec::new();
    for axis in axes {
        let targets = match targets(tree, &axis.path) {
            Ok(targets) => targets,
            Err(text) => {
                notes.note(axis.spot, text);
                continue;
            }
        };
        if targets.iter().any(|target| seen.contains(target)) {
            notes.note(
                axis.spot,
                format!("\"{}\" sets a value that another key of the sweep also sets", axis.path),
            );
        }
        seen.extend_from_slice(&targets);
        let is_fixed = |target: &&Target| fixed.iter().any(|(_, by)| by.contains(target));
        let fixed_here = targets.iter().filter(is_fixed).count();
        if fixed_here == 0 {
            free.push(axis);
        } else if fixed_here < targets.len() {
            let by = fixed.iter().find(|(_, by)| by.iter().any(|t| targets.contains(t)));
            let spot = by.map_or(axis.spot, |(spot, _)| *spot);
            notes.note(
                spot,
                format!("[sweep] varies \"{0}\", which also sets this value; set all of \"{0}\"", axis.path),
            );
        }
    }
    free
}

/// The scenario of a tree.
fn scenario(tree: &Node, home: &Home, notes: &mut Notes) -> Option<Scenario> {
    let values = reader::table(&profile::filled(tree), &SCENARIO, &[], notes)?;
    resolve::resolve(&values, home.stem, &home.traces, notes)
}

/// The runs of a sweep.
fn variants(tree: &Node, home: &Home, axes: &[Axis], notes: &mut Notes) -> Vec<Variant> {
    let Some(first) = axes.first() else { return Vec::new() };
    let runs = axes.iter().map(|axis| axis.values.len()).try_fold(1usize, usize::checked_mul);
    let Some(runs) = runs.filter(|runs| *runs <= MOST_RUNS) else {
        notes.note(first.spot, format!("the sweep has too many runs; at most {MOST_RUNS}"));
        return Vec::new();
    };
    let mut flows = 0;
    let mut variants = Vec::new();
    for run in 0..runs {
        let mut varied = tree.clone();
        let mut settings = Vec::new();
        let mut block = runs;
        for axis in axes {
            block /= axis.values.len();
            let value = &axis.values[run / block % axis.values.len()];
            if let Err(text) = set(&mut varied, &axis.path, value) {
                notes.note(value.spot, text);
            }
            settings.push((axis.path.clone(), value.to_string()));
        }
        let mut own = Notes::default();
        if let Some(scenario) = scenario(&varied, home, &mut own) {
            flows += scenario.flows.len();
            variants.push(Variant { settings, scenario });
        }
        notes.extend(own);
        if flows > MOST_SWEPT_FLOWS {
            notes.note(
                first.spot,
                format!("the runs of the sweep have more than {MOST_SWEPT_FLOWS} flows in total"),
            );
            break;
        }
    }
    variants
}
