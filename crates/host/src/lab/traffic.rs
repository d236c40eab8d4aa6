//! The traffic of a run: a thread for each sender and one for each receiver, with real sockets, and a thread that
//! polls all senders.

mod application;
mod programs;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Scope};

use fairhaul_experiment::Source;
use fairhaul_units::{Bytes, HEADER, Span, Time};
use nix::sys::socket::{MsgFlags, getsockopt, send, setsockopt, shutdown, sockopt};

use super::clock::Clock;
use super::program::Programs;
use super::router::{self, Running};
use super::socket::{self, SocketOptions};
use super::tcp_info::Info;
use crate::sys;

/// Between two polls of the senders.
pub const POLL_INTERVAL: Span = Span::from_ms(10);
/// How long before its start a transfer gets its threads and sockets.
pub const LEAD: Span = Span::from_ms(20);
/// The data of one write.
static PAYLOAD: [u8; 1 << 18] = [0; 1 << 18];
/// Bytes that a connection claims at once from a transfer that several connections share.
const PART_BYTES: u64 = 1 << 14;
/// Headers of IP and UDP.
pub const DATAGRAM_HEADERS: Bytes = Bytes(28);
/// Stack of a thread, bytes; threads hold nothing large.
const STACK: usize = 1 << 17;

/// A transfer of the plan, over one connection.
#[derive(Clone, Debug)]
pub struct LabTransfer {
    /// The number of the connection.
    pub connection: u32,
    /// The host of its sender.
    pub from: u8,
    /// The host of its receiver.
    pub to: u8,
    /// When its sender opens it.
    pub start: Time,
    /// The data to send.
    pub workload: Workload,
    /// The options of its sockets.
    pub options: SocketOptions,
}

impl LabTransfer {
    /// The size of a transfer that is known from the begin: not where connections share it.
    fn own_size(&self) -> Option<Bytes> {
        match self.workload {
            Workload::Size { size, lead: None } => Some(size),
            _ => None,
        }
    }

    /// An endless transfer from host 0 to host 1 from the start on, as over a [`Dumbbell`](super::Dumbbell).
    pub fn endless(connection: u32, controller: &str) -> LabTransfer {
        let options = SocketOptions::of(controller);
        LabTransfer { connection, from: 0, to: 1, start: Time::ZERO, workload: Workload::Endless, options }
    }
}

/// The data of a transfer.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Endless data, always ready.
    Endless,
    /// Data of one size.
    Size {
        /// Payload, over all connections that share the transfer.
        size: Bytes,
        /// The first of the connections that share the transfer; none if it is this one's alone.
        lead: Option<u32>,
    },
    /// A full packet whenever the application has one ready.
    AppLimited(Source),
    /// The same without TCP.
    Datagrams(Source),
    /// What a program of the user sends to another one.
    Programs(Box<Programs>),
}

/// The result of a transfer.
#[derive(Clone, Debug)]
pub struct TransferResult {
    /// The number of the connection.
    pub connection: u32,
    /// When its sender opened it; `None`: the run ended first.
    pub start: Option<Time>,
    /// When all of its payload had been acknowledged; `None`: the run ended first.
    pub end: Option<Time>,
    /// Payload that its receiver has read.
    pub received: u64,
    /// The buffers of sender and receiver at the end, as granted by the kernel, which counts more than payload.
    pub buffers: Option<(Bytes, Bytes)>,
    /// Why it ended early, unless the end of the run was the reason.
    pub failure: Option<String>,
}

/// Called for each poll of a sender, with the time, the number of the connection and its `TCP_INFO`.
pub type PollCallback<'a> = dyn FnMut(Time, u32, &Info) + Send + 'a;

