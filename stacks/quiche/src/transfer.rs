//! A transfer over quiche, with a socket and the clock of the system, by two programs: `quiche-transfer send BYTES`, with a
//! controller of quiche behind it if it is not CUBIC, and `quiche-transfer receive`. Fairhaul gives them their addresses, and
//! where their qlog and their keys go, by variables of the environment (docs/programs.md).

mod tls;

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;
use std::time::{Duration, Instant};

use quiche::{Config, Connection, ConnectionId, Header, RecvInfo, SendInfo, Type};

type Failure = Box<dyn Error>;

/// The data of one write, and of one read.
const PIECE: usize = 1 << 16;
/// The largest datagram, bytes: with the headers of IP and UDP it fits into packets of 1500 B.
const DATAGRAM: usize = 1472;
/// The first stream of the sender in one direction (RFC 9000, 2.1).
const STREAM: u64 = 2;
/// Each end has one connection at a time.
const ID: [u8; 8] = *b"fairhaul";

fn main() -> Result<(), Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["send", bytes] => send(bytes.parse()?, "cubic"),
        ["send", bytes, controller] => send(bytes.parse()?, controller),
        ["receive"] => receive(),
        _ => Err("wanted: send BYTES, send BYTES CONTROLLER, or receive".into()),
    }
}

/// Sends this many bytes on one stream, and waits until they are acknowledged.
fn send(bytes: usize, controller: &str) -> Result<(), Failure> {
    let mut config = config()?;
    config.set_cc_algorithm_name(controller)?;
    let socket = UdpSocket::bind((address("FAIRHAUL_ADDRESS")?, 0))?;
    let peer = SocketAddr::new(address("FAIRHAUL_PEER")?, port()?);
    let id = ConnectionId::from_ref(&ID);
    let connection = quiche::connect(Some("fairhaul"), &id, socket.local_addr()?, peer, &mut config)?;
    let mut end = End::new(&socket, connection)?;
    let piece = vec![0; PIECE];
    let mut left = bytes;
    // A stream of its own that is complete is forgotten, and then finished.
    while left > 0 || !end.connection.stream_finished(STREAM) {
        if end.connection.is_closed() {
            let (own, peer) = (end.connection.local_error(), end.connection.peer_error());
            return Err(format!("the connection was closed: {own:?}, by the other end: {peer:?}").into());
        }
        while left > 0
            && end.connection.is_established()
            && let Ok(taken @ 1..) =
                end.connection.stream_send(STREAM, &piece[..left.min(PIECE)], left <= PIECE)
        {
            left -= taken;
        }
        end.step()?;
    }
    end.connection.close(true, 0, b"done")?;
    while !end.connection.is_closed() {
        end.step()?;
    }
    Ok(())
}

/// Reads what the streams of one connection after the other bring.
fn receive() -> Result<(), Failure> {
    let mut config = config()?;
    let socket = UdpSocket::bind((address("FAIRHAUL_ADDRESS")?, port()?))?;
    let own = socket.local_addr()?;
    let mut datagram = [0; DATAGRAM];
    let mut data = vec![0; PIECE];
    loop {
        let (size, peer) = socket.recv_from(&mut datagram)?;
        let first = &mut datagram[..size];
        if !Header::from_slice(first, ID.len()).is_ok_and(|header| header.ty == Type::Initial) {
            continue;
        }
        let connection = quiche::accept(&ConnectionId::from_ref(&ID), None, own, peer, &mut config)?;
        let mut end = End::new(&socket, connection)?;
        end.arrived(first, peer);
        while !end.connection.is_closed() {
            end.step()?;
            for stream in end.connection.readable() {
                while end.connection.stream_recv(stream, &mut data).is_ok() {}
            }
        }
        socket.set_nonblocking(false)?;
    }
}

