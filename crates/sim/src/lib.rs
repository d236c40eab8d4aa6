//! Virtual time: a packet-level simulator of TCP over the links of `path`.

mod run;

pub use run::{Control, RunError, run};
