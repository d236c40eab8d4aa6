//! How a sender detects losses.

mod flight;
mod rack;

pub use rack::{AckTiming, Rack};
