//! What is quinn-proto's own in the end of a connection.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use fairhaul_stack::Settings;
use fairhaul_stack_quic::Text;
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
pub use quinn_proto::{AckFrequencyConfig, MtuDiscoveryConfig};
use quinn_proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, RttEstimator,
    ServerConfig, Transmit, TransportConfig,
};

use crate::ours::{self, Ours, OursConfig};

/// What a stream may have unread: the product of 1 Gbit/s and 100 ms, rounded up.
pub const STREAM_RECEIVE_WINDOW: u64 = 1 << 24;

pub fn cid_generator(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(make);
}

/// Has connections write a qlog to a text, with times since `start`. Old releases are built without it.
pub fn log(_config: &mut TransportConfig, _to: Text, _start: Instant) {
    #[cfg(feature = "qlog")]
    {
        let mut log = quinn_proto::QlogConfig::default();
        log.writer(Box::new(_to)).title(Some("quinn".to_owned())).start_time(_start);
        _config.qlog_stream(log.into_stream());
    }
}

pub fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>, seed: [u8; 32]) -> Endpoint {
    Endpoint::new(config, server, true, Some(seed))
}

pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, None, ecn, data, answer)
}

pub fn poll_transmit(connection: &mut Connection, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 1, buffer)
}

/// Window and threshold in bytes.
pub fn window(connection: &mut Connection) -> (u64, Option<u64>) {
    let controller = connection.congestion_state();
    (controller.window(), controller.metrics().ssthresh)
}

/// The controller that the settings name, with an initial window in bytes.
pub fn controller(
    settings: &mut Settings,
    window: Option<u64>,
) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    let (mut cubic, mut reno, mut bbr) =
        (CubicConfig::default(), NewRenoConfig::default(), BbrConfig::default());
    if let Some(window) = window {
        cubic.initial_window(window);
        reno.initial_window(window);
        bbr.initial_window(window);
    }
    Ok(match settings.word("controller", &["cubic", "newreno", "bbr", ours::NAME])? {
        ours::NAME => Arc::new(OursConfig(window)),
        "newreno" => Arc::new(reno),
        "bbr" => Arc::new(bbr),
        _ => Arc::new(cubic),
    })
}

/// quinn reports datagrams as they leave, also those that are not acknowledged, and losses as a sum of bytes. It obeys the window;
/// its pacer has a rate of its own.
impl Controller for Ours {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        self.sender.on_sent(self.time(now), bytes);
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, _: &RttEstimator) {
        self.sender.on_acked(self.time(sent), bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.sender.on_acks_end(self.time(now), in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.sender.on_congestion(self.time(now), self.time(sent), lost, persistent);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
    }

    fn window(&self) -> u64 {
        self.least_or_window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        (metrics.congestion_window, metrics.ssthresh) = (self.window(), self.sender.ssthresh());
        metrics.pacing_rate = self.sender.pacing_rate().map(|bytes| bytes * 8);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
