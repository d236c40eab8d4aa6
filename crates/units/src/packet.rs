//! The packets of a connection: data forward, acknowledgements back.
//!
//! A connection numbers its packets from zero, and every packet but the last of a transfer
//! carries a full payload. A packet holds what its header would: nothing of the sender's state.
//!
//! Consecutive packets of one size that a host hands over together, a burst of segmentation offload, or that it has
//! received and merged, may be one object.

use std::num::{NonZeroU16, NonZeroU32};

use crate::congestion_header::{CONGESTION_HEADER, CongestionHeader};
use crate::{Bytes, Time};

/// IP and TCP headers without options, as ns-2 counts them.
pub const HEADER: Bytes = Bytes(40);
/// An acknowledgement without options is a bare header.
pub const ACK_SIZE: Bytes = HEADER;
/// The option of time stamps with its padding, in each packet of a host of Linux after the two that open a connection
/// [RFC 7323, A].
pub const TIME_STAMPS: Bytes = Bytes(12);
/// All options of a packet that opens a connection, of such a host: largest segment, SACK, time stamps, scale of the window.
pub const OPENING_OPTIONS: Bytes = Bytes(20);
/// SACK blocks in one acknowledgement: what fits beside a timestamp option [RFC 2018, 3].
pub const SACK_BLOCKS: usize = 3;

// Rings of packets in flight are what a run touches most.
const _: () = assert!(size_of::<Data>() <= 40 && size_of::<Ack>() <= 64);

/// The two bits of the IP header for explicit congestion notification [RFC 3168, 5].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: a queue can only drop it.
    #[default]
    NotCapable,
    /// ECT(0): a queue may mark it instead.
    Capable,
    /// CE: a queue has marked it.
    Marked,
    /// ECT(1): the same as ECT(0), of a sender whose reduction is in proportion to marks [RFC 9331].
    CapableL4s,
}

impl Ecn {
    /// Its two bits.
    pub fn bits(self) -> u8 {
        match self {
            Ecn::NotCapable => 0,
            Ecn::CapableL4s => 1,
            Ecn::Capable => 2,
            Ecn::Marked => 3,
        }
    }

    /// What the last two bits of a byte say.
    pub fn of_bits(byte: u8) -> Ecn {
        match byte & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::CapableL4s,
            2 => Ecn::Capable,
            _ => Ecn::Marked,
        }
    }

    /// Whether a queue may mark it, and has not.
    #[inline(always)]
    pub fn is_unmarked(self) -> bool {
        matches!(self, Ecn::Capable | Ecn::CapableL4s)
    }

    /// Whether it is of an L4S queue: ECT(1), or CE, whose sender is not known [RFC 9331, 5.1].
    #[inline(always)]
    pub fn is_l4s(self) -> bool {
        matches!(self, Ecn::CapableL4s | Ecn::Marked)
    }
}

/// A data packet, or the request that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number within the connection.
    pub number: u64,
    /// When the sender stamped it [RFC 7323].
    pub stamped: Time,
    /// Size on the wire, headers included; of all packets of a burst.
    pub size: u32,
    /// How many packets this is: one, or those of a burst; none: it opens the connection and carries no data.
    pub packets: u8,
    /// Whether its number is new, and whether it left alone.
    pub sending: Sending,
    /// What queues may do to it, or have done.
    pub ecn: Ecn,
    /// CWR: the sender has reduced its window, and no echo of an earlier mark is needed.
    pub cwr: bool,
    /// What routers read and write, of a sender that asks them.
    pub congestion: Option<CongestionHeader>,
}

/// How a data packet left its sender, or several of one burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// For the first time; alone, or first in a burst of segmentation offload.
    First,
    /// For the first time, in the same burst of segmentation offload as the packet before it.
    Following,
    /// The same, and the last of its burst, which says so (PSH).
    Last,
    /// All packets of a burst, the first and the last.
    Whole,
    /// Once more.
    Again,
}

impl Sending {
    /// Whether it left in the same burst as the packet before it.
    #[inline(always)]
    pub fn follows(self) -> bool {
        matches!(self, Sending::Following | Sending::Last)
    }

