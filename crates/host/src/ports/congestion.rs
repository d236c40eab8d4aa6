//! The kernel's lists of congestion controllers: the available ones, the ones that any user may choose, and the
//! default of a namespace. They apply to the network namespace of the calling thread.

use std::fs;
use std::io;

use crate::error::{Error, Result};

const FOLDER: &str = "/proc/sys/net/ipv4";

/// The names of all available controllers, which are the same in all namespaces.
pub fn available() -> io::Result<Vec<String>> {
    words("tcp_available_congestion_control")
}

/// The names of the controllers that any user may choose, which are the same in all namespaces.
pub fn allowed() -> io::Result<Vec<String>> {
    words("tcp_allowed_congestion_control")
}

/// The default of this namespace.
pub fn default() -> io::Result<String> {
    Ok(words("tcp_congestion_control")?.concat())
}

/// Makes `name` the default of this namespace.
///
/// The kernel takes a reference to the controller before it checks whether namespaces other than the first may
/// use it, and keeps the reference if it refuses: such an eBPF port could never be removed again. So the check is
/// made here first.
pub fn set_default(name: &str) -> Result<()> {
    if !allowed()?.iter().any(|allowed| allowed == name) {
        return Err(Error::failed(format!("the kernel does not allow unprivileged users to use {name}")));
    }
    Ok(fs::write(format!("{FOLDER}/tcp_congestion_control"), name)?)
}

fn words(file: &str) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(format!("{FOLDER}/{file}"))?;
    Ok(text.split_whitespace().map(str::to_string).collect())
}
