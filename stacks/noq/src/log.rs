//! What noq asks for a log of each connection.

use std::net::SocketAddr;
use std::time::Instant;

use fairhaul_stack_quic::Text;
use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};

/// Logs to a text, with times since `start`.
pub struct Logs {
    pub to: Text,
    pub start: Instant,
}

impl QlogFactory for Logs {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, _: Instant) -> Option<QlogConfig> {
        let mut config = QlogConfig::new(Box::new(self.to.clone()));
        config.title(Some("noq".to_owned())).start_time(self.start);
        Some(config)
    }
}
