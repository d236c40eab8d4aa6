//! Random numbers of the system, for what a stack draws from the generator of its thread: they follow from the seed of the
//! end that was made last in this thread. `getrandom` calls this back end with `--cfg getrandom_backend="custom"`.
//!
//! A run makes its ends in one thread and in a fixed order, so they draw the same numbers in every run.

use std::cell::Cell;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// What the system's random numbers in this thread follow from.
pub fn seed(seed: u64) {
    STATE.set(seed);
}

/// The next number of the sequence: splitmix64.
pub fn next() -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The back end that `getrandom` asks.
///
/// # Safety
/// `into` has room for `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(into: *mut u8, size: usize) -> Result<(), getrandom::Error> {
    for index in 0..size {
        // SAFETY: by the promise of the caller.
        unsafe { into.add(index).write(next() as u8) };
    }
    Ok(())
}
