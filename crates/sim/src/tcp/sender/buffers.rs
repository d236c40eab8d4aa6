//! What an acknowledgement means for the buffers of both sockets.
//
// Differs from [LINUX]: what a call of the program leaves over is part of the next packet in a transfer that ends.

use fairhaul_cc::Controller;
use fairhaul_units::{Ack, Time};

use super::{Poll, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// The receiver says what it has room for, if it does; and what may wait in the queue discipline has perhaps changed.
    #[inline(always)]
    pub(super) fn hear_window(&mut self, ack: &Ack) {
        self.ask_fq_again();
        if let Some(window) = ack.window {
            self.config.buffers.offer(self.board.una(), ack.next + u64::from(window.get()));
        }
    }

    /// More is acknowledged: what the send buffer holds may grow, and moves on.
    #[inline(always)]
    pub(super) fn free_buffer(&mut self) {
        if self.config.buffers.tunes_send_buffer() {
            return self.free_tuned_buffer();
        }
        self.config.buffers.acknowledged(self.board.una());
    }

    #[inline(never)]
    fn free_tuned_buffer(&mut self) {
        let (una, next) = (self.board.una(), self.board.next());
        while self.bursts.front().is_some_and(|&end| end <= una) {
            self.bursts.pop_front();
        }
        self.config.buffers.tune(self.window.cwnd);
        self.config.buffers.freed(una, next, self.unacknowledged_bursts());
    }

    /// A burst of new data is handed over.
    #[inline(always)]
    pub(super) fn note_burst(&mut self, packets: u64) {
        if self.config.buffers.tunes_send_buffer() {
            self.bursts.push_back(self.board.next() + packets);
        }
    }

    /// How many bursts are not acknowledged; where the kernel does not size them, all are as large as they may be.
    fn unacknowledged_bursts(&self) -> u64 {
        match self.config.segmentation {
            Some(_) => self.bursts.len() as u64,
            None => self.board.outstanding().div_ceil(self.config.offload),
        }
    }

    /// What leaves once the connection is open. A program that writes goes on when all that it has written is sent, or cannot be.
    #[inline(always)]
    pub(super) fn poll_open(&mut self, now: Time) -> Poll {
        loop {
            if self.config.buffers.is_written_to() {
                self.write_call(now);
            }
            let poll = self.poll_data(now);
            if !self.config.buffers.is_written_to() || matches!(poll, Poll::Send(_)) {
                return poll;
            }
            self.write(false, now);
        }
    }

    /// The program writes its next call if all that it has written is sent.
    #[inline(never)]
    fn write_call(&mut self, now: Time) {
        if self.board.next() >= self.config.buffers.written() {
            self.write(true, now);
        }
    }

    /// The program writes to the end of its call, or until the buffer is full. What waits for its departure holds back what
    /// the call leaves over [LINUX, tcp_should_autocork].
    #[inline(never)]
    fn write(&mut self, to_end_of_call: bool, now: Time) {
        let (una, next) = (self.board.una(), self.board.next());
        let is_endless = (self.total, self.ready) == (u64::MAX, u64::MAX);
        let at_card = self.config.card.as_ref().is_some_and(|card| self.has_room_at(card, 0, now).is_err());
        let waits = at_card || self.fq.as_ref().is_some_and(|fq| !fq.is_empty(now));
        let may_leave = is_endless && self.config.buffers.may_be_short(una);
        let sent = (una, next, self.unacknowledged_bursts());
        self.config.buffers.write(sent, to_end_of_call && !waits, may_leave);
    }
}
