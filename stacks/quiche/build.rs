//! Has the linker replace the clock and the random numbers of quiche and BoringSSL by those of this package (`src/system.rs`), in
//! this library alone.

fn main() {
    for symbol in ["clock_gettime", "RAND_bytes"] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={symbol}");
    }
}
