//! Queue disciplines, one file each.

mod droptail;

pub use droptail::{Capacity, DropTail};
