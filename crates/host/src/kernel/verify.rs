//! `verify`: whether this kernel takes the twins and they work in it. Nothing is installed, and what
//! is installed is left as it is.

use serde::Deserialize;
use serde_json::{Value, json};

use super::choice::Wish;
use super::{capabilities, probe, trial};
use crate::error::{Error, Result};
use crate::steps::Steps;

/// What is asked for: these twins, or all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Verify {
    twins: Vec<Wish>,
}

/// Tries each twin; the result tells of all of them, and a failure of any makes the whole fail.
pub fn verify(request: Verify) -> Result<Value> {
    let wishes = if request.twins.is_empty() { every() } else { request.twins };
    let choices = wishes.iter().map(Wish::choose).collect::<Result<Vec<_>>>()?;
    probe::require()?;
    capabilities::keep_needed()?;
    let steps = Steps::new(false);
    let mut wrong = Vec::new();
    for choice in &choices {
        let name = &choice.note.name;
        let tried = steps
            .step(format!("test {name} on an emulated path in a temporary network namespace"), || {
                trial::run(choice)
            });
        wrong.extend(tried.err().map(|error| error.to_string()));
    }
    if wrong.is_empty() {
        let names: Vec<&str> = choices.iter().map(|choice| choice.note.name.as_str()).collect();
        return Ok(json!({ "kernel": probe::release(), "works": names }));
    }
    Err(Error::failed(wrong.join("\n")))
}

fn every() -> Vec<Wish> {
    let wish =
        |object: fairhaul_twins::Object| Wish { twin: object.note.name, name: None, set: Default::default() };
    fairhaul_twins::objects().into_iter().map(wish).collect()
}
