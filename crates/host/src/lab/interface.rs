//! The network interface of a host, and the settings of the network namespace that it is in.

use std::fs;
use std::io;

/// The name of the device in every host.
pub const DEVICE: &str = "lab0";
/// Packets that wait to be read, at most. The device's own 500 would be a hidden queue before the router.
pub const DEVICE_QUEUE: u32 = 20_000;

/// Switches off everything that the namespace of this thread would do without a request of the run.
pub fn quieten() -> io::Result<()> {
    // IPv6 would send packets as soon as the device exists.
    set("ipv6/conf/all/disable_ipv6", "1")?;
    set("ipv6/conf/default/disable_ipv6", "1")?;
    set("ipv4/conf/all/rp_filter", "0")?;
    set("ipv4/conf/default/rp_filter", "0")?;
    // A connection whose process was killed would try for minutes to send its remaining data, and keep its
    // namespace and its controller.
    set("ipv4/tcp_orphan_retries", "1")?;
    // A connection must not use what an earlier one has measured on the path.
    set("ipv4/tcp_no_metrics_save", "1")
}

/// Sets a switch of the namespace of this thread.
pub fn set(switch: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/{switch}");
    match fs::write(&path, value) {
        // A kernel without IPv6 has no such switch.
        Err(error) if error.kind() == io::ErrorKind::NotFound && switch.starts_with("ipv6") => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("{path} = {value}: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// The packets that a device of the namespace of this thread has dropped, in both directions.
pub fn dropped_here(device: &str) -> io::Result<u64> {
    dropped(&fs::read_to_string("/proc/thread-self/net/dev")?, device)
}

/// The sum of the two columns `drop` of a device in the kernel's table of devices.
fn dropped(table: &str, device: &str) -> io::Result<u64> {
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
    let numbers = row.unwrap_or_default().split_whitespace().map_while(|number| number.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.collect();
    // Of each direction: bytes, packets, errors, dropped, and four more.
    let sum = numbers.get(3).zip(numbers.get(11)).map(|(received, sent)| received + sent);
    sum.ok_or_else(|| io::Error::other(format!("the kernel does not list {device}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_dropped_is_in_two_columns() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n    \
                     lo:     100       2    0    9    0     0          0         0      100       2    0    9    0     0       0          0\n  \
                     lab0: 7000000    5000    0    3    0     0          0         0  2000000    4000    0    4    0     0       0          0\n";
        assert_eq!(dropped(table, "lab0").ok(), Some(7));
        assert!(dropped("lo: 1 2 3 4", "lab0").is_err());
    }
}
