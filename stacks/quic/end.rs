//! An end of a QUIC connection, for quinn-proto and noq-proto: `crate::proto` is the one, and `crate::api` what differs.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::BytesMut;
use fairhaul_cc::{StackEnd, StackState, StackText, Transmit};
use fairhaul_stack::{Role, Settings, Setup};
use fairhaul_stack_quic::{Text, chance, client, server};
use fairhaul_units::{Ecn, Time, mix};
use ring::hmac;

use crate::api;
use crate::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use crate::proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir,
    EcnCodepoint, Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent, StreamId, TimeSource,
    Transmit as Given, TransportConfig, VarInt,
};

/// The network's part of a packet: IPv4 and UDP.
pub const HEADERS: u32 = 28;
/// The least datagram of QUIC (RFC 9000, 14.1).
const LEAST_DATAGRAM: u32 = 1200;
const PS_PER_NS: u64 = 1000;

/// See the module.
pub struct QuicEnd {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// What stands for the start of the run.
    base: Instant,
    /// Datagrams of the endpoint itself.
    answers: VecDeque<(Vec<u8>, Ecn)>,
    streams: Vec<Stream>,
    buffer: Vec<u8>,
    /// The address of the other end.
    peer: SocketAddr,
    /// The window that was shown last, and how often it was smaller than before.
    shown: (u64, u64),
    lost: Option<String>,
    keys: Text,
    log: Text,
}

/// A stream, in the order in which the sender opened it.
struct Stream {
    id: StreamId,
    is_ended: bool,
    is_finished: bool,
}

impl QuicEnd {
    /// A new end, with what `api` takes from the settings.
    pub fn new(setup: &mut Setup) -> Result<QuicEnd, String> {
        let packet = setup.common.packet;
        let Some(datagram) = packet.checked_sub(HEADERS).filter(|datagram| *datagram >= LEAST_DATAGRAM)
        else {
            let least = LEAST_DATAGRAM + HEADERS;
            return Err(format!(
                "packet = {packet} B: QUIC needs packets of at least {least} B (RFC 9000, 14)"
            ));
        };
        // Both ends draw from sequences of their own.
        let own_seed = mix(setup.common.seed ^ mix(setup.role as u64 + 1));
        seed_thread(own_seed);
        let mut transport = transport(&mut setup.settings, datagram.min(u16::MAX.into()) as u16)?;
        let base = Instant::now();
        let (keys, log) = (Text::default(), Text::default());
        if setup.common.records {
            api::log(&mut transport, log.clone(), base);
        }
        let transport = Arc::new(transport);
        let mut config = EndpointConfig::new(Arc::new(hmac_key()));
        let mut bytes = [0; 32];
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&chance::next().to_le_bytes()));
        config.rng_seed(Some(bytes));
        let ids = own_seed;
        api::cid_generator(&mut config, move || Box::new(Ids(ids)));
        let server_config = match setup.role {
            Role::Sender => None,
            Role::Receiver => {
                let crypto = server().map_err(|error| error.to_string())?;
                let mut config = ServerConfig::with_crypto(server_crypto(crypto)?);
                config.transport_config(Arc::clone(&transport));
                config.time_source(Arc::new(NoClock));
                Some(Arc::new(config))
            }
        };
        let peer = address(if setup.role == Role::Sender { 1 } else { 2 });
        let mut endpoint = api::endpoint(Arc::new(config), server_config, bytes);
        let mut connection = None;
        if setup.role == Role::Sender {
            let mut crypto = client().map_err(|error| error.to_string())?;
            if setup.common.records {
                crypto.key_log = Arc::new(keys.clone());
            }
            let mut config = ClientConfig::new(client_crypto(crypto)?);
            config.transport_config(transport);
            config.initial_dst_cid_provider(Arc::new(move || Ids(!ids).next_id()));
            let now = instant(base, setup.common.now);
            let opened = endpoint.connect(now, config, peer, "fairhaul");
            connection = Some(opened.map_err(|error| error.to_string())?);
        }
        let (answers, streams, buffer, lost) = (VecDeque::new(), Vec::new(), Vec::new(), None);
        let shown = (0, 0);
        Ok(QuicEnd { endpoint, connection, base, answers, streams, buffer, peer, shown, lost, keys, log })
    }

    fn instant(&self, now: Time) -> Instant {
        instant(self.base, now)
    }

    /// Takes over what one part of the stack has for another, and its events.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::ConnectionLost { reason } => self.lost = Some(reason.to_string()),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = connection.streams().accept(Dir::Uni) {
                        self.streams.push(Stream { id, is_ended: false, is_finished: false });
                    }
                }
                Event::Stream(StreamEvent::Finished { id }) => {
                    let stream = self.streams.iter_mut().find(|stream| stream.id == id);
                    stream.into_iter().for_each(|stream| stream.is_finished = true);
                }
                _ => {}
            }
        }
    }

    /// Keeps a datagram that the endpoint itself has written.
    fn answer(&mut self, given: Given, bytes: Vec<u8>) {
        self.answers.push_back((bytes[..given.size].to_vec(), ecn_of(given.ecn)));
    }
}

