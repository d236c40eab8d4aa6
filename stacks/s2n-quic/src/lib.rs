//! s2n-quic as a transport stack of Fairhaul: its endpoint is driven by an I/O provider of ours (`driver`).

mod driver;

use std::ffi::CStr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use driver::{Driven, Shown, Slot, Watch, timestamp};
use fairhaul_cc::{StackEnd, StackState, StackText, Transmit};
use fairhaul_stack::{Exported, Role, Settings, Setup, export_stack};
use fairhaul_stack_quic::{Text, chance, client, server};
use fairhaul_units::{Ecn, Time, mix};
use s2n_quic::client::{Connect, ConnectionAttempt};
use s2n_quic::provider::congestion_controller::{self, bbr, cubic};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls::{Client as ClientTls, Server as ServerTls};
use s2n_quic::stream::{ReceiveStream, SendStream};
use s2n_quic::{Client, Connection, Server};

/// The network's part of a packet: IPv4 and UDP.
const HEADERS: u32 = 28;
/// The least datagram of QUIC (RFC 9000, 14.1).
const LEAST_DATAGRAM: u32 = 1200;
/// What a stream may have unread, or unacknowledged, and a connection unread: the product of 1 Gbit/s and 100 ms, rounded up, and
/// four times that.
const STREAM_WINDOW: u32 = 1 << 24;
const WINDOW: u64 = 1 << 26;

/// An end of a connection.
struct S2nEnd {
    endpoint: Box<dyn Driven>,
    application: Application,
    streams: Vec<Stream>,
    now: Time,
    shown: Shown,
    keys: Text,
}

/// What the application of s2n-quic holds, until it has a connection and then.
enum Application {
    Connecting(Pin<Box<ConnectionAttempt>>, #[allow(dead_code, reason = "a dropped client closes")] Client),
    Accepting(Server),
    Connected(Connection, #[allow(dead_code, reason = "a dropped handle closes")] Handle),
    Failed(String),
}

/// What keeps an endpoint open.
#[allow(dead_code, reason = "it is held and not read")]
enum Handle {
    Client(Client),
    Server(Server),
}

/// A stream, in the order in which the sender opened it.
enum Stream {
    Sending { stream: SendStream, is_ended: bool, is_finished: bool },
    Receiving { stream: ReceiveStream, unread: Bytes },
}

/// The release of the crate, which this package has for its own version.
const RELEASE: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(release) => release,
    Err(_) => panic!("a version has no zero"),
};

impl Exported for S2nEnd {
    const NAME: &'static CStr = c"s2n-quic";
    const RELEASE: &'static CStr = RELEASE;
    const HEADERS: u32 = HEADERS;

