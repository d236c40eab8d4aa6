//! What the card and the processor of a host do to the time at which packets leave or are taken over, for simulated hosts
//! and for those of a kernel.

mod interrupts;
mod noise;
mod processor;

pub use interrupts::{Interrupts, Moderation};
pub use noise::Noise;
pub use processor::Processor;