    /// Whether it ends a burst of several packets.
    #[inline(always)]
    pub fn ends_burst(self) -> bool {
        matches!(self, Sending::Last | Sending::Whole)
    }

    /// That of a part of a burst which left so: `first`: it has the first of the packets; `last`: it has the last.
    fn of_part(self, first: bool, last: bool) -> Sending {
        match (self, first, last) {
            (Sending::Again, ..) => Sending::Again,
            (Sending::First | Sending::Whole, true, false) | (Sending::First, true, true) => Sending::First,
            (Sending::Whole, true, true) => Sending::Whole,
            (Sending::Whole, false, true) | (Sending::Last, _, true) => Sending::Last,
            _ => Sending::Following,
        }
    }
}

impl Data {
    /// Whether the sender has sent this number before.
    #[inline(always)]
    pub fn retransmitted(&self) -> bool {
        self.sending == Sending::Again
    }

    /// Whether this opens the connection and carries no data.
    #[inline(always)]
    pub fn opens(&self) -> bool {
        self.packets == 0
    }

    /// The number behind its last packet.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.number + u64::from(self.packets)
    }

    /// What it carries, bytes, where the headers of each of its packets have that many.
    pub fn payload(&self, headers: u32) -> u64 {
        u64::from(self.size.saturating_sub(headers * u32::from(self.packets.max(1))))
    }

    /// Size of each packet on the wire.
    pub fn packet_size(&self) -> u32 {
        self.size / u32::from(self.packets.max(1))
    }

    /// `count` packets of a burst, from the one behind the first `skipped` on.
    pub fn part(&self, skipped: u8, count: u8) -> Data {
        let (first, last) = (skipped == 0, skipped + count == self.packets);
        Data {
            number: self.number + u64::from(skipped),
            size: self.packet_size() * u32::from(count),
            packets: count,
            sending: self.sending.of_part(first, last),
            cwr: self.cwr && first,
            ..*self
        }
    }

    /// The packets of a burst, one by one.
    pub fn each(&self) -> impl Iterator<Item = Data> + use<> {
        let burst = *self;
        (0..burst.packets).map(move |skipped| burst.part(skipped, 1))
    }
}

/// Packets that arrived beyond the cumulative acknowledgement, counted from it: packet `next + from`
/// to before `next + to`. Offsets keep an acknowledgement within a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// The first packet of the block.
    pub from: u32,
    /// The first packet after it.
    pub to: u32,
}

/// What an acknowledgement says of marks where feedback is accurate [RFC 9768]: three bits of the header (ACE), and whether
/// counters of bytes follow in an option. The counters are where SACK blocks could be, with which they share the room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccurateEcn(u8);

impl AccurateEcn {
    const IS_USED: u8 = 1 << 7;
    const ACE: u8 = 7;
    const FIELDS_FROM: u32 = 3;
    const ECT1_FIRST: u8 = 1 << 5;

    /// The three bits; `None`: the connection has no accurate feedback.
    pub fn ace(self) -> Option<u8> {
        (self.0 & AccurateEcn::IS_USED != 0).then_some(self.0 & AccurateEcn::ACE)
    }

    /// That of these three bits, without counters.
    pub fn of(ace: u8) -> AccurateEcn {
        AccurateEcn(AccurateEcn::IS_USED | ace & AccurateEcn::ACE)
    }

    /// Whether counters follow.
    pub fn has_counters(self) -> bool {
        self.fields() > 0
    }

    fn fields(self) -> usize {
        usize::from(self.0 >> AccurateEcn::FIELDS_FROM & 3)
    }
}

/// Bytes that have arrived with each codepoint, by 24 bits; `None`: the option has no room for that field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounters {
    /// With ECT(0).
    pub ect0: Option<u32>,
    /// With CE.
    pub ce: Option<u32>,
    /// With ECT(1).
    pub ect1: Option<u32>,
}

/// What the congestion header of an acknowledgement says, if it has one: Reverse_Feedback, bytes/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback(i32);

impl Feedback {
    /// There is no congestion header.
    pub const NONE: Feedback = Feedback(i32::MIN);

