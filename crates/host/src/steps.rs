//! The steps of a request as output: a line of JSON for every change (made or only planned), every warning, and the
//! result.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

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
    let value = serde_json::to_value(value).expect("what is said has no keys but strings");
    let line = printable(value);
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A value whose texts a terminal only prints: names from objects, namespaces and records of other users may contain
/// characters that control it, which are escaped here.
fn printable(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(escaped(&text)),
        Value::Array(values) => values.into_iter().map(printable).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (escaped(&key), printable(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other,
    }
}

fn escaped(text: &str) -> String {
    // Control characters, and characters that change the direction of the text around them.
    let controls = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            _ if controls(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_control_a_terminal_are_escaped_in_all_texts() {
        let value = json!({ "a\u{1b}[2J": ["\u{9b}1m", { "b": "x\r\u{202e}y\nz\té" }], "c": 1 });
        let wanted = json!({ "a\\u{1b}[2J": ["\\u{9b}1m", { "b": "x\\u{d}\\u{202e}y\nz\té" }], "c": 1 });
        assert_eq!(printable(value), wanted);
    }
}
