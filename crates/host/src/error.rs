//! Errors for the caller: a request was refused before anything was changed, or it failed midway.

use std::fmt;
use std::io;

/// One or several sentences.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The request cannot be carried out here; nothing was changed. Exit status 2.
    Refused(String),
    /// The request failed midway. Exit status 1.
    Failed(String),
}

/// The result of a request.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A refusal.
    pub fn refused(sentence: impl Into<String>) -> Error {
        Error::Refused(sentence.into())
    }

    /// A failure.
    pub fn failed(sentence: impl Into<String>) -> Error {
        Error::Failed(sentence.into())
    }

    /// The message.
    pub fn sentence(&self) -> &str {
        match self {
            Error::Refused(sentence) | Error::Failed(sentence) => sentence,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::failed(error.to_string())
    }
}

/// Adds the operation that failed to an error.
pub trait Context<T> {
    /// The failure, after `doing` and a colon.
    fn when(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn when(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error::Failed(format!("{doing}: {error}")))
    }
}
