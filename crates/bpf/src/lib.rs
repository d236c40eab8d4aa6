//! Congestion controllers as eBPF objects (`struct tcp_congestion_ops`), executed in user space.
//!
//! An object that a Linux kernel would load is loaded here as it is: its accesses to the kernel's structures are
//! relocated to sockets that exist in memory only, and its programs are interpreted with every access to memory
//! checked. [`Socket`] is one such socket; [`BpfKind`] lets the objects control flows of a simulation.

mod bounds;
mod btf;
mod code;
mod controller;
mod elf;
mod error;
mod fields;
mod kernel;
mod kind;
mod machine;
mod memory;
mod program;
mod relocation;
mod replay;
mod socket;
mod table;

pub use elf::{Elf, Variable};
pub use error::Error;
pub use kind::{BpfKind, BpfMaker};
pub use replay::{Replayed, replay};
pub use socket::{Control, Delivery, Sample, Socket};
pub use table::{NAME_BYTES, TableEntry, choose, tables};
