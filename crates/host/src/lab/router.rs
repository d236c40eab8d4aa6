//! The lab and its router: a thread that carries packets between hosts by the [`Network`], in real time. In the engine
//! `linux` the program carries them itself ([`SimulatedPath`]), and there is no router.
//!
//! The router polls the devices once per tick and sleeps in between, because the kernel throttles a real-time thread that
//! never sleeps. A packet was sent half a tick before it is read, on average, so it counts as sent then; and the router
//! delivers what is due within half a tick. So the tick adds nothing to a delay on average, and a packet that is read
//! later counts as sent after every packet that has been delivered. What a packet causes at the host that receives it is
//! done on another processor ([`Processors`]).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use fairhaul_experiment::{Grid, PacketTrace, Record};
use fairhaul_units::{Sending, Span, Time};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use super::clock::Clock;
use super::device::DeviceKind;
use super::kernel_queue::KernelQueue;
use super::layout::{Layout, Mode};
use super::network::Network;
use super::network_counts::NetworkCounts;
use super::offload::{Joiner, PREFIX, split};
use super::processors::Processors;
use super::simulated_path::{NetworkResult, SimulatedPath};
use super::standstill::Waits;
use super::times::Times;
use super::tun::Host;
use crate::sys;
use crate::sys::slice::set_slice;

/// Time between two polls of the devices. With 50 us a run of 1 Gbit/s lagged more.
pub const TICK: Span = Span::from_us(100);
const HALF: Span = Span::from_us(50);
/// Higher than the default of other real-time threads.
pub const PRIORITY: libc::c_int = 10;
/// The router's turns without real-time priority: the shortest that the kernel accepts.
const SLICE_NS: u64 = 100_000;
/// Packets read from one host in a tick, at most: 10 Gbit/s of packets of 1500 B would be 83.
const MOST_READ: usize = 1000;
/// Packets written in a row, at most. A router that was held up has many to deliver, and the kernel drops packets of
/// hosts if more than 1000 wait for a processor (`netdev_max_backlog`). In a tick at 1 Gbit/s there are 17.
const MOST_WRITTEN: u32 = 128;
/// The largest packet that a device hands over.
const LARGEST: usize = PREFIX + (1 << 16);

/// Hosts that are up and have their addresses, with idle links between them.
#[derive(Debug)]
pub struct Lab {
    layout: Layout,
    hosts: Arc<Vec<Host>>,
    queues: Vec<KernelQueue>,
    devices: DeviceKind,
    processors: Processors,
    /// The flows whose packets are captured, each with its folder.
    captures: Vec<(u32, PathBuf)>,
}

/// A lab whose packets are carried.
#[derive(Debug)]
pub struct Running {
    hosts: Arc<Vec<Host>>,
    _queues: Vec<KernelQueue>,
    carrier: Carrier,
}

/// What carries packets.
#[derive(Debug)]
enum Carrier {
    /// A router, until it is to stop.
    Router { stop: Arc<AtomicBool>, thread: JoinHandle<io::Result<(Record, Passed)>> },
    /// The program of the engine `linux`.
    Program(SimulatedPath),
}

/// Counters of what carried the packets.
#[derive(Debug, Default)]
pub struct Passed {
    /// Packets.
    pub counts: NetworkCounts,
    /// Payload of each connection that its receiver has acknowledged.
    pub in_order: Vec<u64>,
    /// How much later than due packets were delivered; never where time is simulated.
    pub lag: Times,
    /// How long hosts let packets wait.
    pub waits: Waits,
    /// Processor time of the router over the time that it ran.
    pub load: f64,
    /// Packets that the devices of hosts have dropped, outside the emulated network.
    pub unseen: u64,
    /// Features that were missing and that the router did without.
    pub warnings: Vec<String>,
    /// The packet trace, where time is simulated and one was requested.
    pub trace: Option<PacketTrace>,
}

impl Lab {
    /// Makes the hosts of `layout`.
    ///
    /// # Errors
    /// Root is missing.
    pub fn new(layout: Layout) -> io::Result<Lab> {
        Lab::with(DeviceKind::available(), layout)
    }

