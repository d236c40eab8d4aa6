//! What the kernel tells of a connection: `TCP_INFO` of `linux/tcp.h`, of which newer kernels tell more.

use std::io;
use std::os::fd::AsFd;

use fairhaul_units::{Rate, Span};

use crate::sys;

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
    /// What the sender believes to be lost, packets.
    pub lost: u32,
    /// Packets sent again so far.
    pub retransmitted: u32,
    /// Packets delivered so far.
    pub delivered: u32,
    /// At which packets leave; none where they are not paced.
    pub pacing_rate: Option<Rate>,
    /// What the sender is doing.
    pub state: State,
    /// How long the retransmission timer runs.
    pub timeout: Span,
    /// Timeouts so far; a kernel before 6.7 does not tell.
    pub timeouts: u16,
    /// Payload of a full packet.
    pub mss: u32,
}

/// What a sender is doing: `icsk_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is amiss.
    Open,
    /// Something may be missing.
    Disorder,
    /// A mark or the host itself has reduced the window.
    Cwr,
    /// What was lost is being sent again.
    Recovery,
    /// The timer has run out.
    Loss,
}

/// The length of what Linux 6.18 tells.
const LENGTH: usize = 256;
/// States of a socket without a connection, of `net/tcp_states.h`.
const SYN_SENT: u8 = 2;
const CLOSE: u8 = 7;
const LISTEN: u8 = 10;
/// What a threshold is that was never set: `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// What of it the record tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glance {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets; none before the first loss.
    pub ssthresh: Option<u32>,
    /// A round trip; none where no new one is told.
    pub rtt: Option<Span>,
    /// What the sender is doing.
    pub state: State,
    /// Timeouts so far; a kernel before 6.7 does not tell.
    pub timeouts: u16,
}

impl Info {
    /// What of it the record tells, with the smoothed round trip.
    pub fn glance(&self) -> Glance {
        let Info { cwnd, ssthresh, srtt, state, timeouts, .. } = *self;
        Glance { cwnd, ssthresh, rtt: srtt, state, timeouts }
    }

    /// That of a socket, now.
    ///
    /// # Errors
    /// One that is not connected, or not yet.
    pub fn of(socket: impl AsFd) -> io::Result<Info> {
        let mut bytes = [0; LENGTH];
        sys::tcp_info(socket, &mut bytes)?;
        match bytes[0] {
            SYN_SENT | CLOSE | LISTEN => Err(io::ErrorKind::NotConnected.into()),
            _ => Ok(Info::read(&bytes)),
        }
    }

    /// Fields by their place; a kernel that tells less leaves the rest zero.
    fn read(bytes: &[u8; LENGTH]) -> Info {
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let span =
            |at| Some(word(at)).filter(|us| *us != 0 && *us != u32::MAX).map(|us| Span::from_us(us.into()));
        Info {
            state: State::of(bytes[1]),
            timeout: Span::from_us(word(8).into()),
            mss: word(16),
            lost: word(32),
            srtt: span(68),
            ssthresh: threshold(word(76)),
            cwnd: word(80),
            retransmitted: word(100),
            pacing_rate: Some(long(104))
                .filter(|bytes| *bytes != u64::MAX)
                .and_then(|bytes| Rate::from_bps(bytes.saturating_mul(8))),
            min_rtt: span(148),
            delivered: word(192),
            timeouts: u16::from_ne_bytes([bytes[240], bytes[241]]),
        }
    }
}

/// A threshold as the kernel has it.
pub fn threshold(packets: u32) -> Option<u32> {
    (packets < INFINITE).then_some(packets)
}

impl State {
    /// Whether it sends again what was lost.
    pub fn recovers(self) -> bool {
        matches!(self, State::Recovery | State::Loss)
    }

    /// That of a number of the kernel's.
    pub fn of(number: u8) -> State {
        match number {
            0 => State::Open,
            1 => State::Disorder,
            2 => State::Cwr,
            3 => State::Recovery,
            _ => State::Loss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// The places of the fields, held against a connection of which these values are known.
    #[test]
    fn a_fresh_connection_has_a_window_no_threshold_and_has_delivered_what_it_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(Info::of(&listener).unwrap_err().kind(), io::ErrorKind::NotConnected);
        let mut here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        here.write_all(&[0; 1000]).unwrap();
        there.read_exact(&mut [0; 1000]).unwrap();
        there.write_all(&[0]).unwrap();
        here.read_exact(&mut [0]).unwrap();
        let info = Info::of(&here).unwrap();
        assert!(info.cwnd >= 10 && info.ssthresh.is_none(), "{info:?}");
        assert_eq!((info.retransmitted, info.lost, info.timeouts), (0, 0, 0));
        assert_eq!((info.delivered, info.state), (2, State::Open)); // the request and the data
        assert!(info.timeout >= Span::from_ms(200) && info.timeout < Span::from_s(2), "{info:?}");
        let (srtt, min_rtt) = (info.srtt.unwrap(), info.min_rtt.unwrap());
        assert!(srtt < Span::from_ms(100) && min_rtt <= srtt * 2, "{info:?}");
        assert!(info.mss > 500 && info.mss < 65_536);
    }
}
