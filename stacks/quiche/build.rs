//! Has the linker put the clock and the random numbers of this package (`src/system.rs`) for those that quiche and BoringSSL call,
//! in this library alone, and keeps the library loaded: BoringSSL has a function of its own called where a thread ends.

fn main() {
    for argument in ["--wrap=clock_gettime", "--wrap=RAND_bytes", "-z,nodelete"] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
}
