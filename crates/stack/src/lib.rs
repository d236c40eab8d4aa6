//! Transport stacks as shared libraries, in the layout of C (`python/fairhaul/scenario/stack/fairhaul_stack.h`).
//!
//! A stack in Rust implements [`Exported`] and is exported with [`export_stack!`](crate::export_stack); one in C fills the
//! struct of the header. With the feature `load`, [`StackKind`] loads either for an engine.

mod export;
#[cfg(feature = "load")]
mod library;
#[cfg(feature = "load")]
mod load;
pub mod raw;
mod settings;

pub use export::{Exported, Role, Setup, interface};
#[cfg(feature = "load")]
pub use library::{LibraryEnd, StackLibrary};
#[cfg(feature = "load")]
pub use load::{StackKind, StackOfLibrary};
pub use settings::Settings;
