//! The reader: from the text of a scenario to a [`Study`], or to all of its mistakes.
//!
//! The text becomes a tree (`toml_tree`), `--set` and `[sweep]` (`sweep`, `range`) alter it (`assign`), the tables of keys
//! (`fields`, written with `macros`) become structs that are read from it (`reader`, `kinds`, `quantities`,
//! `kernel_words`, `parameters`), and `resolve` makes a scenario of their values (`link_graph`, `link_schedule`, `capacity_trace`,
//! `impairments`, `loss_rules`, `flow_spec`, `host_settings`, `expectations`). What schema and page are made from is in the language of `field`.

#[macro_use]
mod macros;

mod assign;
mod capacity_trace;
mod ecn_keys;
mod exchange;
mod expectations;
mod field;
mod fields;
mod flow_names;
mod flow_spec;
mod host_settings;
mod impairments;
mod kernel_words;
mod kinds;
mod labels;
mod laps;
mod link_graph;
mod link_schedule;
mod loss_rules;
mod mistake;
mod parameters;
mod profiles;
mod program_flow;
mod quantities;
mod queue_choice;
mod range;
mod reader;
mod resolve;
mod stack_choice;
mod stacked_flow;
mod starts;
mod sweep;
mod toml_tree;
mod trace_columns;
mod vector_file;

use std::path::Path;
use std::sync::Arc;

use fairhaul_cc::OwnKinds;

use crate::Scenario;
use assign::{Target, put, targets};
use capacity_trace::Traces;
pub use capacity_trace::check as check_trace;
pub(crate) use field::described;
pub use field::{Accepts, Fallback, Field, Shape, Words};
pub use fields::SCENARIO;
pub(crate) use fields::{QueueKeys, SizeWords, TrafficWords};
pub use mistake::{Mistake, Mistakes, printable};
use mistake::{Notes, SourceSpan};
pub(crate) use quantities::LONGEST_RUN;
pub use quantities::{Quantity, quantity};
pub use range::{RangeEnds, range_ends};
pub(crate) use reader::Choice;
use sweep::{Axis, SweptKey, axes};
use toml_tree::{Node, TomlValue, fragment, parse};

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
/// values that replace what the file says, as `--set` gives them. Traces are looked for beside `file`. An override of a
/// swept key removes it from the sweep.
///
/// # Errors
/// All mistakes, in the order of the file.
pub fn read(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Study, Mistakes> {
    read_with(text, file, overrides, Arc::default())
}

/// The same, with controllers that are known beside the catalogue.
///
/// # Errors
/// Those of [`read`].
pub fn read_with(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    own: Arc<OwnKinds>,
) -> Result<Study, Mistakes> {
    let mut notes = Notes::with(own);
    let study = study(text, file, overrides, &mut notes);
    match study {
        Some(study) if notes.is_empty() => Ok(study),
        _ => {
            debug_assert!(!notes.is_empty(), "what gives no scenario is a mistake");
            Err(notes.finish(file, overrides))
        }
    }
}

/// Reads a table as `[sweep]` takes it, and gives its settings: paths of keys, and values as TOML. What the keys are
/// is for the reader of a scenario to say.
///
/// # Errors
/// All mistakes, in the order of the text.
pub fn drawn(text: &str, file: &str) -> Result<Vec<Vec<(String, String)>>, Mistakes> {
    let mut notes = Notes::default();
    let axes = parse(text, &mut notes).map(|tree| axes(&tree, &mut notes)).unwrap_or_default();
    let runs = axes.iter().map(|axis| axis.rows.len()).try_fold(1usize, usize::checked_mul);
    let Some(runs) = runs.filter(|runs| *runs <= MOST_RUNS) else {
        notes.note(SourceSpan::Line(1), format!("the sweep has too many runs; at most {MOST_RUNS}"));
        return Err(notes.finish(file, &[]));
    };
    if !notes.is_empty() {
        return Err(notes.finish(file, &[]));
    }
    let setting = |run| {
        let set = |(key, value): (&SweptKey, &Node)| (key.path.clone(), value.to_string());
        rows_of(&axes, runs, run).flat_map(|(axis, row)| axis.keys.iter().zip(row).map(set)).collect()
    };
    Ok((0..runs).map(setting).collect())
}

/// The row of each axis in one run of a product of `runs`; the last axis varies fastest.
fn rows_of(axes: &[Axis], runs: usize, run: usize) -> impl Iterator<Item = (&Axis, &[Node])> {
    let mut block = runs;
    axes.iter().map(move |axis| {
        block /= axis.rows.len();
        (axis, axis.rows[run / block % axis.rows.len()].as_slice())
    })
}

/// What a scenario takes from its file beside the text.
struct FileContext<'a> {
    stem: &'a str,
    traces: Traces,
}

