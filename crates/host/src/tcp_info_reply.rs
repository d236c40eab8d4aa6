//! The kernel's `tcp_info` (`linux/tcp.h`), as `sock_diag` and `getsockopt` reply with it.
//!
//! New fields are appended, and distributions add them to older releases, too. So the length of a reply says which
//! fields it has; the release of the kernel does not. A field that a reply lacks is `None`, and never zero.

/// The length with the clocks of the limits, bytes: Linux 4.10 and later.
const SHORTEST: usize = 192;
/// The length in Linux 6.18, bytes.
pub const LONGEST: usize = 280;

/// The fields that are used, with the kernel's names and units unless the name says another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpInfoReply {
    /// The state of the socket, of `net/tcp_states.h`.
    pub state: u8,
    /// The state of the congestion control.
    pub ca_state: u8,
    /// Whether the application limited the sender when the delivery rate was measured.
    pub app_limited: bool,
    /// The retransmission timeout.
    pub rto_us: u32,
    /// The payload of a full packet, bytes.
    pub snd_mss: u32,
    /// Packets that are not acknowledged, selectively acknowledged, lost and retransmitted.
    pub packets: [u32; 4],
    /// The smoothed round-trip time.
    pub rtt_us: u32,
    /// The slow-start threshold, packets.
    pub snd_ssthresh: u32,
    /// The congestion window, packets.
    pub snd_cwnd: u32,
    /// Retransmitted packets.
    pub total_retrans: u32,
    /// The pacing rate in bytes per second, `u64::MAX` without a limit,
    pub pacing_rate: u64,
    /// and its upper bound.
    pub max_pacing_rate: u64,
    /// Bytes that the other end has acknowledged.
    pub bytes_acked: u64,
    /// Bytes that the application has written and that are not sent.
    pub notsent_bytes: u32,
    /// The shortest round-trip time; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Packets with data that were sent, retransmissions included.
    pub data_segs_out: u32,
    /// The last delivery rate, bytes per second.
    pub delivery_rate: u64,
    /// The clocks: data were outstanding,
    pub busy_us: u64,
    /// the receive window limited,
    pub rwnd_limited_us: u64,
    /// and the send buffer did.
    pub sndbuf_limited_us: u64,
    /// Packets that were delivered (200 bytes, Linux 4.18),
    pub delivered: Option<u32>,
    /// and the delivered packets that carried a congestion mark.
    pub delivered_ce: Option<u32>,
    /// Bytes that were sent, retransmissions included (224 bytes, Linux 4.19),
    pub bytes_sent: Option<u64>,
    /// and retransmitted.
    pub bytes_retrans: Option<u64>,
    /// The window that the other end offers, bytes (232 bytes, Linux 5.4).
    pub snd_wnd: Option<u32>,
    /// The window that this end offers, bytes (240 bytes, Linux 6.2).
    pub rcv_wnd: Option<u32>,
    /// Timeouts (248 bytes, Linux 6.7).
    pub total_rto: Option<u16>,
    /// Packets with a congestion mark that arrived (280 bytes, Linux 6.18).
    pub received_ce: Option<u32>,
}

impl TcpInfoReply {
    /// Reads a reply of any length; `None` if it is shorter than that of Linux 4.10.
    pub fn read(bytes: &[u8]) -> Option<TcpInfoReply> {
        if bytes.len() < SHORTEST {
            return None;
        }
        let word = |at| field(bytes, at).map(u32::from_ne_bytes);
        let long = |at| field(bytes, at).map(u64::from_ne_bytes);
        Some(TcpInfoReply {
            state: bytes[0],
            ca_state: bytes[1],
            // The first of the bits after the window scales.
            app_limited: bytes[7] & if cfg!(target_endian = "little") { 1 } else { 0x80 } != 0,
            rto_us: word(8)?,
            snd_mss: word(16)?,
            packets: [word(24)?, word(28)?, word(32)?, word(36)?],
            rtt_us: word(68)?,
            snd_ssthresh: word(76)?,
            snd_cwnd: word(80)?,
            total_retrans: word(100)?,
            pacing_rate: long(104)?,
            max_pacing_rate: long(112)?,
            bytes_acked: long(120)?,
            notsent_bytes: word(144)?,
            min_rtt_us: word(148)?,
            data_segs_out: word(156)?,
            delivery_rate: long(160)?,
            busy_us: long(168)?,
            rwnd_limited_us: long(176)?,
            sndbuf_limited_us: long(184)?,
            delivered: word(192),
            delivered_ce: word(196),
            bytes_sent: long(200),
            bytes_retrans: long(208),
            snd_wnd: word(228),
            rcv_wnd: word(232),
            total_rto: field(bytes, 240).map(u16::from_ne_bytes),
            received_ce: word(248),
        })
    }
}

/// The bytes of a field; `None` if the reply ends before or within it.
fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// A reply that is made by hand: no field is zero, and the clocks are 4 s, 3 s and 0.5 s.
#[cfg(test)]
pub(crate) fn made_by_hand(length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|at| (at % 251 + 1) as u8).collect();
    for (at, clock_us) in [(168, 4_000_000_u64), (176, 3_000_000), (184, 500_000)] {
        if let Some(field) = bytes.get_mut(at..at + 8) {
            field.copy_from_slice(&clock_us.to_ne_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of each length of the table of `linux/tcp.h`, in the order of their offsets.
    fn present(length: usize) -> [bool; 8] {
        let reply = TcpInfoReply::read(&made_by_hand(length)).expect("it is long enough");
        assert_eq!((reply.busy_us, reply.sndbuf_limited_us), (4_000_000, 500_000));
        [
            reply.delivered.is_some(),
            reply.delivered_ce.is_some(),
            reply.bytes_sent.is_some(),
            reply.bytes_retrans.is_some(),
            reply.snd_wnd.is_some(),
            reply.rcv_wnd.is_some(),
            reply.total_rto.is_some(),
            reply.received_ce.is_some(),
        ]
    }

    #[test]
    fn the_length_of_a_reply_says_which_fields_it_has() {
        let first = |count: usize| std::array::from_fn(|at| at < count);
        assert_eq!(present(192), first(0));
        assert_eq!(present(200), first(2));
        assert_eq!(present(224), first(4));
        assert_eq!(present(232), first(5)); // Linux 5.14
        assert_eq!(present(240), first(6));
        assert_eq!(present(248), first(7));
        assert_eq!(present(280), first(8));
        assert_eq!(present(400), first(8)); // a kernel of the future
        assert_eq!(TcpInfoReply::read(&made_by_hand(191)), None);
        // A field of which only a part is there is missing.
        assert_eq!(present(231), first(4));
    }

    #[test]
    fn the_fields_of_5_14_are_at_their_offsets() {
        let reply = TcpInfoReply::read(&made_by_hand(232)).expect("it is long enough");
        // The window begins at byte 80, whose value is 81; what the other end offers at byte 228.
        assert_eq!(reply.snd_cwnd, u32::from_ne_bytes([81, 82, 83, 84]));
        assert_eq!(reply.snd_wnd, Some(u32::from_ne_bytes([229, 230, 231, 232])));
        assert_eq!(reply.bytes_acked, u64::from_ne_bytes([121, 122, 123, 124, 125, 126, 127, 128]));
        assert_eq!(reply.bytes_sent, Some(u64::from_ne_bytes([201, 202, 203, 204, 205, 206, 207, 208])));
    }
}
