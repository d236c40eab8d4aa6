//! Any bytes are a packet capture, or an error.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let source = Box::new(Cursor::new(bytes.to_vec()));
    if let Ok(capture) = fairhaul_capture::read_stream(source, || Ok(())) {
        for connection in &capture.connections {
            let _ = (connection.side(), connection.window_scale(), connection.halves_ns());
        }
    }
});
