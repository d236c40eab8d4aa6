//! One direction of a connection: what was sent, when it was acknowledged, and what was lost.
//!
//! A transmission is lost if its data was retransmitted before it was acknowledged, unless the time stamp that the
//! acknowledgement echoes [RFC 3522], the time since the second copy, or a duplicate SACK block [RFC 2883] shows that
//! the first copy arrived.

use std::collections::{BTreeMap, VecDeque};

use crate::headers::{ACK, CE, ECE, SYN, Segment};
use crate::rows::{Acknowledgement, Fate, Transmission, merge, thin};

/// A segment that arrives this long after a later one was overtaken, and not lost: the window within which
/// Linux's RACK waits at least, and Wireshark's bound where no round-trip time is known.
const REORDERED_NS: u64 = 3_000_000;

/// An acknowledgement of a second copy that comes within this part of the smallest round-trip time is one of the first.
const TOO_EARLY: (u64, u64) = (4, 5);

/// Bounds of what is remembered of one direction.
const MOST_OUTSTANDING: usize = 1 << 18;
const MOST_LOST: usize = 1 << 16;
const MOST_ECHOES: usize = 1 << 12;

/// What most packets carry where the capture has no handshake: 1500 bytes without headers and time stamps.
const USUAL_MSS: u32 = 1448;
/// The largest payload of a packet of 1500 bytes, and of one of 9000 bytes.
const LARGEST: [u32; 2] = [1460, 8960];

/// Data that has been sent and not been acknowledged: its end, its row, and the time stamp of its header.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    end: u64,
    row: u32,
    tsval: Option<u32>,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct Sending {
    /// What was sent.
    pub transmissions: Vec<Transmission>,
    /// What the other end acknowledged.
    pub acknowledgements: Vec<Acknowledgement>,
    /// Round-trip times between an acknowledgement and the data that echoes its time stamp: when, and how long.
    pub echoes: Vec<(u64, u64)>,
    /// The largest segment that the handshake allows, without the time stamps.
    pub mss: Option<u32>,
    /// Packets of data with a mark.
    pub marked: u64,
    /// Acknowledgements that report a mark.
    pub reported: u64,
    /// Whether the data was sent with a code point of ECN.
    pub capable: bool,
    /// The least shift of the window with which what was sent fits into it.
    pub least_scale: u8,
    /// The smallest time from a transmission to its acknowledgement.
    pub least_ns: Option<u64>,
    outstanding: BTreeMap<u64, Outstanding>,
    flight: u64,
    /// The last copy that was taken to be lost, by its first byte.
    lost: BTreeMap<u64, u32>,
    /// The end of the data that was sent, and of what was acknowledged, where the capture has shown them.
    next: Option<u64>,
    acked: Option<u64>,
    window: u16,
    /// Acknowledgements by their time stamps, until data echoes them.
    stamped: VecDeque<(u32, u64)>,
}

impl Sending {
    /// Data, or the beginning of a connection, leaves.
    pub fn sent(&mut self, time_ns: u64, of: &Segment) {
        let start = self.number(of.sequence) + u64::from(of.flags & SYN != 0);
        let next = *self.next.get_or_insert(start);
        if let Some((_, echoed)) = of.options.timestamps {
            self.echo(time_ns, echoed);
        }
        // A probe of a closed window repeats the last byte.
        let probe = of.payload <= 1 && start < next;
        if of.payload == 0 || probe || start + (1 << 30) < next || start > next + (1 << 30) {
            return;
        }
        self.capable |= of.ecn != 0;
        self.marked += u64::from(of.ecn == CE);
        let packets = of.payload.div_ceil(self.segment_size(of.payload));
        let row = Transmission {
            time_ns,
            offset: start,
            payload: of.payload,
            wire: of.payload + of.overhead * packets,
            packets,
            ..Transmission::default()
        };
        let tsval = of.options.timestamps.map(|(value, _)| value);
        let end = start + u64::from(of.payload);
        if start >= next {
            if start > next {
                self.missing(time_ns, next, start, Fate::Missing);
            }
            self.first(row, tsval);
        } else if end <= next {
            self.again(row, tsval);
        } else {
            let mut known = row;
            let new = known.split_off((next - start) as u32);
            self.again(known, tsval);
            self.first(new, tsval);
        }
        self.next = Some(next.max(end));
        self.note_scale();
    }

