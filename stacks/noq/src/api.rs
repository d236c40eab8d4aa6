//! What is noq-proto's own in the end of a connection.

use std::any::Any;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use fairhaul_stack::Settings;
use fairhaul_stack_quic::Text;
use noq_proto::congestion::{
    Bbr3Config, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
pub use noq_proto::{AckFrequencyConfig, MtuDiscoveryConfig};
use noq_proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple,
    PathId, RttEstimator, ServerConfig, Transmit, TransportConfig,
};

use crate::ours::{self, Ours, OursConfig};

/// What a stream may have unread. noq 1.4.0 closes a connection whose reassembly holds more than about a thousand pieces, even
/// if they are contiguous; below 2.9 MB a single loss does not reach that.
pub const STREAM_RECEIVE_WINDOW: u64 = 2_900_000;

pub fn cid_generator(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(make));
}

/// Has connections write a qlog to a text, with times since `start`. Old releases are built without it.
pub fn log(_config: &mut TransportConfig, _to: Text, _start: Instant) {
    #[cfg(feature = "qlog")]
    _config.qlog_factory(Arc::new(crate::log::Logs { to: _to, start: _start }));
}

pub fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>, _: [u8; 32]) -> Endpoint {
    Endpoint::new(config, server, true)
}

pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::from_remote(from), ecn, data, answer)
}

pub fn poll_transmit(connection: &mut Connection, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, buffer)
}

/// Window and threshold in bytes.
pub fn window(connection: &mut Connection) -> (u64, Option<u64>) {
    let controller = connection.congestion_state(PathId::ZERO);
    controller.map_or((0, None), |controller| (controller.window(), controller.metrics().ssthresh))
}

/// The controller that the settings name, with an initial window in bytes.
pub fn controller(
    settings: &mut Settings,
    window: Option<u64>,
) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    let (mut cubic, mut reno, mut bbr) =
        (CubicConfig::default(), NewRenoConfig::default(), Bbr3Config::default());
    if let Some(window) = window {
        cubic.initial_window(window);
        reno.initial_window(window);
        bbr.initial_window(window);
    }
    Ok(match settings.word("controller", &["cubic", "newreno", "bbr3", ours::NAME])? {
        ours::NAME => Arc::new(OursConfig(window)),
        "newreno" => Arc::new(reno),
        "bbr3" => Arc::new(bbr),
        _ => Arc::new(cubic),
    })
}

/// What leaves together at most: that of a millisecond, from two datagrams to 64 kB [BBRV3].
fn send_quantum(rate: u64, mtu: u64) -> u64 {
    (rate / 1000).min(64 * 1024).max(2 * mtu)
}

/// noq reports packets as they leave if they are to be acknowledged, obeys the window and paces at the rate of the controller.
impl Controller for Ours {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, _: u64) {
        self.sender.on_sent(self.time(now), bytes.into());
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: u64, _: bool, _: &RttEstimator) {
        self.sender.on_acked(self.time(sent), bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.sender.on_acks_end(self.time(now), in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        _: bool,
        lost: u64,
        _: u64,
    ) {
        self.sender.on_congestion(self.time(now), self.time(sent), lost, persistent);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.sender.on_spurious();
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
        metrics.pacing_rate = self.sender.pacing_rate();
        metrics.send_quantum = metrics.pacing_rate.map(|rate| send_quantum(rate, self.mtu));
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
