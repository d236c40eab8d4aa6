//! The traffic of a run: a thread for each sender and one for each receiver, with real sockets, and one that
//! looks at all senders.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Scope};

use fairhaul_experiment::Source;
use fairhaul_units::{Bytes, HEADER, Span, Time};
use nix::sys::socket::{MsgFlags, getsockopt, recv, send, setsockopt, shutdown, sockopt};

use super::clock::Clock;
use super::info::Info;
use super::router::Running;
use super::socket::{self, Options};

/// Between two looks at the senders.
pub const SAMPLE: Span = Span::from_ms(10);
/// So much before its start a transfer has its threads and sockets.
pub const LEAD: Span = Span::from_ms(20);
/// What a sender writes at once.
static PAYLOAD: [u8; 1 << 18] = [0; 1 << 18];
/// What one takes at once of a transfer that several carry.
const PART: u64 = 1 << 14;
/// What the kernel's time stamps take of a segment, with what aligns them [RFC 7323].
pub const TIME_STAMPS: Bytes = Bytes(12);
/// Of IP and UDP.
pub const DATAGRAM_HEADERS: Bytes = Bytes(28);
/// Of the threads, which hold nothing large.
const STACK: usize = 1 << 17;

/// One connection to be, and what it carries.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Its number.
    pub connection: u32,
    /// The host of its sender.
    pub from: u8,
    /// The host of its receiver.
    pub to: u8,
    /// When its sender opens it.
    pub start: Time,
    /// What it has to send.
    pub load: Load,
    /// What is set on its sockets.
    pub options: Options,
}

impl Transfer {
    /// As much as gets through from host 0 to host 1 from the start on, as over a [`Dumbbell`](super::Dumbbell).
    pub fn endless(connection: u32, controller: &str) -> Transfer {
        let options = Options::of(controller);
        Transfer { connection, from: 0, to: 1, start: Time::ZERO, load: Load::Endless, options }
    }
}

/// What a transfer has to send.
#[derive(Clone, Debug)]
pub enum Load {
    /// As much as gets through.
    Endless,
    /// So much, once.
    Size {
        /// Payload, of all connections that carry it.
        size: Bytes,
        /// The first of the connections that carry it together; its own number where it carries it alone.
        lead: u32,
    },
    /// A full packet whenever the application has one ready.
    Written(Source),
    /// The same without TCP.
    Datagrams(Source),
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Its number.
    pub connection: u32,
    /// When its sender opened it; `None`: the run was over.
    pub start: Option<Time>,
    /// When all of its payload had been acknowledged; `None`: the run was over before.
    pub end: Option<Time>,
    /// Payload that its receiver has read.
    pub received: u64,
    /// The buffers of sender and receiver in the end, as the kernel granted them; it counts more than payload.
    pub buffers: Option<(Bytes, Bytes)>,
    /// Why it ended early, where the run's end was not the reason.
    pub failure: Option<String>,
}

/// Who looks at senders: told when, the number of the connection, and what the kernel tells of it.
pub type Look<'a> = dyn FnMut(Time, u32, &Info) + Send + 'a;

/// Carries `transfers` until `end`: what became of those that began, in the order of their numbers.
pub fn carry(
    running: &Running,
    clock: Clock,
    end: Time,
    transfers: &[Transfer],
    look: &mut Look<'_>,
) -> io::Result<Vec<Carried>> {
    let pools = pools(transfers);
    let (open, done) = (Mutex::default(), Mutex::default());
    let desk = Desk { running, clock, pools, open, done, over: AtomicBool::new(false) };
    let mut by_start: Vec<&Transfer> = transfers.iter().filter(|transfer| transfer.start < end).collect();
    by_start.sort_by_key(|transfer| transfer.start);
    thread::scope(|scope| {
        scope.spawn(|| desk.watch(look));
        let begun = by_start.into_iter().try_for_each(|transfer| desk.begin(scope, transfer));
        if begun.is_ok() {
            clock.sleep_until(end);
        }
        desk.end();
        begun
    })?;
    let mut carried = desk.done.into_inner().expect("no thread panics while it holds this");
    carried.sort_by_key(|one| one.connection);
    Ok(carried)
}

/// What is left of each transfer with an end, by its first connection.
fn pools(transfers: &[Transfer]) -> BTreeMap<u32, AtomicU64> {
    let sized = transfers.iter().filter_map(|transfer| match transfer.load {
        Load::Size { size, lead } => Some((lead, size.0.into())),
        _ => None,
    });
    sized.collect()
}

