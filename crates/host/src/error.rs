//! What goes wrong, for whoever asked: refused before anything was changed, or failed on the way.

use std::fmt;
use std::io;

/// One or several sentences.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// What was asked for cannot be done here; nothing was changed. Exit status 2.
    Refused(String),
    /// It went wrong while it was done. Exit status 1.
    Failed(String),
}

/// What a request comes to.
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

    /// What is written of it.
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

/// Says what was being done when something went wrong.
pub trait Context<T> {
    /// The failure, after `doing` and a colon.
    fn when(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn when(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error::Failed(format!("{doing}: {error}")))
    }
}
