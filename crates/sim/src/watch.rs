//! What ends a run before its time: somebody asks it to stop, or what is outstanding outgrows the memory that it
//! may take.
//!
//! Memory grows with the packets that senders let go, and what is still there is counted seldom: only when so
//! many have left since that it could be too much. One event may let many go, so these are looked at within it.

use crate::run::Control;

/// Packets that leave between two looks at the control within one event.
const PACKETS_PER_LOOK: u64 = 1 << 16;
/// What a packet that leaves may take in all, bytes: its place where it waits, which may be twice as large as it
/// need be, and what its sender notes of it.
const PER_PACKET: u64 = 512;

/// See the module.
#[derive(Debug)]
pub struct Watch {
    control: Control,
    /// How many packets will have left their senders, or been made by links, when there is something to do next,
    /// and how many of these are still to leave: less to do for each of them than counting up.
    next: u64,
    left: u64,
    look_at: u64,
    /// When memory is to be counted again.
    count_at: u64,
    is_due: bool,
    /// What was counted, bytes, and how many packets had left then.
    counted: (u64, u64),
    halted: bool,
}

impl Watch {
    pub fn new(control: &Control) -> Watch {
        let mut watch = Watch {
            control: control.clone(),
            next: 0,
            left: 0,
            look_at: PACKETS_PER_LOOK,
            count_at: 0,
            is_due: false,
            counted: (0, 0),
            halted: false,
        };
        watch.count(0);
        watch
    }

    /// A packet leaves its sender, or a link makes it.
    #[inline(always)]
    pub fn launched(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.arrived();
        }
    }

    /// Whether somebody has asked the run to stop.
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

    /// What is outstanding takes that many bytes: whether that is too much.
    pub fn count(&mut self, bytes: u64) -> bool {
        let most = self.control.most_memory();
        let launched = self.next - self.left;
        self.counted = (bytes, launched);
        let more = most.saturating_sub(bytes) / PER_PACKET / 2;
        self.count_at = launched.saturating_add(more.max(PACKETS_PER_LOOK));
        self.is_due = self.halted;
        self.go_on(launched);
        bytes > most
    }

    /// So many have left that there is something to do.
    #[inline(never)]
    fn arrived(&mut self) {
        let launched = self.next;
        if launched >= self.look_at {
            self.look(launched);
        }
        self.is_due |= launched >= self.count_at || self.halted;
        self.go_on(launched);
    }

    fn go_on(&mut self, launched: u64) {
        let count_at = if self.is_due { u64::MAX } else { self.count_at };
        self.next = self.look_at.min(count_at);
        self.left = self.next - launched;
    }

    fn look(&mut self, launched: u64) {
        self.look_at = launched + PACKETS_PER_LOOK;
        let (bytes, counted_at) = self.counted;
        let more = (launched - counted_at).saturating_mul(PER_PACKET);
        // Of packets that left in between some have gone since; not of those of one event.
        self.halted = self.control.is_stopped() || bytes.saturating_add(more) > self.control.most_memory();
    }
}
