//! Any bytes are an object with an eBPF port of a controller, or an error; its programs end.
#![no_main]

use fairhaul_twins::{Note, Sample, Twin};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Note::of(bytes);
    if let Ok(mut twin) = Twin::new(bytes) {
        let names: Vec<String> = twin.parameters().map(str::to_owned).collect();
        for name in names {
            let value = twin.parameter(&name).expect("it is one of them");
            twin.set_parameter(&name, value).expect("it is one of them");
        }
        let _ = twin.pkts_acked(Sample { packets: 2, rtt_us: 1000, in_flight: 10 });
        let _ = (twin.cong_avoid(2), twin.ssthresh(), twin.set_state(1), twin.min_tso_segs());
        let _ = (twin.undo_cwnd(), twin.release());
    }
});
