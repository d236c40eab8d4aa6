//! eBPF ports in the running kernel: installing, listing, watching and removing them, with complete clean-up.

mod default_scope;
mod flow_probe;
mod host_flows;
mod install;
pub mod install_store;
mod list;
mod looks;
mod loss_monitor;
mod pinned;
mod remove;
mod route;
pub mod self_test;
mod set;
mod status;
mod store_lock;
mod trial;
mod verify;
mod watch;

pub use host_flows::{Flows, host_flows};
pub use install::{Install, install};
pub use list::list;
pub use remove::{Remove, remove};
pub use set::{Set, set};
pub use status::status;
pub use trial::{Trial, trial};
pub use verify::{Verify, verify};
pub use watch::{Watch, watch};
