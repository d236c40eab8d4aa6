//! Any bytes are a record that another process wrote, or an error; what is a record goes out as it came in.
#![no_main]

use fairhaul_experiment::Record;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(record) = Record::from_json(bytes) {
        let again = Record::from_json(&record.to_json()).expect("it was written by us");
        assert_eq!(again.to_json(), record.to_json());
    }
});
