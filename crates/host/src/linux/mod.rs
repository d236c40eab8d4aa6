//! The engine `linux`: Linux in simulated time.
//!
//! A program, built from a kernel's source as User-Mode Linux, runs the kernel's own code with a clock that stands still
//! while it computes. [`launch`] starts it for one run and watches it. In it, this same binary is the first process
//! ([`first_process`]), which runs the request as the lab does; packets are carried by a library in the program
//! (`crates/linux`), whose network [`SimulatedNetwork`] is.

mod calls;
mod first_process;
mod launch;
mod memory_file;
mod program;
mod shell;
mod simulated_network;

pub use calls::{LinuxCalls, compare_calls};
pub use first_process::{first_process, is_first_process};
pub use launch::{LinuxReady, LinuxRun, launch, ready};
pub(crate) use memory_file::memory_file;
pub use shell::{LinuxShell, launch_shell};
pub use simulated_network::SimulatedNetwork;
