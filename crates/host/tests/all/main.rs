//! The tests of the lab and of ports in the running kernel, as one program. Each takes a lock, so that no two which need
//! the machine alone run at once.
#![cfg(target_os = "linux")]

mod common;
mod host_settings;
mod measure;
mod path;
mod same_in_the_kernel;
mod scenario;
// The unit tests of the example `cost`, which cargo only builds.
#[path = "../../examples/cost/spread.rs"]
#[allow(dead_code, reason = "the example uses it")]
mod spread;
