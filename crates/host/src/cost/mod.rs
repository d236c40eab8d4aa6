//! `cost`: what the twins cost beside the kernel's own `cubic` and `reno`: processor time of an acknowledgement, and
//! the throughput of a path.
//!
//! Machines drift by more than what is to be seen, so everything is held against a `cubic` right before and after it.

mod acknowledgements;
mod path;
mod spread;
mod wire;

use fairhaul_twins::{MISSING, objects};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::kernel::choice::Wish;
use crate::kernel::load::{Loaded, load};
use crate::kernel::trial::hidden_name;
use crate::kernel::{capabilities, probe};
use crate::steps::Steps;

/// What everything is held against.
const BASE: &str = "cubic";
/// Controllers of the kernel's own that are tried as the twins are. The first tells what is noise.
const KERNELS: [&str; 2] = [BASE, "reno"];

/// What is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cost {
    /// Rounds over the wire, of some seconds each.
    rounds: u32,
    /// How long each flow is looked at on the path, after its start; 0 leaves the path out.
    seconds: u32,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost { rounds: 7, seconds: 8 }
    }
}

/// A controller that is tried.
#[derive(Debug)]
struct Tried {
    /// As people call it.
    name: String,
    /// Its name in the kernel.
    kernel_name: String,
    /// What keeps it there, where it is a twin.
    loaded: Option<Loaded>,
}

/// Tries all twins, under names that nobody knows; they are gone when this is done.
pub fn cost(request: &Cost) -> Result<Value> {
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
    let path = (request.seconds > 0).then(|| path::compare(request.seconds, steps)).transpose()?;
    Ok(json!({
        "kernel": probe::release(),
        "window_packets": wire::WINDOW,
        "acknowledgements": acknowledgements,
        "path": path,
    }))
}

/// The kernel's own and all twins, loaded anew.
fn tried() -> Result<Vec<Tried>> {
    let own = KERNELS.map(|name| Tried { name: name.into(), kernel_name: name.into(), loaded: None });
    let twins = objects().into_iter().map(|object| {
        let name = object.note.name;
        let wish = Wish { twin: name.clone(), name: Some(hidden_name()), set: Default::default() };
        let choice = wish.choose()?;
        Ok(Tried { name, loaded: Some(load(&choice)?), kernel_name: choice.name })
    });
    own.into_iter().map(Ok).chain(twins).collect()
}
