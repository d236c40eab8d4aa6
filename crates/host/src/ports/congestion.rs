//! The kernel's lists of congestion controllers: the available ones, the ones that any user may choose, and the
//! default of a namespace. They apply to the network namespace of the calling thread.

use std::fs::{self, File};
use std::io::{self, Read};

use crate::error::{Error, Result};

const FOLDER: &str = "/proc/sys/net/ipv4";

/// More bytes than a list of the kernel has: 128 names of at most 16 bytes (`TCP_CA_BUF_MAX` in `net/tcp.h`).
const LONGEST_LIST: usize = 4096;

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
    list(File::open(format!("{FOLDER}/{file}"))?)
}

/// The words that the kernel gives to one read.
///
/// Each read makes the list anew and starts at its own offset in it, so a second one, after another program has
/// removed a controller, would continue in the middle of another list.
fn list(mut file: impl Read) -> io::Result<Vec<String>> {
    let mut text = [0; LONGEST_LIST];
    let length = file.read(&mut text)?;
    Ok(String::from_utf8_lossy(&text[..length]).split_whitespace().map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of the kernel from whose list the first controller is removed after each read.
    struct Shrinking {
        controllers: Vec<&'static str>,
        offset: usize,
    }

    impl Read for Shrinking {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let text = self.controllers.join(" ");
            let rest = text.as_bytes().get(self.offset..).unwrap_or_default();
            let length = rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            self.offset += length;
            self.controllers.remove(0);
            Ok(length)
        }
    }

    #[test]
    fn a_controller_is_found_while_others_are_removed() {
        let controllers = vec!["reno", "cubic", "fh_first", "fh_second", "fh_third", "fh_fourth", "fh_last"];
        let file = Shrinking { controllers: controllers.clone(), offset: 0 };
        assert_eq!(list(file).expect("a list"), controllers);
    }
}
