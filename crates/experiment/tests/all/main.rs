//! The tests of the reader of scenarios, as one program.

mod expect;
mod program;
mod read;
mod scenarios;
