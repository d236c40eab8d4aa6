//! A send buffer that the kernel sizes itself: it grows with the congestion window, and never shrinks [LINUX,
//! tcp_sndbuf_expand].

use fairhaul_experiment::Flow;

use super::buffer_limits::in_memory;
use super::sender_config::{packets_of_skb, segment_of_linux};

/// The least window that it is sized for (TCP_INIT_CWND), and how many windows it holds.
const LEAST_WINDOW: u64 = 10;
const WINDOWS: u64 = 2;
/// What the kernel counts for a packet beside its payload: the headers of all layers (MAX_TCP_HEADER), the description of
/// its data, both before the size is rounded up to a power of two, and its descriptor.
const HEADERS: u64 = 256;
const SHARED: u64 = 320;
const DESCRIPTOR: u64 = 256;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SendTuning {
    /// Payload of a packet, and packets that are handed over together.
    segment: u64,
    together: u64,
    /// What the kernel counts for a packet, bytes.
    each: u64,
    /// The size, and the largest that it may be, bytes.
    size: u64,
    most: u64,
}

impl SendTuning {
    /// That of the sender of `flow`; `None`: its buffer has a size, or no limit.
    pub fn of(flow: &Flow) -> Option<SendTuning> {
        let host = flow.host.as_deref().filter(|host| host.tunes_send_buffer)?;
        let (first, most) = host.wmem();
        let segment = segment_of_linux(flow);
        let each = (segment + HEADERS + SHARED).next_power_of_two() + DESCRIPTOR;
        let mut tuning = SendTuning { segment, together: packets_of_skb(flow), each, size: first, most };
        tuning.expand(0.0);
        Some(tuning)
    }

    /// The window is `cwnd` packets; whether the buffer grows.
    pub fn expand(&mut self, cwnd: f64) -> bool {
        let wanted = WINDOWS * (cwnd as u64).max(LEAST_WINDOW) * self.each;
        let before = self.size;
        self.size = self.size.max(wanted.min(self.most));
        self.size > before
    }

    /// How many packets it holds, and at how many it is filled again.
    pub fn packets(&self) -> (u64, u64) {
        in_memory(self.size, self.segment, self.together)
    }
}