    /// The other end acknowledges.
    pub fn acknowledged(&mut self, time_ns: u64, of: &Segment) {
        if of.flags & ACK == 0 {
            return;
        }
        // In a handshake the flag offers ECN.
        self.reported += u64::from(of.flags & (ECE | SYN) == ECE);
        let offset = self.number(of.acknowledgment);
        let next = *self.next.get_or_insert(offset);
        let acked = self.acked.unwrap_or(offset);
        if offset + (1 << 30) < next || offset > next + (1 << 30) {
            return;
        }
        // The end of a connection takes a number, too.
        if offset > next + 1 {
            self.missing(time_ns, next, offset, Fate::Uncaptured);
            self.next = Some(offset);
        }
        let echoed = of.options.timestamps.map(|(_, echo)| echo);
        self.deliver(0, offset, time_ns, echoed);
        let blocks = &of.options.sack[..of.options.sack_blocks];
        for (index, &(left, right)) in blocks.iter().enumerate() {
            let (left, right) = (self.number(left), self.number(right));
            let within = |outer: Option<&(u32, u32)>| {
                outer.is_some_and(|&(from, to)| self.number(from) <= left && right <= self.number(to))
            };
            let duplicate = index == 0 && (left < offset || within(blocks.get(1)));
            if duplicate {
                self.arrived_twice(left, right);
            } else if right > left {
                self.deliver(left, right, time_ns, None);
            }
        }
        self.acked = Some(acked.max(offset));
        if of.flags & SYN != 0 {
            return; // its window has no scale, and it acknowledges no data
        }
        self.window = of.window;
        if let Some((value, _)) = of.options.timestamps {
            self.stamp(time_ns, value);
        }
        let ahead = self.next.unwrap_or(offset).saturating_sub(offset);
        let row = Acknowledgement {
            time_ns,
            offset,
            window: of.window,
            ahead: ahead.min(u64::from(u32::MAX)) as u32,
            flight: self.flight.min(u64::from(u32::MAX)) as u32,
        };
        // Every packet of data acknowledges, too, mostly nothing new.
        if self.acknowledgements.last().is_none_or(|last| !last.says(&row)) {
            self.acknowledgements.push(row);
        }
    }

    /// The number of a byte without wrapping, near what was sent last.
    fn number(&self, sequence: u32) -> u64 {
        let near = self.next.unwrap_or((1 << 32) + u64::from(sequence));
        near.wrapping_add_signed(i64::from(sequence.wrapping_sub(near as u32) as i32))
    }

    /// The payload of each packet of `payload` bytes that the host gave to its card.
    fn segment_size(&self, payload: u32) -> u32 {
        let is_one = payload <= LARGEST[1] && !payload.is_multiple_of(USUAL_MSS);
        self.mss.unwrap_or(if payload <= LARGEST[0] || is_one { payload } else { USUAL_MSS })
    }

    fn first(&mut self, row: Transmission, tsval: Option<u32>) {
        let (start, end) = (row.offset, row.offset + u64::from(row.payload));
        let place = self.push(row);
        self.flight += end - start;
        self.outstanding.insert(start, Outstanding { end, row: place, tsval });
        if self.outstanding.len() > MOST_OUTSTANDING {
            self.forget();
        }
    }

    fn again(&mut self, row: Transmission, tsval: Option<u32>) {
        let (start, end) = (row.offset, row.offset + u64::from(row.payload));
        let open = self.take(start, end);
        let Some((&(from, _), &(_, last))) = open.first().zip(open.last()) else {
            let fate = if self.acked.is_none() { Fate::Unknown } else { Fate::Spurious };
            self.push(Transmission { again: true, fate, ..row });
            return;
        };
        let mut again = false;
        for (at, of) in open {
            let copy = &mut self.transmissions[of.row as usize];
            let late = row.time_ns.saturating_sub(copy.time_ns) > REORDERED_NS;
            match copy.fate {
                Fate::Missing if !late => copy.fate = Fate::Removed,
                Fate::Missing => again = true,
                _ => {
                    again = true;
                    copy.fate = Fate::Lost;
                    self.lost.insert(at, of.row);
                }
            }
        }
        if self.lost.len() > MOST_LOST {
            self.lost.pop_first();
        }
        let place = self.push(Transmission { again, ..row });
        self.flight += last.end - from;
        self.outstanding.insert(from, Outstanding { end: last.end, row: place, tsval });
    }

