//! quiche as a transport stack of Fairhaul. quiche reads a clock: here it reads that of the simulator (`system`).

mod system;
mod tls;

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io::{self, Write};
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fairhaul_cc::{StackEnd, StackState, StackText, Transmit};
use fairhaul_stack::{Exported, Role, Settings, Setup, export_stack};
use fairhaul_units::{Ecn, Time, mix};
use quiche::{Config, Connection, ConnectionId, RecvInfo};

/// The network's part of a packet: IPv4 and UDP.
const HEADERS: u32 = 28;
/// The least datagram of QUIC (RFC 9000, 14.1).
const LEAST_DATAGRAM: u32 = 1200;
/// What a stream may have unread, and a connection: the product of 1 Gbit/s and 100 ms, rounded up, and four times that.
const STREAM_WINDOW: u64 = 1 << 24;
const WINDOW: u64 = 1 << 26;
const PS_PER_NS: u64 = 1000;

/// An end of a connection.
struct QuicheEnd {
    /// The receiver has none before the first datagram.
    connection: Option<Connection>,
    config: Config,
    /// What stands for the start of the run.
    base: Instant,
    id: u64,
    own: SocketAddr,
    peer: SocketAddr,
    /// The time before which nothing more is to be asked of the pacer.
    paced: Option<Time>,
    /// Streams that the sender has written, and whether they are ended.
    written: BTreeMap<u64, bool>,
    /// The window that was shown last, and how often it was smaller than before.
    shown: (usize, u64),
    records: bool,
    keys: Text,
    log: Text,
    failure: Option<String>,
}

/// The release of the crate, which this package has for its own version.
const RELEASE: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(release) => release,
    Err(_) => panic!("a version has no zero"),
};

impl Exported for QuicheEnd {
    const NAME: &'static CStr = c"quiche";
    const RELEASE: &'static CStr = RELEASE;
    const HEADERS: u32 = HEADERS;

    fn new(setup: &mut Setup) -> Result<QuicheEnd, String> {
        let packet = setup.common.packet;
        let Some(datagram) = packet.checked_sub(HEADERS).filter(|datagram| *datagram >= LEAST_DATAGRAM)
        else {
            let least = LEAST_DATAGRAM + HEADERS;
            return Err(format!(
                "packet = {packet} B: QUIC needs packets of at least {least} B (RFC 9000, 14)"
            ));
        };
        // Both ends draw from sequences of their own.
        let id = mix(setup.common.seed ^ mix(setup.role as u64 + 1));
        system::seed(id);
        system::set_time(Time::ZERO);
        let base = Instant::now();
        system::set_time(setup.common.now);
        let config = config(&mut setup.settings, datagram as usize).map_err(|error| error.to_string())??;
        let (own, peer) = match setup.role {
            Role::Sender => (address(1), address(2)),
            Role::Receiver => (address(2), address(1)),
        };
        let mut end = QuicheEnd {
            connection: None,
            config,
            base,
            id,
            own,
            peer,
            paced: None,
            written: BTreeMap::new(),
            shown: (0, 0),
            records: setup.common.records,
            keys: Text::default(),
            log: Text::default(),
            failure: None,
        };
        if setup.role == Role::Sender {
            end.open(Role::Sender, setup.common.now).map_err(|error| error.to_string())?;
        }
        Ok(end)
    }
}

export_stack!(QuicheEnd);

fn address(host: u8) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, host), 4433).into()
}

/// The configuration of both ends: an error of quiche, or one of the settings.
fn config(settings: &mut Settings, datagram: usize) -> quiche::Result<Result<Config, String>> {
    let mut config = tls::config()?;
    config.set_max_idle_timeout(30_000);
    config.set_max_recv_udp_payload_size(datagram);
    config.set_max_send_udp_payload_size(datagram);
    config.set_initial_max_streams_uni(64);
    Ok(settle(settings, &mut config).map(|()| config))
}

