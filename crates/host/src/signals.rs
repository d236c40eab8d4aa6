//! Signals that wait: while something is changed, so that it is done whole; and those of the keyboard, while
//! they are for a program that was started from here.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};

use crate::error::{Context, Result};

/// While it lives, this thread and those that it starts are not interrupted.
#[derive(Debug)]
pub struct Held {
    before: SigSet,
}

/// Has interrupts wait.
pub fn hold() -> Result<Held> {
    keep(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])
}

/// Has those wait that come from the keyboard.
pub fn hold_keyboard() -> Result<Held> {
    keep(&[Signal::SIGINT, Signal::SIGQUIT])
}

fn keep(signals: &[Signal]) -> Result<Held> {
    let mut before = SigSet::empty();
    let wait: SigSet = signals.iter().copied().collect();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&wait), Some(&mut before)).when("signals")?;
    Ok(Held { before })
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
