//! What the model shows in the record.

use super::Bbr3Model;
use crate::gauge::{known, payload_bps, seconds};

impl Bbr3Model {
    /// The rate of the path, in bit/s, the smallest round-trip time, in seconds, and the two bounds of the packets in
    /// flight.
    pub(super) fn gauges(&self) -> [f64; 4] {
        [
            payload_bps(self.rate(), self.payload),
            seconds(self.min_rtt),
            known(self.most),
            known(self.short_flight),
        ]
    }
}
