//! Two hosts and a link between them without delay: one thread is both programs and the link.
//!
//! A host does all work for a packet while the packet is handed to it, in this thread. So the cost of an
//! acknowledgement is the time that it takes to hand it to the sender: the kernel receives it, calls the controller,
//! and sends the packet that it allows.
//!
//! A controller with a larger window would send with other contents of the cache and another queue, which would be part
//! of the comparison. So the route locks the window of all controllers to [`WINDOW`], above the threshold, in congestion
//! avoidance. A connection takes these values from the route metrics that the kernel cached of one before it, so the
//! first connection is not measured.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use fairhaul_host::error::{Context, Error, Result};
use fairhaul_host::lab::address::everything;
use fairhaul_host::lab::interface::{DEVICE, set};
use fairhaul_host::lab::socket::{self, SocketOptions};
use fairhaul_host::lab::tcp_info::{CaState, Info};
use fairhaul_host::lab::{Dumbbell, Lab};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Rate, Span};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// The window of all flows, packets.
pub const WINDOW: u32 = 64;
const THRESHOLD: u32 = 10;
/// Acknowledgements until windows, buffers and caches are in their steady state.
const WARM_UP: u64 = 3000;
/// More than a window, so that there is always something to send.
const SEND_BUFFER: Bytes = Bytes(1 << 18);
const RECEIVE_BUFFER: Bytes = Bytes(4 << 20);
/// More than the largest packet on this link.
const LARGEST: usize = 2048;
/// The longest time for a flow: thousands of times what it takes.
const PATIENCE: Duration = Duration::from_secs(60);

static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];

/// The hosts, and the link between them.
#[derive(Debug)]
pub struct DirectLink {
    lab: Lab,
    listener: TcpListener,
    /// Acknowledgements on their way back, one after the other, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// A connection over the link, in congestion avoidance, with nothing in flight.
#[derive(Debug)]
pub struct Flow {
    sender: TcpStream,
    receiver: TcpStream,
    written: u64,
    read: u64,
    /// Acknowledgements that its sender was handed.
    pub acknowledged: u64,
}

/// Acknowledgements that were handed to the sender, and the processor time for them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckBatch {
    /// Acknowledgements.
    pub packets: u64,
    /// Processor time of this thread, ns.
    pub time_ns: u64,
}

impl AckBatch {
    /// Processor time per acknowledgement.
    pub fn each_ns(self) -> f64 {
        self.time_ns as f64 / self.packets as f64
    }
}

impl DirectLink {
    /// Makes the hosts, and has the kernel cache the metrics of the route.
    pub fn new() -> Result<DirectLink> {
        let lab = Lab::unsteered(layout().layout()).when("cannot create two hosts")?;
        lock_window(&lab).when("cannot lock the window by a route")?;
        let listen = || socket::receiver(1, 0, &options("reno"));
        let listener = TcpListener::from(lab.host(1).namespace.inside(listen)?);
        listener.set_nonblocking(true)?;
        let mut link = DirectLink { lab, listener, bytes: Vec::new(), ends: Vec::new() };
        link.cache_route_metrics().when("the connection that sets the metrics of the route failed")?;
        Ok(link)
    }

    /// Opens a flow of this controller, and runs it until its window is [`WINDOW`].
    pub fn open(&mut self, controller: &str) -> Result<Flow> {
        let (sender, receiver) = self.connect(controller).when(controller)?;
        let mut flow = Flow { sender, receiver, written: 0, read: 0, acknowledged: 0 };
        let begun = Instant::now();
        while Info::of(&flow.sender)?.cwnd < WINDOW {
            flow.fill()?;
            self.step(&mut flow, begun).when(controller)?;
        }
        self.run(&mut flow, WARM_UP).map(|_| flow)
    }

    /// Runs a flow for this number of acknowledgements, or a window more; then the rest of its data passes untimed.
    ///
    /// # Errors
    /// The window was not [`WINDOW`] throughout: such a time cannot be compared.
    pub fn run(&mut self, flow: &mut Flow, acknowledgements: u64) -> Result<AckBatch> {
        let (mut sum, begun) = (AckBatch::default(), Instant::now());
        while sum.packets < acknowledgements {
            flow.fill()?;
            let AckBatch { packets, time_ns } = self.step(flow, begun)?;
            sum = AckBatch { packets: sum.packets + packets, time_ns: sum.time_ns + time_ns };
            check(&Info::of(&flow.sender)?)?;
        }
        while flow.read < flow.written {
            self.step(flow, begun)?;
        }
        Ok(sum)
    }

