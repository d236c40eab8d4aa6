//! When a burst departs that TCP hands over: at once, when the pacer gives it its turn, or when `fq` lets it go; also of
//! packets that are retransmitted [LINUX, tcp_write_xmit, tcp_xmit_retransmit_queue].

use fairhaul_cc::{Controller, Pacing};
use fairhaul_experiment::Limit;
use fairhaul_path::card::SendCard;
use fairhaul_units::{Data, Span, Time};

use super::Sender;
use super::host_pacing::LINUX_BURST;
use crate::tcp::Fq;
use crate::tcp::segmentation::{PARTS_OF_SECOND, Segmentation};

/// How many bursts may wait at least, and how much more of retransmissions.
const LEAST_BURSTS: u64 = 2;
const OF_RETRANSMISSIONS: u64 = 2;

/// Packets that follow each other and are retransmitted at one time are one burst, as long as it may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmittedBurst {
    /// The packet that may join it, until when, and how many may do so.
    next: u64,
    made: Time,
    room: u64,
}

impl RetransmittedBurst {
    /// Nothing was retransmitted.
    pub(super) const NONE: RetransmittedBurst = RetransmittedBurst { next: 0, made: Time::NEVER, room: 0 };
}

impl<C: Controller + Clone> Sender<C> {
    /// Packets are handed over to their host at `now`: when the last bit of the first has left the card, which is perhaps one of
    /// the `cards` that flows share.
    #[inline(always)]
    pub fn hand_over(&mut self, data: &Data, now: Time, cards: &mut [SendCard]) -> Time {
        if self.fq.is_none() && self.config.card.is_none() {
            return now;
        }
        self.pass_host(data, now, cards)
    }

    #[inline(never)]
    fn pass_host(&mut self, data: &Data, now: Time, cards: &mut [SendCard]) -> Time {
        let departs = self.fq.as_ref().map_or(now, |fq| fq.departs().max(now));
        let card = self.config.card.as_mut();
        let (first, last) = card.map_or((departs, departs), |card| card.send(data, departs, cards));
        if self.config.card.is_some_and(|card| card.is_shared()) {
            self.at_card.hand_over(data, last, now);
        }
        if let Some(fq) = &mut self.fq {
            fq.has_left(last);
        }
        first
    }

    /// The link of the burst that was handed over last.
    pub fn link(&self) -> usize {
        self.config.card.as_ref().map_or(0, |card| card.link())
    }

    /// When the next burst departs, if it is not late (tcp_wstamp_ns).
    pub(super) fn next_departure(&self) -> Time {
        self.fq.as_ref().map_or(self.pacer.next_turn(), |fq| fq.next_departure())
    }

    /// An acknowledgement or a timer may change how much may wait in `fq`.
    #[inline(always)]
    pub(super) fn ask_fq_again(&mut self) {
        if let Some(fq) = &mut self.fq {
            fq.ask_again();
        }
    }

    /// Whether little enough waits in `fq` for a burst of new data, where it is; if not, when to ask again.
    #[inline(never)]
    pub(super) fn wait_for_fq(&mut self, packets: u64, now: Time) -> Result<(), Time> {
        let (Some(mut fq), Some(segmentation)) = (self.fq.take(), self.config.segmentation) else {
            return Ok(());
        };
        let mut room = self.room_in_fq(&mut fq, segmentation, packets, 1, now);
        if room.is_ok() && fq.drops(now) {
            self.on_local_drop(now);
            room = fq.is_full(now).map_or(Ok(()), Err);
        }
        if room.is_err() {
            let capped = self.config.max_pacing_rate.is_some();
            self.stopped_otherwise(if capped { Limit::PacingCap } else { Limit::CongestionWindow });
        }
        self.fq = Some(fq);
        room
    }

    /// A burst of new data is handed over to `fq`, where it is.
    #[inline(never)]
    pub(super) fn hand_to_fq(&mut self, packets: u64, now: Time) {
        let (Some(mut fq), Some(segmentation)) = (self.fq.take(), self.config.segmentation) else {
            return;
        };
        let paced = self.board.next() + packets >= LINUX_BURST || self.first_gap().is_some();
        let gap = if paced { self.gap_in_fq() } else { Span::ZERO };
        fq.hand_over(packets, segmentation.memory(packets), gap, now);
        self.fq = Some(fq);
    }

    /// Whether a packet may be retransmitted at `now`; if not, when to ask again. Where the kernel sizes bursts it
    /// leaves with the packet before it, if that is retransmitted, too.
    pub(super) fn pace_retransmission(&mut self, number: u64, now: Time) -> Result<(), Time> {
        let Some(segmentation) = self.config.segmentation else {
            return self.turn_of_retransmission(now);
        };
        let RetransmittedBurst { next, made, room } = self.retransmitted;
        let joins = room > 0 && (next, made) == (number, now);
        self.take_place(segmentation, joins, now)?;
        let room =
            if joins { room } else { segmentation.largest(self.pacing_rate(), self.rtt.smallest_of_late()) };
        self.retransmitted = RetransmittedBurst { next: number + 1, made: now, room: room - 1 };
        Ok(())
    }

    fn take_place(&mut self, segmentation: Segmentation, joins: bool, now: Time) -> Result<(), Time> {
        if let Some(mut fq) = self.fq.take() {
            let room = if joins {
                fq.join(segmentation.memory_of_packet(), self.gap_in_fq());
                Ok(())
            } else {
                let room = match fq.beyond_horizon(now) {
                    Some(until) => Err(until),
                    None => self.room_in_fq(&mut fq, segmentation, 1, OF_RETRANSMISSIONS, now),
                };
                if room.is_ok() {
                    fq.hand_over(1, segmentation.memory(1), self.gap_in_fq(), now);
                }
                room
            };
            self.fq = Some(fq);
            return room;
        }
        match self.pacing() {
            Pacing::Even(gap) if joins => {
                self.pacer.join(gap);
                Ok(())
            }
            _ => self.turn_of_retransmission(now),
        }
    }

    /// A retransmission waits where packets are spaced evenly.
    fn turn_of_retransmission(&mut self, now: Time) -> Result<(), Time> {
        let pacing @ Pacing::Even(_) = self.pacing() else { return Ok(()) };
        self.pacer.go_on(0);
        self.pacer.admit(pacing, self.window.cwnd, 1, now)
    }

    /// Whether little enough waits in `fq` for a burst of `packets` more [LINUX, tcp_small_queue_check].
    fn room_in_fq(
        &self,
        fq: &mut Fq,
        segmentation: Segmentation,
        packets: u64,
        factor: u64,
        now: Time,
    ) -> Result<(), Time> {
        if self.board.outstanding() <= packets {
            return Ok(());
        }
        let of_rate = self.pacing_rate() * segmentation.memory_of_packet() as f64 / PARTS_OF_SECOND;
        let limit = (LEAST_BURSTS * segmentation.memory(packets)).max(of_rate as u64);
        fq.has_room(limit * factor, now)
    }

    /// The time that the pacing rate gives a packet; none where a controller spreads blocks.
    fn gap_in_fq(&self) -> Span {
        let rate = self.pacing_rate();
        let spread = matches!(self.pacing(), Pacing::Blocks { .. }) || !rate.is_finite();
        if spread { Span::ZERO } else { Span::from_secs(1.0 / rate) }
    }
}
