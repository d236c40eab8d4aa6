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
    /// Packets that have left their senders, or links made.
    launched: u64,
    look_at: u64,
    /// When memory is to be counted again.
    count_at: u64,
    /// What was counted, bytes, and how many packets had left then.
    counted: (u64, u64),
    halted: bool,
}

impl Watch {
    pub fn new(control: &Control) -> Watch {
        let mut watch = Watch {
            control: control.clone(),
            launched: 0,
            look_at: PACKETS_PER_LOOK,
            count_at: 0,
            counted: (0, 0),
            halted: false,
        };
        watch.count(0);
        watch
    }

    /// A packet leaves its sender, or a link makes it.
    #[inline(always)]
    pub fn launched(&mut self) {
        self.launched += 1;
        if self.launched >= self.look_at {
            self.look();
        }
    }

    /// Whether the event under way is to end at once.
    #[inline(always)]
    pub fn is_halted(&self) -> bool {
        self.halted
    }

    /// Whether memory is to be counted.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.launched >= self.count_at || self.halted
    }

    /// What is outstanding takes that many bytes: whether that is too much.
    pub fn count(&mut self, bytes: u64) -> bool {
        let most = self.control.most_memory();
        self.counted = (bytes, self.launched);
        let more = most.saturating_sub(bytes) / PER_PACKET / 2;
        self.count_at = self.launched.saturating_add(more.max(PACKETS_PER_LOOK));
        bytes > most
    }

    #[inline(never)]
    fn look(&mut self) {
        self.look_at = self.launched + PACKETS_PER_LOOK;
        let (bytes, launched) = self.counted;
        let more = (self.launched - launched).saturating_mul(PER_PACKET);
        // Of packets that left in between some have gone since; not of those of one event.
        self.halted = self.control.is_stopped() || bytes.saturating_add(more) > self.control.most_memory();
    }
}
