//! Programs at the kernel's tracepoints or in a cgroup, which are attached as long as the process keeps them.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{
    Link, MapCore, MapFlags, MapImpl, Object, ObjectBuilder, OpenObject, RingBuffer, RingBufferBuilder,
};

use crate::error::{Context, Error, Result};

/// A loaded object with such programs, and its maps.
#[derive(Debug)]
pub struct CheckedObject {
    object: Object,
}

/// The only key of the map that holds a program's variables.
const FIRST: [u8; 4] = [0; 4];

impl CheckedObject {
    /// Has the kernel check and load the object that this build carries; `None` if it carries none. Its programs `do_what`.
    pub fn load(elf: Option<&[u8]>, do_what: &str) -> Result<CheckedObject> {
        let elf = elf.ok_or_else(|| {
            Error::failed(fairhaul_ports::MISSING.unwrap_or("this build has no such programs"))
        })?;
        libbpf_rs::set_print(None);
        let object = ObjectBuilder::default()
            .open_memory(elf)
            .and_then(OpenObject::load)
            .when(format!("cannot load the programs that {do_what}"))?;
        Ok(CheckedObject { object })
    }

    /// Attaches all programs; they stay attached until the links are dropped.
    pub fn attach(&mut self) -> Result<Vec<Link>> {
        let programs = self.object.progs_mut();
        let links = programs.map(|program| program.attach().when("cannot attach to a tracepoint of TCP"));
        links.collect()
    }

    /// Attaches its only program to a cgroup, beside the programs of others, until the link is dropped.
    pub fn attach_to_cgroup(&mut self, cgroup: impl AsFd) -> Result<Link> {
        let program =
            self.object.progs_mut().next().ok_or_else(|| Error::failed("the object has no program"))?;
        Ok(program.attach_cgroup(cgroup.as_fd().as_raw_fd()).map_err(io::Error::other)?)
    }

    /// A map of the object.
    pub fn map(&self, name: &str) -> Result<MapImpl<'_>> {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(name));
        map.ok_or_else(|| Error::failed(format!("the object has no map {name}")))
    }

    /// Passes every message in the ring buffer `name` to `read`, when it is consumed.
    pub fn ring(&self, name: &str, mut read: impl FnMut(&[u8]) + 'static) -> Result<RingBuffer<'static>> {
        let messages = self.map(name)?;
        let mut builder = RingBufferBuilder::new();
        let forward = move |bytes: &[u8]| {
            read(bytes);
            0
        };
        builder.add(&messages, forward).when("cannot read the ring buffer of a program")?;
        builder.build().when("cannot read the ring buffer of a program")
    }

    /// The only variable of the programs: a counter of messages without room in the ring buffer.
    pub fn lost(&self) -> Result<u64> {
        let bytes =
            self.map(".bss")?.lookup(&FIRST, MapFlags::ANY).when("cannot read the count of lost messages")?;
        let eight = bytes.as_deref().and_then(|bytes| bytes.get(..8)?.try_into().ok());
        eight
            .map(u64::from_ne_bytes)
            .ok_or_else(|| Error::failed("the program has no counter of lost messages"))
    }
}