/// Runs `transfers` until `end`; returns the results of the transfers that started, in the order of their connections.
pub fn run_transfers(
    running: &Running,
    clock: Clock,
    end: Time,
    transfers: &[LabTransfer],
    on_poll: &mut PollCallback<'_>,
) -> io::Result<Vec<TransferResult>> {
    let runner = TrafficRunner {
        running,
        clock,
        remaining_bytes: remaining_bytes(transfers),
        sockets: Mutex::default(),
        results: Mutex::default(),
        ended: AtomicBool::new(false),
        failed: AtomicBool::new(false),
    };
    let mut by_start: Vec<&LabTransfer> = transfers.iter().filter(|transfer| transfer.start < end).collect();
    by_start.sort_by_key(|transfer| transfer.start);
    thread::scope(|scope| {
        scope.spawn(|| {
            take_precedence();
            runner.poll_senders(on_poll);
        });
        let started = by_start.into_iter().try_for_each(|transfer| runner.start_transfer(scope, transfer));
        if started.is_ok() {
            runner.wait_for_end(end, transfers);
        }
        runner.end_run();
        started
    })?;
    let mut results = runner.results.into_inner().expect("no thread panics while it holds this");
    results.sort_by_key(|result| result.connection);
    Ok(results)
}

/// Gives this thread, and the threads that it starts, precedence over other work of the machine, but not over the router. A
/// sender that waits for a processor empties its socket's buffer, as if its host were slow, and a poll that waits is
/// late. Where this is refused, the router has its own warning.
fn take_precedence() {
    let _ = sys::set_real_time(router::PRIORITY - 1);
}

/// Payload that is still to be sent, of each transfer with a size, by the first of its connections.
fn remaining_bytes(transfers: &[LabTransfer]) -> BTreeMap<u32, AtomicU64> {
    let sized = transfers.iter().filter_map(|transfer| match transfer.workload {
        Workload::Size { size, lead } => Some((lead.unwrap_or(transfer.connection), size.0.into())),
        _ => None,
    });
    sized.collect()
}

/// Runs the transfers; shared by all threads of a run.
struct TrafficRunner<'a> {
    running: &'a Running,
    clock: Clock,
    remaining_bytes: BTreeMap<u32, AtomicU64>,
    /// Open sockets, by connection and role.
    sockets: Mutex<BTreeMap<(u32, SocketRole), Arc<OwnedFd>>>,
    results: Mutex<Vec<TransferResult>>,
    ended: AtomicBool,
    /// Whether a program has failed, so that nothing is worth waiting for.
    failed: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SocketRole {
    Sender,
    Listener,
    Receiver,
}

