//! Impairments of a link, one file each.

mod loss;

pub use loss::{Bursts, Loss, LossRule};
