//! The settings of the hosts of a flow: the table `host`, and buffers that the kernel sizes itself.

use std::collections::BTreeMap;

use super::fq_horizon::FqHorizon;
use super::kernel_release::KernelRelease;
use fairhaul_path::card::{Moderation, Noise, Processor, SendCard};
use fairhaul_units::Rate;

/// The host of the senders of several flows, which share its card and its processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSender {
    /// Its name.
    pub name: String,
    /// Its number among those of a scenario, from zero on.
    pub number: u32,
}

/// See the module. By default a host has none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Whether the receiver merges consecutive packets that it takes over together (receive offload).
    pub gro: bool,
    /// The host of the sender, where flows share it.
    pub sender: Option<SharedSender>,
    /// The rate at which packets leave the sender's card.
    pub line_rate: Option<Rate>,
    /// Over how many links its bursts leave in turn; `None`: one.
    pub links: Option<u8>,
    /// The least time between two interrupts of the receiver's card.
    pub moderation: Moderation,
    /// The random delay of a delivery to the receiver; order is kept.
    pub noise: Noise,
    /// What packets cost the processors of both hosts; `None`: nothing.
    pub processor: Option<Processor>,
    /// The kernel of both hosts; `None`: the one that runs, and in the simulator the default.
    pub kernel: Option<KernelRelease>,
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

/// The name of the setting of how fast bursts shrink with the round trip, and its value in Linux.
pub(super) const TSO_RTT_LOG: &str = "net.ipv4.tcp_tso_rtt_log";
const RTT_LOG: u32 = 9;

/// The first size of a receive buffer of TCP, bytes.
const FIRST_RMEM: u64 = 131_072;
/// The limits within which Linux sizes a send buffer of TCP, bytes: the first size, and the largest.
const WMEM: (u64, u64) = (16_384, 4_194_304);

impl HostSettings {
    /// The number of links of the sender's card.
    pub fn links(&self) -> u8 {
        self.links.unwrap_or(1)
    }

    /// The card of the sender.
    pub fn send_card(&self) -> SendCard {
        SendCard::new(self.line_rate, self.processor).bonded(self.links())
    }

    /// Whether the queue discipline of the sender is `fq`.
    pub fn has_fq(&self) -> bool {
        self.qdisc.as_deref().is_some_and(FqHorizon::is_fq)
    }

    /// The horizon of the sender's `fq`, where it has one.
    pub fn horizon(&self) -> FqHorizon {
        self.qdisc.as_deref().and_then(FqHorizon::of).unwrap_or_default()
    }

    /// The kernel that is simulated.
    pub fn release(&self) -> KernelRelease {
        self.kernel.unwrap_or_default()
    }

    /// The first and the largest size of a receive buffer that the kernel sizes, bytes.
    pub fn rmem(&self) -> (u64, u64) {
        self.limits(TCP_RMEM).unwrap_or((FIRST_RMEM, self.release().largest_rmem()))
    }

    /// The same of a send buffer.
    pub fn wmem(&self) -> (u64, u64) {
        self.limits(TCP_WMEM).unwrap_or(WMEM)
    }

    /// Bursts on short paths are half as long for each further 2 to that power of microseconds of round trip.
    pub fn tso_rtt_log(&self) -> u32 {
        // Zero leaves the term for short round trips out.
        let usual = if self.release().sizes_by_round_trip() { RTT_LOG } else { 0 };
        self.number(TSO_RTT_LOG).unwrap_or(usual)
    }

    /// A setting that the simulator follows and cannot read, and what it wants.
    pub(super) fn wrong_sysctl(&self) -> Option<(&'static str, &'static str)> {
        let is_wrong = |name: &&str| self.sysctls.contains_key(*name) && self.limits(name).is_none();
        let limit = [TCP_RMEM, TCP_WMEM].into_iter().find(is_wrong);
        let log = self.sysctls.contains_key(TSO_RTT_LOG) && self.number(TSO_RTT_LOG).is_none();
        limit
            .map(|name| (name, "three numbers of bytes, such as \"4096 131072 6291456\""))
            .or_else(|| log.then_some((TSO_RTT_LOG, "a number from 0 to 31")))
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.sysctls.get(name)?.trim().parse().ok().filter(|number| *number < u32::BITS)
    }

    /// The second and the third of three numbers.
    fn limits(&self, name: &str) -> Option<(u64, u64)> {
        let mut numbers = self.sysctls.get(name)?.split_whitespace().skip(1);
        let mut number = || numbers.next()?.parse().ok();
        Some((number()?, number()?))
    }
}
