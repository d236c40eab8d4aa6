//! The timer of the answer to a request that opens a connection (SYN-ACK): the answer is retransmitted until the sender has
//! it [LINUX, reqsk_timer_handler].
//!
//! The acknowledgement of the answer is no packet here, and is never lost.

use fairhaul_units::{Ack, Data, Span, Time};

use super::Receiver;
use crate::tcp::kernel_timer;

/// Until the first retransmission; each later time is twice as long [RFC 6298, 2.1, 5.5].
const FIRST: Span = Span::from_ms(1000);
/// Retransmissions (net.ipv4.tcp_synack_retries).
const MOST: u8 = 5;

/// An answer that the sender may not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// The time stamp of the latest request.
    stamped: Time,
    due: Time,
    timeouts: u8,
}

impl Opening {
    /// A request arrives, the first or, after `before`, another.
    pub(super) fn asked(before: Option<Opening>, stamped: Time, now: Time) -> Opening {
        let timeouts = before.map_or(0, |opening| opening.timeouts);
        Opening { stamped, due: due(timeouts, now), timeouts }
    }

    /// When the answer is retransmitted.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// The time stamp that the next answer echoes, and what is left to wait for after it, unless it is the last.
    pub(super) fn retransmits(self, now: Time) -> (Time, Option<Opening>) {
        let timeouts = self.timeouts + 1;
        let after = (timeouts < MOST).then(|| Opening { due: due(timeouts, now), timeouts, ..self });
        (self.stamped, after)
    }
}

fn due(timeouts: u8, now: Time) -> Time {
    kernel_timer::expires(now, now + FIRST * (1 << timeouts))
}

impl Receiver {
    /// The sender has the answer to its request.
    pub fn is_answered(&mut self) {
        self.opening = None;
    }

    /// The answer to the request that opens the connection.
    #[cold]
    pub(super) fn open(&mut self, data: &Data, now: Time) -> Ack {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.opens(now);
        }
        if let Some(window) = &mut self.window {
            window.opens(now);
        }
        if self.options {
            let before = self.opening.take().map(|opening| *opening);
            self.opening = Some(Box::new(Opening::asked(before, data.stamped, now)));
        }
        Ack { opens: true, ..self.acknowledge(data.stamped, now) }
    }

    /// The answer once more.
    #[cold]
    pub(super) fn answer_again(&mut self, opening: Opening, now: Time) -> Ack {
        let (stamped, after) = opening.retransmits(now);
        self.opening = after.map(Box::new);
        let mut ack = Ack { opens: true, ..self.acknowledge(stamped, now) };
        self.add_accurate(&mut ack);
        ack
    }
}
