//! The tests of the reader of scenarios, as one program.

mod expect;
mod read;
mod scenarios;