fn settle(settings: &mut Settings, config: &mut Config) -> Result<(), String> {
    const LARGEST: u64 = 1 << 40;
    let controller = settings.word("controller", &["cubic", "reno", "bbr2"])?;
    config.set_cc_algorithm_name(controller).map_err(|error| error.to_string())?;
    let stream = settings.number("stream_receive_window", 1200..=LARGEST)?.unwrap_or(STREAM_WINDOW);
    let connection = settings.number("receive_window", 1200..=LARGEST)?.unwrap_or(WINDOW);
    config.set_initial_max_stream_data_uni(stream);
    config.set_max_stream_window(stream);
    config.set_initial_max_data(connection);
    config.set_max_connection_window(connection);
    config.enable_hystart(settings.switch("hystart", true)?);
    config.enable_pacing(settings.switch("pacing", true)?);
    config.discover_pmtu(settings.switch("mtu_discovery", false)?);
    if let Some(packets) = settings.number("initial_window_packets", 1..=10_000usize)? {
        config.set_initial_congestion_window_packets(packets);
    }
    if let Some(rtt_ms) = settings.number("initial_rtt_ms", 1..=60_000u64)? {
        config.set_initial_rtt(Duration::from_millis(rtt_ms));
    }
    if let Some(delay_ms) = settings.number("max_ack_delay_ms", 1..=1000u64)? {
        config.set_max_ack_delay(delay_ms);
    }
    if let Some(idle_ms) = settings.number("max_idle_timeout_ms", 1..=86_400_000u64)? {
        config.set_max_idle_timeout(idle_ms);
    }
    Ok(())
}

impl QuicheEnd {
    fn open(&mut self, role: Role, now: Time) -> quiche::Result<()> {
        let [own, first] = [self.id, mix(!self.id)].map(|id| id.to_be_bytes());
        let (own, first) = (ConnectionId::from_ref(&own), ConnectionId::from_ref(&first));
        let (from, to, config) = (self.own, self.peer, &mut self.config);
        let mut connection = match role {
            Role::Sender => quiche::connect_with_dcid(Some("fairhaul"), &own, &first, from, to, config)?,
            Role::Receiver => quiche::accept(&own, None, from, to, config)?,
        };
        if self.records {
            // The times of the log are those since the start of the run.
            system::set_time(Time::ZERO);
            connection.set_qlog(Box::new(self.log.clone()), "quiche".to_owned(), String::new());
            if role == Role::Sender {
                connection.set_keylog(Box::new(self.keys.clone()));
            }
            system::set_time(now);
        }
        self.connection = Some(connection);
        Ok(())
    }

    /// Sets the clock, for a connection if there is one.
    fn at(&mut self, now: Time) -> Option<&mut Connection> {
        system::set_time(now);
        self.connection.as_mut()
    }

    fn time(&self, at: Instant) -> Time {
        let since_ns = at.saturating_duration_since(self.base).as_nanos() as u64;
        Time::from_ps(since_ns.saturating_mul(PS_PER_NS))
    }
}

impl StackEnd for QuicheEnd {
    fn receive(&mut self, now: Time, bytes: &[u8], _: Ecn) {
        system::set_time(now);
        if self.connection.is_none()
            && let Err(error) = self.open(Role::Receiver, now)
        {
            self.failure = Some(format!("the connection was not accepted: {error}"));
            return;
        }
        let arrived = RecvInfo { from: self.peer, to: self.own };
        if let Some(connection) = &mut self.connection {
            // A datagram that cannot be read is dropped; an error that ends the connection shows in its state.
            let _ = connection.recv(&mut bytes.to_vec(), arrived);
        }
    }

