//! The receive window of a buffer that the kernel sizes itself (dynamic right-sizing) [LINUX, tcp_rcv_space_adjust,
//! tcp_grow_window].
//!
//! All numbers are bytes of payload, but those of packets.
//
// Differs from [LINUX]: the application reads as soon as the interrupt is over, the part of the buffer that is payload is that
// of a full packet, also where the first packets were merged, and a packet in which the window ends is a full one.

use fairhaul_experiment::Flow;
use fairhaul_units::{Data, Time, mix};

use super::receiver_rtt::ReceiverRtt;
use super::time_stamps;

/// A packet takes half a page of memory if it fits, with room for headers before it and what describes it; a longer one
/// has only its headers there, and is in pages.
const HALF_PAGE: u64 = 2048 - 320 - HEADROOM;
const HEADROOM: u64 = 64;
const DESCRIPTION: u64 = 560;
/// Of that, the descriptor.
const DESCRIPTOR: u64 = 240;
const HEADERS: u64 = 256;
const PAGE: u64 = 4096;
/// The part of a packet in memory that is payload is counted in parts of that (scaling_ratio).
const PARTS: u64 = 256;
/// The same before the first packet has shown it (TCP_DEFAULT_SCALING_RATIO).
const FIRST_PART: f64 = 0.5;
/// The largest scale of windows, and the largest window that it can say [RFC 7323, 2.3].
const LARGEST_SCALE: u32 = 14;
const LARGEST: f64 = 65_535.0 * 16_384.0;
/// Packets of the first window of a sender (TCP_INIT_CWND).
const FIRST_PACKETS: f64 = 10.0;
/// Packets that a window has above what was read (tcp_rcv_space_adjust).
const CUSHION: f64 = 16.0;

/// See the module.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    /// Payload of a packet, and the part that it is of its memory.
    segment: f64,
    part: f64,
    /// What a packet that waits takes of the window, which is less than its payload because merged packets need no
    /// descriptor each.
    held: f64,
    /// The buffer, memory, and the largest that it may be.
    buffer: f64,
    most: f64,
    /// What may be offered now; it grows with what arrives (rcv_ssthresh).
    threshold: f64,
    /// What was read in the best earlier round trip (rcvq_space), and since when and from which packet on the next one is
    /// measured.
    read: f64,
    since: Time,
    from: u64,
    /// The round-trip time of the receiver.
    rtt: ReceiverRtt,
    /// Whether a packet has shown what part of it is payload.
    is_measured: bool,
    /// When something last happened.
    now: Time,
    /// The first packet behind what is read first, and of an interrupt that hands over more the time when that begins.
    read_first: Option<u64>,
    /// Packets below may be sent: what was offered is never taken back.
    edge: u64,
    /// The window that the last acknowledgement offered, and the end of what was, in bytes; and the unit of windows.
    offered: f64,
    offered_below: f64,
    unit: f64,
}

/// Packets that arrive together.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// How many they are.
    pub packets: u8,
    /// The number of the packet behind them.
    pub end: u64,
    /// Whether they are full.
    pub is_full: bool,
    /// When they left.
    pub stamped: Time,
    /// When they arrive.
    pub now: Time,
    /// Whether the same interrupt hands over more.
    pub more: bool,
}

impl ReceiveWindow {
    /// That of a receiver of `flow`, on a connection with this random number; `None`: its buffer has a size, or no limit.
    pub fn of(flow: &Flow, random: u64) -> Option<Box<ReceiveWindow>> {
        let host = flow.host.as_deref().filter(|host| host.tunes_receive_buffer)?;
        let (first, most) = host.rmem();
        let segment = flow.payload().0 as f64;
        let threshold = first as f64 * FIRST_PART;
        Some(Box::new(ReceiveWindow {
            segment,
            part: if host.release().halves_receive_buffer() {
                FIRST_PART
            } else {
                payload_part(flow.packet.0, segment as u64)
            },
            held: held_part(flow.packet.0) * segment,
            buffer: first as f64,
            most: most as f64,
            threshold,
            read: threshold.min(FIRST_PACKETS * segment),
            since: Time::ZERO,
            from: 0,
            rtt: ReceiverRtt::of(time_stamps::phase(mix(random))),
            is_measured: false,
            now: Time::ZERO,
            read_first: None,
            edge: (threshold / segment) as u64,
            offered: threshold,
            offered_below: threshold,
            unit: unit_of_windows(most),
        }))
    }

    /// The connection is opened at `now`.
    pub fn opens(&mut self, now: Time) {
        self.now = now;
        self.rtt.opens(now);
    }

    /// An acknowledgement that was delayed leaves at `now`.
    pub fn releases(&mut self, now: Time) {
        self.now = now;
    }

