//! Runs the unit tests in `spread.rs` of the example `cost`, which cargo only builds.
#![cfg(target_os = "linux")]

#[path = "../examples/cost/spread.rs"]
#[allow(dead_code, reason = "the example uses it")]
mod spread;