    /// Data that was not captured, from one number to another.
    fn missing(&mut self, time_ns: u64, from: u64, to: u64, fate: Fate) {
        let payload = (to - from).min(u64::from(u32::MAX) / 2) as u32;
        let packets = payload.div_ceil(self.mss.unwrap_or(USUAL_MSS).max(1));
        // Headers of IPv4 and TCP with time stamps, Ethernet with its check sequence.
        let wire = payload + 70 * packets;
        let row = Transmission { time_ns, offset: from, payload, wire, packets, fate, ..Default::default() };
        let place = self.push(row);
        if fate == Fate::Missing {
            self.flight += to - from;
            self.outstanding.insert(from, Outstanding { end: to, row: place, tsval: None });
        }
    }

    /// Removes what is outstanding between two numbers, and gives it.
    fn take(&mut self, start: u64, end: u64) -> Vec<(u64, Outstanding)> {
        self.split(start);
        self.split(end);
        let open: Vec<_> = self.outstanding.range(start..end).map(|(&at, &of)| (at, of)).collect();
        for (at, of) in &open {
            self.outstanding.remove(at);
            self.flight -= of.end - at;
        }
        open
    }

    /// Cuts the outstanding data at a number.
    fn split(&mut self, at: u64) {
        let Some((_, of)) = self.outstanding.range_mut(..at).next_back() else { return };
        if of.end <= at {
            return;
        }
        let whole = *of;
        of.end = at;
        let row = &mut self.transmissions[whole.row as usize];
        let rest = row.split_off((at - row.offset) as u32);
        let place = self.push(rest);
        self.outstanding.insert(at, Outstanding { row: place, ..whole });
    }

    fn deliver(&mut self, start: u64, end: u64, time_ns: u64, echoed: Option<u32>) {
        if self.outstanding.range(start..end).next().is_none()
            && self.outstanding.range(..start).next_back().is_none_or(|(_, of)| of.end <= start)
        {
            return;
        }
        let edge = self.outstanding.keys().next().copied();
        for (at, of) in self.take(start, end) {
            let row = &mut self.transmissions[of.row as usize];
            if row.fate == Fate::Missing {
                row.fate = Fate::Uncaptured;
                continue;
            }
            row.acked_ns = time_ns;
            row.fate = Fate::Delivered;
            let took_ns = time_ns.saturating_sub(row.time_ns);
            if !row.again {
                self.least_ns = Some(self.least_ns.map_or(took_ns, |least| least.min(took_ns)));
                continue;
            }
            // Only the acknowledgement of the first missing data echoes the time stamp of what filled it.
            let before = |value: u32| echoed.is_some_and(|echo| (echo.wrapping_sub(value) as i32) < 0);
            let echoes_first = edge == Some(at) && of.tsval.is_some_and(before);
            let early = self.least_ns.is_some_and(|least| took_ns < least * TOO_EARLY.0 / TOO_EARLY.1);
            if echoes_first || early {
                row.fate = Fate::Spurious;
                self.arrived_twice(at, of.end);
            }
        }
    }

    /// The last copy of this data that was taken to be lost has arrived, too.
    fn arrived_twice(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let found: Vec<_> = self.lost.range(start..end).map(|(&at, &row)| (at, row)).collect();
        for (at, row) in found {
            self.lost.remove(&at);
            self.transmissions[row as usize].fate = Fate::Delivered;
        }
    }

    /// Forgets the oldest outstanding data: a capture without acknowledgements would keep all.
    fn forget(&mut self) {
        if let Some((at, of)) = self.outstanding.pop_first() {
            self.flight -= of.end - at;
        }
    }

    fn push(&mut self, row: Transmission) -> u32 {
        self.transmissions.push(row);
        (self.transmissions.len() - 1) as u32
    }

    fn note_scale(&mut self) {
        if let (Some(next), Some(acked)) = (self.next, self.acked) {
            let needed = next.saturating_sub(acked);
            while self.least_scale < 14
                && self.window > 0
                && u64::from(self.window) << self.least_scale < needed
            {
                self.least_scale += 1;
            }
        }
    }

