//! Errors in an object, or while it runs.

use std::fmt;

/// One sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(String);

impl Error {
    /// An error that says that.
    pub fn new(sentence: impl Into<String>) -> Error {
        Error(sentence.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
