//! The limits of a run: it ends early where it is asked to stop, or where its outstanding packets take more memory
//! than they may.
//!
//! Memory grows with the packets that senders send. It is counted only when enough packets have been sent since the
//! last count to exceed the limit. One event may send many packets, so the limits are also checked within an event.

use crate::control::Control;

/// Packets that leave between two checks within one event.
const PACKETS_PER_CHECK: u64 = 1 << 16;
/// Memory that a packet may take in all, bytes: its place in a ring or queue, whose capacity may be twice what is
/// needed, and what its sender stores of it.
const PER_PACKET: u64 = 512;

/// See the module.
#[derive(Clone, Debug)]
pub struct RunLimits {
    control: Control,
    /// How many packets will have left their senders, or been made by links, when there is something to do next,
    /// and how many of these are still to leave: less to do for each of them than counting up.
    next: u64,
    left: u64,
    check_at: u64,
    /// When memory is to be counted again.
    count_at: u64,
    is_due: bool,
    /// What was counted, bytes, and how many packets had left then.
    counted: (u64, u64),
    halted: bool,
}

impl RunLimits {
    pub fn new(control: &Control) -> RunLimits {
        let mut limits = RunLimits {
            control: control.clone(),
            next: 0,
            left: 0,
            check_at: PACKETS_PER_CHECK,
            count_at: 0,
            is_due: false,
            counted: (0, 0),
            halted: false,
        };
        limits.count(0);
        limits
    }

    /// From now on the run is stopped by another control.
    pub fn control_by(&mut self, control: &Control) {
        self.control = control.clone();
    }

    /// A packet leaves its sender, or a link makes it.
    #[inline(always)]
    pub fn launched(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.on_due();
        }
    }

    /// Whether the run was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.control.is_stopped()
    }

    /// Whether the event under way is to end at once.
    #[inline(always)]
    pub fn is_halted(&self) -> bool {
        self.halted
    }

    /// Whether memory is to be counted.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// A connection takes that many bytes more. Memory is counted anew where that may be too much.
    pub fn take(&mut self, bytes: u64) {
        self.counted.0 = self.counted.0.saturating_add(bytes);
        self.is_due |= self.counted.0 > self.control.most_memory();
    }

    /// The outstanding packets take that many bytes: whether that is too much.
    pub fn count(&mut self, bytes: u64) -> bool {
        let most = self.control.most_memory();
        let launched = self.next - self.left;
        self.counted = (bytes, launched);
        let more = most.saturating_sub(bytes) / PER_PACKET / 2;
        self.count_at = launched.saturating_add(more.max(PACKETS_PER_CHECK));
        self.is_due = self.halted;
        self.schedule(launched);
        bytes > most
    }

    /// Enough packets have left that a check or a count is due.
    #[inline(never)]
    fn on_due(&mut self) {
        let launched = self.next;
        if launched >= self.check_at {
            self.check(launched);
        }
        self.is_due |= launched >= self.count_at || self.halted;
        self.schedule(launched);
    }

    /// Finds the packet at which the next check or count is due.
    fn schedule(&mut self, launched: u64) {
        let count_at = if self.is_due { u64::MAX } else { self.count_at };
        self.next = self.check_at.min(count_at);
        self.left = self.next - launched;
    }

    fn check(&mut self, launched: u64) {
        self.check_at = launched + PACKETS_PER_CHECK;
        let (bytes, counted_at) = self.counted;
        let more = (launched - counted_at).saturating_mul(PER_PACKET);
        // Of packets that left in between some have gone since; not of those of one event.
        self.halted = self.control.is_stopped() || bytes.saturating_add(more) > self.control.most_memory();
    }
}
