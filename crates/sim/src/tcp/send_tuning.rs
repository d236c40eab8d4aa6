//! How many packets a send buffer of the kernel holds, and how it grows with the congestion window where the kernel sizes it
//! itself, without ever shrinking [LINUX, tcp_sndbuf_expand].

use fairhaul_experiment::Flow;

use super::segmentation::{Blocks, SKB_OVERHEAD};

/// The least window that it is sized for (TCP_INIT_CWND), and how many windows it holds (bbr_sndbuf_expand).
const LEAST_WINDOW: u64 = 10;
const WINDOWS: u64 = 2;
const WINDOWS_OF_BBR: u64 = 3;
/// What the kernel counts for a packet beside its payload: the headers of all layers (MAX_TCP_HEADER), the description of
/// its data, both before the size is rounded up to a power of two, and its descriptor.
const HEADERS: u64 = 256;
const SHARED: u64 = 320;
const DESCRIPTOR: u64 = 256;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct SendTuning {
    /// The blocks that it is filled with.
    blocks: Blocks,
    /// What the kernel counts for a packet, bytes.
    each: u64,
    /// How many windows it holds.
    windows: u64,
    /// The size, and the largest that it may be, bytes.
    size: u64,
    most: u64,
}

impl SendTuning {
    /// That of the sender of `flow`; `None`: its buffer has a size, or no limit.
    pub fn of(flow: &Flow) -> Option<SendTuning> {
        let host = flow.host.as_deref().filter(|host| host.tunes_send_buffer)?;
        let (first, most) = host.wmem();
        let segment = flow.payload().0;
        let each = (segment + HEADERS + SHARED).next_power_of_two() + DESCRIPTOR;
        let windows = if flow.controller.name() == "bbr" { WINDOWS_OF_BBR } else { WINDOWS };
        let mut tuning = SendTuning { blocks: Blocks::of(flow), each, windows, size: first, most };
        tuning.expand(0.0);
        Some(tuning)
    }

    /// A buffer of that many bytes, for packets of 1448 B.
    #[cfg(test)]
    pub fn of_size(size: u64) -> SendTuning {
        let blocks = Blocks::of_packets(1448, 45);
        SendTuning { blocks, each: 2304, windows: WINDOWS, size, most: 4_194_304 }
    }

    /// The window is `cwnd` packets.
    pub fn expand(&mut self, cwnd: f64) {
        let wanted = self.windows * (cwnd as u64).max(LEAST_WINDOW) * self.each;
        self.size = self.size.max(wanted.min(self.most));
    }

    /// Up to which packet a program fills it that has written to the end of a block, at packet `end`, with which `memory` bytes
    /// of it are used: another block is let in as long as it is not full [LINUX, sk_stream_memory_free].
    pub fn filled(&self, end: u64, memory: u64) -> u64 {
        let of_block = self.blocks.largest() * self.blocks.segment() + SKB_OVERHEAD;
        end.saturating_add(self.size.saturating_sub(memory).div_ceil(of_block) * self.blocks.largest())
    }

    /// Whether a program that waits is woken when `memory` bytes are used: what is free is half of that [LINUX,
    /// sk_stream_write_space].
    pub fn wakes(&self, memory: u64) -> bool {
        memory < self.size && self.size - memory >= memory / 2
    }

    /// Packets of a block.
    pub fn largest(&self) -> u64 {
        self.blocks.largest()
    }

    /// Payload of a packet, bytes.
    pub fn segment(&self) -> u64 {
        self.blocks.segment()
    }
}

/// How many packets a buffer of `granted` bytes holds, handed over in bursts, and at how many it is filled again [LINUX]:
/// one burst more is let in while it is not used up, and a program that waits is woken when what is free is half of what
/// is used.
pub(super) fn in_memory(granted: u64, payload: u64, burst: u64) -> (u64, u64) {
    let each = burst * payload + SKB_OVERHEAD;
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

    fn tuning(size: u64) -> SendTuning {
        SendTuning::of_size(size)
    }

    /// 4 MiB less 4000000 B are 194304 B, which three blocks of 65160 + 832 B fill. Two thirds of 4 MiB are 2796202.7 B.
    #[test]
    fn a_buffer_is_filled_with_whole_blocks_and_again_when_a_third_is_free() {
        let tuning = tuning(4_194_304);
        assert_eq!((tuning.filled(100, 4_000_000), tuning.filled(100, 4_194_304)), (235, 100));
        assert_eq!([2_796_202, 2_796_204].map(|memory| tuning.wakes(memory)), [true, false]);
    }

    /// 4 MiB are reached at a window of 911 packets of 2304 B, twice.
    #[test]
    fn a_buffer_grows_with_the_window_up_to_its_limit() {
        let mut tuning = tuning(16_384);
        let sizes = [0.0, 100.0, 50.0, 910.0, 911.0].map(|cwnd| {
            tuning.expand(cwnd);
            tuning.size
        });
        assert_eq!(sizes, [46_080, 460_800, 460_800, 4_193_280, 4_194_304]);
    }
}