    fn stamp(&mut self, time_ns: u64, value: u32) {
        if self.stamped.back().is_none_or(|&(last, _)| (value.wrapping_sub(last) as i32) > 0) {
            self.stamped.push_back((value, time_ns));
        }
        if self.stamped.len() > MOST_ECHOES {
            self.stamped.pop_front();
        }
    }

    fn echo(&mut self, time_ns: u64, echoed: u32) {
        while let Some(&(value, sent_ns)) = self.stamped.front() {
            let ahead = value.wrapping_sub(echoed) as i32;
            if ahead > 0 {
                break;
            }
            self.stamped.pop_front();
            if ahead == 0 {
                self.echoes.push((time_ns, time_ns.saturating_sub(sent_ns)));
            }
        }
    }

    /// Rows that are kept.
    pub fn rows(&self) -> usize {
        self.transmissions.len() + self.acknowledgements.len() + self.echoes.len()
    }

    /// Puts rows together that are within `gap_ns`.
    pub fn compact(&mut self, gap_ns: u64) {
        let places = merge(&mut self.transmissions, gap_ns);
        for of in self.outstanding.values_mut() {
            of.row = places[of.row as usize];
        }
        for row in self.lost.values_mut() {
            *row = places[*row as usize];
        }
        thin(&mut self.acknowledgements, gap_ns);
        let mut since = 0;
        self.echoes.retain(|&(time_ns, _)| {
            let kept = time_ns.saturating_sub(since) > gap_ns;
            since = if kept { time_ns } else { since };
            kept
        });
    }

