//! Features of a network device, by the requests of `linux/ethtool.h`.

#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::interface_request;

/// The number of features and their names, and changing them: `ETHTOOL_GSSET_INFO`, `ETHTOOL_GSTRINGS` and
/// `ETHTOOL_SFEATURES`.
const COUNT: u32 = 0x37;
const NAMES: u32 = 0x1b;
const CHANGE: u32 = 0x3b;
/// The set of names that are features, `ETH_SS_FEATURES`.
const FEATURES: u32 = 4;
/// The length of a name, `ETH_GSTRING_LEN`, in words.
const NAME: usize = 32 / 4;
/// Features in a word.
const WORD: usize = 32;
/// The kernel has some 65 features.
const MOST_FEATURES: usize = 1024;

/// Switches a feature of a device off, in the namespace of this thread. A kernel that does not know the feature does
/// not have it on.
pub fn switch_off(device: &str, feature: &str) -> io::Result<()> {
    // command, reserved, mask of sets (64 bits), count
    let mut question = [COUNT, 0, 1 << FEATURES, 0, 0];
    ask(device, &mut question)?;
    let count = question[4] as usize;
    assert!(count <= MOST_FEATURES, "{count} features");
    // command, set, count, names
    let mut names = vec![0; 3 + count * NAME];
    names[..3].copy_from_slice(&[NAMES, FEATURES, count as u32]);
    ask(device, &mut names)?;
    let Some(number) = names[3..].chunks_exact(NAME).position(|name| is(name, feature)) else {
        return Ok(());
    };
    ask(device, &mut change(number, count))?;
    Ok(())
}

/// The request that switches feature `number` of `count` off: command, number of words, and for each of them the
/// features that change and the features that are to be on.
fn change(number: usize, count: usize) -> Vec<u32> {
    let words = count.div_ceil(WORD);
    let mut request = vec![0; 2 + words * 2];
    request[..2].copy_from_slice(&[CHANGE, words as u32]);
    request[2 + number / WORD * 2] = 1 << (number % WORD);
    request
}

/// Whether the bytes of a name, which end with a zero, are these.
fn is(name: &[u32], wanted: &str) -> bool {
    let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.split(|byte| *byte == 0).next() == Some(wanted.as_bytes())
}

/// Makes a request, to which the kernel writes its answer.
fn ask(device: &str, request: &mut [u32]) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let mut interface = interface_request(device);
    interface.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
    // SAFETY: every request here has the length that the kernel expects of its command, and outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut interface) };
    if done >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_a_bit_of_its_word() {
        // Of 66 features, which take three words, number 35 is bit 3 of the second.
        assert_eq!(change(35, 66), [CHANGE, 3, 0, 0, 8, 0, 0, 0]);
    }

    #[test]
    fn a_name_ends_with_a_zero() {
        let mut bytes = [0; 32];
        bytes[..5].copy_from_slice(b"tx-gs");
        let name: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        assert!(is(&name, "tx-gs") && !is(&name, "tx-gso") && !is(&name, "tx"));
    }
}
