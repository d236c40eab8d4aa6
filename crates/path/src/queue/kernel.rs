//! A queue discipline of the kernel [LINUX]: only a kernel has its code, and `tc` describes it.

use fairhaul_units::{Gauge, Parameter};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Kernel;

impl Kernel {
    /// One line of what it is.
    pub const TITLE: &'static str = "A queue discipline of the Linux kernel, only with `--engine linux`";
    pub(super) const SOURCE: &'static str = "LINUX";
    pub(super) const PARAMETERS: &'static [Parameter] = &[];
    pub(super) const GAUGES: [Gauge; 0] = [];
}
