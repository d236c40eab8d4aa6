//! What the kernel commands and the lab share: which ports this build has, the kernel's names and capabilities, and
//! loading a port into the kernel.

pub mod capabilities;
pub mod cgroup;
pub mod congestion;
pub mod install_spec;
pub mod load;
mod object_file;
pub mod owner;
pub mod probe;
mod unit;
