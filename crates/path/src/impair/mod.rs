//! Impairments of a link, one file each.

mod loss;

pub use loss::{Loss, LossRule};