    fn step(&mut self, flow: &mut Flow, begun: Instant) -> io::Result<AckBatch> {
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::other("the flow made no progress over a link without delay"));
        }
        let handed = self.exchange()?;
        flow.acknowledged += handed.packets;
        flow.read += drain(&flow.receiver)?;
        Ok(handed)
    }

    /// Runs a connection to its regular end, so that the kernel caches the metrics of its route for the next ones.
    fn cache_route_metrics(&mut self) -> io::Result<()> {
        let (mut sender, receiver) = self.connect("reno")?;
        sender.write_all(&PAYLOAD[..LARGEST])?;
        self.exchange()?;
        drain(&receiver)?;
        drop(sender);
        self.exchange()?;
        drop(receiver);
        self.exchange()?;
        self.exchange().map(drop)
    }

    fn connect(&mut self, controller: &str) -> io::Result<(TcpStream, TcpStream)> {
        let make = || socket::sender(0, 0, &options(controller));
        let sender = TcpStream::from(self.lab.host(0).namespace.inside(make)?);
        sender.set_nonblocking(true)?;
        match socket::open(&sender, 1, 0) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            done => done?,
        }
        // SYN and SYN-ACK; then the ACK.
        self.exchange()?;
        self.exchange()?;
        let (receiver, _) = self.listener.accept()?;
        receiver.set_nonblocking(true)?;
        Ok((sender, receiver))
    }

    /// Carries all data in flight, and then, timed, all acknowledgements of it.
    fn exchange(&mut self) -> io::Result<AckBatch> {
        let DirectLink { lab, bytes, ends, .. } = self;
        let (near, far) = (lab.host(0), lab.host(1));
        let mut packet = [0; LARGEST];
        while let Some(length) = near.read(&mut packet)? {
            far.write(&packet[..length])?;
        }
        bytes.clear();
        ends.clear();
        while let Some(length) = far.read(&mut packet)? {
            bytes.extend_from_slice(&packet[..length]);
            ends.push(bytes.len());
        }
        let (mut from, before) = (0, processor_ns()?);
        for &to in &*ends {
            near.write(&bytes[from..to])?;
            from = to;
        }
        Ok(AckBatch { packets: ends.len() as u64, time_ns: processor_ns()? - before })
    }
}

impl Flow {
    /// Writes as much as the send buffer takes.
    fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.sender.write(&PAYLOAD) {
                Ok(length) => self.written += length as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Flow {
    /// Aborts both ends: a connection that closes in order would keep its controller in use.
    fn drop(&mut self) {
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        for end in [&self.sender, &self.receiver] {
            let _ = setsockopt(end, sockopt::Linger, &at_once);
        }
    }
}

fn layout() -> Dumbbell {
    Dumbbell {
        // The links of the lab are not used.
        rate: Rate::from_bps(1_000_000_000).expect("it is not zero"),
        rtt: Span::from_ms(1),
        capacity: Capacity::Unlimited,
        loss: None,
        connections: 1,
    }
}

/// Has every packet acknowledged, and locks the window by the route.
fn lock_window(lab: &Lab) -> io::Result<()> {
    let route = format!("route replace {} dev {DEVICE} quickack 1", everything());
    lab.host(1).namespace.ip(&route)?;
    lab.host(0).namespace.ip(&format!("{route} rto_min 10s cwnd lock {WINDOW} ssthresh lock {THRESHOLD}"))?;
    lab.host(0).namespace.inside(|| {
        set("ipv4/tcp_no_metrics_save", "0")?;
        // A pause of this thread must not look like a loss.
        set("ipv4/tcp_early_retrans", "0")?;
        // A flow keeps its window between its turns.
        set("ipv4/tcp_slow_start_after_idle", "0")?;
        set("ipv4/tcp_no_ssthresh_metrics_save", "0")
    })
}

fn options(controller: &str) -> SocketOptions {
    SocketOptions {
        send_buffer: Some(SEND_BUFFER),
        receive_buffer: Some(RECEIVE_BUFFER),
        ..SocketOptions::of(controller)
    }
}

fn check(info: &Info) -> Result<()> {
    let stands = info.cwnd == WINDOW && info.ssthresh == Some(THRESHOLD);
    if stands && info.ca_state == CaState::Open && info.retransmitted == 0 {
        return Ok(());
    }
    Err(Error::failed(format!(
        "wanted a window of {WINDOW} packets, a slow-start threshold of {THRESHOLD} and no loss, so that \
         the cost of acknowledgements can be compared; the kernel reports {info:?}"
    )))
}

/// Reads what has arrived and returns its size; the kernel counts and discards it, without a copy.
fn drain(receiver: &TcpStream) -> io::Result<u64> {
    let (mut nothing, mut read) = ([0; PAYLOAD.len()], 0);
    loop {
        match recv(receiver.as_raw_fd(), &mut nothing, MsgFlags::MSG_TRUNC) {
            Ok(0) | Err(Errno::EAGAIN) => return Ok(read),
            done => read += done? as u64,
        }
    }
}

/// Processor time of this thread, ns.
fn processor_ns() -> io::Result<u64> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.num_nanoseconds() as u64)
}