    fn new(setup: &mut Setup) -> Result<S2nEnd, String> {
        let packet = setup.common.packet;
        if packet < LEAST_DATAGRAM + HEADERS {
            let least = LEAST_DATAGRAM + HEADERS;
            return Err(format!(
                "packet = {packet} B: QUIC needs packets of at least {least} B (RFC 9000, 14)"
            ));
        }
        // Both ends draw from sequences of their own. The first use of the generator of a thread draws, too.
        let mut generator = rand::rng();
        chance::seed(mix(setup.common.seed ^ mix(setup.role as u64 + 1)));
        let _ = generator.reseed(); // the back end of `chance` cannot fail
        let window = setup.settings.number("initial_window", 1..=u32::MAX)?;
        match setup.settings.word("controller", &["cubic", "bbr"])? {
            "bbr" => {
                let mut bbr = bbr::Builder::default();
                if let Some(window) = window {
                    bbr = bbr.with_initial_congestion_window(window);
                }
                started(setup, bbr.build())
            }
            _ => {
                let mut cubic = cubic::Builder::default();
                if let Some(window) = window {
                    cubic = cubic.with_initial_congestion_window(window);
                }
                started(setup, cubic.build())
            }
        }
    }
}

export_stack!(S2nEnd);

/// An end with this congestion controller.
fn started(setup: &mut Setup, controller: impl congestion_controller::Provider) -> Result<S2nEnd, String> {
    let limits = limits(&mut setup.settings)?;
    let packet = setup.common.packet.min(u16::MAX.into()) as u16;
    let initial = setup.settings.number("initial_mtu", 1228..=packet)?;
    let (slot, shown, keys) = (Slot::new(packet, initial)?, Shown::default(), Text::default());
    let (io, watch) = (slot.clone(), Watch(shown.clone()));
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let application = match setup.role {
        Role::Sender => {
            let mut tls = client().map_err(|error| said(&error))?;
            if setup.common.records {
                tls.key_log = Arc::new(keys.clone());
            }
            let client = Client::builder()
                .with_tls(ClientTls::from(tls))
                .and_then(|builder| builder.with_io(io))
                .and_then(|builder| builder.with_limits(limits))
                .and_then(|builder| builder.with_event(watch))
                .and_then(|builder| builder.with_congestion_controller(controller))
                .unwrap_or_else(|never| match never {})
                .start()
                .map_err(|error| said(&error))?;
            let connect = Connect::new(driver::peer(Role::Sender)).with_server_name("fairhaul");
            Application::Connecting(Box::pin(client.connect(connect)), client)
        }
        Role::Receiver => {
            let tls = server().map_err(|error| said(&error))?;
            let server = Server::builder()
                .with_tls(ServerTls::from(tls))
                .and_then(|builder| builder.with_io(io))
                .and_then(|builder| builder.with_limits(limits))
                .and_then(|builder| builder.with_event(watch))
                .and_then(|builder| builder.with_congestion_controller(controller))
                .unwrap_or_else(|never| match never {})
                .start()
                .map_err(|error| said(&error))?;
            Application::Accepting(server)
        }
    };
    let endpoint = slot.take().ok_or("s2n-quic has not started its endpoint")?;
    let now = setup.common.now;
    let mut end = S2nEnd { endpoint, application, streams: Vec::new(), now, shown, keys };
    end.settle(now);
    Ok(end)
}

fn limits(settings: &mut Settings) -> Result<Limits, String> {
    const LARGEST: u64 = 1 << 40;
    let said = |error| format!("a limit is refused: {error:?}");
    let stream = settings.number("stream_receive_window", 1200..=LARGEST)?;
    let connection = settings.number("receive_window", 1200..=LARGEST)?;
    let sending = settings.number("send_window", 1200..=u32::MAX)?;
    let mut limits = Limits::new()
        .with_unidirectional_data_window(stream.unwrap_or(STREAM_WINDOW.into()))
        .and_then(|limits| limits.with_data_window(connection.unwrap_or(WINDOW)))
        .and_then(|limits| limits.with_max_send_buffer_size(sending.unwrap_or(STREAM_WINDOW)))
        .map_err(said)?;
    if let Some(rtt_ms) = settings.number("initial_rtt_ms", 1..=60_000u64)? {
        limits = limits.with_initial_round_trip_time(Duration::from_millis(rtt_ms)).map_err(said)?;
    }
    if let Some(delay_ms) = settings.number("max_ack_delay_ms", 1..=1000u64)? {
        limits = limits.with_max_ack_delay(Duration::from_millis(delay_ms)).map_err(said)?;
    }
    if let Some(idle_ms) = settings.number("max_idle_timeout_ms", 1..=86_400_000u64)? {
        limits = limits.with_max_idle_timeout(Duration::from_millis(idle_ms)).map_err(said)?;
    }
    Ok(limits)
}

impl S2nEnd {
    /// Has endpoint and application take over what the other has done, until neither has more to do.
    fn settle(&mut self, now: Time) {
        self.now = now;
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let is_new = self.advance(&mut context);
            if !self.endpoint.wake(&mut context, timestamp(now)) && !is_new {
                return;
            }
        }
    }

    /// Whether the application has a new connection or a new stream.
    fn advance(&mut self, context: &mut Context<'_>) -> bool {
        let before = std::mem::replace(&mut self.application, Application::Failed(String::new()));
        let (application, advanced) = match before {
            Application::Connecting(mut attempt, client) => match attempt.as_mut().poll(context) {
                Poll::Ready(Ok(connection)) => {
                    (Application::Connected(connection, Handle::Client(client)), true)
                }
                Poll::Ready(Err(error)) => (Application::Failed(error.to_string()), false),
                Poll::Pending => (Application::Connecting(attempt, client), false),
            },
            Application::Accepting(mut server) => match server.poll_accept(context) {
                Poll::Ready(Some(connection)) => {
                    (Application::Connected(connection, Handle::Server(server)), true)
                }
                Poll::Ready(None) => (Application::Failed("the endpoint has ended".to_owned()), false),
                Poll::Pending => (Application::Accepting(server), false),
            },
            Application::Connected(mut connection, handle) => {
                let accepted = connection.poll_accept_receive_stream(context);
                let is_new = matches!(accepted, Poll::Ready(Ok(Some(_))));
                if let Poll::Ready(Ok(Some(stream))) = accepted {
                    self.streams.push(Stream::Receiving { stream, unread: Bytes::new() });
                }
                (Application::Connected(connection, handle), is_new)
            }
            failed @ Application::Failed(_) => (failed, false),
        };
        self.application = application;
        advanced
    }
}

