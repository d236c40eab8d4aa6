//! The limits of the socket buffers: what the sender may keep unacknowledged, and the receiver store.

use fairhaul_experiment::{Flow, Limit, Sockbuf};
use fairhaul_units::Bytes;

use super::program::Program;
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
    /// How the send buffer grows, where its kernel sizes it, and what the program does that fills it.
    tuning: Option<SendTuning>,
    program: Program,
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
        BufferLimits::new(full, refill, fits(flow.receive_buffer)).with_tuning(SendTuning::of(flow))
    }

    fn new(full: u64, refill: u64, window: u64) -> BufferLimits {
        let (written, end, offered) = (0, 0, u64::MAX);
        let (tuning, program) = (None, Program::IDLE);
        let mut limits = BufferLimits { full, refill, window, written, end, offered, tuning, program };
        limits.acknowledged(0);
        limits
    }

    fn with_tuning(mut self, tuning: Option<SendTuning>) -> BufferLimits {
        if let Some(tuning) = tuning {
            (self.tuning, self.program, self.written, self.end) =
                (Some(tuning), Program::new(tuning.segment()), 0, 0);
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

    /// The packet at which a block of payload begins.
    pub fn origin(&self) -> u64 {
        self.program.origin()
    }

    /// Whether the program that fills the send buffer goes on as soon as the kernel has sent what it can.
    #[inline(always)]
    pub fn is_written_to(&self) -> bool {
        self.program.runs()
    }

    /// The last packet that ends a call of the program and is not full, and the bytes that it lacks.
    #[inline(always)]
    pub fn short(&self) -> Option<(u64, u32)> {
        self.program.short()
    }

    /// Whether another packet than full ones may be sent: all of the last one is acknowledged [LINUX, tcp_minshall_check].
    pub fn may_be_short(&self, una: u64) -> bool {
        self.short().is_none_or(|(number, _)| number < una)
    }

    /// The program writes the rest of its call, whose last bytes leave at once if they `may_leave`, or what else the buffer
    /// has room for; all packets below `una` are acknowledged, and those below `next` are sent, in a number of `bursts`.
    #[inline(never)]
    pub fn write(&mut self, (una, next, bursts): (u64, u64, u64), to_end_of_call: bool, may_leave: bool) {
        let (Some(tuning), program) = (self.tuning, &mut self.program) else { return };
        program.begin(next);
        let end = program.end_of_block(tuning.largest());
        let full =
            tuning.filled(end, program.memory_if_written_to(end, (una, next, bursts), tuning.largest()));
        self.written = program.write(full, to_end_of_call, may_leave);
        self.set_end(una);
    }

    /// The receiver offers room for the packets below that number.
    #[inline(never)]
    pub fn offer(&mut self, una: u64, below: u64) {
        self.offered = if self.offered == u64::MAX { below } else { self.offered.max(below) };
        self.set_end(una);
    }

    /// The window is `cwnd` packets: a send buffer that its kernel sizes grows with it.
    #[inline(always)]
    pub fn tune(&mut self, cwnd: f64) {
        if let Some(tuning) = &mut self.tuning {
            tuning.expand(cwnd);
        }
    }

    /// Whether the kernel sizes the send buffer.
    #[inline(always)]
    pub fn tunes_send_buffer(&self) -> bool {
        self.tuning.is_some()
    }

    /// Whether the kernel sizes a buffer.
    pub fn is_tuned(&self) -> bool {
        self.tuning.is_some() || self.offered != u64::MAX
    }

    /// Which of the buffers it is that nothing more fits.
    pub fn shortage(&self) -> Limit {
        if self.end < self.written { Limit::ReceiveWindow } else { Limit::SendBuffer }
    }

    /// All packets below `una` are acknowledged, of a send buffer that has a size. Where every packet fits, that changes nothing.
    #[inline(always)]
    pub fn acknowledged(&mut self, una: u64) {
        if self.end != u64::MAX {
            self.move_to(una);
        }
    }

    /// The same where the kernel sizes the buffer, and the packets below `next` are sent, in a number of `bursts`.
    #[inline(never)]
    pub fn freed(&mut self, una: u64, next: u64, bursts: u64) {
        self.program.begin(next);
        if let Some(tuning) = &self.tuning
            && tuning.wakes(self.program.memory(una, next, bursts, tuning.largest()))
        {
            self.program.wake();
        }
        self.set_end(una);
    }

    #[inline(never)]
    fn move_to(&mut self, una: u64) {
        if self.written - una <= self.refill {
            self.written = una.saturating_add(self.full);
        }
        self.set_end(una);
    }

    fn set_end(&mut self, una: u64) {
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
        let mut limits = BufferLimits::new(57, 37, u64::MAX);
        for (una, end) in [(0, 57), (19, 57), (20, 77), (39, 77), (40, 97)] {
            limits.acknowledged(una);
            assert_eq!(limits.end(), end, "{una}");
        }
    }
}
