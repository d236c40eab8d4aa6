//! The limits of the socket buffers: what the sender may keep unacknowledged, and the receiver store.

use fairhaul_experiment::{Flow, Limit, Sockbuf};
use fairhaul_units::Bytes;

use super::segmentation::packets_of_skb;
use super::send_tuning::{SendTuning, in_memory};

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
    /// Packets with lower numbers fit into the window that the receiver offers.
    offered: u64,
    /// From which packet on payload lies in full blocks; `None`: in those of the program's calls.
    origin: Option<u64>,
    /// How the send buffer grows, where its kernel sizes it.
    tuning: Option<SendTuning>,
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
            (Sockbuf::Linux, Some(asked)) => in_memory(2 * asked.0, payload, packets_of_skb(flow)),
            (_, buffer) => (fits(buffer), fits(buffer)),
        };
        let tuning = SendTuning::of(flow);
        let (full, refill) = tuning.map_or((full, refill), |tuning| tuning.packets());
        BufferLimits::new(full, refill, fits(flow.receive_buffer)).with_tuning(tuning)
    }

    fn new(full: u64, refill: u64, window: u64) -> BufferLimits {
        let (written, end, offered) = (0, 0, u64::MAX);
        let (origin, tuning) = (Some(0), None);
        let mut limits = BufferLimits { full, refill, window, written, end, offered, origin, tuning };
        limits.acknowledged(0, 0);
        limits
    }

    fn with_tuning(mut self, tuning: Option<SendTuning>) -> BufferLimits {
        if let Some(tuning) = tuning {
            (self.tuning, self.written) = (Some(tuning), tuning.written(self.full, self.origin));
            self.acknowledged(0, 0);
        }
        self
    }

    /// Packets with lower numbers fit.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Packets with lower numbers are handed over to the socket.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Packets with lower numbers fit into the window of the receiver; `una`: all below it are acknowledged.
    pub fn window_end(&self, una: u64) -> u64 {
        una.saturating_add(self.window).min(self.offered)
    }

    /// From which packet on payload lies in full blocks; `None`: in those of the program's calls.
    pub fn origin(&self) -> Option<u64> {
        self.origin
    }

    /// The receiver offers room for the packets below that number.
    #[inline(never)]
    pub fn offer(&mut self, una: u64, below: u64) {
        self.offered = if self.offered == u64::MAX { below } else { self.offered.max(below) };
        self.end = self.written.min(self.window_end(una));
    }

    /// The window is `cwnd` packets: a send buffer that its kernel sizes grows with it.
    #[inline(always)]
    pub fn tune(&mut self, cwnd: f64) {
        if let Some(tuning) = &mut self.tuning
            && tuning.expand(cwnd)
        {
            (self.full, self.refill) = tuning.packets();
        }
    }

    /// Whether the kernel sizes a buffer.
    pub fn is_tuned(&self) -> bool {
        self.tuning.is_some() || self.offered != u64::MAX
    }

    /// Which of the buffers it is that nothing more fits.
    pub fn shortage(&self) -> Limit {
        if self.end < self.written { Limit::ReceiveWindow } else { Limit::SendBuffer }
    }

    /// All packets below `una` are acknowledged, and the window allows those below `allowed`. Where every packet fits,
    /// that changes nothing.
    #[inline(always)]
    pub fn acknowledged(&mut self, una: u64, allowed: u64) {
        if self.end != u64::MAX {
            self.move_to(una, allowed);
        }
    }

    #[inline(never)]
    fn move_to(&mut self, una: u64, allowed: u64) {
        if self.written - una <= self.refill {
            let full = una.saturating_add(self.full);
            // What a call leaves over is sent before the next one where the window allows all of it.
            match self.origin {
                Some(_) if allowed >= full => self.origin = None,
                None if allowed < full => self.origin = Some(self.written),
                _ => {}
            }
            self.written = self.tuning.map_or(full, |tuning| tuning.written(full, self.origin));
        }
        self.end = self.written.min(self.window_end(una));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_leaves_room_as_it_is_acknowledged() {
        for (window, ends) in [(u64::MAX, [10, 11, 20]), (4, [4, 5, 14])] {
            let mut limits = BufferLimits::new(10, 10, window);
            let after = |una| {
                limits.acknowledged(una, una);
                limits.end()
            };
            assert_eq!([0, 1, 10].map(after), ends);
        }
        assert_eq!(BufferLimits::for_packets(u64::MAX).end(), u64::MAX);
    }

    /// 64 kB: 128000 B in packets of 1448 + 832 B are 56.1, so 57, and two thirds of it 37.4.
    #[test]
    fn memory_is_filled_again_once_a_third_is_free() {
        let mut limits = BufferLimits::new(57, 37, u64::MAX);
        for (una, end) in [(0, 57), (19, 57), (20, 77), (39, 77), (40, 97)] {
            limits.acknowledged(una, una);
            assert_eq!(limits.end(), end, "{una}");
        }
    }
}
