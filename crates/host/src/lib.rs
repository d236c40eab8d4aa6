//! Everything that needs rights of its own: eBPF ports in the running kernel, and the lab.
//!
//! All resources belong to the process (network namespaces, their devices and sockets exist as long as a thread
//! or a descriptor of the process) or are pinned where `remove --all` finds them, so that nothing is left behind,
//! however the process ends.

#![cfg(target_os = "linux")]

pub mod error;
pub mod flows;
pub mod kernel;
pub mod lab;
pub mod linux;
mod memory_limit;
pub mod namespace;
pub mod ports;
mod programs;
mod request;
mod signals;
pub mod steps;
mod sys;
mod tcp_info_reply;
mod tracing;
mod user_namespace;
pub mod variables;

pub use request::{answer, respond};
pub use sys::Inherited;
