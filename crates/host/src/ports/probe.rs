//! Whether the running kernel supports eBPF ports, and what it lacks.

use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Struct};
use nix::sys::utsname::uname;

use super::capabilities;
use crate::error::{Error, Result};

/// The kernel's type information.
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The release of the running kernel.
pub fn release() -> String {
    uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Refuses if eBPF ports cannot be loaded, because a capability or a feature of the kernel is missing.
pub fn require() -> Result<()> {
    capabilities::require()?;
    kernel()
}

/// Refuses if a feature of the kernel is missing.
pub fn kernel() -> Result<()> {
    if !Path::new(TYPES).exists() {
        return Err(Error::refused(format!(
            "this kernel ({}) has no type information (BTF): {TYPES} is missing. Linux 6.4 or later with \
             CONFIG_DEBUG_INFO_BTF is required",
            release()
        )));
    }
    let types = Btf::from_path(TYPES)
        .map_err(|error| Error::refused(format!("{TYPES} cannot be read as BTF of a kernel ({error})")))?;
    let lacks: Vec<String> = [
        (!has_operations(&types)).then_some("BPF congestion controllers (CONFIG_BPF_JIT, Linux 5.6)"),
        (!has_links(&types)).then_some(
            "BPF links for such controllers, which keep them registered after the loader exits \
                        (Linux 6.4)",
        ),
    ]
    .into_iter()
    .flatten()
    .map(str::to_string)
    .collect();
    if lacks.is_empty() {
        return Ok(());
    }
    Err(Error::refused(format!("this kernel ({}) lacks {}", release(), lacks.join(", and "))))
}

fn has_operations(types: &Btf<'_>) -> bool {
    types.type_by_name::<Struct<'_>>("bpf_struct_ops_tcp_congestion_ops").is_some()
}

fn has_links(types: &Btf<'_>) -> bool {
    types.type_by_name::<Enum<'_>>("bpf_link_type").is_some_and(|link| {
        link.iter().any(|member| member.name.is_some_and(|name| name == "BPF_LINK_TYPE_STRUCT_OPS"))
    })
}
