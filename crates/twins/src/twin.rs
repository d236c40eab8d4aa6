//! Execution of a port on a socket that exists in memory only: the operations that the kernel calls, with the
//! kernel's values.

use std::collections::BTreeMap;

use crate::btf::{Btf, StructLayout};
use crate::elf::Elf;
use crate::error::Error;
use crate::interpreter::Interpreter;

const CODE: &str = "struct_ops";
const TABLE: &str = ".struct_ops.link";
/// The fields of the socket and of a sample that are set here.
const SOCKET: [&str; 2] = ["snd_una", "icsk_ca_state"];
const SAMPLE: [&str; 3] = ["pkts_acked", "rtt_us", "in_flight"];
/// More arguments than any operation has.
const ARGUMENTS: usize = 5;

/// The controller of one socket, in the bytecode that a kernel would run.
///
/// The fields of the socket are those of `bpf/fairhaul.bpf.h`, by their names.
#[derive(Clone, Debug)]
pub struct Twin {
    machine: Interpreter,
    /// The first instruction of each operation.
    operations: BTreeMap<String, usize>,
    parameters: BTreeMap<String, u64>,
    arguments: u64,
    socket: (u64, StructLayout),
    sample: (u64, StructLayout),
}

/// The sample of an acknowledgement, as the kernel passes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Packets newly acknowledged.
    pub packets: u32,
    /// The round-trip time in microseconds; negative without a sample.
    pub rtt_us: i32,
    /// Packets in flight when the packet was sent.
    pub in_flight: u32,
}

impl Twin {
    /// Loads the port in an object on a new socket, and initialises it.
    pub fn new(object: &[u8]) -> Result<Twin, Error> {
        let elf = Elf::parse(object)?;
        let needed =
            |name: &str| elf.section(name).ok_or_else(|| Error::new(format!("the object has no {name}")));
        let btf = Btf::parse(needed(".BTF")?)?;
        let mut machine = Interpreter::new(needed(CODE)?);
        let data = memory(&elf, &mut machine)?;
        let parameters = parameters(&elf, &machine, data)?;
        let (socket, sample) = (btf.layout("tcp_sock")?, btf.layout("ack_sample")?);
        let lacks =
            |layout: &StructLayout, fields: &[&str]| fields.iter().any(|field| layout.field(field).is_none());
        if lacks(&socket, &SOCKET) || (sample.bytes > 0 && lacks(&sample, &SAMPLE)) {
            return Err(Error::new("the object expects another layout of the socket"));
        }
        let mut twin = Twin {
            operations: operations(&elf, &btf)?,
            parameters,
            arguments: machine.add(vec![0; 8 * ARGUMENTS], false),
            socket: (machine.add(vec![0; socket.bytes], true), socket),
            sample: (machine.add(vec![0; sample.bytes], false), sample),
            machine,
        };
        twin.init()?;
        Ok(twin)
    }

    /// Attaches the socket to the port, whose state is initialised.
    pub fn init(&mut self) -> Result<(), Error> {
        self.call("init", &[]).map(drop)
    }

    /// A field of the socket.
    pub fn get(&self, field: &str) -> u64 {
        let (base, layout) = &self.socket;
        let place = layout.field(field).expect("a field of the header");
        let byte = *base + place.bit as u64 / 8;
        let value = self.machine.load(byte, place.bits.div_ceil(8)).expect("fields are in the socket");
        value >> (place.bit % 8) & (u64::MAX >> (64 - place.bits))
    }

    /// Sets a field of the socket.
    pub fn set(&mut self, field: &str, value: u64) {
        let (base, layout) = &self.socket;
        write(&mut self.machine, *base, layout, field, value);
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<u32> {
        let address = *self.parameters.get(name)?;
        Some(self.machine.load(address, 4).expect("parameters are in .data") as u32)
    }

    /// The names of all parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.parameters.keys().map(String::as_str)
    }

    /// Changes a parameter, as may be done while a flow runs.
    pub fn set_parameter(&mut self, name: &str, value: u32) -> Result<(), Error> {
        let missing = || Error::new(format!("the eBPF port has no parameter `{name}`"));
        let address = *self.parameters.get(name).ok_or_else(missing)?;
        self.machine.store(address, 4, value.into())
    }

    /// The slow-start threshold after a loss event or a timeout.
    pub fn ssthresh(&mut self) -> Result<u32, Error> {
        self.call("ssthresh", &[]).map(|value| value as u32)
    }

    /// `acked` packets were delivered, and the window may grow.
    pub fn cong_avoid(&mut self, acked: u32) -> Result<(), Error> {
        let una = self.get("snd_una");
        self.call("cong_avoid", &[una, acked.into()]).map(drop)
    }

