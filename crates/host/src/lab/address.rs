//! The addresses of the lab: 10.0.0.0/8, with four bits for the host and twenty for the connection.
//!
//! A connection has an address of its own at each of its two hosts. So a packet identifies its connection, a
//! receiver identifies a sender by its address, and no connection waits for the port of a closed one.

use std::net::Ipv4Addr;

/// Hosts of a lab, at most.
pub const MOST_HOSTS: u8 = 1 << HOST_BITS;
/// Connections of a run, at most.
pub const MOST_CONNECTIONS: u32 = 1 << CONNECTION_BITS;

const HOST_BITS: u32 = 4;
const CONNECTION_BITS: u32 = 20;
const NETWORK: u32 = 10 << 24;

/// The address of a connection at a host.
pub fn address(host: u8, connection: u32) -> Ipv4Addr {
    assert!(host < MOST_HOSTS && connection < MOST_CONNECTIONS, "a layout is bounded");
    Ipv4Addr::from_bits(NETWORK | u32::from(host) << CONNECTION_BITS | connection)
}

/// The address that a queue discipline reads of a host that flows name, by its number.
pub fn labelled_address(number: u32) -> Ipv4Addr {
    assert!(number >> (HOST_BITS + CONNECTION_BITS) == 0, "a scenario is bounded");
    Ipv4Addr::from_bits(NETWORK | number)
}

/// The host and the connection of an address; `None` if it is not an address of the lab.
pub fn owner(address: Ipv4Addr) -> Option<(u8, u32)> {
    let bits = address.to_bits();
    let host = (bits >> CONNECTION_BITS) as u8 & (MOST_HOSTS - 1);
    (bits >> 24 == NETWORK >> 24).then_some((host, bits & (MOST_CONNECTIONS - 1)))
}

/// All addresses of a host, as `ip` writes them.
pub fn block(host: u8) -> String {
    format!("{}/{}", address(host, 0), 32 - CONNECTION_BITS)
}

/// All addresses of the lab.
pub fn everything() -> String {
    format!("{}/8", Ipv4Addr::from_bits(NETWORK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_encodes_its_host_and_its_connection() {
        assert_eq!(address(1, 258), Ipv4Addr::new(10, 16, 1, 2)); // 258 = 256 + 2
        assert_eq!(owner(Ipv4Addr::new(10, 16, 1, 2)), Some((1, 258)));
        assert_eq!(owner(address(15, MOST_CONNECTIONS - 1)), Some((15, MOST_CONNECTIONS - 1)));
        assert_eq!(owner(Ipv4Addr::new(11, 16, 1, 2)), None);
        assert_eq!((block(1), everything()), ("10.16.0.0/12".into(), "10.0.0.0/8".into()));
    }
}
