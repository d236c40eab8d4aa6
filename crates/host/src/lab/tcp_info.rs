//! `TCP_INFO`, the state of a connection as the kernel reports it (`linux/tcp.h`); for the senders of the lab.

use std::io;
use std::os::fd::AsFd;

use fairhaul_experiment::Limit;
use fairhaul_units::{Rate, Span};

use crate::sys;
use crate::tcp_info_reply::{LONGEST, TcpInfoReply};

/// The state of a connection at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets; none before the first loss.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time; none before the first sample.
    pub srtt: Option<Span>,
    /// The shortest round-trip time.
    pub min_rtt: Option<Span>,
    /// Packets that the sender believes lost.
    pub lost: u32,
    /// Packets retransmitted so far.
    pub retransmitted: u32,
    /// Packets delivered so far; none if the kernel does not report them.
    pub delivered: Option<u32>,
    /// The pacing rate; none without pacing.
    pub pacing_rate: Option<Rate>,
    /// The state of the congestion control.
    pub ca_state: CaState,
    /// The retransmission timeout.
    pub timeout: Span,
    /// Timeouts so far; none if the kernel does not report them.
    pub timeouts: Option<u16>,
    /// Payload of a full packet.
    pub mss: u32,
    /// What has kept the sender back so far.
    pub limits: SenderLimits,
    /// Whether one end has closed the connection. The probe is silent from then on.
    pub closes: bool,
}

/// How long a sender has been kept back so far, and by what now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderLimits {
    /// How long it had data that were not acknowledged.
    pub busy: Span,
    /// Of that, how long the receive window kept it back.
    pub receive_window: Span,
    /// And the send buffer.
    pub send_buffer: Span,
    /// Whether it has nothing to send that the window would let go.
    // The kernel's own count of the send buffer is cautious: it begins only where several things come together.
    pub starved: bool,
    /// Whether it is paced by the upper bound of its pacing rate.
    pub pacing_cap: bool,
}

/// The state of a sender's congestion control: `icsk_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// No sign of loss or congestion.
    Open,
    /// Duplicate or selective acknowledgements: a packet may be lost.
    Disorder,
    /// A mark or the host itself has reduced the window.
    Cwr,
    /// Lost packets are being retransmitted.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// States of a socket with an open connection, and without one, of `net/tcp_states.h`.
const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const CLOSE: u8 = 7;
const LISTEN: u8 = 10;
/// A threshold that was never set: `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// The part of a sender's state that goes into the record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpState {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets; none before the first loss.
    pub ssthresh: Option<u32>,
    /// A round-trip time; none without a new sample.
    pub rtt: Option<Span>,
    /// The state of the congestion control.
    pub ca_state: CaState,
    /// Timeouts so far; none if the kernel does not report them.
    pub timeouts: Option<u16>,
    /// The mode of the controller; none if it has no modes, or if only `TCP_INFO` is known.
    pub mode: Option<u8>,
    /// The sequence number with which the current or last recovery ends; none if only `TCP_INFO` is known.
    pub recovery_end: Option<u32>,
}

impl SenderLimits {
    /// Reads what has kept a sender back.
    pub(crate) fn of(reply: &TcpInfoReply) -> SenderLimits {
        let [unacknowledged, reported, lost, retransmitted] = reply.packets;
        // The packets in flight [LINUX, tcp_packets_in_flight].
        let left = unacknowledged.saturating_sub(reported.saturating_add(lost));
        let has_room = left.saturating_add(retransmitted) < reply.snd_cwnd;
        SenderLimits {
            busy: Span::from_us(reply.busy_us),
            receive_window: Span::from_us(reply.rwnd_limited_us),
            send_buffer: Span::from_us(reply.sndbuf_limited_us),
            starved: reply.notsent_bytes == 0 && has_room,
            // The kernel's own "no limit" is none.
            pacing_cap: reply.max_pacing_rate != u64::MAX && reply.pacing_rate >= reply.max_pacing_rate,
        }
    }