    /// The state of congestion control is about to be `next`: 0 open, 1 disorder, 2 window
    /// reduced, 3 recovery, 4 loss.
    pub fn set_state(&mut self, next: u8) -> Result<(), Error> {
        self.call("set_state", &[next.into()])?;
        self.set("icsk_ca_state", next.into());
        Ok(())
    }

    /// An acknowledgement was processed; only ports with this operation are called.
    pub fn pkts_acked(&mut self, sample: Sample) -> Result<(), Error> {
        let (base, layout) = &self.sample;
        let values = [sample.packets, sample.rtt_us as u32, sample.in_flight];
        // A port that reads no sample has no type information of samples.
        for (field, value) in SAMPLE.into_iter().zip(values).filter(|_| layout.bytes > 0) {
            write(&mut self.machine, *base, layout, field, value.into());
        }
        self.call("pkts_acked", &[*base]).map(drop)
    }

    /// The smallest burst, in packets; `None` if the kernel decides.
    pub fn min_tso_segs(&mut self) -> Result<Option<u32>, Error> {
        let asked = self.operations.contains_key("min_tso_segs");
        asked.then(|| self.call("min_tso_segs", &[]).map(|value| value as u32)).transpose()
    }

    /// The window before a spurious reduction.
    pub fn undo_cwnd(&mut self) -> Result<u32, Error> {
        self.call("undo_cwnd", &[]).map(|value| value as u32)
    }

    /// Detaches the socket from the port.
    pub fn release(&mut self) -> Result<(), Error> {
        self.call("release", &[]).map(drop)
    }

    /// Calls an operation with the socket and `more`; does nothing if the port does not have it.
    fn call(&mut self, operation: &str, more: &[u64]) -> Result<u64, Error> {
        let Some(&entry) = self.operations.get(operation) else { return Ok(0) };
        for (index, &value) in [self.socket.0].iter().chain(more).enumerate() {
            self.machine.store(self.arguments + 8 * index as u64, 8, value)?;
        }
        self.machine.run(entry, self.arguments)
    }
}

fn write(machine: &mut Interpreter, base: u64, layout: &StructLayout, field: &str, value: u64) {
    let place = layout.field(field).expect("a field of the header");
    let (byte, bytes) = (base + place.bit as u64 / 8, place.bits.div_ceil(8));
    let mask = u64::MAX >> (64 - place.bits) << (place.bit % 8);
    let others = machine.load(byte, bytes).expect("fields are in the structure") & !mask;
    let value = others | (value << (place.bit % 8) & mask);
    machine.store(byte, bytes, value).expect("fields are in the structure");
}

/// The addresses of the 32-bit numbers in `.data`, which is at `data`.
fn parameters(elf: &Elf, machine: &Interpreter, data: u64) -> Result<BTreeMap<String, u64>, Error> {
    let address = |(name, at): (String, usize)| {
        let inside = u32::try_from(at).ok().map(|at| data + u64::from(at));
        let address = inside.filter(|address| machine.load(*address, 4).is_ok());
        let address = address.ok_or_else(|| Error::new(format!("the variable {name} is not in .data")))?;
        Ok((name, address))
    };
    elf.variables().map(address).collect()
}

/// Copies the object's variables and constants into the machine, writes their addresses into the code, and
/// returns the address of the variables.
fn memory(elf: &Elf, machine: &mut Interpreter) -> Result<u64, Error> {
    let mut addresses = BTreeMap::new();
    for (name, writable) in [(".data", true), (".rodata", false)] {
        let bytes = elf.section(name).unwrap_or_default().to_vec();
        addresses.insert(name, machine.add(bytes, writable));
    }
    for reference in elf.references(CODE)? {
        let unknown = || Error::new(format!("a program refers to {}", reference.section));
        let base = *addresses.get(reference.section.as_str()).ok_or_else(unknown)?;
        machine.relocate(reference.at, base.wrapping_add(reference.offset as u64))?;
    }
    Ok(addresses[".data"])
}

/// The program of each operation that the table of the controller names.
fn operations(elf: &Elf, btf: &Btf) -> Result<BTreeMap<String, usize>, Error> {
    let layout = btf.layout("tcp_congestion_ops")?;
    let of = |reference: crate::elf::Reference| {
        let name = layout.at(reference.at).ok_or_else(|| Error::new("the table of operations is damaged"))?;
        Ok((name.to_string(), reference.offset / 8))
    };
    elf.references(TABLE)?.into_iter().map(of).collect()
}