impl TrafficRunner<'_> {
    /// Waits until a transfer is about to start, and starts its thread.
    fn start_transfer<'s>(&'s self, scope: &'s Scope<'s, '_>, transfer: &'s LabTransfer) -> io::Result<()> {
        if transfer.start > Time::ZERO + LEAD {
            self.clock.sleep_until(Time::ZERO + (transfer.start - (Time::ZERO + LEAD)));
        }
        let run = move || {
            take_precedence();
            let result = self.run_transfer(scope, transfer);
            self.results.lock().expect("no thread panics while it holds this").push(result);
        };
        thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run).map(drop)
    }

    /// Runs one transfer, from its threads to its last acknowledgement or the end of the run.
    fn run_transfer<'s>(&'s self, scope: &'s Scope<'s, '_>, transfer: &'s LabTransfer) -> TransferResult {
        let connection = transfer.connection;
        let mut result =
            TransferResult { connection, start: None, end: None, received: 0, buffers: None, failure: None };
        let done = match &transfer.workload {
            Workload::Programs(programs) => self.run_programs(transfer, programs, &mut result),
            Workload::Datagrams(source) => self.run_datagrams(scope, transfer, source.clone(), &mut result),
            _ => self.run_stream(scope, transfer, &mut result),
        };
        self.unregister(connection, SocketRole::Sender);
        // Sockets of ours fail when the run is over; what a program has done wrong is what ended it.
        if let Err(error) = done
            && (transfer.is_of_programs() || !self.ended.load(Ordering::Relaxed))
        {
            result.failure = Some(error.to_string());
            self.abort_connection(connection);
        }
        result
    }

    fn run_stream<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        transfer: &'s LabTransfer,
        result: &mut TransferResult,
    ) -> io::Result<()> {
        let LabTransfer { connection, from, to, start, options, .. } = transfer;
        // A socket stays in the namespace where it was made, so this thread may enter one host after the other.
        self.running.host(*to).namespace.enter()?;
        let listener =
            self.register(*connection, SocketRole::Listener, socket::receiver(*to, *connection, options)?);
        self.running.host(*from).namespace.enter()?;
        let sender =
            self.register(*connection, SocketRole::Sender, socket::sender(*from, *connection, options)?);
        let receiver = thread::Builder::new().stack_size(STACK);
        let receiver = receiver.spawn_scoped(scope, move || self.receive_stream(transfer, &listener))?;
        self.clock.sleep_until(*start);
        result.start = Some(self.clock.now());
        let sent = socket::open(&sender, *to, *connection).and_then(|()| self.send_stream(transfer, &sender));
        result.end = sent.is_ok().then(|| self.clock.now());
        if sent.is_err() {
            self.abort_connection(*connection);
        }
        let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (payload, granted) = received?;
        result.received = payload;
        let send_buffer = getsockopt(&sender, sockopt::SndBuf)? as u64;
        result.buffers = Some((Bytes(send_buffer), granted));
        sent
    }

    /// Writes all data of the transfer, and waits until it is acknowledged.
    fn send_stream(&self, transfer: &LabTransfer, sender: &OwnedFd) -> io::Result<()> {
        let mut stream = TcpStream::from(sender.try_clone()?);
        match &transfer.workload {
            Workload::Size { lead, .. } => {
                while let part @ 1.. = self.claim_part(lead.unwrap_or(transfer.connection)) {
                    stream.write_all(&PAYLOAD[..part])?;
                }
            }
            Workload::AppLimited(source) => self.write_when_ready(&mut stream, transfer, source.clone())?,
            Workload::Endless => loop {
                stream.write_all(&PAYLOAD)?;
            },
            Workload::Datagrams(_) | Workload::Programs(_) => unreachable!("they have no stream of ours"),
        }
        // The receiver closes once it has read all, which its kernel has acknowledged by then. As long as its sender has
        // not closed, the probe samples the connection.
        match transfer.own_size() {
            Some(_) => stream.set_nodelay(true)?, // sends the last packet, if it is not full
            None => stream.shutdown(Shutdown::Write)?,
        }
        let mut nothing = [0];
        match stream.read(&mut nothing)? {
            0 if !self.ended.load(Ordering::Relaxed) => Ok(()),
            _ => Err(io::Error::other("the receiver did not receive all data")),
        }
    }

    /// Sends datagrams until the run is over. Lost datagrams are not retransmitted.
    fn run_datagrams<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        transfer: &'s LabTransfer,
        mut source: Source,
        result: &mut TransferResult,
    ) -> io::Result<()> {
        let LabTransfer { connection, from, to, start, options, .. } = transfer;
        self.running.host(*to).namespace.enter()?;
        let receiver =
            self.register(*connection, SocketRole::Receiver, socket::datagrams(*to, *from, *connection)?);
        self.running.host(*from).namespace.enter()?;
        let sender =
            self.register(*connection, SocketRole::Sender, socket::datagrams(*from, *to, *connection)?);
        let reader = thread::Builder::new().stack_size(STACK);
        let reader = reader.spawn_scoped(scope, move || socket::drain(&receiver, None))?;
        self.clock.sleep_until(*start);
        result.start = Some(self.clock.now());
        let payload = (options.segment + HEADER - DATAGRAM_HEADERS).0 as usize;
        while self.wait_until(source.next_at()) {
            send(sender.as_raw_fd(), &PAYLOAD[..payload], MsgFlags::empty())?;
        }
        result.received = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(())
    }

    /// Waits until `time` or the end of the run; returns whether the run goes on.
    fn wait_until(&self, time: Time) -> bool {
        // An application may be silent for long, which must not delay the end of the run.
        while self.clock.now() < time && !self.ended.load(Ordering::Relaxed) {
            self.clock.sleep_until(time.min(self.clock.now() + LEAD));
        }
        !self.ended.load(Ordering::Relaxed)
    }

    /// Claims a part of the remaining bytes of a transfer; returns its size, zero when none remain.
    fn claim_part(&self, lead: u32) -> usize {
        let Some(remaining) = self.remaining_bytes.get(&lead) else { return 0 };
        let left = remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then(|| left.saturating_sub(PART_BYTES))
        });
        left.map_or(0, |left| left.min(PART_BYTES) as usize)
    }

    /// Accepts the connection and reads all of its data; returns the payload and the buffer that the kernel granted.
    fn receive_stream(&self, transfer: &LabTransfer, listener: &OwnedFd) -> io::Result<(u64, Bytes)> {
        let connection = transfer.connection;
        let (stream, _) = TcpListener::from(listener.try_clone()?).accept()?;
        self.unregister(connection, SocketRole::Listener);
        let stream = self.register(connection, SocketRole::Receiver, stream.into());
        let payload = socket::drain(&stream, transfer.own_size());
        let granted = getsockopt(&stream, sockopt::RcvBuf)? as u64;
        self.unregister(connection, SocketRole::Receiver);
        Ok((payload, Bytes(granted)))
    }

    /// Polls all senders until the run is over.
    fn poll_senders(&self, on_poll: &mut PollCallback<'_>) {
        while !self.ended.load(Ordering::Relaxed) {
            let sockets = self.lock_sockets();
            let senders = sockets.iter().filter(|(key, _)| key.1 == SocketRole::Sender);
            let senders: Vec<(u32, Arc<OwnedFd>)> =
                senders.map(|(key, socket)| (key.0, socket.clone())).collect();
            drop(sockets);
            for (connection, socket) in senders {
                if let Ok(info) = Info::of(&socket) {
                    on_poll(self.clock.now(), connection, &info);
                }
            }
            let polls = self.clock.now().since(Time::ZERO) / POLL_INTERVAL;
            self.clock.sleep_until(Time::ZERO + POLL_INTERVAL * (polls + 1));
        }
    }

    fn lock_sockets(&self) -> MutexGuard<'_, BTreeMap<(u32, SocketRole), Arc<OwnedFd>>> {
        self.sockets.lock().expect("no thread panics while it holds this")
    }

    /// Registers a socket, so that the end of the run aborts it.
    fn register(&self, connection: u32, role: SocketRole, socket: OwnedFd) -> Arc<OwnedFd> {
        let socket = Arc::new(socket);
        self.lock_sockets().insert((connection, role), socket.clone());
        if self.ended.load(Ordering::SeqCst) {
            self.abort_connection(connection);
        }
        socket
    }

    fn unregister(&self, connection: u32, role: SocketRole) {
        self.lock_sockets().remove(&(connection, role));
    }

    /// Ends the run: wakes every thread that waits at a socket.
    fn end_run(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.lock_sockets().values().for_each(|socket| abort_socket(socket));
    }

    fn abort_connection(&self, connection: u32) {
        let ends = (connection, SocketRole::Sender)..=(connection, SocketRole::Receiver);
        self.lock_sockets().range(ends).for_each(|(_, socket)| abort_socket(socket));
    }
}

/// Aborts a connection: wakes the threads that wait at the socket, and has its close discard unsent data and send a RST,
/// because a connection that lingers would keep its namespace. A socket that is not connected has no thread waiting.
fn abort_socket(socket: &OwnedFd) {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(socket, sockopt::Linger, &at_once);
    let _ = shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
}
