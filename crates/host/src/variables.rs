//! The environment of the program, by which it gets its descriptors and its seed. The program hands nothing of it to the
//! kernel, whose command line is mixed into its random numbers.

use std::os::fd::RawFd;

/// The descriptor of the request.
pub const REQUEST: &str = "FAIRHAUL_REQUEST";
/// The descriptor to which answers are written.
pub const ANSWERS: &str = "FAIRHAUL_ANSWERS";
/// The descriptor to which the record is written.
pub const RECORD: &str = "FAIRHAUL_RECORD";
/// The descriptor to which calls of controllers in eBPF are written, if they are requested.
pub const CALLS: &str = "FAIRHAUL_CALLS";
/// The descriptor of the input of a program, if it is no terminal.
pub const INPUT: &str = "FAIRHAUL_INPUT";
/// The descriptor of the output of a program, if it is no terminal.
pub const OUTPUT: &str = "FAIRHAUL_OUTPUT";
/// The descriptor of the keyboard of a program, if it has a terminal.
pub const KEYBOARD: &str = "FAIRHAUL_KEYBOARD";
/// The descriptor of the memory that holds the program's clock.
pub const CLOCK: &str = "FAIRHAUL_CLOCK";
/// The process that started the program, by which a search for leftovers detects that it has ended.
pub const PARENT: &str = "FAIRHAUL_PARENT";
/// The seed of the kernel's random numbers.
pub const SEED: &str = "FAIRHAUL_SEED";

/// The descriptors of the input and the output of a program of the user, in the program.
pub const TERMINAL: (RawFd, RawFd) = (10, 11);
/// The length of the memory that holds the program's clock: nanoseconds since its start, as one word.
pub const CLOCK_BYTES: usize = 8;