fn study(text: &str, file: &str, overrides: &[(String, String)], notes: &mut Notes) -> Option<Study> {
    let mut tree = parse(text, notes)?;
    let stem = Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or("scenario");
    let context = FileContext { stem, traces: Traces::beside(Path::new(file)) };
    let axes = sweep(&mut tree, notes);
    let mut fixed = Vec::new();
    for (index, (key, value)) in overrides.iter().enumerate() {
        let origin = SourceSpan::Override(index);
        match set(&mut tree, key.trim(), &fragment(value.trim(), origin)) {
            Ok(targets) => fixed.push((origin, targets)),
            Err(text) => notes.note(origin, text),
        }
    }
    let axes = free(axes, &tree, &fixed, notes);
    let base = scenario(&tree, &context, notes);
    let sweep = variants(&tree, &context, &axes, notes);
    Some(Study { base: base?, sweep })
}

/// Takes `[sweep]` out of the tree.
fn sweep(tree: &mut Node, notes: &mut Notes) -> Vec<Axis> {
    let TomlValue::Table(entries) = &mut tree.value else { return Vec::new() };
    let Some(index) = entries.iter().position(|e| e.key == "sweep") else { return Vec::new() };
    let sweep = entries.remove(index);
    axes(&sweep.node, notes)
}

/// Sets what a path names, and says which places that were.
fn set(tree: &mut Node, path: &str, value: &Node) -> Result<Vec<Target>, String> {
    let targets = targets(tree, path)?;
    targets.iter().try_for_each(|target| put(tree, target, value))?;
    Ok(targets)
}

/// The axes without the keys that an override fixes. One that is fixed in part would undo the override silently, and
/// so would a key do to another that sets the same.
fn free(axes: Vec<Axis>, tree: &Node, fixed: &[(SourceSpan, Vec<Target>)], notes: &mut Notes) -> Vec<Axis> {
    let mut earlier: Vec<Target> = Vec::new();
    let mut is_free = |key: &SweptKey| match targets(tree, &key.path) {
        Ok(targets) => {
            if targets.iter().any(|target| earlier.contains(target)) {
                notes.note(
                    key.origin,
                    format!("\"{}\" sets a value that another key of the sweep also sets", key.path),
                );
            }
            earlier.extend_from_slice(&targets);
            unfixed(key, &targets, fixed, notes)
        }
        Err(text) => {
            notes.note(key.origin, text);
            false
        }
    };
    axes.into_iter()
        .filter_map(|axis| {
            let keep: Vec<bool> = axis.keys.iter().map(&mut is_free).collect();
            axis.only(&keep)
        })
        .collect()
}

/// Whether no override fixes a key of the sweep, which names `targets`.
fn unfixed(
    key: &SweptKey,
    targets: &[Target],
    fixed: &[(SourceSpan, Vec<Target>)],
    notes: &mut Notes,
) -> bool {
    let is_fixed = |target: &&Target| fixed.iter().any(|(_, by)| by.contains(target));
    let fixed_here = targets.iter().filter(is_fixed).count();
    if 0 < fixed_here && fixed_here < targets.len() {
        let by = fixed.iter().find(|(_, by)| by.iter().any(|t| targets.contains(t)));
        let origin = by.map_or(key.origin, |(origin, _)| *origin);
        notes.note(
            origin,
            format!("[sweep] varies \"{0}\", which also sets this value; set all of \"{0}\"", key.path),
        );
    }
    fixed_here == 0
}

/// The scenario of a tree.
fn scenario(tree: &Node, context: &FileContext, notes: &mut Notes) -> Option<Scenario> {
    let keys = reader::table(&profiles::filled(tree), notes)?;
    resolve::resolve(&keys, context.stem, &context.traces, notes)
}

/// The runs of a sweep.
fn variants(tree: &Node, context: &FileContext, axes: &[Axis], notes: &mut Notes) -> Vec<Variant> {
    let Some(first) = axes.first() else { return Vec::new() };
    let runs = axes.iter().map(|axis| axis.rows.len()).try_fold(1usize, usize::checked_mul);
    let Some(runs) = runs.filter(|runs| *runs <= MOST_RUNS) else {
        notes.note(first.keys[0].origin, format!("the sweep has too many runs; at most {MOST_RUNS}"));
        return Vec::new();
    };
    let mut flows = 0;
    let mut variants = Vec::new();
    for run in 0..runs {
        let mut varied = tree.clone();
        let mut settings = Vec::new();
        for (axis, row) in rows_of(axes, runs, run) {
            for (key, value) in axis.keys.iter().zip(row) {
                if let Err(text) = set(&mut varied, &key.path, value) {
                    notes.note(value.origin, text);
                }
                settings.push((key.path.clone(), value.to_string()));
            }
        }
        let mut own = Notes::with(Arc::clone(&notes.own));
        if let Some(scenario) = scenario(&varied, context, &mut own) {
            flows += scenario.flows.len();
            variants.push(Variant { settings, scenario });
        }
        notes.extend(own);
        if flows > MOST_SWEPT_FLOWS {
            notes.note(
                first.keys[0].origin,
                format!("the runs of the sweep have more than {MOST_SWEPT_FLOWS} flows in total"),
            );
            break;
        }
    }
    variants
}
