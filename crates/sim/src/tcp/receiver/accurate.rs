//! A receiver that reports exactly how many packets were marked [RFC 9768].

use fairhaul_units::Ack;

use super::Receiver;
use crate::tcp::AccEcnFeedback;

impl Receiver {
    /// The same that says exactly how many packets were marked, if `accurate`.
    pub fn with_accurate_ecn(self, accurate: Option<AccEcnFeedback>) -> Receiver {
        let is_plain = accurate.is_none() && self.is_plain;
        Receiver { is_plain, accurate: accurate.map(Box::new), ..self }
    }

    /// Adds what an acknowledgement that leaves says of marks, where that is exact.
    #[inline(always)]
    pub(super) fn add_accurate(&mut self, ack: &mut Ack) {
        if let Some(accurate) = &mut self.accurate {
            accurate.stamp(ack);
        }
    }
}