    /// That rate; the least that an `i32` holds is one more.
    pub fn of(rate: i32) -> Feedback {
        Feedback(rate.max(-i32::MAX))
    }

    /// The rate; `None`: there is no congestion header.
    #[inline(always)]
    pub fn get(self) -> Option<i32> {
        (self != Feedback::NONE).then_some(self.0)
    }
}

impl Default for Feedback {
    fn default() -> Feedback {
        Feedback::NONE
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next packet that the receiver waits for: all before it have arrived.
    pub next: u64,
    /// The stamp of the packet that caused this acknowledgement.
    pub echo: Time,
    /// When that packet reached the receiver.
    pub arrived: Time,
    /// The latest blocks first; only the first `blocks` are meant.
    pub sack: [SackBlock; SACK_BLOCKS],
    /// How many of `sack` are meant.
    pub blocks: u8,
    /// Whether it answers the request that opens the connection.
    pub opens: bool,
    /// ECE: a marked packet has arrived, and none with CWR since.
    pub ece: bool,
    /// Accurate feedback instead of that, if the connection has it.
    pub accurate: AccurateEcn,
    /// Whether it has the options of a host of Linux, which take room.
    pub options: bool,
    /// What routers have left of the wishes of a sender that asks them.
    pub feedback: Feedback,
    /// How many packets from `next` on the receiver has room for; none: for all that may come.
    pub window: Option<NonZeroU32>,
    /// Its size on the wire, if it is a datagram of another transport stack, of which the engine knows nothing more than
    /// its number, `next`.
    pub datagram: Option<NonZeroU16>,
    /// What queues may do to it, or have done, if it is such a datagram; an acknowledgement is never ECN-capable.
    pub ecn: Ecn,
}

impl Ack {
    /// Size on the wire.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        if let Some(size) = self.datagram {
            return size.get().into();
        }
        let congestion = if self.feedback.get().is_some() { CONGESTION_HEADER } else { Bytes(0) };
        let options = if self.options { self.options_size() } else { Bytes(0) };
        (ACK_SIZE + congestion + options).0 as u32
    }

    /// The size of its options, each padded to words of 4 B [LINUX, tcp_options_write].
    fn options_size(&self) -> Bytes {
        if self.opens {
            return OPENING_OPTIONS;
        }
        let option =
            |of: usize, each: u64| if of == 0 { 0 } else { (2 + each * of as u64).next_multiple_of(4) };
        TIME_STAMPS + Bytes(option(self.blocks.into(), 8) + option(self.accurate.fields(), 3))
    }

    /// Says that the packet of that number, which caused this acknowledgement, had arrived before: by an empty block at
    /// its place before the others [RFC 2883].
    pub fn set_dsack(&mut self, number: u64) {
        self.sack.rotate_right(1);
        let place = number.wrapping_sub(self.next) as u32; // may lie before the cumulative acknowledgement
        self.sack[0] = SackBlock { from: place, to: place };
        self.blocks = (self.blocks + 1).min(SACK_BLOCKS as u8);
    }

    /// Whether the packet that caused this acknowledgement had arrived before, where the receiver
    /// says so.
    pub fn has_dsack(&self) -> bool {
        self.dsack().is_some()
    }

    /// The packet that caused this acknowledgement, where the receiver says that it had arrived before.
    pub fn dsack(&self) -> Option<u64> {
        let block = self.sacked().first().filter(|block| block.from == block.to)?;
        Some(self.next.wrapping_add_signed(i64::from(block.from.cast_signed())))
    }

    /// The same, which does not say that.
    #[must_use]
    pub fn without_dsack(mut self) -> Ack {
        if self.has_dsack() {
            self.sack.rotate_left(1);
            self.blocks -= 1;
        }
        self
    }

    /// Adds the counters of an AccECN option, as many fields as fit beside the SACK blocks: ECT(0), CE, ECT(1), or the other way
    /// round if `ect1_first`, cut from the end [RFC 9768, 3.2.3]. Nothing may be added to the blocks later.
    pub fn set_counters(&mut self, [ect0, ce, ect1]: [u32; 3], ect1_first: bool) {
        let fields = [3, 3, 2, 0][usize::from(self.blocks)];
        let order = if ect1_first { [ect1, ce, ect0] } else { [ect0, ce, ect1] };
        for (index, value) in order.into_iter().take(fields).enumerate() {
            let block = &mut self.sack[SACK_BLOCKS - 1 - index / 2];
            *(if index % 2 == 0 { &mut block.from } else { &mut block.to }) = value & 0xff_ffff;
        }
        let first = if ect1_first { AccurateEcn::ECT1_FIRST } else { 0 };
        self.accurate.0 |= (fields as u8) << AccurateEcn::FIELDS_FROM | first;
    }

    /// The counters of its AccECN option, if it has one.
    pub fn counters(&self) -> Option<EcnCounters> {
        let fields = self.accurate.fields();
        let field = |index: usize| {
            let block = &self.sack[SACK_BLOCKS - 1 - index / 2];
            (index < fields).then_some(if index.is_multiple_of(2) { block.from } else { block.to })
        };
        let [first, ce, last] = [0, 1, 2].map(field);
        let (ect0, ect1) =
            if self.accurate.0 & AccurateEcn::ECT1_FIRST == 0 { (first, last) } else { (last, first) };
        (fields > 0).then_some(EcnCounters { ect0, ce, ect1 })
    }

    /// The meant SACK blocks, the latest first.
    pub fn sacked(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.blocks)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of bare acknowledgements of Linux by its traces, headers of 20 + 20 B: time stamps are 12 B, SACK blocks 4 B and 8 B
    /// each, the request and its answer have 20 B.
    #[test]
    fn the_options_of_a_host_of_linux_take_room() {
        let ack = Ack { blocks: 2, ..Ack::default() };
        assert_eq!(ack.size(), 40);
        let stamped = Ack { options: true, ..ack };
        assert_eq!(stamped.size(), 40 + 12 + 4 + 2 * 8);
        assert_eq!(Ack { blocks: 0, feedback: Feedback::of(-5), ..stamped }.size(), 40 + 12 + 20);
        assert_eq!(Ack { blocks: 0, opens: true, ..stamped }.size(), 60);
        let mut counted = Ack { blocks: 0, accurate: AccurateEcn::of(5), ..stamped };
        counted.set_counters([1, 2, 3], true);
        assert_eq!(counted.size(), 40 + 12 + 12);
    }

    /// Of 40 bytes of options 12 are the time stamp's. Beside no block and one all three counters fit, beside two blocks two of
    /// them, beside three none [RFC 9768, 3.2.3.2].
    // Requirement: rfc9768-3.2.3-a, rfc9768-3.2.3-b, rfc9768-3.2.3.1-a, rfc9768-3.2.3.3-b
    #[test]
    fn counters_share_the_room_of_options_with_sack_blocks() {
        let counters = |blocks, ect1_first| {
            let mut ack = Ack { blocks, accurate: AccurateEcn::of(5), ..Ack::default() };
            ack.set_counters([1, 2, 0x0100_0003], ect1_first);
            (ack.accurate.ace(), ack.counters().map(|EcnCounters { ect0, ce, ect1 }| [ect0, ce, ect1]))
        };
        let all = Some([Some(1), Some(2), Some(3)]);
        assert_eq!([counters(0, false), counters(1, true)], [(Some(5), all); 2]);
        assert_eq!(counters(2, false).1, Some([Some(1), Some(2), None]));
        assert_eq!(counters(2, true).1, Some([None, Some(2), Some(3)]));
        assert_eq!(counters(3, true).1, None);
        assert_eq!((Ack::default().accurate.ace(), Ack::default().counters()), (None, None));
    }

    #[test]
    fn codepoints_have_two_bits_below_those_of_the_service() {
        let codepoints = [Ecn::NotCapable, Ecn::CapableL4s, Ecn::Capable, Ecn::Marked];
        assert_eq!(codepoints.map(Ecn::bits), [0b00, 0b01, 0b10, 0b11]);
        assert_eq!([0xfc, 0xfd, 0xfe, 0xff].map(Ecn::of_bits), codepoints);
    }
}
