//! The TCP connections of a namespace as the kernel reports them (`sock_diag`): controllers, windows, rates and
//! retransmissions.

use std::io;
use std::net::SocketAddr;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_sys::{Socket, SocketAddr as NetlinkAddr, protocols::NETLINK_SOCK_DIAG};
use serde::Serialize;

use crate::lab::tcp_info::{SenderLimits, threshold};
use crate::tcp_info_reply::TcpInfoReply;

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
    /// The number of the user who owns the socket.
    pub uid: u32,
    /// The mark of the socket, which the kernel reports to root alone.
    pub mark: Option<u32>,
    /// The last rate at which data were delivered, over at most one round trip,
    pub delivery_rate_bps: f64,
    /// and whether the application limited the sender meanwhile.
    pub app_limited: bool,
    /// Bytes that the application has written and that are not sent.
    pub unsent_bytes: u32,
    /// How long data were outstanding since the connection began,
    pub busy_s: f64,
    /// how much of that the receive window limited the sender,
    pub receive_window_s: f64,
    /// and how much the send buffer did.
    pub send_buffer_s: f64,
    /// What only newer kernels report.
    #[serde(flatten)]
    pub newer: NewerFields,
    /// What has kept it back so far.
    #[serde(skip)]
    pub limits: SenderLimits,
}

/// What kernels after 4.10 report; `None` if the reply of this kernel lacks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct NewerFields {
    /// Packets that were delivered,
    pub delivered: Option<u32>,
    /// and the delivered packets that carried a congestion mark.
    pub delivered_marked: Option<u32>,
    /// Bytes that were sent, retransmissions included,
    pub sent_bytes: Option<u64>,
    /// and retransmitted.
    pub retransmitted_bytes: Option<u64>,
    /// The window that the other end offers, bytes,
    pub peer_window_bytes: Option<u32>,
    /// and the one that this end offers.
    pub own_window_bytes: Option<u32>,
    /// Timeouts.
    pub timeouts: Option<u16>,
    /// Packets with a congestion mark that arrived.
    pub received_marked: Option<u32>,
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
    let (mut controller, mut info, mut mark) = (None, None, None);
    for nla in &response.nlas {
        match nla {
            Nla::Congestion(name) => controller = Some(name.clone()),
            Nla::TcpInfo(bytes) => info = TcpInfoReply::read(bytes),
            Nla::Mark(value) => mark = Some(*value),
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
        ssthresh: threshold(info.snd_ssthresh),
        mss: info.snd_mss,
        rtt_ms: f64::from(info.rtt_us) / 1000.0,
        min_rtt_ms: (info.min_rtt_us != u32::MAX).then(|| f64::from(info.min_rtt_us) / 1000.0),
        // The kernel's own "no limit".
        pacing_rate_bps: (info.pacing_rate != u64::MAX).then_some(info.pacing_rate as f64 * 8.0),
        acked_bytes: info.bytes_acked,
        sent: info.data_segs_out.into(),
        retransmitted: info.total_retrans.into(),
        uid: response.header.uid,
        mark,
        delivery_rate_bps: info.delivery_rate as f64 * 8.0,
        app_limited: info.app_limited,
        unsent_bytes: info.notsent_bytes,
        busy_s: info.busy_us as f64 / 1e6,
        receive_window_s: info.rwnd_limited_us as f64 / 1e6,
        send_buffer_s: info.sndbuf_limited_us as f64 / 1e6,
        newer: NewerFields {
            delivered: info.delivered,
            delivered_marked: info.delivered_ce,
            sent_bytes: info.bytes_sent,
            retransmitted_bytes: info.bytes_retrans,
            peer_window_bytes: info.snd_wnd,
            own_window_bytes: info.rcv_wnd,
            timeouts: info.total_rto,
            received_marked: info.received_ce,
        },
        limits: SenderLimits::of(&info),
    })
}

#[cfg(test)]
mod tests {
    use netlink_packet_sock_diag::constants::TCP_ESTABLISHED;
    use netlink_packet_sock_diag::inet::InetResponseHeader;
    use serde_json::{Value, json};

    use super::*;
    use crate::tcp_info_reply::made_by_hand;

    /// The connection of a reply with a `tcp_info` of this length, as JSON.
    fn replied(length: usize, more: &[Nla]) -> Value {
        let header = InetResponseHeader {
            family: AF_INET,
            state: TCP_ESTABLISHED,
            timer: None,
            socket_id: SocketId::new_v4(),
            recv_queue: 0,
            send_queue: 0,
            uid: 1000,
            inode: 7,
        };
        let own = [Nla::Congestion("cubic".into()), Nla::TcpInfo(made_by_hand(length))];
        let nlas = own.iter().chain(more).cloned().collect();
        flow(&InetResponse { header, nlas }).map_or(Value::Null, |flow| json!(flow))
    }

    #[test]
    fn fields_that_a_reply_lacks_are_null_in_json_and_not_zero() {
        let keys = [
            "delivered",
            "delivered_marked",
            "sent_bytes",
            "retransmitted_bytes",
            "peer_window_bytes",
            "own_window_bytes",
            "timeouts",
            "received_marked",
        ];
        for (length, present) in [(192, 0), (200, 2), (224, 4), (232, 5), (240, 6), (248, 7), (280, 8)] {
            let flow = replied(length, &[]);
            for (at, key) in keys.iter().enumerate() {
                assert_eq!(flow[key].is_null(), at >= present, "{length} bytes: {key}");
                assert_ne!(flow[key], json!(0), "{length} bytes: {key}");
            }
            assert_eq!((&flow["busy_s"], &flow["receive_window_s"]), (&json!(4.0), &json!(3.0)));
        }
        assert_eq!(replied(191, &[]), Value::Null);
    }

    #[test]
    fn the_owner_is_known_without_rights_and_the_mark_only_where_the_kernel_reports_it() {
        let flow = replied(232, &[]);
        assert_eq!((&flow["uid"], &flow["mark"]), (&json!(1000), &Value::Null));
        assert_eq!(replied(232, &[Nla::Mark(0)])["mark"], json!(0));
    }
}
