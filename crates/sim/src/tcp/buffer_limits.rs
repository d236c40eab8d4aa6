//! The limits of the socket buffers: what the sender may keep unacknowledged, and the receiver store.

use fairhaul_experiment::{Flow, Limit, Sockbuf};
use fairhaul_units::Bytes;

/// What a packet takes of memory beside its payload: its descriptor, and the room for its headers. By `ss -tm` of
/// Linux 6.18, 41 packets of 1448 B take 93480 B.
const OVERHEAD: u64 = 832;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct BufferLimits {
    /// Packets that the sender's buffer holds.
    full: u64,
    /// An application that has filled it continues to write once it holds this many or fewer.
    refill: u64,
    /// Packets that the receiver's buffer holds.
    window: u64,
    /// Packets that were written.
    written: u64,
    /// Packets with lower numbers fit.
    end: u64,
}

impl BufferLimits {
    /// Buffers of `packets` packets.
    pub fn for_packets(packets: u64) -> BufferLimits {
        BufferLimits::new(packets, packets, packets)
    }

    /// The limits of a connection of `flow` with `payload` bytes in a packet, before anything is sent.
    pub fn of(flow: &Flow, payload: u64) -> BufferLimits {
        let fits = |buffer: Option<Bytes>| buffer.map_or(u64::MAX, |b| (b.0 / payload).max(1));
        let (full, refill) = match (flow.sockbuf, flow.send_buffer) {
            (Sockbuf::Linux, Some(asked)) => in_memory(asked.0, payload, flow.offload),
            (_, buffer) => (fits(buffer), fits(buffer)),
        };
        BufferLimits::new(full, refill, fits(flow.receive_buffer))
    }

    fn new(full: u64, refill: u64, window: u64) -> BufferLimits {
        let mut limits = BufferLimits { full, refill, window, written: 0, end: 0 };
        limits.acknowledged(0);
        limits
    }

    /// Packets with lower numbers fit.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Which of the buffers it is that nothing more fits.
    pub fn shortage(&self) -> Limit {
        if self.end < self.written { Limit::ReceiveWindow } else { Limit::SendBuffer }
    }

    /// All packets below `una` are acknowledged. Where every packet fits, that changes nothing.
    #[inline(always)]
    pub fn acknowledged(&mut self, una: u64) {
        if self.end != u64::MAX {
            self.move_to(una);
        }
    }

    #[inline(never)]
    fn move_to(&mut self, una: u64) {
        if self.written - una <= self.refill {
            self.written = una.saturating_add(self.full);
        }
        self.end = self.written.min(una.saturating_add(self.window));
    }
}

/// How many packets a buffer holds for which `asked` was asked, handed over in bursts, and at how many it is filled
/// again [LINUX]: twice as much is granted, one more is let in while it is not used up, and a program that waits is woken
/// when what is free is half of what is used.
fn in_memory(asked: u64, payload: u64, burst: u64) -> (u64, u64) {
    let (granted, each) = (2 * asked, burst * payload + OVERHEAD);
    let full = granted.div_ceil(each) * burst;
    (full, (granted * 2 / 3 / each * burst).min(full - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_leaves_room_as_it_is_acknowledged() {
        for (window, ends) in [(u64::MAX, [10, 11, 20]), (4, [4, 5, 14])] {
            let mut limits = BufferLimits::new(10, 10, window);
            let after = |una| {
                limits.acknowledged(una);
                limits.end()
            };
            assert_eq!([0, 1, 10].map(after), ends);
        }
        assert_eq!(BufferLimits::for_packets(u64::MAX).end(), u64::MAX);
    }

    /// 64 kB: 128000 B in packets of 1448 + 832 B are 56.1, so 57, and two thirds of it 37.4.
    #[test]
    fn memory_is_filled_again_once_a_third_is_free() {
        assert_eq!(in_memory(64_000, 1448, 1), (57, 37));
        let mut limits = BufferLimits::new(57, 37, u64::MAX);
        for (una, end) in [(0, 57), (19, 57), (20, 77), (39, 77), (40, 97)] {
            limits.acknowledged(una);
            assert_eq!(limits.end(), end, "{una}");
        }
        // Bursts of 16 take 24000 B.
        assert_eq!(in_memory(64_000, 1448, 16), (96, 48));
        assert_eq!(in_memory(1, 1448, 1), (1, 0));
    }
}
