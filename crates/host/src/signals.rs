//! Blocked signals: signals that would interrupt a change, until the change is complete; and signals of the keyboard, which
//! are for a program that this process starts.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};

use crate::error::{Context, Result};

/// Signals that stay blocked in this thread, and in threads that it starts, until this is dropped.
#[derive(Debug)]
pub struct BlockedSignals {
    before: SigSet,
}

/// Blocks the signals that interrupt a program.
pub fn block_interrupts() -> Result<BlockedSignals> {
    let before = block(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
    Ok(BlockedSignals { before })
}

/// Blocks the signals of the keyboard for good, in this thread and in threads that it starts.
pub fn block_keyboard() -> Result<()> {
    block(&[Signal::SIGINT, Signal::SIGQUIT]).map(drop)
}

/// Blocks these signals; returns the ones that were blocked before.
fn block(signals: &[Signal]) -> Result<SigSet> {
    let mut before = SigSet::empty();
    let wait: SigSet = signals.iter().copied().collect();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&wait), Some(&mut before)).when("signals")?;
    Ok(before)
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