    /// Asks for no datagram whose time is further away than quiche says that one may be released.
    fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit> {
        self.paced = None;
        let connection = self.at(now)?;
        let clock = Instant::now();
        let release = connection.get_next_release_time().and_then(|release| release.time(clock));
        let ahead = connection.max_release_into_future();
        if let Some(early) = release.and_then(|at| at.checked_sub(ahead)).filter(|early| *early > clock) {
            self.paced = Some(self.time(early));
            return None;
        }
        let (size, given) = connection.send(into).ok()?;
        let not_before = self.time(given.at).max(now);
        Some(Transmit { size, ecn: Ecn::NotCapable, not_before, retransmits: false, opens: false })
    }

    fn on_timer(&mut self, now: Time) {
        if let Some(connection) = self.at(now)
            && connection.timeout_instant().is_some_and(|due| due <= Instant::now())
        {
            connection.on_timeout();
        }
    }

    fn write(&mut self, now: Time, stream: u32, bytes: &[u8], fin: bool) -> usize {
        let Some(connection) = self.at(now) else { return 0 };
        if !connection.is_established() {
            return 0;
        }
        let id = id_of(stream);
        // The end of the stream is taken with the last of the bytes.
        let taken = connection.stream_send(id, bytes, fin).unwrap_or(0);
        let is_ended = self.written.entry(id).or_default();
        *is_ended |= fin && taken == bytes.len();
        taken
    }

    fn read(&mut self, now: Time, stream: u32, into: &mut [u8]) -> usize {
        let Some(connection) = self.at(now) else { return 0 };
        let mut read = 0;
        while read < into.len()
            && let Ok((more @ 1.., _)) = connection.stream_recv(id_of(stream), &mut into[read..])
        {
            read += more;
        }
        read
    }

    fn state(&mut self) -> StackState {
        let Some(connection) = &self.connection else {
            let is_closed = self.failure.is_some();
            return StackState { timer: Time::NEVER, is_closed, ..StackState::default() };
        };
        let due = connection.timeout_instant().map_or(Time::NEVER, |due| self.time(due));
        let cwnd = connection.path_stats().next().map(|path| path.cwnd);
        if let Some(cwnd) = cwnd {
            let reductions = self.shown.1 + u64::from(cwnd < self.shown.0);
            self.shown = (cwnd, reductions);
        }
        let is_finished = !self.written.is_empty()
            && self.written.iter().all(|(id, is_ended)| *is_ended && connection.stream_finished(*id));
        StackState {
            timer: due.min(self.paced.unwrap_or(Time::NEVER)),
            is_closed: connection.is_closed() || connection.is_draining(),
            is_finished: Some(is_finished),
            cwnd: cwnd.map(|bytes| bytes as f64),
            ssthresh: None,
            reductions: Some(self.shown.1),
        }
    }

    fn reason(&mut self) -> String {
        let Some(connection) = &self.connection else { return self.failure.clone().unwrap_or_default() };
        let error = |by: &str, error: &quiche::ConnectionError| {
            let reason = String::from_utf8_lossy(&error.reason);
            format!("closed by {by} with the error {:#x} {reason}", error.error_code)
        };
        let own = connection.local_error().map(|found| error("this end", found));
        let other = connection.peer_error().map(|found| error("the other end", found));
        own.or(other).unwrap_or_else(|| "the connection was idle for too long".to_owned())
    }

    /// Both ends have the same keys: those of the sender are given.
    fn record(&mut self, text: StackText, into: &mut [u8]) -> usize {
        match text {
            StackText::Keys => self.keys.take(into),
            StackText::Log => self.log.take(into),
        }
    }
}

/// The id of a stream of the sender, which opens it, in one direction (RFC 9000, 2.1).
fn id_of(stream: u32) -> u64 {
    u64::from(stream) * 4 + 2
}

/// What quiche writes and the engine reads; all copies are the same text.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Text {
    fn take(&self, into: &mut [u8]) -> usize {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = bytes.len().min(into.len());
        let rest = bytes.split_off(size);
        into[..size].copy_from_slice(&mem::replace(&mut *bytes, rest));
        size
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
