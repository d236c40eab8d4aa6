//! How many packets a send buffer of the kernel holds, and how it grows with the congestion window where the kernel sizes it
//! itself, without ever shrinking [LINUX, tcp_sndbuf_expand].

use fairhaul_experiment::Flow;

use super::segmentation::{packets_of_skb, segment_of_linux};

/// What a packet takes of memory beside its payload: its descriptor, and the room for its headers. By `ss -tm` of
/// Linux 6.18, 41 packets of 1448 B take 93480 B.
const OVERHEAD: u64 = 832;

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

/// How many packets a buffer of `granted` bytes holds, handed over in bursts, and at how many it is filled again [LINUX]:
/// one burst more is let in while it is not used up, and a program that waits is woken when what is free is half of what
/// is used.
pub(super) fn in_memory(granted: u64, payload: u64, burst: u64) -> (u64, u64) {
    let each = burst * payload + OVERHEAD;
    let full = granted.div_ceil(each) * burst;
    (full, (granted * 2 / 3 / each * burst).min(full - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_whole_bursts_and_is_filled_again_when_a_third_is_free() {
        assert_eq!(in_memory(128_000, 1448, 1), (57, 37));
        // Bursts of 16 take 24000 B.
        assert_eq!(in_memory(128_000, 1448, 16), (96, 48));
        assert_eq!(in_memory(2, 1448, 1), (1, 0));
    }

    /// 4 MiB are reached at a window of 911 packets of 2304 B, twice.
    #[test]
    fn a_buffer_grows_with_the_window_up_to_its_limit() {
        let mut tuning =
            SendTuning { segment: 1448, together: 45, each: 2304, size: 16_384, most: 4_194_304 };
        let sizes = [0.0, 100.0, 50.0, 910.0, 911.0].map(|cwnd| {
            tuning.expand(cwnd);
            tuning.size
        });
        assert_eq!(sizes, [46_080, 460_800, 460_800, 4_193_280, 4_194_304]);
    }
}
