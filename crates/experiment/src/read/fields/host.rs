//! The keys of the hosts of a flow.

use super::*;

/// A socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferSpec {
    Bytes(Bytes),
    Auto,
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
    line_rate: Rate = in_words("no limit"),
        "Rate of the sender's card: it splits a burst into packets, which leave one after the other at this rate.";
    moderation: Time<0, SECOND> = default("\"0 s\""),
        "Interrupt moderation: the least time between two interrupts of the receiver's card, which collects packets \
         until it may interrupt.";
    noise: Overhead = default("\"0 s\""),
        "Random delay of each delivery to the receiver, which keeps packets in order.";
    qdisc: Qdisc = in_words("`pfifo_fast`, the kernel's own default"),
        "Queue discipline of the sender, as `tc qdisc add dev … root` takes it: `fq`, `fq_codel`, `pfifo_fast`, …";
    sysctl: Sysctls = in_words("those of the kernel"),
        "Settings of the kernel at both hosts, which begin with `net.`, and their values.";
}
