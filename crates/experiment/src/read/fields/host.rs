//! The keys of the hosts of a flow.

use fairhaul_path::card::{DimDriver, MOST_LINKS, Moderation, Noise, Processor};

use super::*;
use crate::KernelRelease;

/// A socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferSpec {
    Bytes(Bytes),
    Auto,
    Unlimited,
}

either! {
    BufferSpec;
    size: Volume => BufferSpec::Bytes(size);
    word: BufferWords => word;
}

/// The words for a buffer.
pub(super) struct BufferWords;

words! {
    BufferWords => BufferSpec, "kind";
    "auto", "The kernel sizes it." => BufferSpec::Auto;
    "unlimited", "It never limits the flow." => BufferSpec::Unlimited;
}

either! {
    Moderation;
    every: Time<0, SECOND> => Moderation::Every(every);
    word: Drivers => word;
}

/// The words for the moderation of a card.
pub(super) struct Drivers;

words! {
    Drivers => Moderation, "kind";
    "ixgbe", "82599 and X540: it follows the traffic, from 10 to 126 us."
        => Moderation::Adaptive { shortest: Span::from_us(10) };
    "i40e", "X710 and XL710: it follows the traffic by the same rule, from 2 to 126 us."
        => Moderation::Adaptive { shortest: Span::from_us(2) };
    "ice", "E810: it follows the traffic by the rule of the kernel (DIM), with intervals of 4, 8, 16, 62 and 126 us."
        => Moderation::Dim(DimDriver::Ice);
    "mlx5", "ConnectX-4 Lx and later: it follows the traffic by the same rule; an interrupt when no packet has come for 2, 8, 16, 32 or 64 us, or with 256, 128, 64, 64 or 64 packets."
        => Moderation::Dim(DimDriver::Mlx5);
    "bnxt", "10 us." => Moderation::Every(Span::from_us(10));
    "virtio_net", "An interrupt for each packet." => Moderation::NONE;
}

words! {
    KernelRelease => KernelRelease, "kind";
    "5.15", "4.18 to 5.17: the size of bursts does not depend on the round trip, and half of a receive buffer is payload."
        => KernelRelease::Linux5;
    "6.1", "5.18 to 6.5: half of a receive buffer is payload." => KernelRelease::Linux6;
    "6.12", "6.6 to 6.15." => KernelRelease::Linux6_6;
    "6.18", "6.16 and later, with at least 4 GB of memory: `tcp_rmem` up to 32 MiB, and up to 4 MiB wait at a card."
        => KernelRelease::Linux6_16;
}

either! {
    Noise;
    range: Overhead => Noise::Uniform(range);
    law: LogNormalKeys => Noise::LogNormal { median: law.median.value?, p99: law.p99.value? };
}

table! {
    LogNormalKeys: "{ median = …, p99 = … }",
        "A log-normal delay, as the time until a busy host gets to what has arrived.";
    median: Time<1, SECOND> = required, "Half of the delays are shorter.";
    p99: Time<1, SECOND> = required, "One delay in a hundred is longer; at least the median.";
}

table! {
    ProcessorKeys: "{ per_burst = …, per_kilobyte = …, per_packet = … }",
        "The time that a host works, with a processor for each flow; without a key the cost that measurements of large \
         machines give. A burst leaves when the host has worked for it, and the card of the receiver interrupts again \
         when it has taken over what came before.";
    per_burst: Time<0, SECOND> = default("\"1.1 us\""),
        "For what passes the host as one: a burst that leaves, or packets that were merged.";
    per_kilobyte: Time<0, SECOND> = default("\"0.2 us\""), "For 1000 bytes, which are copied.";
    per_packet: Time<0, SECOND> = default("\"0.3 us\""), "For each packet that arrives.";
}

impl ProcessorKeys {
    /// The costs that it says.
    pub(crate) fn costs(&self) -> Processor {
        let (burst, kilobyte) = (self.per_burst.value, self.per_kilobyte.value);
        Processor { burst, kilobyte, packet: self.per_packet.value }
    }
}

impl BufferSpec {
    /// Its size, if the scenario sets one.
    pub(crate) fn bytes(self) -> Option<Bytes> {
        if let BufferSpec::Bytes(size) = self { Some(size) } else { None }
    }
}

table! {
    HostKeys: "[flow.host]",
        "The sender and the receiver of a flow as a kernel and its network cards make them. Segmentation offload is \
         `offload = \"auto\"`, and buffers that the kernel sizes are `send_buffer = \"auto\"` and `receive_buffer = \
         \"auto\"`, because these are keys of the flow. The engines `sim` and `linux` have all of it, except for \
         other queue disciplines and settings of the kernel, which only `linux` has; the lab refuses it. \
         [hosts.md](hosts.md) says what the simulator does.";
    gro: bool = in_words("true with `moderation`, else false"),
        "Receive offload: the receiver merges consecutive packets that arrive together, as the kernel does, and \
         acknowledges them together.";
    sender: Name = in_words("a host of its own"),
        "Name of the sender's host. Flows that name the same one share its card, with all links, and its processor; \
         their senders need the same settings.";
    line_rate: Rate = in_words("no limit"),
        "Rate of the sender's card: it splits a burst into packets, which leave one after the other at this rate.";
    links: Whole<1, { MOST_LINKS as u64 }> = default("1"),
        "Number of bonded links of the sender, each with `line_rate`, which bursts take in turn (balance-rr): packets of \
         two bursts may overtake each other.";
    moderation: Moderation = default("\"0 s\""),
        "Interrupt moderation: the least time between two interrupts of the receiver's card, which collects packets \
         until it may interrupt; or a driver, which stands for its default.";
    noise: Noise = default("\"0 s\""),
        "Random delay of each delivery to the receiver, which keeps packets in order.";
    processor: ProcessorKeys = in_words("no limit"), "What packets cost the processors of both hosts.";
    kernel: KernelRelease = in_words("\"6.12\" in the simulator, and in a kernel the one that runs"),
        "The Linux of both hosts. With the engine `linux` it must be that of `--kernel`.";
    qdisc: Qdisc = in_words("`pfifo_fast`, the kernel's own default"),
        "Queue discipline of the sender, as `tc qdisc add dev … root` takes it: `fq`, `fq_codel`, `pfifo_fast`, … \
         In the simulator `fq` has the options `horizon`, `horizon_cap` and `horizon_drop`.";
    sysctl: Sysctls = in_words("those of the kernel"),
        "Settings of the kernel at both hosts, which begin with `net.`, and their values.";
}
