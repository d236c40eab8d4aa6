//! Two hosts and a wire between them that takes no time: one thread is both programs and the wire.
//!
//! What a host does about a packet it does while the packet is handed to it, and no other thread has a part in it.
//! So what an acknowledgement costs is what handing it to the sender takes: it is received, the controller is asked,
//! and the packet that it lets go is sent.
//!
//! A controller that keeps a larger window would send with another cache and another queue, and be compared for that.
//! So the route holds the window of all of them to [`WINDOW`], above the threshold, where they avoid congestion. A connection
//! is told this of its route by what the kernel remembers of one before it, so there is one that is not measured.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Rate, Span};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::error::{Context, Error, Result};
use crate::lab::address::everything;
use crate::lab::info::{Info, State};
use crate::lab::socket::{self, Options};
use crate::lab::tun::{DEVICE, set};
use crate::lab::{Dumbbell, Lab};

/// At which the window stands, packets.
pub const WINDOW: u32 = 64;
const THRESHOLD: u32 = 10;
/// Acknowledgements until windows, buffers and caches are as they stay.
const WARM_UP: u64 = 3000;
/// More than a window, so that there is always something to send.
const SEND_BUFFER: Bytes = Bytes(1 << 18);
const RECEIVE_BUFFER: Bytes = Bytes(4 << 20);
/// The largest packet on this wire, and more.
const LARGEST: usize = 2048;
/// How long a flow may take: thousands of times as long as it does.
const PATIENCE: Duration = Duration::from_secs(60);

static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];

/// The hosts, and the wire.
#[derive(Debug)]
pub struct Wire {
    lab: Lab,
    listener: TcpListener,
    /// Acknowledgements on their way back, one after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// A connection over the wire, in congestion avoidance, with nothing on its way.
#[derive(Debug)]
pub struct Flow {
    sender: TcpStream,
    receiver: TcpStream,
    written: u64,
    read: u64,
    /// Acknowledgements that its sender was handed.
    pub acknowledged: u64,
}

/// What was handed to the sender, and what that took of the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Handed {
    /// Acknowledgements.
    pub packets: u64,
    /// Of this thread, in nanoseconds: finer than a span of whole packets needs.
    pub time_ns: u64,
}

impl Handed {
    /// Of one acknowledgement.
    pub fn each_ns(self) -> f64 {
        self.time_ns as f64 / self.packets as f64
    }
}

impl Wire {
    /// Makes the hosts, and has their kernel remember what the route says.
    pub fn new() -> Result<Wire> {
        let lab = Lab::new(layout().layout()).when("cannot create two hosts")?;
        hold_window(&lab).when("cannot lock the window by a route")?;
        let listen = || socket::receiver(1, 0, &options("reno"));
        let listener = TcpListener::from(lab.host(1).namespace.inside(listen)?);
        listener.set_nonblocking(true)?;
        let mut wire = Wire { lab, listener, bytes: Vec::new(), ends: Vec::new() };
        wire.teach().when("the connection that sets the metrics of the route failed")?;
        Ok(wire)
    }

    /// A flow of this controller, whose window stands where it is to stand.
    pub fn open(&mut self, controller: &str) -> Result<Flow> {
        let (sender, receiver) = self.connect(controller).when(controller)?;
        let mut flow = Flow { sender, receiver, written: 0, read: 0, acknowledged: 0 };
        let begun = Instant::now();
        while Info::of(&flow.sender)?.cwnd < WINDOW {
            flow.fill()?;
            self.carry_on(&mut flow, begun).when(controller)?;
        }
        self.carry(&mut flow, WARM_UP).map(|_| flow)
    }

    /// Has a flow go on for so many acknowledgements, or a window more; then what it has still to send passes untimed.
    ///
    /// # Errors
    /// Where the window did not stand as all others' does: such a time is none to compare.
    pub fn carry(&mut self, flow: &mut Flow, acknowledgements: u64) -> Result<Handed> {
        let (mut sum, begun) = (Handed::default(), Instant::now());
        while sum.packets < acknowledgements {
            flow.fill()?;
            let Handed { packets, time_ns } = self.carry_on(flow, begun)?;
            sum = Handed { packets: sum.packets + packets, time_ns: sum.time_ns + time_ns };
            check(&Info::of(&flow.sender)?)?;
        }
        while flow.read < flow.written {
            self.carry_on(flow, begun)?;
        }
        Ok(sum)
    }

