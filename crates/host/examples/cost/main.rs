//! Measures what the kernel's eBPF ports cost beside the kernel's own `cubic` and `reno`: the processor time of an
//! acknowledgement, and the throughput of a path. `make bench ONLY=kernel` runs it. Needs root, and Linux.
//!
//! Like `fairhaul-host` it reads a request on standard input and answers with lines of JSON:
//! `{"request": {"rounds": 7, "seconds": 8}}`.

#[cfg(target_os = "linux")]
mod acknowledgements;
#[cfg(target_os = "linux")]
mod candidates;
#[cfg(target_os = "linux")]
mod direct_link;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod paced;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod spread;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    fairhaul_host::respond(std::io::stdin(), measure::answer)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!(r#"{{"error":"the kernel's cost can be measured on Linux only","refused":true}}"#);
    ExitCode::from(2)
}
