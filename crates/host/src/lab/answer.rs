//! A run that was asked for by another process: the scenario as a text, the record in a file.

use std::fs;
use std::path::PathBuf;

use fairhaul_experiment::{Scenario, read};
use serde::Deserialize;
use serde_json::{Value, json};

use super::borrow::borrow;
use super::run::run;
use crate::error::{Context, Error, Result};
use crate::kernel::{capabilities, probe};

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The scenario, as TOML.
    text: String,
    /// What to call it in messages.
    file: String,
    /// Keys and values that were typed behind `--set`.
    overrides: Vec<(String, String)>,
    /// What `[sweep]` set for the one that is meant.
    variant: Vec<(String, String)>,
    /// In the place of the scenario's own.
    seed: u64,
    /// Where the record goes, as JSON.
    record: PathBuf,
}

/// Runs the scenario once: whether the run is to be believed.
///
/// # Errors
/// A refusal where it takes root, or what real hosts cannot do.
pub fn answer(question: &Question) -> Result<Value> {
    let scenario = question.scenario()?;
    capabilities::require()?;
    probe::kernel()?;
    capabilities::keep_needed()?;
    let borrowed = borrow(&scenario)?;
    let answer = run(&scenario, &borrowed.names)?;
    fs::write(&question.record, answer.record.to_json()).when(question.record.display())?;
    Ok(json!({ "trust": answer.trust, "kernel": probe::release() }))
}

impl Question {
    fn scenario(&self) -> Result<Scenario> {
        let study = read(&self.text, &self.file, &self.overrides)
            .map_err(|mistakes| Error::refused(mistakes.to_string()))?;
        let found = if study.sweep.is_empty() {
            Some(study.base)
        } else {
            study.sweep.into_iter().find(|one| one.settings == self.variant).map(|one| one.scenario)
        };
        let scenario =
            found.ok_or_else(|| Error::refused(format!("{}: there is no such variant", self.file)))?;
        Ok(Scenario { seed: self.seed, ..scenario })
    }
}
