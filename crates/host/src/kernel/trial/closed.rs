//! The connections of a network namespace at their end: the kernel sends each with its whole `tcp_info` to the listeners
//! of two groups of `sock_diag` (`linux/sock_diag.h`).

use std::io;

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::InetResponse;
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_sys::{Socket, protocols::NETLINK_SOCK_DIAG};
use serde::Serialize;

use crate::tcp_info_reply::TcpInfoReply;

/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`.
const GROUPS: [u32; 2] = [1, 3];
/// Room for several thousand connections that end between two calls, bytes.
const BUFFERED: u32 = 8 << 20;
/// The maximum length of a message.
const LONGEST: usize = 1 << 13;

/// A connection at its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClosedFlow {
    /// Its cookie, which no other connection of the host has had.
    #[serde(skip)]
    pub cookie: u64,
    /// Bytes that the other end has acknowledged.
    pub acked_bytes: u64,
    /// Packets with data that were sent, retransmissions included.
    pub sent: u64,
    /// Retransmitted packets.
    pub retransmitted: u64,
    /// The smoothed round-trip time; `None` if there was no sample,
    pub rtt_ms: Option<f64>,
    /// and the shortest one that the kernel remembers.
    pub min_rtt_ms: Option<f64>,
    /// How long data were outstanding,
    pub busy_s: f64,
    /// how much of that the receive window limited the sender,
    pub receive_window_s: f64,
    /// and how much the send buffer did.
    pub send_buffer_s: f64,
}

/// Listens for connections of the namespace of this thread that end.
#[derive(Debug)]
pub struct ClosedFlows {
    socket: Socket,
}

impl ClosedFlows {
    /// Begins to listen.
    pub fn new() -> io::Result<ClosedFlows> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.set_rx_buf_sz(BUFFERED)?;
        socket.bind_auto()?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        socket.set_non_blocking(true)?;
        Ok(ClosedFlows { socket })
    }

    /// The connections that have ended since the last call, and whether the kernel has dropped some for lack of room.
    pub fn next(&self) -> io::Result<(Vec<ClosedFlow>, bool)> {
        let (mut flows, mut dropped) = (Vec::new(), false);
        let mut buffer = Vec::with_capacity(LONGEST);
        loop {
            buffer.clear();
            match self.socket.recv(&mut buffer, 0) {
                Ok(_) => flows.extend(read(&buffer)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok((flows, dropped)),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => dropped = true,
                Err(error) => return Err(error),
            }
        }
    }
}

fn read(bytes: &[u8]) -> Option<ClosedFlow> {
    match NetlinkMessage::<SockDiagMessage>::deserialize(bytes).ok()?.payload {
        NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => closed(&response),
        _ => None,
    }
}

fn closed(response: &InetResponse) -> Option<ClosedFlow> {
    let info = response.nlas.iter().find_map(|nla| match nla {
        Nla::TcpInfo(bytes) => TcpInfoReply::read(bytes),
        _ => None,
    })?;
    let ms = |us: u32| Some(us).filter(|us| *us != 0 && *us != u32::MAX).map(|us| f64::from(us) / 1000.0);
    Some(ClosedFlow {
        cookie: u64::from_ne_bytes(response.header.socket_id.cookie),
        acked_bytes: info.bytes_acked,
        sent: info.data_segs_out.into(),
        retransmitted: info.total_retrans.into(),
        rtt_ms: ms(info.rtt_us),
        min_rtt_ms: ms(info.min_rtt_us),
        busy_s: info.busy_us as f64 / 1e6,
        receive_window_s: info.rwnd_limited_us as f64 / 1e6,
        send_buffer_s: info.sndbuf_limited_us as f64 / 1e6,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;

    /// Without root, too.
    #[test]
    fn a_connection_that_ends_is_reported_with_its_bytes() {
        let closed = ClosedFlows::new().expect("every user may listen");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        // No other connection of this host is likely to have sent this number of bytes.
        client.write_all(&[0; 54_321]).unwrap();
        server.read_exact(&mut [0; 54_321]).unwrap();
        drop((client, server));
        let begun = Instant::now();
        let found = loop {
            let (flows, _) = closed.next().unwrap();
            // The beginning and the end of the connection count as a byte each.
            let ours = |flow: &ClosedFlow| (54_321..=54_323).contains(&flow.acked_bytes);
            if let Some(flow) = flows.into_iter().find(ours) {
                break flow;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "it was not reported");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(found.sent >= 1 && found.cookie != 0, "{found:?}");
    }
}
