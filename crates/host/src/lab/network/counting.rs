//! What the ledger and the account of a connection take from a packet, as it leaves its host and as it reaches the other one.

use fairhaul_units::{Span, Time};

use super::{Network, Travel};
use crate::lab::headers::Headers;

impl Network {
    /// Records a packet as it leaves its host.
    pub(super) fn count_sent(&mut self, headers: &Headers, flow: u32, forward: bool, now: Time) {
        let account = &mut self.connections[headers.from.1 as usize].get_or_insert_default().account;
        match &headers.segment {
            Some(segment) if forward => {
                if self.routes[flow as usize].writes_ahead
                    && let Some(stood) = account.stood_still(headers.payload, now)
                {
                    self.waits.standstills.add(stood);
                }
                let retransmitted = account.sends(segment, headers.payload);
                if headers.carries_data() {
                    self.ledger.sent(flow, 1, retransmitted, now);
                }
            }
            Some(segment) => {
                let at_once = self.routes[flow as usize].metrics.acknowledges_at_once;
                let fresh = segment.acknowledges.map_or(0, |next| {
                    self.waits.answered(&account.answers(next, now), at_once);
                    account.acknowledges(next)
                });
                self.ledger.delivered(flow, 0, 0, fresh, now);
            }
            None if forward && headers.carries_data() => self.ledger.sent(flow, 1, false, now),
            None => {}
        }
    }

    /// Records a packet as it reaches its host.
    pub(super) fn count_delivered(&mut self, travel: &Travel, now: Time) {
        self.counts.delivered += 1;
        let Travel { headers, flow, forward, sent, .. } = *travel;
        if !forward && let Some(next) = headers.segment.and_then(|segment| segment.acknowledges) {
            self.connections[headers.from.1 as usize].get_or_insert_default().account.told(next, now);
        }
        if forward && headers.carries_data() {
            // Datagrams count when they arrive, because they are not acknowledged.
            let in_order = if headers.segment.is_none() { headers.payload.into() } else { 0 };
            let connection_state = self.connections[headers.from.1 as usize].get_or_insert_default();
            connection_state.account.in_order += in_order;
            if let Some(segment) = headers.segment {
                connection_state.account.arrives(&segment, headers.payload, now);
            }
            self.ledger.delivered(flow, headers.payload.into(), 0, in_order, now);
            self.ledger.sampled(flow, Span::ZERO, now - sent, now);
        }
    }
}
