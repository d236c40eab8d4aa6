//! noq-proto as a transport stack of Fairhaul.

mod api;
#[path = "../../quic/end.rs"]
mod end;
#[cfg(feature = "qlog")]
mod log;
#[path = "../../quic/ours.rs"]
mod ours;

use std::ffi::CStr;

use end::{HEADERS, QuicEnd};
use fairhaul_stack::{Exported, Setup, export_stack};
use noq_proto as proto;

/// The release of the crate, which this package has for its own version.
const RELEASE: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(release) => release,
    Err(_) => panic!("a version has no zero"),
};

impl Exported for QuicEnd {
    const NAME: &'static CStr = c"noq-proto";
    const RELEASE: &'static CStr = RELEASE;
    const HEADERS: u32 = HEADERS;

    fn new(setup: &mut Setup) -> Result<QuicEnd, String> {
        QuicEnd::new(setup)
    }
}

export_stack!(QuicEnd);
