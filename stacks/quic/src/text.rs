//! A text that a part of a stack writes and the engine reads: its keys, its log.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::KeyLog;

/// What is written and not read yet; all copies are the same text.
#[derive(Clone, Debug, Default)]
pub struct Text(Arc<Mutex<VecDeque<u8>>>);

impl Text {
    /// Moves as much as there is room for to `into`: how many bytes.
    pub fn take(&self, into: &mut [u8]) -> usize {
        let mut bytes = self.bytes();
        let mut taken = 0;
        while taken < into.len()
            && let Ok(more @ 1..) = bytes.read(&mut into[taken..])
        {
            taken += more;
        }
        taken
    }

    fn bytes(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl KeyLog for Text {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}"); // a string takes everything
                text
            })
        };
        self.bytes().extend(format!("{label} {} {}\n", hex(client_random), hex(secret)).as_bytes());
    }
}
