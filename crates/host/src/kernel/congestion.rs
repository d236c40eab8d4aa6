//! What the kernel says of congestion controllers: which there are, which everybody may use, and the
//! default of a namespace. All of it holds for the namespace of the thread that asks.

use std::fs;
use std::io;

use crate::error::{Error, Result};

const FOLDER: &str = "/proc/sys/net/ipv4";

/// The names that the kernel knows; they are the same in all namespaces.
pub fn available() -> io::Result<Vec<String>> {
    words("tcp_available_congestion_control")
}

/// The default of this namespace.
pub fn default() -> io::Result<String> {
    Ok(words("tcp_congestion_control")?.concat())
}

/// Makes `name` the default of this namespace.
///
/// The kernel takes a reference to the controller before it looks whether other namespaces than the
/// first may have it, and keeps it when it refuses: a twin without that leave could then never be taken out
/// again. So it is looked up here first.
pub fn set_default(name: &str) -> Result<()> {
    if !words("tcp_allowed_congestion_control")?.iter().any(|allowed| allowed == name) {
        return Err(Error::failed(format!("the kernel does not allow unprivileged users to use {name}")));
    }
    Ok(fs::write(format!("{FOLDER}/tcp_congestion_control"), name)?)
}

fn words(file: &str) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(format!("{FOLDER}/{file}"))?;
    Ok(text.split_whitespace().map(str::to_string).collect())
}
