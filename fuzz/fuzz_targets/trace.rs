//! Any text is a trace of a link's rate, or is refused.
#![no_main]

use fairhaul_experiment::check_trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for repeat in [true, false] {
        let _ = check_trace(text, repeat);
    }
});
