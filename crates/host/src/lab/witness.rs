//! What senders knew as each packet came in: told by a program of ours at a tracepoint of the kernel, for whatever
//! controller. Between two looks of [`observe`](super::observe) there are a hundred packets and more.

use std::net::Ipv4Addr;
use std::sync::mpsc::{self, Receiver};

use fairhaul_units::Span;
use libbpf_rs::{
    Link, MapCore, MapFlags, MapImpl, Object, ObjectBuilder, OpenObject, RingBuffer, RingBufferBuilder,
};

use super::address::owner;
use super::info::{Glance, State, threshold};
use crate::error::{Context, Error, Result};

/// See the module. The program is in the kernel as long as this lives.
#[derive(Debug)]
pub struct Witness {
    _link: Link,
    ring: RingBuffer<'static>,
    told: Receiver<Seen>,
    object: Object,
}

/// What a sender knew when a packet came in, and had known since the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// On the host's monotonic clock.
    pub at_ns: i64,
    /// The host of the sender, or of a receiver to which data came.
    pub host: u8,
    /// The number of the connection.
    pub connection: u32,
    /// What it knew.
    pub glance: Glance,
}

/// The only key of the map that holds a program's variables.
const FIRST: [u8; 4] = [0; 4];
/// The length of what the program tells of a packet; `acknowledgements.bpf.c` has the places of its fields.
const LENGTH: usize = 32;

impl Witness {
    /// Of the hosts whose namespaces have these numbers.
    ///
    /// # Errors
    /// A kernel without the tracepoint, or a build without the program.
    pub fn of(namespaces: &[u64]) -> Result<Witness> {
        let elf = fairhaul_twins::ACKNOWLEDGEMENTS.ok_or_else(|| {
            Error::failed(fairhaul_twins::MISSING.unwrap_or("this build has no tracing program"))
        })?;
        libbpf_rs::set_print(None);
        let object = ObjectBuilder::default()
            .open_memory(elf)
            .and_then(OpenObject::load)
            .when("cannot load the program that traces acknowledgements")?;
        let (tell, told) = mpsc::channel();
        let hosts = map(&object, "hosts")?;
        for namespace in namespaces {
            let number = u32::try_from(*namespace).when("the number of a namespace")?;
            hosts.update(&number.to_ne_bytes(), &[0], MapFlags::ANY).when("the hosts that are watched")?;
        }
        let ring = {
            let messages = map(&object, "told")?;
            let mut builder = RingBufferBuilder::new();
            let hear = move |bytes: &[u8]| {
                // Nobody listens any more only while all of this goes.
                let _ = Seen::read(bytes).map(|seen| tell.send(seen));
                0
            };
            builder.add(&messages, hear).when("cannot read the ring buffer of acknowledgements")?;
            builder.build().when("cannot read the ring buffer of acknowledgements")?
        };
        let program = object.progs_mut().next();
        let program = program.ok_or_else(|| Error::failed("the object contains no program"))?;
        let link = program.attach().when("cannot attach to the tracepoint of acknowledgements")?;
        Ok(Witness { _link: link, ring, told, object })
    }

    /// What was seen since this was last asked, in the order of time.
    pub fn told(&mut self) -> impl Iterator<Item = Seen> {
        let _ = self.ring.consume(); // fails where hearing does, which does not
        self.told.try_iter()
    }

    /// Packets of which it could not tell, since nobody had listened for too long.
    pub fn untold(&self) -> Result<u64> {
        let bytes = map(&self.object, ".bss")?
            .lookup(&FIRST, MapFlags::ANY)
            .when("cannot read the count of lost messages")?;
        let eight = bytes.as_deref().and_then(|bytes| bytes.get(..8)?.try_into().ok());
        eight
            .map(u64::from_ne_bytes)
            .ok_or_else(|| Error::failed("the program has no counter of lost messages"))
    }
}

impl Seen {
    fn read(bytes: &[u8]) -> Option<Seen> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let address: [u8; 4] = std::array::from_fn(|i| bytes[8 + i]);
        let (host, connection) = owner(Ipv4Addr::from(address))?;
        let glance = Glance {
            cwnd: word(12),
            ssthresh: threshold(word(16)),
            rtt: Some(word(20)).filter(|us| *us != 0).map(|us| Span::from_us(us.into())),
            timeouts: u16::from_ne_bytes([bytes[24], bytes[25]]),
            state: State::of(bytes[26]),
        };
        let at_ns = i64::from_ne_bytes(std::array::from_fn(|i| bytes[i]));
        Some(Seen { at_ns, host, connection, glance })
    }
}

fn map<'a>(object: &'a Object, name: &str) -> Result<MapImpl<'a>> {
    let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(name));
    found.ok_or_else(|| Error::failed(format!("the object has no map {name}")))
}