    /// How long each limit has kept the sender back since it was `before`, which is that long ago; the longest times
    /// that these fields allow. The kernel counts a sender as busy while anything is unacknowledged. `endless`: its
    /// application always has more to send, so that a starved sender has too small a buffer.
    pub fn since(self, before: SenderLimits, ago: Span, endless: bool) -> [(Limit, Span); 4] {
        let more = |now: Span, before: Span, most: Span| now.saturating_sub(before).min(most);
        let busy = more(self.busy, before.busy, ago);
        let receive_window = more(self.receive_window, before.receive_window, busy);
        let send_buffer = more(self.send_buffer, before.send_buffer, busy - receive_window);
        let others = match self {
            SenderLimits { starved: true, .. } if endless => Limit::SendBuffer,
            SenderLimits { starved: true, .. } => Limit::Application,
            SenderLimits { pacing_cap: true, .. } => Limit::PacingCap,
            _ => Limit::CongestionWindow,
        };
        [
            (Limit::ReceiveWindow, receive_window),
            (Limit::SendBuffer, send_buffer),
            (others, busy - receive_window - send_buffer),
            (Limit::Application, ago - busy),
        ]
    }
}

impl Info {
    /// The part that goes into the record, with the smoothed round-trip time.
    pub fn tcp_state(&self) -> TcpState {
        let Info { cwnd, ssthresh, srtt, ca_state, timeouts, .. } = *self;
        TcpState { cwnd, ssthresh, rtt: srtt, ca_state, timeouts, mode: None, recovery_end: None }
    }

    /// Reads `TCP_INFO` of a socket.
    ///
    /// # Errors
    /// The socket is not connected, or not yet.
    pub fn of(socket: impl AsFd) -> io::Result<Info> {
        let mut bytes = [0; LONGEST];
        let length = sys::tcp_info(socket, &mut bytes)?;
        let reply = TcpInfoReply::read(&bytes[..length]).ok_or(io::ErrorKind::Unsupported)?;
        match reply.state {
            SYN_SENT | CLOSE | LISTEN => Err(io::ErrorKind::NotConnected.into()),
            _ => Ok(Info::from(&reply)),
        }
    }
}

impl From<&TcpInfoReply> for Info {
    fn from(reply: &TcpInfoReply) -> Info {
        let span =
            |us: u32| Some(us).filter(|us| *us != 0 && *us != u32::MAX).map(|us| Span::from_us(us.into()));
        Info {
            limits: SenderLimits::of(reply),
            closes: reply.state != ESTABLISHED,
            ca_state: CaState::of(reply.ca_state),
            timeout: Span::from_us(reply.rto_us.into()),
            mss: reply.snd_mss,
            lost: reply.packets[2],
            srtt: span(reply.rtt_us),
            ssthresh: threshold(reply.snd_ssthresh),
            cwnd: reply.snd_cwnd,
            retransmitted: reply.total_retrans,
            pacing_rate: Some(reply.pacing_rate)
                .filter(|bytes| *bytes != u64::MAX)
                .and_then(|bytes| Rate::from_bps(bytes.saturating_mul(8))),
            min_rtt: span(reply.min_rtt_us),
            delivered: reply.delivered,
            timeouts: reply.total_rto,
        }
    }
}

/// Reads a threshold as the kernel stores it.
pub fn threshold(packets: u32) -> Option<u32> {
    (packets < INFINITE).then_some(packets)
}

impl CaState {
    /// Whether the sender is retransmitting lost packets.
    pub fn is_recovering(self) -> bool {
        matches!(self, CaState::Recovery | CaState::Loss)
    }

    /// Reads the kernel's number of a state.
    pub fn of(number: u8) -> CaState {
        match number {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            _ => CaState::Loss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// Checks the offsets of the fields on a connection whose values are known.
    #[test]
    fn a_fresh_connection_has_a_window_no_threshold_and_has_delivered_what_it_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(Info::of(&listener).unwrap_err().kind(), io::ErrorKind::NotConnected);
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[0; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        server.write_all(&[0]).unwrap();
        client.read_exact(&mut [0]).unwrap();
        let info = Info::of(&client).unwrap();
        assert!(info.cwnd >= 10 && info.ssthresh.is_none(), "{info:?}");
        assert_eq!((info.retransmitted, info.lost, info.timeouts.unwrap_or(0)), (0, 0, 0));
        // The request and the data.
        assert_eq!((info.delivered.unwrap_or(2), info.ca_state), (2, CaState::Open));
        assert!(info.timeout >= Span::from_ms(200) && info.timeout < Span::from_s(2), "{info:?}");
        let (srtt, min_rtt) = (info.srtt.unwrap(), info.min_rtt.unwrap());
        assert!(srtt < Span::from_ms(100) && min_rtt <= srtt * 2, "{info:?}");
        assert!(info.mss > 500 && info.mss < 65_536);
    }
}
