//! Any text is a scenario, or is refused with a line for each mistake.
#![no_main]

use fairhaul_experiment::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(mistakes) = read(text, "fuzz.toml", &[]) {
        assert!(!mistakes.0.is_empty());
        assert!(mistakes.0.iter().all(|mistake| mistake.place.starts_with("fuzz.toml:")));
    }
});