/// An end of a connection, and its socket.
struct End<'a> {
    socket: &'a UdpSocket,
    own: SocketAddr,
    connection: Connection,
    datagram: [u8; DATAGRAM],
    /// The size of the datagram that waits for its time, with that time and its address.
    waiting: Option<(usize, SendInfo)>,
}

impl End<'_> {
    /// Writes a qlog where `QLOGDIR` says, and the keys to `SSLKEYLOGFILE`.
    fn new(socket: &UdpSocket, mut connection: Connection) -> Result<End<'_>, Failure> {
        if let Ok(folder) = env::var("QLOGDIR") {
            let file = File::create(Path::new(&folder).join("quiche.sqlog"))?;
            connection.set_qlog(Box::new(BufWriter::new(file)), "quiche".to_owned(), String::new());
        }
        if let Ok(path) = env::var("SSLKEYLOGFILE") {
            connection.set_keylog(Box::new(File::options().create(true).append(true).open(path)?));
        }
        socket.set_nonblocking(true)?;
        let own = socket.local_addr()?;
        Ok(End { socket, own, connection, datagram: [0; DATAGRAM], waiting: None })
    }

    /// Sends what may leave now, waits for a datagram or a timer, and takes what has arrived.
    fn step(&mut self) -> Result<(), Failure> {
        while self.send_next()? {}
        let departure = self.waiting.map(|(_, given)| given.at);
        let timer = self.connection.timeout_instant();
        wait(self.socket, [departure, timer].into_iter().flatten().min())?;
        let mut datagram = [0; DATAGRAM];
        while let Some((size, peer)) = unless_blocked(self.socket.recv_from(&mut datagram))? {
            self.arrived(&mut datagram[..size], peer);
        }
        if timer.is_some_and(|due| due <= Instant::now()) {
            self.connection.on_timeout();
        }
        Ok(())
    }

    /// Sends a datagram that may leave now: whether there was one.
    fn send_next(&mut self) -> Result<bool, Failure> {
        if self.waiting.is_none()
            && let Ok(next) = self.connection.send(&mut self.datagram)
        {
            self.waiting = Some(next);
        }
        let now = Instant::now();
        let Some((size, given)) = self.waiting.take_if(|(_, given)| given.at <= now) else {
            return Ok(false);
        };
        // What the host has no room for is lost.
        unless_blocked(self.socket.send_to(&self.datagram[..size], given.to))?;
        Ok(true)
    }

    /// A datagram that cannot be read is dropped; an error that ends the connection shows in its state.
    fn arrived(&mut self, datagram: &mut [u8], from: SocketAddr) {
        let _ = self.connection.recv(datagram, RecvInfo { from, to: self.own });
    }
}

/// Waits until a datagram has arrived, at most until a time.
fn wait(socket: &UdpSocket, until: Option<Instant>) -> io::Result<()> {
    let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
    let timeout = libc::timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
    let timeout = if until.is_some() { &raw const timeout } else { ptr::null() };
    let mut asked = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: there is one `pollfd`, and the time is none or lives as long as the call.
    let found = unsafe { libc::ppoll(&raw mut asked, 1, timeout, ptr::null()) };
    if found < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// None for what would have had to wait.
fn unless_blocked<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        done => done.map(Some),
    }
}

/// The configuration of both ends, with windows of flow control that no path of the tests fills.
fn config() -> Result<Config, Failure> {
    let mut config = tls::config()?;
    config.set_max_idle_timeout(30_000);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.set_initial_max_streams_uni(1);
    config.set_initial_max_stream_data_uni(16 << 20);
    config.set_initial_max_data(64 << 20);
    Ok(config)
}

fn address(variable: &str) -> Result<IpAddr, Failure> {
    let text = env::var(variable).map_err(|_| format!("{variable} is not set: Fairhaul sets it"))?;
    Ok(text.parse()?)
}

fn port() -> Result<u16, Failure> {
    Ok(env::var("FAIRHAUL_PORT").map_err(|_| "FAIRHAUL_PORT is not set: Fairhaul sets it")?.parse()?)
}
