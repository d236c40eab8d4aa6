//! eBPF ports in the running kernel: installing, listing, watching and removing them, with complete clean-up.

pub mod capabilities;
pub mod congestion;
mod default_scope;
mod flow_probe;
mod host_flows;
mod install;
pub mod install_spec;
pub mod install_store;
mod list;
pub mod load;
mod looks;
mod loss_monitor;
mod object_file;
mod owner;
pub mod probe;
mod remove;
mod route;
mod set;
mod status;
mod store_lock;
pub mod trial;
mod unit;
mod verify;
mod watch;

pub use host_flows::{Flows, host_flows};
pub use install::{Install, install};
pub use list::list;
pub use remove::{Remove, remove};
pub use set::{Set, set};
pub use status::status;
pub use verify::{Verify, verify};
pub use watch::{Watch, watch};
