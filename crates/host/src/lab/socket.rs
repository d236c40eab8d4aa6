//! Sockets of the two ends of a connection, with the options of a run.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use fairhaul_units::{Bytes, Rate};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, getsockopt, listen, setsockopt,
    socket, sockopt,
};

use super::address::address;
use crate::sys;

/// The port of all receivers, each of which has its own address.
const PORT: u16 = 5001;

/// The options of both ends of a connection.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// The name of the controller in the kernel.
    pub controller: String,
    /// A full packet without the headers of IP and TCP, but with TCP's options.
    pub segment: Bytes,
    /// The requested send buffer; by default the kernel's choice.
    pub send_buffer: Option<Bytes>,
    /// The requested receive buffer; by default the kernel's choice.
    pub receive_buffer: Option<Bytes>,
    /// The upper bound of the pacing rate.
    pub max_pacing_rate: Option<Rate>,
}

/// The segment size of a packet of 1500 bytes.
const SEGMENT: Bytes = Bytes(1460);

impl SocketOptions {
    /// A controller, on packets of 1500 bytes; all other options are the kernel's choice.
    pub fn of(controller: &str) -> SocketOptions {
        SocketOptions {
            controller: controller.into(),
            segment: SEGMENT,
            send_buffer: None,
            receive_buffer: None,
            max_pacing_rate: None,
        }
    }
}

/// A socket of the sender of `connection` in the namespace of this thread, which is `host`.
pub fn sender(host: u8, connection: u32, options: &SocketOptions) -> io::Result<OwnedFd> {
    let socket = prepared(options)?;
    if let Some(size) = options.send_buffer {
        // Without root a request is limited; the plan has compared it with the limit.
        setsockopt(&socket, sockopt::SndBufForce, &(size.0 as usize))
            .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &(size.0 as usize)))?;
        granted(size, getsockopt(&socket, sockopt::SndBuf)?, "wmem_max")?;
    }
    if let Some(rate) = options.max_pacing_rate {
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate.as_bps() / 8)?;
    }
    bind(socket.as_raw_fd(), &name(host, connection, 0))?;
    Ok(socket)
}

/// A socket of its receiver, which listens.
pub fn receiver(host: u8, connection: u32, options: &SocketOptions) -> io::Result<OwnedFd> {
    let socket = prepared(options)?;
    if let Some(size) = options.receive_buffer {
        setsockopt(&socket, sockopt::RcvBufForce, &(size.0 as usize))
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &(size.0 as usize)))?;
        granted(size, getsockopt(&socket, sockopt::RcvBuf)?, "rmem_max")?;
    }
    bind(socket.as_raw_fd(), &name(host, connection, PORT))?;
    listen(&socket, Backlog::new(1)?)?;
    Ok(socket)
}

/// Opens the connection to the receiver at `host`, and waits until it is open.
pub fn open(socket: impl AsFd, host: u8, connection: u32) -> io::Result<()> {
    Ok(connect(socket.as_fd().as_raw_fd(), &name(host, connection, PORT))?)
}

/// Reads from a socket until it ends, or until all of `expected` has come; returns the payload.
pub fn drain(socket: impl AsFd, expected: Option<Bytes>) -> u64 {
    let expected = expected.map_or(u64::MAX, |size| size.0);
    let mut payload = 0;
    while payload < expected
        && let Ok(read @ 1..) = sys::discard(&socket, expected - payload)
    {
        payload += read as u64;
    }
    payload
}

/// A socket for datagrams of `connection` from `host` to `other`, and back.
pub fn datagrams(host: u8, other: u8, connection: u32) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    bind(socket.as_raw_fd(), &name(host, connection, PORT))?;
    connect(socket.as_raw_fd(), &name(other, connection, PORT))?;
    Ok(socket)
}

fn name(host: u8, connection: u32, port: u16) -> SockaddrIn {
    SocketAddrV4::new(address(host, connection), port).into()
}

/// Fails if a buffer is smaller than requested, because the kernel limits it.
fn granted(requested: Bytes, size: usize, limit: &str) -> io::Result<()> {
    if size as u64 >= requested.0 {
        return Ok(());
    }
    Err(io::Error::other(format!("the kernel limits a buffer of {requested}: net.core.{limit} is too small")))
}

fn prepared(options: &SocketOptions) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(&options.controller)).map_err(|error| {
        io::Error::other(format!("the kernel has no controller \"{}\": {error}", options.controller))
    })?;
    setsockopt(&socket, sockopt::TcpMaxSeg, &(options.segment.0 as u32))?;
    Ok(socket)
}