    /// The same without steering, so that the processor time of this process contains the work of the hosts.
    pub fn unsteered(layout: Layout) -> io::Result<Lab> {
        Lab::made(Processors::unsteered(), DeviceKind::available(), layout)
    }

    /// The same with devices of this kind.
    pub fn with(devices: DeviceKind, layout: Layout) -> io::Result<Lab> {
        let processors = match devices {
            DeviceKind::Simulated => Processors::unsteered(),
            _ => Processors::reserve()?,
        };
        Lab::made(processors, devices, layout)
    }

    fn made(processors: Processors, devices: DeviceKind, layout: Layout) -> io::Result<Lab> {
        let host = |(number, _)| Host::new(number, &layout, devices, &processors);
        let hosts = (0..).zip(&layout.hosts).map(host).collect::<io::Result<Vec<Host>>>()?;
        let queues = match devices {
            DeviceKind::Simulated => KernelQueue::all(&layout)?,
            _ => Vec::new(),
        };
        Ok(Lab { layout, hosts: Arc::new(hosts), queues, devices, processors, captures: Vec::new() })
    }

    /// The same with captures of the packets of these flows, each in a folder. In the engine `linux` the program makes them
    /// itself.
    pub fn capturing(self, captures: Vec<(u32, PathBuf)>) -> Lab {
        Lab { captures, ..self }
    }

    /// The kind of the hosts' devices.
    pub fn devices(&self) -> DeviceKind {
        self.devices
    }

    /// Host number `host`, in which sockets can be opened.
    pub fn host(&self, host: u8) -> &Host {
        &self.hosts[usize::from(host)]
    }

    /// Has packets carried from the start of `clock` on; the record has the bins of `grid`.
    ///
    /// # Errors
    /// The program of the engine `linux` has no network.
    pub fn start(self, clock: Clock, grid: Grid) -> io::Result<Running> {
        if self.devices == DeviceKind::Simulated {
            let path = SimulatedPath::open()?;
            path.start(clock)?;
            return Ok(Running { hosts: self.hosts, _queues: self.queues, carrier: Carrier::Program(path) });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let connections = self.layout.connections.len() as u32;
        let network = Network::new(&self.layout, grid);
        let mut network = match self.layout.mode {
            Mode::Exact => network.with_checksums(),
            Mode::Fast => network,
        };
        self.captures.iter().try_for_each(|(flow, folder)| network.capture(*flow, folder))?;
        let router = Router {
            joiners: self.hosts.iter().map(|_| Joiner::default()).collect(),
            hosts: self.hosts.clone(),
            processors: self.processors,
            network,
            clock,
            lag: Times::default(),
            mode: self.layout.mode,
            scratch: Vec::new(),
        };
        let stopped = stop.clone();
        let thread = thread::spawn(move || router.work(connections, &stopped));
        Ok(Running { hosts: self.hosts, _queues: self.queues, carrier: Carrier::Router { stop, thread } })
    }
}

impl Running {
    /// Host number `host`, in which sockets can be opened.
    pub fn host(&self, host: u8) -> &Host {
        &self.hosts[usize::from(host)]
    }