    /// Packets arrive, and all below `next` is in order then; `unread` packets wait to be read, these included, and `beyond`
    /// beyond a gap. Whether what may be offered has grown.
    pub fn arrive(&mut self, arrival: Arrival, next: u64, unread: u64, beyond: u64) -> bool {
        let Arrival { packets, end, is_full, stamped, now, more } = arrival;
        if !self.is_measured {
            self.since = now; // the handshake ends with the first data (tcp_init_buffer_space)
        }
        (self.now, self.is_measured) = (now, true);
        if is_full {
            self.rtt.arrive(stamped, now);
        }
        self.rtt.advance(next, next + (self.offered / self.segment).ceil() as u64, now);
        let room = self.full() - (beyond + unread) as f64 * self.held - self.threshold;
        let grows = room > 0.0;
        if grows {
            self.threshold += room.min(2.0 * f64::from(packets) * self.segment);
        }
        if unread > 0 {
            self.read_first.get_or_insert(end);
        }
        if !more && let Some(first) = self.read_first.take() {
            self.adjust(first, next);
        }
        let offered = self.threshold.min(self.full() - beyond as f64 * self.held).max(0.0);
        // The packet in which the window ends may leave: the kernel sends the part of it that fits (tcp_mss_split_point).
        self.edge = self.edge.max(next + (offered / self.segment).ceil() as u64);
        grows
    }

    /// How many packets from `next` on there is room for.
    pub fn packets_from(&self, next: u64) -> u64 {
        self.edge.saturating_sub(next)
    }

    /// Whether the packets are full.
    pub fn is_full(&self, data: &Data) -> bool {
        u64::from(data.packet_size()) >= self.segment as u64
    }

    /// An acknowledgement of all packets below `next` leaves.
    pub fn is_offered(&mut self, next: u64) {
        self.rtt.acknowledges(self.now);
        let next = next as f64 * self.segment;
        self.offered = self.in_units(self.threshold.min(self.full())).max(self.offered_below - next);
        self.offered_below = next + self.offered;
    }

    /// Whether the window is not smaller than the one offered last while `held` packets wait in the buffer.
    pub fn stays_open(&self, held: u64) -> bool {
        let room = self.full() - held as f64 * self.held;
        self.in_units(self.threshold.min(room)) >= self.offered
    }

    fn in_units(&self, window: f64) -> f64 {
        (window / self.unit).ceil() * self.unit
    }

    /// What the buffer holds.
    fn full(&self) -> f64 {
        let part = if self.is_measured { self.part } else { FIRST_PART };
        (self.buffer * part).min(LARGEST)
    }

    /// Once in a round trip: the buffer becomes large enough for twice of what was read in it, and more where that grows. A
    /// program has read what was handed over first, all below `first`, while what follows below `next` waits.
    fn adjust(&mut self, first: u64, next: u64) {
        if self.rtt.smoothed().is_none_or(|rtt| self.now.since(self.since).as_secs() < rtt) {
            return;
        }
        let read = ((first - self.from) as f64 - (next - first) as f64) * self.segment;
        if read > self.read {
            let base = 2.0 * read + CUSHION * self.segment;
            let wanted = base + 2.0 * base * (read - self.read) / self.read;
            self.buffer = self.buffer.max((wanted / self.part).min(self.most));
            self.read = read;
        }
        (self.since, self.from) = (self.now, first);
    }
}

/// What a packet takes of memory [LINUX, netdev_alloc_skb].
fn memory_of(packet: u64) -> u64 {
    let head = if packet <= HALF_PAGE { packet } else { HEADERS };
    (head + HEADROOM).next_multiple_of(HEADROOM) + DESCRIPTION + (packet - head).next_multiple_of(PAGE)
}

/// The part of a packet in memory that is payload [LINUX, tcp_measure_rcv_mss].
fn payload_part(packet: u64, payload: u64) -> f64 {
    (payload * PARTS / memory_of(packet)) as f64 / PARTS as f64
}

/// The part of its memory that a packet keeps which is merged with the one before it [LINUX, tcp_try_coalesce].
fn held_part(packet: u64) -> f64 {
    1.0 - DESCRIPTOR as f64 / memory_of(packet) as f64
}

