//! The program that fills a send buffer which its kernel sizes: it writes without pause, a number of bytes with each call, until
//! the buffer is full [LINUX, tcp_sendmsg_locked].
//!
//! The kernel sends what a call has left at its end, also if it fills no packet, unless a packet that was not full is
//! not acknowledged yet, or something waits at the card (tcp_push, tcp_nagle_check, tcp_should_autocork). If it cannot, the next
//! call fills the packet.

use super::segmentation::{CALL, SKB_OVERHEAD};

/// The number of a packet that is not sent.
const NEVER: u64 = u64::MAX;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Payload of a full packet, bytes.
    segment: u64,
    /// Bytes that were written.
    written: u64,
    /// A packet that has not been sent, and the bytes before it.
    first: (u64, u64),
    /// The packet at which a block begins.
    origin: u64,
    /// Whether the program writes as soon as it may, or waits for room.
    runs: bool,
    /// The last packet that is not full, and the bytes that it lacks.
    short: (u64, u32),
}

impl Program {
    /// None.
    pub const IDLE: Program = Program::new(1).waiting();

    /// One that begins to write.
    pub const fn new(segment: u64) -> Program {
        Program { segment, written: 0, first: (0, 0), origin: 0, runs: true, short: (NEVER, 0) }
    }

    const fn waiting(self) -> Program {
        Program { runs: false, ..self }
    }

    /// The packet at which a block begins.
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// Whether it goes on as soon as the kernel has sent what it can.
    #[inline(always)]
    pub fn runs(&self) -> bool {
        self.runs
    }

    /// There is room: it goes on.
    pub fn wake(&mut self) {
        self.runs = true;
    }

    /// The last packet that is not full, and the bytes that it lacks.
    #[inline(always)]
    pub fn short(&self) -> Option<(u64, u32)> {
        Some(self.short).filter(|short| short.0 != NEVER)
    }

    /// What lies in the buffer, bytes: all packets below `una` are acknowledged, and those below `next` are sent, in a number of
    /// `bursts`; the others wait in blocks of up to `largest` packets.
    pub fn memory(&self, una: u64, next: u64, bursts: u64, largest: u64) -> u64 {
        let written = self.written - self.bytes_before(next.min(self.full_packets()));
        let queued = written.div_ceil(self.segment).div_ceil(largest);
        self.written - self.bytes_before(una) + (bursts + queued) * SKB_OVERHEAD
    }

    /// The same once all packets below `end` are written.
    pub fn memory_if_written_to(&self, end: u64, sent: (u64, u64, u64), largest: u64) -> u64 {
        let (una, next, bursts) = sent;
        Program { written: self.bytes_before(end).max(self.written), ..*self }
            .memory(una, next, bursts, largest)
    }

    /// The packets below `next` are sent: if they are all, what is written from now on begins a block.
    pub fn begin(&mut self, next: u64) {
        let (short, lacks) = self.short;
        if short != NEVER && short >= self.first.0 {
            if next > short {
                self.first = (short + 1, self.bytes_before(short + 1) - u64::from(lacks));
            } else {
                self.short.0 = NEVER;
            }
        }
        if next >= self.full_packets() {
            self.origin = next;
        }
    }

    /// The first packet behind the block that is written to.
    pub fn end_of_block(&self, largest: u64) -> u64 {
        let packets = self.full_packets();
        let is_begun = self.written > self.bytes_before(packets);
        let begun = (packets + u64::from(is_begun)).saturating_sub(self.origin);
        self.origin + begun.div_ceil(largest) * largest
    }

    /// Writes until the packets below `full` are written, or to the end of a call: below which packet all is written that
    /// may leave, what the call leaves over included if it `may_leave`.
    pub fn write(&mut self, full: u64, to_end_of_call: bool, may_leave: bool) -> u64 {
        let full = self.bytes_before(full).max(self.written);
        let end_of_call = (self.written / CALL + 1) * CALL;
        self.written = if to_end_of_call { full.min(end_of_call) } else { full };
        self.runs = self.written < full;
        let packets = self.full_packets();
        let over = self.written - self.bytes_before(packets);
        if self.runs && may_leave && over > 0 {
            self.short = (packets, (self.segment - over) as u32);
            return packets + 1;
        }
        packets
    }

    /// All packets below are written and full, or sent.
    fn full_packets(&self) -> u64 {
        self.first.0 + (self.written - self.first.1) / self.segment
    }

    /// Payload of the packets below `number`, bytes. The last one that is sent and not full counts as what it is.
    fn bytes_before(&self, number: u64) -> u64 {
        let (first, bytes) = self.first;
        if number >= first {
            return bytes.saturating_add((number - first).saturating_mul(self.segment));
        }
        let lacks = if number <= self.short.0 && self.short.0 < first { self.short.1 } else { 0 };
        bytes + u64::from(lacks) - (first - number) * self.segment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 262144 B are 181 packets of 1448 B and 56 B. When they are sent as a packet of their own, the second call ends with
    /// another one, and a block begins with each call; else 524288 B are 362 packets and 112 B.
    #[test]
    fn the_rest_of_a_call_is_a_short_packet_or_part_of_the_next() {
        let mut program = Program::new(1448);
        program.begin(0);
        assert_eq!((program.write(1000, true, true), program.short()), (182, Some((181, 1392))));
        program.begin(182);
        assert_eq!((program.write(1000, true, true), program.short()), (364, Some((363, 1392))));
        assert_eq!((program.origin(), program.runs()), (182, true));
        // It was not sent, so that it is filled: 636 full packets from 364 on fill the buffer.
        program.begin(363);
        assert_eq!((program.write(1000, false, true), program.short()), (1000, None));
        assert_eq!((program.origin(), program.runs()), (363, false));
        let mut program = Program::new(1448);
        program.begin(0);
        assert_eq!((program.write(1000, true, false), program.short()), (181, None));
        program.begin(181);
        assert_eq!((program.write(1000, true, false), program.short()), (362, None));
    }

    #[test]
    fn a_program_waits_when_the_buffer_is_full() {
        let mut program = Program::new(1448);
        program.begin(0);
        assert_eq!((program.write(45, true, true), program.runs(), program.short()), (45, false, None));
        program.wake();
        program.begin(45);
        assert_eq!((program.write(90, true, true), program.origin()), (90, 45));
    }
}
