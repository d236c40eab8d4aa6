//! Random scenarios drawn from the reader's own tables of keys, the invariants that hold for every run, and the
//! reduction of a scenario that violates one to a small file.
//!
//! `draw` makes a scenario as a tree (`doc`) that prints as TOML, so that every failure is a file;
//! `damage` makes files that are none. `check` tests one text in this process; `judge` does so in a
//! process of its own, so that a run that never ends or takes all memory is a failure like others.

#![cfg(unix)]

pub mod check;
pub mod damage;
pub mod doc;
pub mod draw;
pub mod judge;
mod keys;
mod laws;
pub mod shrink;
mod value;
pub mod violation;