/// The unit of windows where the buffer may be `most` bytes: the least power of two with which 16 bits express it
/// [LINUX, tcp_select_initial_window].
fn unit_of_windows(most: u64) -> f64 {
    let scale = most.max(1).ilog2().saturating_sub(15).min(LARGEST_SCALE);
    f64::from(1_u32 << scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn arrival(packets: u8, end: u64, ms: u64) -> Arrival {
        Arrival { packets, end, is_full: true, stamped: at(ms - 10), now: at(ms), more: false }
    }

    /// 1500 B take 1600 + 560 B, and 9000 B three pages and 320 + 560 B.
    #[test]
    fn a_packet_takes_half_a_page_or_whole_pages() {
        assert_eq!(payload_part(1500, 1448), 171.0 / 256.0);
        assert_eq!(payload_part(9000, 8948), 173.0 / 256.0);
    }

    fn window(most: f64) -> ReceiveWindow {
        ReceiveWindow {
            segment: 1448.0,
            part: payload_part(1500, 1448),
            held: held_part(1500) * 1448.0,
            buffer: 131_072.0,
            most,
            threshold: 65_536.0,
            read: 14_480.0,
            since: Time::ZERO,
            from: 0,
            rtt: ReceiverRtt::default(),
            is_measured: false,
            now: Time::ZERO,
            read_first: None,
            edge: 45,
            offered: 65_536.0,
            offered_below: 65_536.0,
            unit: unit_of_windows(most as u64),
        }
    }

    /// A sender that fills what is offered, over a round trip of 20 ms: the windows of its rounds, packets.
    fn rounds(most: f64) -> Vec<u64> {
        let (mut window, mut next) = (window(most), 0);
        window.opens(at(10));
        window.is_offered(0);
        let round = |n: u64| {
            let sent = window.packets_from(next);
            for _ in 0..sent {
                next += 1;
                window.arrive(arrival(1, next, 20 * n + 10), next, 1, 0);
                window.is_offered(next);
            }
            sent
        };
        (1..8).map(round).collect()
    }

    /// The first window is 64 KiB; the last one what the largest buffer holds, 171 / 256 of 6 MiB, beside the packet that makes it
    /// grow: 2901.04 packets.
    #[test]
    fn a_window_grows_with_what_is_read_up_to_its_limit() {
        let rounds = rounds(6_291_456.0);
        assert_eq!((rounds[0], rounds[6]), (45, 2902));
        assert!(rounds.windows(2).all(|pair| pair[1] >= pair[0] && pair[1] <= 6 * pair[0]), "{rounds:?}");
        // A buffer that may not grow offers more once it is known what part of a packet is payload.
        assert_eq!(self::rounds(131_072.0)[6], 60);
    }

    #[test]
    fn what_waits_beyond_a_gap_takes_room_and_what_was_offered_stays_so() {
        let mut window = window(131_072.0);
        window.arrive(arrival(1, 1, 20), 1, 1, 0);
        let before = window.packets_from(1);
        assert!(!window.arrive(arrival(30, 60, 20), 1, 0, 30));
        assert_eq!(window.packets_from(1), before);
    }

    /// A round trip of 20 ms, in which 100 packets are read, and then 10 merges of 40 packets in one interrupt: when the
    /// first of them is read, 360 wait, and what was read is 100 packets less those. They count for the next round trip.
    #[test]
    fn what_is_not_read_yet_counts_for_the_next_round_trip() {
        let (read, since) = (50.0 * 1448.0, at(10));
        let mut window = ReceiveWindow { read, since, is_measured: true, ..window(6_291_456.0) };
        window.opens(since);
        window.is_offered(0);
        window.arrive(arrival(100, 100, 30), 100, 100, 0);
        assert_eq!((window.read, window.from), (144_800.0, 100));
        for merge in 1..=10 {
            let (end, more) = (100 + 40 * merge, merge < 10);
            window.arrive(Arrival { more, ..arrival(40, end, 50) }, end, 40 * merge, 0);
        }
        assert_eq!((window.read, window.from), (144_800.0, 140));
        window.arrive(arrival(40, 540, 70), 540, 40, 0);
        assert_eq!((window.read, window.from), (400.0 * 1448.0, 540));
    }

    /// The handshake begins at 10 ms and ends with the first 10 packets at 30 ms, which are not above the 10 of a first round
    /// trip; 20 ms after that 20 more are.
    #[test]
    fn what_is_read_counts_from_the_end_of_the_handshake() {
        let mut window = window(6_291_456.0);
        window.opens(at(10));
        window.is_offered(0);
        window.arrive(arrival(10, 10, 30), 10, 10, 0);
        assert_eq!((window.since, window.from), (at(30), 0));
        window.arrive(arrival(20, 30, 50), 30, 20, 0);
        assert_eq!((window.since, window.from, window.read), (at(50), 30, 30.0 * 1448.0));
    }

    /// With the largest scale windows are multiples of 16 KiB: after 96 KiB were offered, 10 packets that are not read make
    /// no smaller window, and 20 do. With the unit of 128 B one packet does.
    #[test]
    fn unread_packets_that_fit_into_the_unit_of_windows_leave_the_window_open() {
        assert_eq!([6_291_456, 536_870_912].map(unit_of_windows), [128.0, 16_384.0]);
        let open = |most: f64| {
            let mut window = ReceiveWindow { buffer: 147_000.0, threshold: 98_000.0, ..window(most) };
            window.is_measured = true;
            window.is_offered(0);
            [0, 1, 10, 20].map(|packets| window.stays_open(packets))
        };
        assert_eq!(open(536_870_912.0), [true, true, true, false]);
        assert_eq!(open(6_291_456.0), [true, false, false, false]);
    }
}
