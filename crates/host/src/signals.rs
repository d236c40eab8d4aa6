//! Signals that wait: while something is changed, so that it is done whole; and those of the keyboard, where
//! they are for a program that is started from here.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};

use crate::error::{Context, Result};

/// While it lives, this thread and those that it starts are not interrupted.
#[derive(Debug)]
pub struct Held {
    before: SigSet,
}

/// Has interrupts wait.
pub fn hold() -> Result<Held> {
    let before = block(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
    Ok(Held { before })
}

/// Leaves what the keyboard says to others from now on: this thread and those that it starts never hear of it.
pub fn leave_keyboard() -> Result<()> {
    block(&[Signal::SIGINT, Signal::SIGQUIT]).map(drop)
}

/// Has these wait: what waited before.
fn block(signals: &[Signal]) -> Result<SigSet> {
    let mut before = SigSet::empty();
    let wait: SigSet = signals.iter().copied().collect();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&wait), Some(&mut before)).when("signals")?;
    Ok(before)
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
