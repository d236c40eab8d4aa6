//! Bursts of segmentation offload, as the queue of an interface sees them [LINUX].

use fairhaul_cc::Controller;
use fairhaul_units::{Sending, Time};

use super::{CaState, Sender};

/// No burst waits for more than this part of the window, so that acknowledgements keep coming.
const LEAST_PARTS: f64 = 3.0;

impl<C: Controller + Clone> Sender<C> {
    /// The same whose bursts of segmentation offload leave as one, if `wanted`. Only a sender that goes by time keeps what it
    /// notes of packets by bursts, and routers answer each packet.
    pub fn with_whole_bursts(mut self, wanted: bool) -> Sender<C> {
        let can = self.config.offload > 1 && self.detector.is_by_time() && !self.needs.requests;
        self.sends_whole_bursts = wanted && can;
        self
    }

    /// How many of the packets that the window allows leave together from now on, and how the next one leaves; `None`:
    /// it is worth waiting for another acknowledgement.
    ///
    // Differs from [LINUX]: as in Linux, data wait for a full burst, a third of the window or the end of the
    // data that is ready, and not in recovery; but a burst is not limited to 1 ms of the pacing rate, and does
    // not leave early when the next acknowledgement is half a round trip away, so that its size is the one in
    // the scenario.
    #[inline(never)]
    pub(super) fn burst(&mut self, now: Time) -> Option<(u64, Sending)> {
        if let Some(segmentation) = self.config.segmentation.filter(|_| self.pacer.burst() == 0) {
            return self.kernel_burst(segmentation, now).map(|packets| (packets, self.sending(packets)));
        }
        if self.config.segmentation.is_none() && self.state != CaState::Open {
            return Some((1, Sending::First)); // recovery fills holes at once
        }
        if self.pacer.burst() > 0 {
            // A probe is not part of a burst, and only keeps the pacer from making it wait.
            let follows = !self.detector.is_probe_due();
            let sending = match self.pacer.burst() {
                _ if !follows => Sending::First,
                1 => Sending::Last,
                _ => Sending::Following,
            };
            return Some((self.pacer.burst(), sending));
        }
        let outstanding = self.board.outstanding();
        let buffer = self.config.buffers.end() - self.board.una();
        let ready = self.total.min(self.ready) - self.board.next();
        let free = (self.window.cwnd.max(1.0) - self.board.in_flight() as f64) as u64;
        let room = free.min(buffer - outstanding).min(ready);
        let part = self.window.cwnd.min(buffer as f64) / LEAST_PARTS;
        let wanted = self.config.offload.min(part as u64).min(ready);
        if outstanding > 0 && room < wanted {
            if free <= buffer - outstanding {
                self.stopped_by_window();
            } else {
                self.stopped_otherwise(self.config.buffers.shortage());
            }
            return None;
        }
        Some((room.clamp(1, self.config.offload), Sending::First))
    }
    /// How the first packet of a burst of `packets` leaves: one that ends a call of the program says so, also alone (PSH).
    fn sending(&self, packets: u64) -> Sending {
        let first = self.board.next();
        let ends_call = packets == 1 && self.config.buffers.short().is_some_and(|short| short.0 == first);
        if ends_call { Sending::Whole } else { Sending::First }
    }
}
