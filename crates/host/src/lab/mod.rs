//! The lab: real sockets, and an emulated path between them.
//!
//! Every emulated host ([`tun`]) is a network namespace with one [`device`], whose packets a router ([`router`])
//! carries over emulated links ([`network`]), with the queues of the simulator. A [`Layout`] describes their paths:
//! a connection has an address of its own on each of its two hosts, so a packet identifies its connection. The lab
//! is one process, and nothing is left when it ends, however it ends.

mod account;
pub mod address;
mod clean;
pub mod clock;
pub mod device;
mod event_queue;
pub mod flow_controller;
pub mod headers;
pub mod host_settings;
pub mod interface;
mod kernel_limits;
pub mod kernel_queue;
pub mod layout;
pub mod machine_load;
mod namespaced_processes;
pub mod network;
pub mod network_counts;
pub mod observe;
pub mod offload;
mod packet_numbers;
pub mod plan;
mod planned_transfers;
mod port_parameters;
pub mod processors;
pub mod program;
mod programs_of_run;
mod queued_packet;
pub mod router;
pub mod run;
pub mod run_request;
pub mod run_validity;
mod sample_source;
pub mod shell;
pub mod simulated_path;
pub mod socket;
pub mod standstill;
mod tcp_header;
pub mod tcp_info;
pub mod tcp_probe;
pub mod temporary_ports;
pub mod times;
mod traced_windows;
pub mod traffic;
pub mod tun;
mod veth;
mod xcp_option;

pub use clean::{Clean, clean};
pub use device::DeviceKind;
pub use layout::{Dumbbell, FlowPath, Layout, Mode};
pub use port_parameters::{PortParameters, port_parameters};
pub use router::{Lab, Passed};
pub use run::{RunResult, run};
pub use run_request::{Ready, RunRequest, answer, ready};
pub use shell::{Shell, shell};
