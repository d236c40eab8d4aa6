//! Signals that wait while something is changed, so that it is done whole.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};

use crate::error::{Context, Result};

/// While it lives, this thread and those that it starts are not interrupted.
#[derive(Debug)]
pub struct Held {
    before: SigSet,
}

/// Has interrupts wait.
pub fn hold() -> Result<Held> {
    let mut before = SigSet::empty();
    let wait: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&wait), Some(&mut before)).when("signals")?;
    Ok(Held { before })
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}
