//! What the card and the processor of a host do to the time at which packets leave or are taken over, for simulated hosts
//! and for those of a kernel.

mod dim;
mod interrupts;
mod noise;
mod processor;
mod send_card;

pub use dim::DimDriver;
pub use interrupts::{Interrupts, Moderation};
pub use noise::Noise;
pub use processor::Processor;
pub use send_card::{MOST_LINKS, SendCard};

/// The most bytes of what a receiver merges, headers included [LINUX, GRO_LEGACY_MAX_SIZE].
pub const LARGEST_MERGE: u32 = 65_536;
