//! What crosses between an engine and a library, in the layout of `fairhaul_stack.h`. Times are picoseconds.

use std::ffi::{c_char, c_int, c_void};

/// The version of all that stands here and in the header. It changes with any change of either.
pub const VERSION: u32 = 2;
/// The name of the symbol that a library exports: an [`Interface`].
pub const SYMBOL: &[u8] = b"FAIRHAUL_STACK";
/// The time that never comes.
pub const NEVER: u64 = u64::MAX;
/// A count that is not known.
pub const UNKNOWN: u64 = u64::MAX;
/// [`RawDatagram::flags`]: all that it carries has been sent before.
pub const RETRANSMITS: u32 = 1;
/// [`RawDatagram::flags`]: it opens the connection and carries no data.
pub const OPENS: u32 = 2;
/// [`RawState::closed`]: the stack cannot go on.
pub const FAILED: u32 = 2;

/// The texts of `record`.
pub const KEYS: u32 = 0;
/// See [`KEYS`].
pub const LOG: u32 = 1;

/// An end, which only its library looks into.
pub type End = *mut c_void;

/// What a library offers. Every function that is called with an end wants one that `create` made and that was not given
/// to `destroy`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header says it")]
pub struct Interface {
    pub version: u32,
    pub headers: u32,
    pub name: *const c_char,
    pub release: *const c_char,
    pub create: unsafe extern "C" fn(*const RawSetup, error: *mut c_char, room: usize) -> End,
    pub destroy: unsafe extern "C" fn(End),
    pub receive: unsafe extern "C" fn(End, now: u64, bytes: *const u8, size: usize, ecn: u32),
    pub transmit:
        unsafe extern "C" fn(End, now: u64, bytes: *mut u8, room: usize, datagram: *mut RawDatagram) -> c_int,
    pub on_timer: unsafe extern "C" fn(End, now: u64),
    pub write:
        unsafe extern "C" fn(End, now: u64, stream: u32, bytes: *const u8, size: usize, fin: c_int) -> usize,
    pub read: unsafe extern "C" fn(End, now: u64, stream: u32, bytes: *mut u8, room: usize) -> usize,
    pub state: unsafe extern "C" fn(End, *mut RawState),
    pub reason: unsafe extern "C" fn(End, text: *mut c_char, room: usize),
    pub record: Option<unsafe extern "C" fn(End, kind: u32, bytes: *mut u8, room: usize) -> usize>,
}

// SAFETY: its texts are constants of the library.
#[allow(unsafe_code, reason = "a constant with pointers to texts")]
unsafe impl Sync for Interface {}
// SAFETY: as above.
#[allow(unsafe_code, reason = "a constant with pointers to texts")]
unsafe impl Send for Interface {}

/// A setting: its name and its value as text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header says it")]
pub struct RawSetting {
    pub name: *const c_char,
    pub value: *const c_char,
}

/// What an end is made with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header says it")]
pub struct RawSetup {
    pub role: u32,
    pub packet: u32,
    pub seed: u64,
    pub now: u64,
    pub settings: *const RawSetting,
    pub setting_count: usize,
    pub records: u32,
}

/// A datagram that an end gives, beside its bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "the header says it")]
pub struct RawDatagram {
    pub size: usize,
    pub ecn: u32,
    pub flags: u32,
    pub not_before: u64,
}

/// What an end shows of itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header says it")]
pub struct RawState {
    pub timer: u64,
    pub closed: u32,
    pub finished: i32,
    pub cwnd: f64,
    pub ssthresh: f64,
    pub reductions: u64,
}
