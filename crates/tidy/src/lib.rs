//! The rules of style and structure that a program can check; `tests/rules.rs` checks the repository.
//!
//! A rule takes a [`Tree`] and returns a list of complaints, each of which says what to do. The scanners are
//! plain and know only as much of Rust and Python as the rules need. Each rule has tests with a tree that
//! violates it, which prove that the rule can fail.

pub mod choices;
pub mod circles;
pub mod imports;
pub mod names;
pub mod outside;
mod python;
pub mod required_files;
mod rust;
pub mod size;
pub mod sources;
mod tree;
pub mod wording;

pub use tree::Tree;
