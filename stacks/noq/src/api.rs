//! What is noq-proto's own in the end of a connection.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use fairhaul_stack::Settings;
use fairhaul_stack_quic::Text;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
pub use noq_proto::{AckFrequencyConfig, MtuDiscoveryConfig};
use noq_proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple,
    PathId, ServerConfig, Transmit, TransportConfig,
};

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
    Ok(match settings.word("controller", &["cubic", "newreno", "bbr3"])? {
        "newreno" => Arc::new(reno),
        "bbr3" => Arc::new(bbr),
        _ => Arc::new(cubic),
    })
}
