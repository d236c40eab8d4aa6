//! Accurate feedback on marks [RFC 9768]: the receiver counts what arrives with each codepoint, and the sender works out from
//! three bits, and an option if there is one, how many packets were marked.

mod feedback;
mod reader;

pub use feedback::AccEcnFeedback;
pub use reader::{AccEcnReader, Reading};
