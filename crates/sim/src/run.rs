//! The entry points of the simulator: `run` takes a scenario and returns its record.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use fairhaul_cc::Fault;
use fairhaul_experiment::{PacketTrace, Record, Scenario};

use crate::control::{Control, RunError};
use crate::engine::Engine;

/// Runs `scenario` in simulated time. The same scenario gives the same record on every machine.
///
/// # Errors
/// [`RunError::Refused`] if only kernels can run it; [`RunError::Stopped`] after [`Control::stop`]; [`RunError::Full`] where memory ran out, see
/// [`Control::limit_memory`]; [`RunError::Faulty`] where a controller cannot go on; [`RunError::Broken`] where an
/// invariant broke.
pub fn run(scenario: &Scenario, control: &Control) -> Result<Record, RunError> {
    guarded(control, || Engine::new(Arc::new(scenario.clone()), control.clone())?.run())
        .map(|(record, _)| record)
}

/// The same, with the packet trace of the flow of that index.
///
/// # Errors
/// Those of [`run`].
pub fn run_traced(
    scenario: &Scenario,
    flow: u32,
    control: &Control,
) -> Result<(Record, PacketTrace), RunError> {
    let (record, trace) =
        guarded(control, || Engine::new(Arc::new(scenario.clone()), control.clone())?.tracing(flow).run())?;
    Ok((record, trace.expect("the engine was asked to trace").close()))
}

/// Does `attempt`, part of the run behind `control`: a broken invariant becomes an error that says when. The one
/// place that catches panics, for the engine and for what is made of its record.
///
/// # Errors
/// Those of `attempt`, and [`RunError::Broken`].
pub fn guarded<T>(control: &Control, attempt: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|panic| {
        if let Some(Fault { at, what }) = panic.downcast_ref() {
            // A controller that was interrupted is not faulty.
            if control.is_stopped() {
                return Err(RunError::Stopped);
            }
            return Err(RunError::Faulty { at: at.unwrap_or(control.reached()), what: what.clone() });
        }
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(RunError::Broken { at: control.reached(), what: what.unwrap_or_else(|| "a panic".into()) })
    })
}
