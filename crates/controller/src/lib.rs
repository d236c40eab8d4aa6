//! Controllers of one's own in Rust, in a crate outside of Fairhaul's.
//!
//! A library implements [`fairhaul_cc::Controller`], the trait of the built-in controllers, says by [`Exported`] how
//! one is made, and exports it with [`export!`]. It is compiled to a shared library, which an engine loads
//! (`LibraryKind`, with the feature `load`). What crosses from one to the other has the layout of C ([`raw`]), because
//! they may come from different compilers; both check that they mean the same [`raw::VERSION`] of it.

mod export;
mod given;
#[cfg(feature = "load")]
mod load;
pub mod raw;
#[cfg(feature = "load")]
mod shared_library;

pub use export::{Exported, interface};
pub use given::Given;
#[cfg(feature = "load")]
pub use load::LibraryKind;
#[cfg(feature = "load")]
pub use shared_library::{ExportedStruct, SharedLibrary};
