//! The unit tests of the example `cost`, which cargo would build without running them.
#![cfg(target_os = "linux")]

#[path = "../examples/cost/spread.rs"]
#[allow(dead_code, reason = "the example uses it")]
mod spread;
