//! How many packets leave as one, where the engine allows trains.

use fairhaul_cc::Controller;
use fairhaul_experiment::TRAINS_PER_WINDOW;

use super::{CaState, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// From now on, up to `packets` leave as one where the window is large and nothing is amiss.
    pub fn set_longest_train(&mut self, packets: u8) {
        self.longest_train = packets.into();
    }

    /// Whether up to several packets leave as one.
    pub fn may_send_trains(&self) -> bool {
        self.longest_train > 1
    }

    /// Whether it takes a train of acknowledgements as a whole.
    pub fn takes_trains(&self) -> bool {
        self.longest_train > 1 && self.state == CaState::Open
    }

    /// How many packets leave as one, and how many of them the window must have room for: half of a train, so that on
    /// average as much is in flight as of packets.
    #[inline(always)]
    pub(super) fn train(&self) -> (u64, u64) {
        if self.longest_train <= 1 {
            return (1, 1);
        }
        let train = self.long_train();
        (train, train.div_ceil(2))
    }

    #[inline(never)]
    fn long_train(&self) -> u64 {
        if self.state != CaState::Open || self.window.in_slow_start() {
            return 1;
        }
        ((self.window.cwnd / TRAINS_PER_WINDOW) as u64).clamp(1, self.longest_train)
    }
}