    /// Sorts the rows by time, and removes rows that stand for nothing.
    pub fn finish(&mut self) {
        self.transmissions.retain(|row| row.fate != Fate::Removed);
        self.transmissions.sort_by_key(|row| (row.time_ns, row.offset));
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::headers::Options;

    const MS: u64 = 1_000_000;

    fn segment(sequence: u32, payload: u32, tsval: u32) -> Segment {
        let address = SocketAddr::from(([10, 0, 0, 1], 1));
        Segment {
            from: address,
            to: address,
            sequence,
            acknowledgment: 0,
            flags: ACK,
            window: 1000,
            payload,
            overhead: 70,
            options: Options { timestamps: Some((tsval, 0)), ..Options::default() },
            identification: 0,
            ecn: 0,
        }
    }

    fn acknowledgment(number: u32, echo: u32, sack: &[(u32, u32)]) -> Segment {
        let mut of = segment(0, 0, echo);
        of.acknowledgment = number;
        of.options.timestamps = Some((900 + echo, echo));
        of.options.sack[..sack.len()].copy_from_slice(sack);
        of.options.sack_blocks = sack.len();
        of
    }

    /// Three packets from 1000 on, of which the second is sent again after the third was acknowledged.
    fn with_second_copy() -> Sending {
        let mut sending = Sending { mss: Some(1448), ..Sending::default() };
        for at in 0..3 {
            sending.sent(u64::from(at) * MS, &segment(1000 + at * 1448, 1448, at));
        }
        sending.acknowledged(100 * MS, &acknowledgment(2448, 0, &[]));
        sending.acknowledged(102 * MS, &acknowledgment(2448, 0, &[(3896, 5344)]));
        sending.sent(103 * MS, &segment(2448, 1448, 103));
        sending
    }

    fn fates(sending: &Sending) -> Vec<Fate> {
        sending.transmissions.iter().map(|row| row.fate).collect()
    }

    #[test]
    fn data_that_was_sent_again_was_lost() {
        let mut sending = with_second_copy();
        sending.acknowledged(203 * MS, &acknowledgment(5344, 103, &[]));
        assert_eq!(fates(&sending), [Fate::Delivered, Fate::Lost, Fate::Delivered, Fate::Delivered]);
        assert_eq!(sending.least_ns, Some(100 * MS));
        assert_eq!(sending.transmissions[0].wire, 1518);
    }

    #[test]
    fn an_echo_of_the_first_copy_shows_that_it_arrived() {
        let mut sending = with_second_copy();
        sending.acknowledged(203 * MS, &acknowledgment(5344, 1, &[]));
        assert_eq!(fates(&sending)[1..], [Fate::Delivered, Fate::Delivered, Fate::Spurious]);
    }

    #[test]
    fn an_acknowledgement_before_a_round_trip_is_that_of_the_first_copy() {
        let mut sending = with_second_copy();
        sending.acknowledged(110 * MS, &acknowledgment(5344, 103, &[]));
        assert_eq!(fates(&sending)[1], Fate::Delivered);
    }

    #[test]
    fn a_duplicate_block_shows_that_both_copies_arrived() {
        let mut sending = with_second_copy();
        sending.acknowledged(203 * MS, &acknowledgment(5344, 103, &[]));
        sending.acknowledged(204 * MS, &acknowledgment(5344, 103, &[(2448, 3896)]));
        assert_eq!(fates(&sending)[1], Fate::Delivered);
    }

    #[test]
    fn of_a_burst_one_packet_is_lost() {
        // 10 packets in one, of which the fourth is sent again: 3 and 6 arrived.
        let mut sending = Sending { mss: Some(1000), ..Sending::default() };
        sending.sent(0, &segment(0, 10_000, 0));
        sending.acknowledged(50 * MS, &acknowledgment(3000, 0, &[(4000, 10_000)]));
        sending.sent(51 * MS, &segment(3000, 1000, 51));
        sending.acknowledged(101 * MS, &acknowledgment(10_000, 51, &[]));
        sending.finish();
        let rows: Vec<_> =
            sending.transmissions.iter().map(|row| (row.packets, row.wire, row.fate)).collect();
        let first = [(3, 3210, Fate::Delivered), (1, 1070, Fate::Lost), (6, 6420, Fate::Delivered)];
        assert_eq!(rows[..3], first);
        assert_eq!(rows[3], (1, 1070, Fate::Delivered));
    }

    #[test]
    fn a_packet_that_was_overtaken_was_not_lost() {
        let mut sending = Sending { mss: Some(1000), ..Sending::default() };
        sending.sent(0, &segment(0, 1000, 0));
        sending.sent(MS, &segment(2000, 1000, 1));
        sending.sent(2 * MS, &segment(1000, 1000, 1));
        sending.acknowledged(3 * MS, &acknowledgment(3000, 1, &[]));
        sending.finish();
        assert_eq!(fates(&sending), [Fate::Delivered; 3]);
        assert!(sending.transmissions.iter().all(|row| !row.again));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut sending = Sending { mss: Some(1000), ..Sending::default() };
        sending.sent(0, &segment(u32::MAX - 499, 1000, 0));
        sending.acknowledged(MS, &acknowledgment(500, 0, &[]));
        assert_eq!(fates(&sending), [Fate::Delivered]);
        assert_eq!(sending.acknowledgements[0].ahead, 0);
    }

    #[test]
    fn the_window_of_a_handshake_is_no_row() {
        let mut sending = Sending { mss: Some(1000), ..Sending::default() };
        let mut answer = acknowledgment(1, 0, &[]);
        answer.flags |= SYN | ECE;
        sending.acknowledged(0, &answer);
        assert_eq!(sending.reported, 0);
        sending.sent(MS, &segment(1, 1000, 0));
        assert!(sending.acknowledgements.is_empty());
        assert_eq!(sending.least_scale, 0);
        sending.acknowledged(2 * MS, &acknowledgment(1001, 0, &[]));
        assert_eq!(sending.acknowledgements[0].window, 1000);
    }

    #[test]
    fn an_acknowledgement_of_nothing_new_is_no_row() {
        let mut sending = Sending { mss: Some(1000), ..Sending::default() };
        sending.sent(0, &segment(0, 1000, 0));
        for at in 1..4 {
            sending.acknowledged(at * MS, &acknowledgment(1000, 0, &[]));
        }
        assert_eq!(sending.acknowledgements.len(), 1);
    }

    #[test]
    fn rows_that_follow_one_another_are_put_together() {
        let mut sending = Sending { mss: Some(1000), ..Sending::default() };
        for at in 0..100 {
            sending.sent(u64::from(at) * 1000, &segment(at * 1000, 1000, 0));
        }
        sending.acknowledged(MS, &acknowledgment(99_000, 0, &[]));
        sending.compact(MS);
        assert_eq!(sending.transmissions.len(), 2);
        assert_eq!((sending.transmissions[0].packets, sending.transmissions[0].payload), (99, 99_000));
        sending.acknowledged(2 * MS, &acknowledgment(100_000, 0, &[]));
        assert_eq!(fates(&sending), [Fate::Delivered; 2]);
    }
}