/// What the threads of a run share.
struct Desk<'a> {
    running: &'a Running,
    clock: Clock,
    pools: BTreeMap<u32, AtomicU64>,
    /// Sockets that are open, by connection: that of the sender, and those of the receiver.
    open: Mutex<BTreeMap<(u32, End), Arc<OwnedFd>>>,
    done: Mutex<Vec<Carried>>,
    over: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Sends,
    Listens,
    Receives,
}

impl Desk<'_> {
    /// Waits until a transfer is about to start, and gives it its thread.
    fn begin<'s>(&'s self, scope: &'s Scope<'s, '_>, transfer: &'s Transfer) -> io::Result<()> {
        if transfer.start > Time::ZERO + LEAD {
            self.clock.sleep_until(Time::ZERO + (transfer.start - (Time::ZERO + LEAD)));
        }
        let carry = move || {
            let carried = self.carry(scope, transfer);
            self.done.lock().expect("no thread panics while it holds this").push(carried);
        };
        thread::Builder::new().stack_size(STACK).spawn_scoped(scope, carry).map(drop)
    }

    /// Carries one transfer, from its threads to its last acknowledgement or the end of the run.
    fn carry<'s>(&'s self, scope: &'s Scope<'s, '_>, transfer: &'s Transfer) -> Carried {
        let connection = transfer.connection;
        let mut carried =
            Carried { connection, start: None, end: None, received: 0, buffers: None, failure: None };
        let done = match &transfer.load {
            Load::Datagrams(source) => self.datagrams(scope, transfer, source.clone(), &mut carried),
            _ => self.send(scope, transfer, &mut carried),
        };
        self.close(connection, End::Sends);
        if let Err(error) = done
            && !self.over.load(Ordering::Relaxed)
        {
            carried.failure = Some(error.to_string());
            self.end_of(connection);
        }
        carried
    }

    fn send<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        transfer: &'s Transfer,
        carried: &mut Carried,
    ) -> io::Result<()> {
        let Transfer { connection, from, to, start, options, .. } = transfer;
        // A socket stays where it was made, so this thread may go from one host to the other.
        self.running.host(*to).namespace.enter()?;
        let listener = self.keep(*connection, End::Listens, socket::receiver(*to, *connection, options)?);
        self.running.host(*from).namespace.enter()?;
        let sender = self.keep(*connection, End::Sends, socket::sender(*from, *connection, options)?);
        let receiver = thread::Builder::new().stack_size(STACK);
        let receiver = receiver.spawn_scoped(scope, move || self.receive(*connection, &listener))?;
        self.clock.sleep_until(*start);
        carried.start = Some(self.clock.now());
        let sent = socket::open(&sender, *to, *connection).and_then(|()| self.write(transfer, &sender));
        carried.end = sent.is_ok().then(|| self.clock.now());
        if sent.is_err() {
            self.end_of(*connection);
        }
        let received = receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (payload, granted) = received?;
        carried.received = payload;
        let send_buffer = getsockopt(&sender, sockopt::SndBuf)? as u64;
        carried.buffers = Some((Bytes(send_buffer), granted));
        sent
    }

    /// Writes all that the transfer holds, and waits until it is acknowledged.
    fn write(&self, transfer: &Transfer, sender: &OwnedFd) -> io::Result<()> {
        let mut stream = TcpStream::from(sender.try_clone()?);
        match &transfer.load {
            Load::Size { lead, .. } => {
                while let part @ 1.. = self.take(*lead) {
                    stream.write_all(&PAYLOAD[..part])?;
                }
            }
            Load::Written(source) => self.write_in_time(&mut stream, transfer, source.clone())?,
            Load::Endless => loop {
                stream.write_all(&PAYLOAD)?;
            },
            Load::Datagrams(_) => unreachable!("they have no stream"),
        }
        // The receiver closes once it has read all, which its kernel has acknowledged by then.
        stream.shutdown(Shutdown::Write)?;
        let mut nothing = [0];
        match stream.read(&mut nothing)? {
            0 if !self.over.load(Ordering::Relaxed) => Ok(()),
            _ => Err(io::Error::other("the receiver did not receive all data")),
        }
    }

    /// Writes a full packet whenever the application has one ready, until the run is over.
    fn write_in_time(
        &self,
        stream: &mut TcpStream,
        transfer: &Transfer,
        mut source: Source,
    ) -> io::Result<()> {
        let payload = (transfer.options.segment - TIME_STAMPS).0 as usize;
        while self.wait(source.next_at()) {
            stream.write_all(&PAYLOAD[..payload])?;
        }
        Err(io::Error::other("the run has ended"))
    }

    /// Sends datagrams until the run is over. Their losses are nobody's concern.
    fn datagrams<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        transfer: &'s Transfer,
        mut source: Source,
        carried: &mut Carried,
    ) -> io::Result<()> {
        let Transfer { connection, from, to, start, options, .. } = transfer;
        self.running.host(*to).namespace.enter()?;
        let receiver = self.keep(*connection, End::Receives, socket::datagrams(*to, *from, *connection)?);
        self.running.host(*from).namespace.enter()?;
        let sender = self.keep(*connection, End::Sends, socket::datagrams(*from, *to, *connection)?);
        let reader = thread::Builder::new().stack_size(STACK);
        let reader = reader.spawn_scoped(scope, move || self.drain(&receiver))?;
        self.clock.sleep_until(*start);
        carried.start = Some(self.clock.now());
        let payload = (options.segment + HEADER - DATAGRAM_HEADERS).0 as usize;
        while self.wait(source.next_at()) {
            send(sender.as_raw_fd(), &PAYLOAD[..payload], MsgFlags::empty())?;
        }
        carried.received = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(())
    }

    /// Waits until `time`: whether the run goes on then.
    fn wait(&self, time: Time) -> bool {
        // An application may be silent for long, and is not to be waited for in the end.
        while self.clock.now() < time && !self.over.load(Ordering::Relaxed) {
            self.clock.sleep_until(time.min(self.clock.now() + LEAD));
        }
        !self.over.load(Ordering::Relaxed)
    }

    /// Takes a part of what is left of a transfer: how much, and nothing at its end.
    fn take(&self, lead: u32) -> usize {
        let Some(pool) = self.pools.get(&lead) else { return 0 };
        let left = pool.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then(|| left.saturating_sub(PART))
        });
        left.map_or(0, |left| left.min(PART) as usize)
    }

    /// Reads all that a connection brings: how much, and the buffer that the kernel granted.
    fn receive(&self, connection: u32, listener: &OwnedFd) -> io::Result<(u64, Bytes)> {
        let (stream, _) = TcpListener::from(listener.try_clone()?).accept()?;
        self.close(connection, End::Listens);
        let stream = self.keep(connection, End::Receives, stream.into());
        let payload = self.drain(&stream);
        let granted = getsockopt(&stream, sockopt::RcvBuf)? as u64;
        self.close(connection, End::Receives);
        Ok((payload, Bytes(granted)))
    }

    /// Reads from a socket until nothing comes any more: how much that was.
    fn drain(&self, socket: &OwnedFd) -> u64 {
        let mut buffer = vec![0; PAYLOAD.len()];
        let mut payload = 0;
        // The kernel of TCP counts the payload and lets go of it, without a copy.
        while let Ok(read @ 1..) = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_TRUNC) {
            payload += read as u64;
        }
        payload
    }

    /// Looks at all senders until the run is over.
    fn watch(&self, look: &mut Look<'_>) {
        while !self.over.load(Ordering::Relaxed) {
            let open = self.sockets();
            let senders = open.iter().filter(|(key, _)| key.1 == End::Sends);
            let senders: Vec<(u32, Arc<OwnedFd>)> =
                senders.map(|(key, socket)| (key.0, socket.clone())).collect();
            drop(open);
            for (connection, socket) in senders {
                if let Ok(info) = Info::of(&socket) {
                    look(self.clock.now(), connection, &info);
                }
            }
            let looks = self.clock.now().since(Time::ZERO) / SAMPLE;
            self.clock.sleep_until(Time::ZERO + SAMPLE * (looks + 1));
        }
    }

    fn sockets(&self) -> MutexGuard<'_, BTreeMap<(u32, End), Arc<OwnedFd>>> {
        self.open.lock().expect("no thread panics while it holds this")
    }

    /// Keeps a socket where the end of the run finds it.
    fn keep(&self, connection: u32, end: End, socket: OwnedFd) -> Arc<OwnedFd> {
        let socket = Arc::new(socket);
        self.sockets().insert((connection, end), socket.clone());
        if self.over.load(Ordering::SeqCst) {
            self.end_of(connection);
        }
        socket
    }

    fn close(&self, connection: u32, end: End) {
        self.sockets().remove(&(connection, end));
    }

    /// The run is over: whoever waits at a socket no longer does.
    fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.sockets().values().for_each(|socket| hang_up(socket));
    }

    fn end_of(&self, connection: u32) {
        let ends = (connection, End::Sends)..=(connection, End::Receives);
        self.sockets().range(ends).for_each(|(_, socket)| hang_up(socket));
    }
}

/// Whoever waits at the socket no longer does, and nothing of it outlives its close: a connection that still has
/// something to say would keep its namespace. One that is not connected has nobody waiting.
fn hang_up(socket: &OwnedFd) {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(socket, sockopt::Linger, &at_once);
    let _ = shutdown(socket.as_raw_fd(), nix::sys::socket::Shutdown::Both);
}
