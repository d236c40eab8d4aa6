//! The card of a receiver and what polls it: packets wait for its interrupt, and those of one poll that follow each other
//! are merged (receive offload), as by Linux.
//!
//! What is merged is what lies in the ring between two polls, not what the sender sent as a burst.

use std::collections::VecDeque;

use fairhaul_experiment::{Flow, Hold, Traffic};
use fairhaul_units::{Chance, Data, Sending, Span, Time};

use super::time_stamps;

/// The most bytes of a merge, headers included [LINUX, GRO_LEGACY_MAX_SIZE].
const LARGEST_MERGE: u32 = 65_536;
/// Packets that one poll takes (NAPI_POLL_WEIGHT); what follows is merged anew, as with a clock of fewer than 1000 Hz.
const POLL: usize = 64;

/// See the module.
#[derive(Clone)]
pub struct Card {
    /// The least time between two interrupts, and when the next one may be.
    moderation: Span,
    ready: Time,
    /// The longest random delay of a packet before it is in the ring.
    noise: Span,
    chance: Chance,
    merges: bool,
    /// Of each packet, when it is in the ring.
    ring: VecDeque<(Time, Data)>,
}

impl Card {
    /// The card of the receiver of the connection with that number; `None`: its host has none that does anything.
    pub fn of(flow: &Flow, serial: u32, seed: u64) -> Option<Card> {
        let host = flow.host.as_deref()?;
        let acts = host.gro || !host.moderation.is_zero() || !host.noise.is_zero();
        acts.then(|| Card {
            moderation: host.moderation,
            ready: Time::ZERO,
            noise: host.noise,
            chance: Chance::stream(seed, "card", serial.into()),
            merges: host.gro && merges(flow),
            ring: VecDeque::new(),
        })
    }

    /// When its next interrupt is.
    pub fn due(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |first| first.0.max(self.ready))
    }

    /// Whether nothing waits in it.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// A packet arrives at `now`.
    pub fn arrive(&mut self, data: Data, now: Time) {
        let mut at = now;
        if !self.noise.is_zero() {
            let last = self.ring.back().map_or(Time::ZERO, |last| last.0);
            at = last.max(now + self.chance.span(self.noise));
        }
        self.ring.push_back((at, data));
    }

    /// The interrupt that is due: calls `each` with what it hands over, in order, and whether more follows.
    pub fn interrupt(&mut self, mut each: impl FnMut(Data, bool)) {
        let due = self.due();
        self.ready = due + self.moderation;
        let count = self.ring.partition_point(|waiting| waiting.0 <= due);
        let mut merged: Option<Data> = None;
        for (place, (_, data)) in self.ring.drain(..count).enumerate() {
            let begins_poll = place % POLL == 0;
            match &mut merged {
                Some(first) if self.merges && !begins_poll && follows(first, &data) => {
                    first.size += data.size;
                    first.packets += 1;
                    first.sending = data.sending;
                }
                _ => merged.replace(data).into_iter().for_each(|data| each(data, true)),
            }
        }
        merged.into_iter().for_each(|data| each(data, false));
    }

    /// What waits in it, bytes.
    pub fn memory(&self) -> u64 {
        (self.ring.capacity() * size_of::<(Time, Data)>()) as u64
    }
}

/// Whether packets of `flow` can be merged: a receiver of the kernel acknowledges them together.
fn merges(flow: &Flow) -> bool {
    matches!(flow.delayed_ack, Some(Hold::Adaptive { .. })) && !matches!(flow.traffic, Traffic::Cbr { .. })
}

/// Whether a packet joins those merged so far: it is the next in order, with the same time stamp and marks, as long as those
/// before it, and these do not end with the end of a burst [LINUX, tcp_gro_receive].
fn follows(merged: &Data, data: &Data) -> bool {
    let packets = u32::from(merged.packets);
    let is_next = data.number == merged.number + u64::from(merged.packets);
    let is_plain =
        !data.opens() && !merged.opens() && merged.congestion.is_none() && data.congestion.is_none();
    is_next
        && is_plain
        && merged.sending != Sending::Last
        && data.size * packets <= merged.size
        && merged.size + data.size <= LARGEST_MERGE
        && merged.ecn == data.ecn
        && merged.cwr == data.cwr
        && time_stamps::tick(merged.stamped) == time_stamps::tick(data.stamped)
}