/// The random numbers of the system and of the generator of this thread follow from the seed of the end. The first use of
/// the generator draws, too, so it comes before the seed: an end has the same numbers whether or not it is the first of its
/// thread.
fn seed_thread(seed: u64) {
    let mut generator = rand::rng();
    chance::seed(seed);
    let _ = generator.reseed(); // the back end of `chance` cannot fail
}

/// Of the seconds that tokens name.
struct NoClock;

impl TimeSource for NoClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH
    }
}

fn hmac_key() -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &[0; 32])
}

fn client_crypto(config: rustls::ClientConfig) -> Result<Arc<QuicClientConfig>, String> {
    QuicClientConfig::try_from(config).map(Arc::new).map_err(|error| error.to_string())
}

fn server_crypto(config: rustls::ServerConfig) -> Result<Arc<QuicServerConfig>, String> {
    QuicServerConfig::try_from(config).map(Arc::new).map_err(|error| error.to_string())
}

fn instant(base: Instant, now: Time) -> Instant {
    base + Duration::from_nanos(now.as_ps() / PS_PER_NS)
}

fn address(host: u8) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, host), 4433).into()
}

fn ecn_of(codepoint: Option<EcnCodepoint>) -> Ecn {
    codepoint.map_or(Ecn::NotCapable, |codepoint| Ecn::of_bits(codepoint as u8))
}

/// The configuration of a connection from the settings, with windows that hold what fast, long paths need.
fn transport(settings: &mut Settings, datagram: u16) -> Result<TransportConfig, String> {
    const LARGEST: u64 = 1 << 40;
    let mut config = TransportConfig::default();
    let bytes = |number: Option<u64>, default: u64| {
        VarInt::from_u64(number.unwrap_or(default)).expect("it is in bounds")
    };
    let stream = settings.number("stream_receive_window", 1200..=LARGEST)?;
    config.stream_receive_window(bytes(stream, api::STREAM_RECEIVE_WINDOW));
    config.receive_window(bytes(settings.number("receive_window", 1200..=LARGEST)?, WINDOW));
    config.send_window(settings.number("send_window", 1200..=LARGEST)?.unwrap_or(WINDOW));
    config.initial_mtu(
        (LEAST_DATAGRAM as u16).max(settings.number("initial_mtu", 1200..=datagram)?.unwrap_or(0)),
    );
    let mut discovery = api::MtuDiscoveryConfig::default();
    discovery.upper_bound(datagram);
    config.mtu_discovery_config(settings.switch("mtu_discovery", true)?.then_some(discovery));
    if let Some(packets) = settings.number("packet_threshold", 1..=1000u32)? {
        config.packet_threshold(packets);
    }
    if let Some(factor) = settings.number("time_threshold", 1.0..=10.0f32)? {
        config.time_threshold(factor);
    }
    if let Some(rtt_ms) = settings.number("initial_rtt_ms", 1..=60_000u64)? {
        config.initial_rtt(Duration::from_millis(rtt_ms));
    }
    if let Some(timeouts) = settings.number("persistent_congestion_threshold", 1..=100u32)? {
        config.persistent_congestion_threshold(timeouts);
    }
    if let Some(idle_ms) = settings.number("max_idle_timeout_ms", 1..=86_400_000u64)? {
        let idle =
            Duration::from_millis(idle_ms).try_into().map_err(|_| "max_idle_timeout_ms is too long")?;
        config.max_idle_timeout(Some(idle));
    }
    acknowledgements(settings, &mut config)?;
    let window = settings.number("initial_window", 1..=LARGEST)?;
    config.congestion_controller_factory(api::controller(settings, window)?);
    config.enable_segmentation_offload(false);
    Ok(config)
}

/// What a connection may have unacknowledged, and unread, in all its streams.
const WINDOW: u64 = 1 << 26;

/// The frequency of acknowledgements [draft-ietf-quic-ack-frequency], if any setting asks for it.
fn acknowledgements(settings: &mut Settings, config: &mut TransportConfig) -> Result<(), String> {
    let every = settings.number("ack_eliciting_threshold", 0..=1000u32)?;
    let delay_ms = settings.number("max_ack_delay_ms", 1..=1000u64)?;
    let reordering = settings.number("reordering_threshold", 0..=1000u32)?;
    if every.is_none() && delay_ms.is_none() && reordering.is_none() {
        return Ok(());
    }
    let mut frequency = api::AckFrequencyConfig::default();
    every.into_iter().for_each(|every| {
        frequency.ack_eliciting_threshold(every.into());
    });
    reordering.into_iter().for_each(|packets| {
        frequency.reordering_threshold(packets.into());
    });
    frequency.max_ack_delay(delay_ms.map(Duration::from_millis));
    config.ack_frequency_config(Some(frequency));
    Ok(())
}

