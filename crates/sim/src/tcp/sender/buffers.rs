//! What an acknowledgement means for the buffers of both sockets.

use fairhaul_cc::{Controller, Pacing};
use fairhaul_units::Ack;

use super::Sender;

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
        self.config.buffers.tune(self.window.cwnd);
        // What waits for its departure holds back what a call of the program leaves over [LINUX, tcp_should_autocork].
        let free = (self.window.cwnd as u64).saturating_sub(self.board.in_flight());
        let waits = self.fq.is_some() || matches!(self.pacing(), Pacing::Even(_));
        let allowed = if waits { 0 } else { self.board.next() + free };
        self.config.buffers.acknowledged(self.board.una(), allowed);
    }
}
