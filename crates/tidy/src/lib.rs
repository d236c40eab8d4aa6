//! The rules of the house that a machine can check; `tests/house.rs` holds the repository against them.
//!
//! A rule takes a [`Tree`] and gives a list of complaints, each of which says what to do. The
//! scanners are plain and know only as much of Rust and Python as the rules need. Beside each
//! rule stand tests that feed it a bad tree: a rule that cannot fail keeps nothing.

pub mod arrows;
pub mod choices;
pub mod circles;
pub mod furniture;
pub mod names;
mod python;
mod rust;
pub mod size;
pub mod sources;
mod tree;
pub mod wording;
pub mod words;

pub use tree::Tree;