impl StackEnd for QuicEnd {
    fn receive(&mut self, now: Time, bytes: &[u8], ecn: Ecn) {
        let (now, from) = (self.instant(now), self.peer);
        let mut answer = Vec::new();
        let data = BytesMut::from(bytes);
        match api::handle(
            &mut self.endpoint,
            now,
            from,
            EcnCodepoint::from_bits(ecn.bits()),
            data,
            &mut answer,
        ) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(_) => self.lost = Some("the connection was not accepted".to_owned()),
                }
            }
            Some(DatagramEvent::Response(given)) => self.answer(given, answer),
            None => {}
        }
        self.settle();
    }

    fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit> {
        let at = self.instant(now);
        let (size, ecn) = match self.answers.pop_front() {
            Some((bytes, ecn)) => {
                into[..bytes.len()].copy_from_slice(&bytes);
                (bytes.len(), ecn)
            }
            None => {
                let (_, connection) = self.connection.as_mut()?;
                self.buffer.clear();
                let given = api::poll_transmit(connection, at, &mut self.buffer)?;
                into[..given.size].copy_from_slice(&self.buffer[..given.size]);
                (given.size, ecn_of(given.ecn))
            }
        };
        self.settle();
        Some(Transmit { size, ecn, not_before: now, retransmits: false, opens: false })
    }

    fn on_timer(&mut self, now: Time) {
        let now = self.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    fn write(&mut self, _: Time, stream: u32, bytes: &[u8], fin: bool) -> usize {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        while self.streams.len() <= stream as usize {
            let Some(id) = connection.streams().open(Dir::Uni) else { return 0 };
            self.streams.push(Stream { id, is_ended: false, is_finished: false });
        }
        let stream = &mut self.streams[stream as usize];
        let mut sending = connection.send_stream(stream.id);
        let taken = if bytes.is_empty() { 0 } else { sending.write(bytes).unwrap_or(0) };
        if fin && taken == bytes.len() && !stream.is_ended {
            stream.is_ended = sending.finish().is_ok();
        }
        taken
    }

    fn read(&mut self, _: Time, stream: u32, into: &mut [u8]) -> usize {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let Some(stream) = self.streams.get_mut(stream as usize).filter(|stream| !stream.is_ended) else {
            return 0;
        };
        let mut receiving = connection.recv_stream(stream.id);
        let Ok(mut chunks) = receiving.read(true) else { return 0 };
        let mut read = 0;
        while read < into.len() {
            match chunks.next(into.len() - read) {
                Ok(Some(chunk)) => {
                    into[read..read + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
                    read += chunk.bytes.len();
                }
                Ok(None) => {
                    stream.is_ended = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize(); // The engine asks for datagrams after every call.
        read
    }

    fn state(&mut self) -> StackState {
        let Some((_, connection)) = &mut self.connection else {
            let is_closed = self.lost.is_some();
            return StackState { timer: Time::NEVER, is_closed, ..StackState::default() };
        };
        let since_base = |at: Instant| at.saturating_duration_since(self.base).as_nanos() as u64;
        let timer = connection.poll_timeout();
        let (cwnd, ssthresh) = api::window(connection);
        let reductions = self.shown.1 + u64::from(cwnd < self.shown.0);
        self.shown = (cwnd, reductions);
        StackState {
            timer: timer.map_or(Time::NEVER, |at| Time::from_ps(since_base(at).saturating_mul(PS_PER_NS))),
            is_closed: self.lost.is_some(),
            is_finished: Some(
                !self.streams.is_empty() && self.streams.iter().all(|stream| stream.is_finished),
            ),
            cwnd: Some(cwnd as f64),
            ssthresh: ssthresh.map(|bytes| if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 }),
            reductions: Some(reductions),
        }
    }

    fn reason(&mut self) -> String {
        self.lost.clone().unwrap_or_default()
    }

    /// Both ends have the same keys: those of the sender are given.
    fn record(&mut self, text: StackText, into: &mut [u8]) -> usize {
        match text {
            StackText::Keys => self.keys.take(into),
            StackText::Log => self.log.take(into),
        }
    }
}

/// Connection ids of one length that follow from the seed.
struct Ids(u64);

impl Ids {
    fn next_id(&mut self) -> ConnectionId {
        self.0 = mix(self.0);
        ConnectionId::new(&self.0.to_be_bytes())
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next_id()
    }

    fn cid_len(&self) -> usize {
        size_of::<u64>()
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