    /// Stops carrying packets, and returns the record (of links, and of flows as far as packets show it) and the counters
    /// of what carried them.
    ///
    /// # Errors
    /// A device that could not be read or written.
    pub fn finish(self) -> io::Result<(Record, Passed)> {
        match self.carrier {
            Carrier::Router { stop, thread } => {
                stop.store(true, Ordering::Relaxed);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            Carrier::Program(path) => {
                let NetworkResult { record, counts, in_order, trace } = path.finish()?;
                let unseen = unseen(&self.hosts)?;
                let passed = Passed { counts, in_order, unseen, trace, ..Passed::default() };
                Ok((record, passed))
            }
        }
    }
}

struct Router {
    hosts: Arc<Vec<Host>>,
    processors: Processors,
    network: Network,
    clock: Clock,
    lag: Times,
    mode: Mode,
    /// Packets that are being merged, by host.
    joiners: Vec<Joiner>,
    /// The buffer in which segments are split.
    scratch: Vec<u8>,
}

impl Router {
    fn work(mut self, connections: u32, stop: &AtomicBool) -> io::Result<(Record, Passed)> {
        self.processors.enter()?;
        let warnings = Vec::from_iter(set_realtime().err());
        self.clock.sleep_until(Time::ZERO);
        let mut buffer = vec![0; LARGEST];
        let mut horizon = Time::ZERO;
        while !stop.load(Ordering::Relaxed) {
            horizon = self.tick(horizon, &mut buffer)?;
            let ticks = self.clock.now().since(Time::ZERO) / TICK;
            self.clock.sleep_until(Time::ZERO + TICK * (ticks + 1));
        }
        let (used, ran) = (processor_time()?, self.clock.now());
        let passed = Passed {
            counts: self.network.counts(),
            in_order: (0..connections).map(|number| self.network.in_order(number)).collect(),
            lag: self.lag,
            waits: self.network.waits().clone(),
            load: used.as_secs() / ran.as_secs(),
            unseen: unseen(&self.hosts)?,
            warnings,
            trace: None,
        };
        Ok((self.network.close().close("lab", Vec::new()), passed))
    }

    /// Reads what hosts have sent and delivers what is due; returns the time up to which packets were delivered.
    fn tick(&mut self, horizon: Time, buffer: &mut [u8]) -> io::Result<Time> {
        let now = self.clock.now();
        let sent = horizon.max(Time::ZERO + now.since(Time::ZERO).saturating_sub(HALF));
        for number in 0..self.hosts.len() {
            self.read(number, sent, buffer)?;
        }
        let horizon = sent.max(now + HALF);
        self.write(horizon).map(|()| horizon)
    }

    /// Reads what a host has sent.
    fn read(&mut self, number: usize, sent: Time, buffer: &mut [u8]) -> io::Result<()> {
        let Router { hosts, network, mode, scratch, .. } = self;
        for _ in 0..MOST_READ {
            let Some(length) = hosts[number].read(buffer)? else { break };
            let mut accept =
                |packet: &[u8], sending| network.accept_segment(number as u8, packet, (sending, 0), sent);
            match mode {
                Mode::Exact => accept(&buffer[..length], Sending::First),
                Mode::Fast => split(&buffer[..length], scratch, accept),
            }
        }
        Ok(())
    }

    /// Delivers the packets that are due.
    fn write(&mut self, horizon: Time) -> io::Result<()> {
        let Router { hosts, network, clock, lag, mode, joiners, .. } = self;
        let (mut failed, mut written) = (Ok(()), 0);
        let mut deliver = |host: usize, packet: &[u8]| {
            if let Err(error) = hosts[host].write(packet) {
                failed = Err(error);
            }
            written += 1;
            if written % MOST_WRITTEN == 0 {
                clock.sleep_until(clock.now() + TICK);
            }
        };
        network.advance(horizon, |host, packet, due| {
            let host = usize::from(host);
            lag.add(clock.now().since(due));
            match mode {
                Mode::Exact => deliver(host, packet),
                Mode::Fast => joiners[host].add(packet, |joined| deliver(host, joined)),
            }
        });
        for (host, joiner) in joiners.iter_mut().enumerate() {
            joiner.flush(|joined| deliver(host, joined));
        }
        failed
    }
}

/// Packets that the devices of these hosts have dropped.
fn unseen(hosts: &[Host]) -> io::Result<u64> {
    hosts.iter().map(Host::dropped).sum()
}

/// Gives this thread real-time priority, above all threads of the normal scheduler.
fn set_realtime() -> Result<(), String> {
    // Timer slack applies only to threads without real-time priority.
    let slack = nix::sys::prctl::set_timerslack(1).map_err(io::Error::from);
    slack.and(sys::set_real_time(PRIORITY)).map_err(|error| {
        // The next best thing; where the kernel refuses it, too, the lag is larger still, and is measured.
        let _ = set_slice(SLICE_NS);
        format!("the router runs without real-time priority, so its lag is larger: {error}")
    })
}

/// Processor time that this thread has used.
fn processor_time() -> io::Result<Span> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let used = usage.user_time() + usage.system_time();
    Ok(Span::from_us(used.num_microseconds() as u64))
}
