//! What needs root: twins in the running kernel, and the lab.
//!
//! Everything that is made here belongs to the process (network namespaces, their devices and
//! sockets live as long as a thread or a descriptor of it) or is pinned where `remove --all` finds
//! it, so that nothing is left behind whatever ends the process.

#![cfg(target_os = "linux")]

pub mod error;
pub mod flows;
pub mod kernel;
pub mod lab;
pub mod namespace;
mod nearest;
mod request;
mod signals;
pub mod steps;
mod sys;

pub use request::{answer, respond};
pub use sys::Inherited;
