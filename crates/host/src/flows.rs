//! The TCP connections of a namespace as the kernel reports them (`sock_diag`): controllers, windows, rates and
//! retransmissions.

use std::io;
use std::net::SocketAddr;

use fairhaul_units::Span;
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::{Nla, TcpInfo};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::{Socket, SocketAddr as NetlinkAddr, protocols::NETLINK_SOCK_DIAG};
use serde::Serialize;

use crate::lab::tcp_info::{SenderLimits, is_capped, is_starved};

/// The maximum length of a message of a dump.
const LONGEST: usize = 1 << 16;

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelFlow {
    /// Its cookie, which no other connection of the host has had.
    pub cookie: u64,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The congestion controller's name.
    pub controller: String,
    /// The window, in packets.
    pub cwnd: u32,
    /// The slow-start threshold, in packets; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// The payload of a full packet, bytes.
    pub mss: u32,
    /// The smoothed round-trip time.
    pub rtt_ms: f64,
    /// The shortest round-trip time that the kernel remembers; `None` before the first sample.
    pub min_rtt_ms: Option<f64>,
    /// The pacing rate; `None` without a limit.
    pub pacing_rate_bps: Option<f64>,
    /// Bytes that the other end has acknowledged since the connection began.
    pub acked_bytes: u64,
    /// Packets with data that were sent, retransmissions included.
    pub sent: u64,
    /// Retransmitted packets.
    pub retransmitted: u64,
    /// What has kept it back so far.
    #[serde(skip)]
    pub limits: SenderLimits,
}

/// The connections of the namespace of this thread: all that are established, or that end and still may send.
pub fn all() -> io::Result<Vec<KernelFlow>> {
    let mut flows = Vec::new();
    for (family, id) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        for response in dump(family, id)? {
            flows.extend(flow(&response));
        }
    }
    Ok(flows)
}

fn dump(family: u8, socket_id: SocketId) -> io::Result<Vec<InetResponse>> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&NetlinkAddr::new(0, 0))?;
    socket.send(&request(family, socket_id), 0)?;
    let mut flows = Vec::new();
    let mut buffer = Vec::with_capacity(LONGEST);
    loop {
        buffer.clear();
        socket.recv(&mut buffer, 0)?;
        let mut rest = &buffer[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                    flows.push(*response)
                }
                NetlinkPayload::Done(_) => return Ok(flows),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
            // Messages begin at multiples of four bytes.
            let length = message.header.length.next_multiple_of(4) as usize;
            rest = rest.get(length.max(4)..).unwrap_or_default();
        }
    }
}

fn request(family: u8, socket_id: SocketId) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::INFO | ExtensionFlags::CONG,
        states: StateFlags::ESTABLISHED
            | StateFlags::CLOSE_WAIT
            | StateFlags::FIN_WAIT1
            | StateFlags::FIN_WAIT2
            | StateFlags::CLOSING
            | StateFlags::LAST_ACK,
        socket_id,
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

fn flow(response: &InetResponse) -> Option<KernelFlow> {
    let id = &response.header.socket_id;
    let (mut controller, mut info): (_, Option<&TcpInfo>) = (None, None);
    for nla in &response.nlas {
        match nla {
            Nla::Congestion(name) => controller = Some(name.clone()),
            Nla::TcpInfo(found) => info = Some(found),
            _ => {}
        }
    }
    let info = info?;
    Some(KernelFlow {
        cookie: u64::from_ne_bytes(id.cookie),
        local: SocketAddr::new(id.source_address.to_canonical(), id.source_port),
        remote: SocketAddr::new(id.destination_address.to_canonical(), id.destination_port),
        controller: controller?,
        cwnd: info.snd_cwnd,
        // The kernel's own "no threshold yet".
        ssthresh: (info.snd_ssthresh < i32::MAX as u32).then_some(info.snd_ssthresh),
        mss: info.snd_mss,
        rtt_ms: f64::from(info.rtt) / 1000.0,
        min_rtt_ms: (info.min_rtt != u32::MAX).then(|| f64::from(info.min_rtt) / 1000.0),
        // The kernel's own "no limit".
        pacing_rate_bps: (info.pacing_rate != u64::MAX).then_some(info.pacing_rate as f64 * 8.0),
        acked_bytes: info.bytes_acked,
        sent: info.data_segs_out.into(),
        retransmitted: info.total_retrans.into(),
        limits: SenderLimits {
            busy: Span::from_us(info.busy_time),
            receive_window: Span::from_us(info.rwnd_limited),
            send_buffer: Span::from_us(info.sndbuf_limited),
            starved: is_starved(
                info.notsent_bytes,
                [info.unacked, info.sacked, info.lost, info.retrans],
                info.snd_cwnd,
            ),
            pacing_cap: is_capped(info.pacing_rate, info.max_pacing_rate),
        },
    })
}
