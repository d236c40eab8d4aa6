//! The program that draws: it is attached to a cgroup by a link, which this process holds. So it is detached when the
//! process ends, however it ends, and programs of others on the cgroup stay.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::mpsc::{self, Receiver};

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapFlags, RingBuffer};

use super::transfers::OpenedFlow;
use crate::error::{Context, Error, Result};
use crate::ports::cgroup::Cgroup;
use crate::tracing::CheckedObject;

/// The name of the program in the kernel.
const PROGRAM: &str = "fh_trial_lot";
/// The only key of the map of settings.
const FIRST: [u8; 4] = [0; 4];
/// `MOST_CONTROLLERS` and `MOST_PORTS` of `trial.bpf.c`.
pub const MOST: usize = 8;
/// `NAME_BYTES`.
const NAME_BYTES: usize = 16;

/// Addresses with these leading bits, in IPv6; one of IPv4 is in ::ffff:0:0/96.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// The number of bits.
    pub bits: u32,
    /// An address that has them.
    pub address: Ipv6Addr,
}

/// What is drawn for which connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The controllers.
    pub controllers: Vec<String>,
    /// Only connections with one of these ports at either end; all, if there are none.
    pub ports: Vec<u16>,
    /// The peers whose connections take part, or do not; the longest prefix decides.
    pub peers: Vec<(Prefix, bool)>,
}

/// The attached program.
#[derive(Debug)]
pub struct Lot {
    _link: Link,
    ring: RingBuffer<'static>,
    opened: Receiver<OpenedFlow>,
    object: CheckedObject,
    settings: Settings,
}

impl Prefix {
    /// All addresses.
    pub const ALL: Prefix = Prefix { bits: 0, address: Ipv6Addr::UNSPECIFIED };

    /// Reads `10.1.0.0/16`, `2001:db8::/32` or an address.
    pub fn read(text: &str) -> Option<Prefix> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let (address, outer, most) = match address.parse().ok()? {
            IpAddr::V4(address) => (address.to_ipv6_mapped(), 96, 32),
            IpAddr::V6(address) => (address, 0, 128),
        };
        let length = length.unwrap_or(most);
        (length <= most).then_some(Prefix { bits: outer + length, address })
    }
}

impl Lot {
    /// Loads the program and attaches it to the cgroup. Nothing is drawn before [`Lot::draw`].
    ///
    /// # Errors
    /// Another trial runs, or the kernel refuses the program.
    pub fn attach(cgroup: &Cgroup, settings: Settings) -> Result<Lot> {
        if ProgInfoIter::default().any(|program| program.name == PROGRAM) {
            return Err(Error::refused(
                "another trial runs on this host; two would draw for the same connections",
            ));
        }
        let mut object = CheckedObject::load(fairhaul_ports::TRIAL, "draw the controllers of a trial")?;
        let (sender, opened) = mpsc::channel();
        let ring = object.ring("opened", move |bytes| {
            // The receiver is missing only while the lot is being dropped.
            let _ = read(bytes).map(|flow| sender.send(flow));
        })?;
        for (prefix, takes_part) in &settings.peers {
            let key = [&prefix.bits.to_ne_bytes()[..], &prefix.address.octets()].concat();
            let value = u32::from(*takes_part).to_ne_bytes();
            object.map("peers")?.update(&key, &value, MapFlags::ANY).when("the peers of a trial")?;
        }
        let link = object.attach_to_cgroup(cgroup).when(format!(
            "the program of the trial cannot be attached to {}; a program that was attached without sharing \
             (BPF_F_ALLOW_MULTI) keeps others out",
            cgroup.path().display()
        ))?;
        Ok(Lot { _link: link, ring, opened, object, settings })
    }

    /// Draws from now on: for each transfer, or `block`, the number of a block with that of its controller, for all
    /// connections.
    pub fn draw(&self, block: Option<(u64, u64)>) -> Result<()> {
        let bytes = self.settings.bytes(block);
        self.object.map("settings")?.update(&FIRST, &bytes, MapFlags::ANY).when("the settings of a trial")
    }

    /// The connections that have begun since the last call.
    pub fn opened(&mut self) -> Vec<OpenedFlow> {
        let _ = self.ring.consume(); // fails only if the callback does, which it never does
        self.opened.try_iter().collect()
    }

    /// Connections that got no controller, because too many began at a time.
    pub fn lost(&self) -> Result<u64> {
        self.object.lost()
    }
}

impl Settings {
    /// `struct settings` of `trial.bpf.c`.
    fn bytes(&self, block: Option<(u64, u64)>) -> Vec<u8> {
        let word = |number: usize| (number as u32).to_ne_bytes();
        let block = block.map_or(0, |(number, controller)| (number << MOST.ilog2()) | controller);
        let mut bytes = block.to_ne_bytes().to_vec();
        bytes.extend([word(self.controllers.len()), word(self.ports.len())].concat());
        for at in 0..MOST {
            bytes.extend(word(self.ports.get(at).copied().unwrap_or(0).into()));
        }
        for at in 0..MOST {
            let mut name = [0; NAME_BYTES];
            let text = self.controllers.get(at).map(String::as_bytes).unwrap_or_default();
            name[..text.len()].copy_from_slice(text);
            bytes.extend(name);
        }
        bytes
    }
}

fn read(bytes: &[u8]) -> Option<OpenedFlow> {
    let bytes: &[u8; 48] = bytes.try_into().ok()?;
    let number = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    Some(OpenedFlow {
        cookie: number(0),
        transfer: number(8),
        at_ns: number(16),
        assigned: number(24) == 0,
        peer: std::array::from_fn(|i| bytes[32 + i]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_ipv4_is_one_of_mapped_addresses() {
        let read = |text| Prefix::read(text).map(|prefix| (prefix.bits, prefix.address.to_string()));
        assert_eq!(read("10.1.0.0/16"), Some((112, "::ffff:10.1.0.0".into())));
        assert_eq!(read("10.1.2.3"), Some((128, "::ffff:10.1.2.3".into())));
        assert_eq!(read("2001:db8::/32"), Some((32, "2001:db8::".into())));
        for wrong in ["", "10.1.0.0/33", "default", "10.1", "10.1.0.0/", "::/129", "::/-1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_settings_are_at_the_offsets_of_the_program() {
        let settings =
            Settings { controllers: vec!["reno".into(), "cubic".into()], ports: vec![5201], peers: vec![] };
        let bytes = settings.bytes(Some((5, 1)));
        assert_eq!((bytes.len(), &bytes[..8]), (176, &41_u64.to_ne_bytes()[..]));
        assert_eq!(bytes[8..20], [2_u32, 1, 5201].map(u32::to_ne_bytes).concat());
        assert_eq!((&bytes[48..53], &bytes[64..70]), (&b"reno\0"[..], &b"cubic\0"[..]));
        assert_eq!(settings.bytes(None)[..8], [0; 8]);
    }

    #[test]
    fn a_connection_is_read_by_the_offsets_of_the_program() {
        let mut bytes: Vec<u8> =
            [7_u64, 801, 805, 0].iter().flat_map(|number| number.to_ne_bytes()).collect();
        bytes.extend([9; 16]);
        let flow = OpenedFlow { cookie: 7, transfer: 801, at_ns: 805, assigned: true, peer: [9; 16] };
        assert_eq!(read(&bytes), Some(flow));
        assert_eq!(read(&bytes[1..]), None);
    }
}