impl StackEnd for S2nEnd {
    fn receive(&mut self, now: Time, bytes: &[u8], ecn: Ecn) {
        self.endpoint.receive(bytes, ecn, timestamp(now));
        self.settle(now);
    }

    fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit> {
        let (size, ecn) = self.endpoint.transmit(into, timestamp(now))?;
        self.settle(now);
        Some(Transmit { size, ecn, not_before: now, retransmits: false, opens: false })
    }

    /// The endpoint looks at its timers where it is asked for a datagram.
    fn on_timer(&mut self, now: Time) {
        self.settle(now);
    }

    fn write(&mut self, now: Time, stream: u32, bytes: &[u8], fin: bool) -> usize {
        let Application::Connected(connection, _) = &mut self.application else { return 0 };
        let mut context = Context::from_waker(Waker::noop());
        while self.streams.len() <= stream as usize {
            let Poll::Ready(Ok(stream)) = connection.poll_open_send_stream(&mut context) else { return 0 };
            self.streams.push(Stream::Sending { stream, is_ended: false, is_finished: false });
        }
        let Stream::Sending { stream, is_ended, .. } = &mut self.streams[stream as usize] else { return 0 };
        let mut taken = 0;
        if !bytes.is_empty()
            && let Poll::Ready(Ok(room)) = stream.poll_send_ready(&mut context)
        {
            let size = room.min(bytes.len());
            if stream.send_data(Bytes::copy_from_slice(&bytes[..size])).is_ok() {
                taken = size;
            }
        }
        if fin && taken == bytes.len() && !*is_ended {
            *is_ended = stream.finish().is_ok();
        }
        self.settle(now);
        taken
    }

    fn read(&mut self, now: Time, stream: u32, into: &mut [u8]) -> usize {
        let Some(Stream::Receiving { stream, unread }) = self.streams.get_mut(stream as usize) else {
            return 0;
        };
        let mut context = Context::from_waker(Waker::noop());
        let mut read = 0;
        while read < into.len() {
            if unread.is_empty() {
                match stream.poll_receive(&mut context) {
                    Poll::Ready(Ok(Some(more))) => *unread = more,
                    _ => break,
                }
            }
            let part = unread.split_to(unread.len().min(into.len() - read));
            into[read..read + part.len()].copy_from_slice(&part);
            read += part.len();
        }
        self.settle(now);
        read
    }

    fn state(&mut self) -> StackState {
        let mut context = Context::from_waker(Waker::noop());
        let mut all_finished = !self.streams.is_empty();
        for stream in &mut self.streams {
            if let Stream::Sending { stream, is_ended: true, is_finished } = stream
                && !*is_finished
            {
                *is_finished = matches!(stream.poll_flush(&mut context), Poll::Ready(Ok(())));
            }
            all_finished &= matches!(stream, Stream::Sending { is_finished: true, .. });
        }
        let (cwnd, reductions) = self.shown.window();
        let is_closed = matches!(self.application, Application::Failed(_)) || self.shown.reason().is_some();
        StackState {
            timer: self.endpoint.timer(self.now),
            is_closed,
            is_finished: Some(all_finished),
            cwnd: cwnd.map(f64::from),
            ssthresh: None,
            reductions: Some(reductions),
        }
    }

    fn reason(&mut self) -> String {
        match &self.application {
            Application::Failed(why) => why.clone(),
            _ => self.shown.reason().unwrap_or_default(),
        }
    }

    /// Both ends have the same keys: those of the sender are given. s2n-quic writes no qlog.
    fn record(&mut self, text: StackText, into: &mut [u8]) -> usize {
        match text {
            StackText::Keys => self.keys.take(into),
            StackText::Log => 0,
        }
    }
}
