//! The steps of a request as output: a line of JSON for every change (made or only planned), every warning, and the
//! result.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use crate::error::Result;

/// The changes of one request, reported as they are made; a dry run reports them and makes none.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    dry_run: bool,
}

impl Steps {
    /// `dry_run`: nothing is changed.
    pub fn new(dry_run: bool) -> Steps {
        Steps { dry_run }
    }

    /// Whether changes are only reported.
    pub fn dry_run(self) -> bool {
        self.dry_run
    }

    /// Makes one change, which `what` describes; `None` in a dry run.
    pub fn step<T>(self, what: impl Into<String>, act: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        say(&json!({ "step": what.into(), "done": !self.dry_run }));
        if self.dry_run { Ok(None) } else { act().map(Some) }
    }
}

/// Reports a warning.
pub fn warn(sentence: impl Into<String>) {
    say(&json!({ "warning": sentence.into() }));
}

/// Writes a value as a line. If the reader has ended, the work continues without output.
pub fn say(value: &impl Serialize) {
    let line = serde_json::to_string(value).expect("what is said has no keys but strings");
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