    fn carry_on(&mut self, flow: &mut Flow, begun: Instant) -> io::Result<Handed> {
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::other("the flow made no progress over a link without delay"));
        }
        let handed = self.pass()?;
        flow.acknowledged += handed.packets;
        flow.read += drain(&flow.receiver)?;
        Ok(handed)
    }

    /// A connection that ends in order, so that what its route says is kept for those that follow.
    fn teach(&mut self) -> io::Result<()> {
        let (mut sender, receiver) = self.connect("reno")?;
        sender.write_all(&PAYLOAD[..LARGEST])?;
        self.pass()?;
        drain(&receiver)?;
        drop(sender);
        self.pass()?;
        drop(receiver);
        self.pass()?;
        self.pass().map(drop)
    }

    fn connect(&mut self, controller: &str) -> io::Result<(TcpStream, TcpStream)> {
        let make = || socket::sender(0, 0, &options(controller));
        let sender = TcpStream::from(self.lab.host(0).namespace.inside(make)?);
        sender.set_nonblocking(true)?;
        match socket::open(&sender, 1, 0) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            done => done?,
        }
        // The request and the answer; then what that is answered with.
        self.pass()?;
        self.pass()?;
        let (receiver, _) = self.listener.accept()?;
        receiver.set_nonblocking(true)?;
        Ok((sender, receiver))
    }

    /// Carries all data there is, and then all acknowledgements of it, of which the time is taken.
    fn pass(&mut self) -> io::Result<Handed> {
        let Wire { lab, bytes, ends, .. } = self;
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
        Ok(Handed { packets: ends.len() as u64, time_ns: processor_ns()? - before })
    }
}

impl Flow {
    /// Gives the sender as much as it takes.
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
    /// Both ends go at once: a connection that takes leave would keep its controller.
    fn drop(&mut self) {
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        for end in [&self.sender, &self.receiver] {
            let _ = setsockopt(end, sockopt::Linger, &at_once);
        }
    }
}

fn layout() -> Dumbbell {
    Dumbbell {
        // The links are not used: what hosts send does not go over them.
        rate: Rate::from_bps(1_000_000_000).expect("it is not zero"),
        rtt: Span::from_ms(1),
        capacity: Capacity::Unlimited,
        loss: None,
        connections: 1,
    }
}

/// Every packet is acknowledged, and the window is the route's.
fn hold_window(lab: &Lab) -> io::Result<()> {
    let route = format!("route replace {} dev {DEVICE} quickack 1", everything());
    lab.host(1).namespace.ip(&route)?;
    lab.host(0).namespace.ip(&format!("{route} rto_min 10s cwnd lock {WINDOW} ssthresh lock {THRESHOLD}"))?;
    lab.host(0).namespace.inside(|| {
        set("ipv4/tcp_no_metrics_save", "0")?;
        // While another program has the processor nothing moves, and nothing is lost.
        set("ipv4/tcp_early_retrans", "0")?;
        // A flow has its window when its next turn comes.
        set("ipv4/tcp_slow_start_after_idle", "0")?;
        set("ipv4/tcp_no_ssthresh_metrics_save", "0")
    })
}

fn options(controller: &str) -> Options {
    Options {
        send_buffer: Some(SEND_BUFFER),
        receive_buffer: Some(RECEIVE_BUFFER),
        ..Options::of(controller)
    }
}

fn check(info: &Info) -> Result<()> {
    let stands = info.cwnd == WINDOW && info.ssthresh == Some(THRESHOLD);
    if stands && info.state == State::Open && info.retransmitted == 0 {
        return Ok(());
    }
    Err(Error::failed(format!(
        "wanted a window of {WINDOW} packets, a slow-start threshold of {THRESHOLD} and no loss, so that \
         the cost of acknowledgements can be compared; the kernel reports {info:?}"
    )))
}

/// Takes what has arrived: how much; the kernel counts it and lets go of it, without a copy.
fn drain(receiver: &TcpStream) -> io::Result<u64> {
    let (mut nothing, mut read) = ([0; PAYLOAD.len()], 0);
    loop {
        match recv(receiver.as_raw_fd(), &mut nothing, MsgFlags::MSG_TRUNC) {
            Ok(0) | Err(Errno::EAGAIN) => return Ok(read),
            done => read += done? as u64,
        }
    }
}

/// What this thread has had of the processor.
fn processor_ns() -> io::Result<u64> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.num_nanoseconds() as u64)
}
