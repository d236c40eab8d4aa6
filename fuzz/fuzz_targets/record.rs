//! Any bytes are a record that another process wrote, with or without a trace, or an error; what is one goes out as it came
//! in.
#![no_main]

use fairhaul_experiment::{from_lines, to_lines};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((record, trace)) = from_lines(bytes) {
        let text = to_lines(&record, trace.as_ref());
        let (again, again_trace) = from_lines(&text).expect("it was written by us");
        assert_eq!(to_lines(&again, again_trace.as_ref()), text);
    }
});
