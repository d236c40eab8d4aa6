//! Bursts of segmentation offload as the kernel sizes and defers them [LINUX, tcp_write_xmit, tcp_tso_should_defer].

use fairhaul_cc::{Controller, Pacing};
use fairhaul_units::{Span, Time};

use super::{CaState, Sender};
use crate::tcp::segmentation::{PARTS_OF_SECOND, Segmentation};
use crate::tcp::send_card::SendCard;

/// A burst waits for an acknowledgement only if it is due within that time, and something left within that time.
const SOON: Span = Span::from_ms(1);
/// It does not wait where that part of the window may leave (tcp_tso_win_divisor).
const LEAST_PARTS: u64 = 3;

/// What may leave now, packets.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// By the size of a burst.
    most: u64,
    /// By the congestion window, and by the receiver's.
    free: u64,
    offered: u64,
    /// Of what was handed over together; and whether nothing was handed over behind it.
    block: u64,
    is_last: bool,
}

impl<C: Controller + Clone> Sender<C> {
    /// How many packets leave as one from now on; `None`: it is worth waiting for another acknowledgement.
    #[inline(never)]
    pub(super) fn kernel_burst(&mut self, segmentation: Segmentation, now: Time) -> Option<u64> {
        let (next, buffers) = (self.board.next(), &self.config.buffers);
        let cwnd = (self.window.cwnd as u64).max(1);
        let free = cwnd.saturating_sub(self.board.in_flight()).max(1);
        let most = segmentation.largest(self.pacing_rate(), self.rtt.smallest_of_late());
        // Two bursts are in flight [LINUX, tcp_cwnd_test].
        let quota = most.min(free).min((cwnd / 2).max(1));
        let queued = self.total.min(self.ready).min(buffers.written()) - next;
        let offered = buffers.window_end(self.board.una()) - next;
        // A block takes from the next one what a burst lacks [LINUX, tcp_grow_skb].
        let (blocks, origin) = (segmentation.blocks, buffers.origin());
        let end = blocks.end_of(next, origin);
        let grown = if end - next < quota { blocks.end_of(end, origin) } else { end };
        let block = (end - next).max(quota.min(grown - next)).min(queued);
        let room = Room { most, free, offered, block, is_last: block == queued };
        self.defers = self.waits_for_more(room, cwnd, now);
        if self.defers {
            if offered <= free {
                self.stopped_otherwise(self.config.buffers.shortage());
            } else if free <= block {
                self.stopped_by_window();
            }
            return None;
        }
        Some(quota.min(block).min(offered))
    }

    /// Whether a burst that could still grow waits for the next acknowledgement.
    fn waits_for_more(&self, room: Room, cwnd: u64, now: Time) -> bool {
        let Room { most, free, offered, block, is_last } = room;
        let limit = free.min(offered);
        let recovers = matches!(self.state, CaState::Recovery | CaState::Loss);
        if block <= 1 || recovers || limit >= most || !is_last && limit >= block {
            return false;
        }
        let window = cwnd.min(offered.saturating_add(self.board.outstanding()));
        let left = if self.last_sent == Time::NEVER { Time::ZERO } else { self.last_sent };
        if limit * LEAST_PARTS >= window || now > left.max(self.next_departure()) + SOON {
            return false;
        }
        let srtt = self.rtt.smoothed();
        let expected = self.detector.first_sent().map(|sent| sent + srtt);
        expected.is_some_and(|expected| expected <= now + SOON.min(srtt / 2))
    }

    /// Whether little enough waits at the card for another burst; if not, when to ask again [LINUX,
    /// tcp_small_queue_check].
    #[inline(never)]
    pub(super) fn wait_for_card(&self, now: Time) -> Result<(), Time> {
        let Some(card) = self.config.card.filter(|_| self.pacer.burst() == 0) else { return Ok(()) };
        let rate = self.pacing_rate();
        let burst = self.config.segmentation.map_or(1, |segmentation| {
            segmentation.largest(rate, self.rtt.smallest_of_late()).min(self.config.offload)
        });
        if self.board.outstanding() <= burst {
            return Ok(());
        }
        let packet = u64::from(self.config.packet);
        let of_rate = (rate * packet as f64 / PARTS_OF_SECOND) as u64;
        let limit = of_rate.max(2 * burst * packet);
        let most = card.most(limit, self.spreads());
        self.has_room_at(&card, most, now)
    }

    /// Whether no more than `most` bytes of this socket wait at the card; if more do, until when.
    pub(super) fn has_room_at(&self, card: &SendCard, most: u64, now: Time) -> Result<(), Time> {
        if card.is_shared() { self.at_card.has_room(most, now) } else { card.has_room(most, now) }
    }

    /// The rate by which the kernel sizes bursts, packets/s, also where nothing paces [LINUX, tcp_update_pacing_rate].
    pub(super) fn pacing_rate(&self) -> f64 {
        let gap = match self.pacing() {
            Pacing::Even(gap) => gap.as_secs(),
            _ => self.gap_of_window(),
        };
        let rate = 1.0 / gap;
        let packet = f64::from(self.config.packet);
        self.config.max_pacing_rate.map_or(rate, |most| rate.min(most.as_bps() as f64 / 8.0 / packet))
    }
}
