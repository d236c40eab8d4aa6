//! `fairhaul-host`: one request, a JSON object, on standard input; lines of JSON back, one for each
//! step, and the result or the error last. Exit status: 0 done, 1 failed, 2 refused.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the block says why it is sound")]
fn main() -> ExitCode {
    if fairhaul_host::linux::is_first_process() {
        // It has inherited nothing. Before it mounts /proc, the files there are those of the machine, and looking at them
        // would make the run depend on how many descriptors its starter has passed on.
        fairhaul_host::linux::first_process(fairhaul_host::Inherited::default())
    }
    // SAFETY: the process has done nothing before this call, so it has opened nothing.
    let inherited = unsafe { fairhaul_host::Inherited::at_start() };
    fairhaul_host::answer(std::io::stdin(), inherited)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!(r#"{{"error":"fairhaul-host works on Linux only","refused":true}}"#);
    ExitCode::from(2)
}
