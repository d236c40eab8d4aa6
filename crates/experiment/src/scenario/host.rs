//! The settings of the hosts of a flow that so far only kernels carry out: the table `host`, and buffers that the kernel
//! sizes itself.

use std::collections::BTreeMap;

use fairhaul_units::{Rate, Span};

/// See the module. By default a host has none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Whether the receiver merges consecutive packets that it takes over together (receive offload).
    pub gro: bool,
    /// The rate at which packets leave the sender's card.
    pub line_rate: Option<Rate>,
    /// How long the receiver's card collects packets before it interrupts.
    pub moderation: Span,
    /// The longest random delay of a delivery to the receiver; order is kept.
    pub noise: Span,
    /// The queue discipline of the sender, in the words of `tc`.
    pub qdisc: Option<String>,
    /// Settings of the kernel at both hosts, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Whether the kernel sizes the send buffer, within its own limits.
    pub tunes_send_buffer: bool,
    /// The same for the receive buffer.
    pub tunes_receive_buffer: bool,
}
