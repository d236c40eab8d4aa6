//! What stands for the clock and the random numbers of the system in this library: the time of the last call of the engine, and
//! numbers that follow from the seed of the end that was made last in this thread. `build.rs` has the linker put these functions for
//! those that quiche and BoringSSL call.
//!
//! A run makes its ends and calls them in one thread, in a fixed order.

use std::cell::Cell;

use fairhaul_units::{Time, mix};
use libc::{c_int, clockid_t, size_t, timespec};

const PS_PER_NS: u64 = 1000;
const NS_PER_S: u64 = 1_000_000_000;
/// The clock at the start of a run, seconds: not zero, so that a stack may subtract from a time.
const START_S: u64 = 1 << 20;

thread_local! {
    static NOW: Cell<Time> = const { Cell::new(Time::ZERO) };
    static CHANCE: Cell<u64> = const { Cell::new(0) };
}

/// Sets the clock of this thread.
pub fn set_time(now: Time) {
    NOW.set(now);
}

/// What random numbers of this thread follow from.
pub fn seed(seed: u64) {
    CHANCE.set(seed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_clock_gettime(_: clockid_t, into: *mut timespec) -> c_int {
    let now_ns = NOW.get().as_ps() / PS_PER_NS;
    let (seconds, nanoseconds) = (START_S + now_ns / NS_PER_S, now_ns % NS_PER_S);
    // SAFETY: the caller gives room for a time, as the function of the system wants it.
    unsafe {
        (*into).tv_sec = seconds as _;
        (*into).tv_nsec = nanoseconds as _;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_RAND_bytes(into: *mut u8, size: size_t) -> c_int {
    for index in 0..size {
        let next = CHANCE.get().wrapping_add(1);
        CHANCE.set(next);
        // SAFETY: the caller gives room for `size` bytes.
        unsafe { into.add(index).write(mix(next) as u8) };
    }
    1
}
