//! Any bytes are an object with an eBPF port of a controller, or an error; its programs end.
#![no_main]

use fairhaul_ports::{Note, Sample, Socket};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Note::of(bytes, None);
    if let Ok(mut port) = Socket::new(bytes) {
        let names: Vec<String> = port.variables().map(str::to_owned).collect();
        for name in names {
            let value = port.variable(&name).expect("it is one of them");
            port.set_variable(&name, value).expect("it is one of them");
        }
        let _ = port.pkts_acked(Sample { packets: 2, rtt_us: 1000, in_flight: 10 });
        let _ = (port.cong_avoid(2), port.ssthresh(), port.set_state(1), port.min_tso_segs());
        let _ = (port.undo_cwnd(), port.release());
    }
});
