//! The settings of the hosts of a flow: the table `host`, and buffers that the kernel sizes itself.

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

/// The names of the kernel's limits of socket buffers.
pub(super) const TCP_RMEM: &str = "net.ipv4.tcp_rmem";
pub(super) const TCP_WMEM: &str = "net.ipv4.tcp_wmem";

/// The limits within which Linux 6.12 sizes a socket buffer of TCP, bytes: the first size, and the largest.
const RMEM: (u64, u64) = (131_072, 6_291_456);
const WMEM: (u64, u64) = (16_384, 4_194_304);

impl HostSettings {
    /// The first and the largest size of a receive buffer that the kernel sizes, bytes.
    pub fn rmem(&self) -> (u64, u64) {
        self.limits(TCP_RMEM).unwrap_or(RMEM)
    }

    /// The same of a send buffer.
    pub fn wmem(&self) -> (u64, u64) {
        self.limits(TCP_WMEM).unwrap_or(WMEM)
    }

    /// A limit that is set and is not three numbers.
    pub(super) fn wrong_limit(&self) -> Option<&'static str> {
        let is_wrong = |name: &&str| self.sysctls.contains_key(*name) && self.limits(name).is_none();
        [TCP_RMEM, TCP_WMEM].into_iter().find(is_wrong)
    }

    /// The second and the third of three numbers.
    fn limits(&self, name: &str) -> Option<(u64, u64)> {
        let mut numbers = self.sysctls.get(name)?.split_whitespace().skip(1);
        let mut number = || numbers.next()?.parse().ok();
        Some((number()?, number()?))
    }
}
