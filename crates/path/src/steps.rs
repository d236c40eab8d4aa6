//! Steps of loops, which tests count: the time that a loop takes depends on the machine.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// A loop takes a step. Only tests count it.
#[inline(always)]
pub(crate) fn count_step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}

/// The result of `work`, and the number of steps that it took.
#[cfg(test)]
pub(crate) fn count_steps<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = STEPS.get();
    let result = work();
    (result, STEPS.get() - before)
}
