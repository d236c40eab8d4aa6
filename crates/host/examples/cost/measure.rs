//! Decides what is measured.
//!
//! The speed of a machine drifts by more than the costs differ, so every measurement is compared with `cubic` right
//! before and right after it.

use fairhaul_host::error::{Error, Result};
use fairhaul_host::ports::{capabilities, probe};
use fairhaul_host::steps::Steps;
use fairhaul_ports::MISSING;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{acknowledgements, direct_link, paced, path};

#[derive(Debug, Deserialize)]
struct Envelope {
    request: Request,
}

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Request {
    /// Rounds of acknowledgements, of some seconds each.
    rounds: u32,
    /// How long the throughput of each flow over the path is measured, after its start; 0 leaves the path out.
    seconds: u32,
    /// How long each paced flow is measured, after its start; 0 leaves them out.
    paced_seconds: u32,
}

impl Default for Request {
    fn default() -> Request {
        Request { rounds: 7, seconds: 8, paced_seconds: 8 }
    }
}

/// Measures all ports, under names that no connection uses, and removes them.
pub fn answer(text: &str) -> Result<Value> {
    let Envelope { request } =
        serde_json::from_str(text).map_err(|error| Error::refused(format!("the request: {error}")))?;
    if request.rounds == 0 {
        return Err(Error::refused("wanted at least one round"));
    }
    if let Some(reason) = MISSING {
        return Err(Error::refused(format!("this build contains no eBPF ports: {reason}")));
    }
    probe::require()?;
    capabilities::keep_needed()?;
    let steps = Steps::new(false);
    let acknowledgements = acknowledgements::compare(request.rounds, steps)?;
    let paced =
        (request.paced_seconds > 0).then(|| paced::compare(request.paced_seconds, steps)).transpose()?;
    let path = (request.seconds > 0).then(|| path::compare(request.seconds, steps)).transpose()?;
    Ok(json!({
        "kernel": probe::release(),
        "window_packets": direct_link::WINDOW,
        "acknowledgements": acknowledgements,
        "paced": paced,
        "path": path,
    }))
}
