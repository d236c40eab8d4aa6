//! What the stacks with rustls share: a fixed certificate, so that signatures have one length, and random numbers of the
//! system that follow from the seed of the run.
//!
//! `end.rs` is the end of a connection for quinn-proto and noq-proto, whose interfaces differ little: each crate compiles
//! it with an `api` of its own.

pub mod chance;
mod text;
mod tls;

pub use text::Text;
pub use tls::{client, server};
