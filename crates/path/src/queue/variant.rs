//! Queue disciplines of which the kernel has rules of its own.

use fairhaul_units::words;

words! {
    /// Whose rules.
    pub enum Variant {
        /// Those of its RFC.
        Rfc = "rfc",
        /// The kernel's [LINUX].
        Linux = "linux",
    }
}
