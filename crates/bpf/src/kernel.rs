//! What programs call in a kernel: helpers by their numbers, functions by their names.

use std::sync::Arc;

use fairhaul_units::Chance;

use crate::error::Error;
use crate::fields::{CWND, CWND_CLAMP, CWND_COUNT, Field, IS_CWND_LIMITED, PRIOR_CWND, SSTHRESH, WORD};
use crate::machine::Kernel;
use crate::memory::Memory;

/// The clock of the kernel, ticks per second.
pub(crate) const HZ: u64 = 1000;
/// A storage is made if there is none.
const CREATE: u64 = 1;

/// What may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Nanoseconds,
    Ticks,
    Random,
    Print,
    StorageGet,
    StorageDelete,
    SlowStart,
    GrowByAcked,
    RenoThreshold,
    RenoGrow,
    RenoUndo,
}

/// The helpers by their numbers, and the functions, which have none.
const FUNCTIONS: &[(Function, &str, i32)] = &[
    (Function::Nanoseconds, "bpf_ktime_get_ns", 5),
    (Function::Nanoseconds, "bpf_ktime_get_boot_ns", 125),
    (Function::Nanoseconds, "bpf_ktime_get_coarse_ns", 160),
    (Function::Print, "bpf_trace_printk", 6),
    (Function::Print, "bpf_trace_vprintk", 177),
    (Function::Random, "bpf_get_prandom_u32", 7),
    (Function::Ticks, "bpf_jiffies64", 118),
    (Function::StorageGet, "bpf_sk_storage_get", 107),
    (Function::StorageDelete, "bpf_sk_storage_delete", 108),
    (Function::SlowStart, "tcp_slow_start", NONE),
    (Function::GrowByAcked, "tcp_cong_avoid_ai", NONE),
    (Function::RenoThreshold, "tcp_reno_ssthresh", NONE),
    (Function::RenoGrow, "tcp_reno_cong_avoid", NONE),
    (Function::RenoUndo, "tcp_reno_undo_cwnd", NONE),
];
const NONE: i32 = -1;

/// The number here of a helper of the kernel.
pub(crate) fn helper(number: i32) -> Option<usize> {
    FUNCTIONS.iter().position(|(_, _, known)| *known == number && number != NONE)
}

/// The number here of a function of the kernel.
pub(crate) fn function(name: &str) -> Option<usize> {
    FUNCTIONS.iter().position(|(_, known, _)| *known == name)
}

/// The map of an object that gives each socket some memory.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    /// The address that the program knows the map by.
    pub map: u64,
    pub bytes: usize,
    /// The memory of this socket, and whether the program has made it.
    pub value: Option<u64>,
    pub is_made: bool,
}

/// The kernel around one socket.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    pub now_ns: u64,
    pub random: Chance,
    pub storages: Vec<Storage>,
    /// What programs ask for and a simulation does not have.
    pub missing: Arc<[String]>,
}

impl Kernel for Around {
    fn call(&mut self, number: usize, arguments: [u64; 5], memory: &mut Memory) -> Result<u64, Error> {
        let [first, second, third, fourth, _] = arguments;
        match FUNCTIONS[number].0 {
            Function::Nanoseconds => Ok(self.now_ns),
            Function::Ticks => Ok(self.now_ns / (1_000_000_000 / HZ)),
            Function::Random => Ok(self.random.below(1 << 32)),
            Function::Print => Ok(0),
            Function::StorageGet => self.storage(first, fourth, memory),
            Function::StorageDelete => {
                self.find(first)?.is_made = false;
                Ok(0)
            }
            Function::SlowStart => slow_start(memory, first, second as u32),
            Function::GrowByAcked => grow(memory, first, second as u32, third as u32),
            Function::RenoThreshold => Ok((get(memory, first, CWND)? / 2).max(2)),
            Function::RenoUndo => Ok(get(memory, first, CWND)?.max(get(memory, first, PRIOR_CWND)?)),
            Function::RenoGrow => reno(memory, first, third as u32),
        }
    }

    /// A storage that is to be made is filled with zeros, 64 bytes in the time of an instruction.
    fn cost(&self, number: usize) -> usize {
        match FUNCTIONS[number].0 {
            Function::StorageGet => {
                let to_make = self.storages.iter().filter(|storage| !storage.is_made);
                to_make.map(|storage| storage.bytes / 64).sum()
            }
            _ => 0,
        }
    }

    fn missing(&self, number: usize) -> Error {
        Error::new(format!("the program uses {}, which a simulation does not have", self.missing[number]))
    }
}

impl Around {
    fn find(&mut self, map: u64) -> Result<&mut Storage, Error> {
        let found = self.storages.iter_mut().find(|storage| storage.map == map);
        found.ok_or_else(|| {
            Error::new("a storage of sockets is requested by another address than that of its map")
        })
    }

    /// The memory that a map gives the socket, filled with zeros when it is made; 0 without one.
    fn storage(&mut self, map: u64, flags: u64, memory: &mut Memory) -> Result<u64, Error> {
        let storage = self.find(map)?;
        match storage.value {
            _ if !storage.is_made && flags & CREATE == 0 => return Ok(0),
            Some(address) if !storage.is_made => memory.words_mut(address).fill(0),
            Some(_) => (),
            None => storage.value = Some(memory.add(&vec![0; storage.bytes], true)),
        }
        storage.is_made = true;
        Ok(storage.value.unwrap_or_default())
    }
}

/// The value of a field of a structure at an address.
fn get(memory: &Memory, base: u64, field: Field) -> Result<u64, Error> {
    memory.load(base.wrapping_add((WORD * field.word) as u64), WORD).map(|word| field.read(word))
}

/// Sets a field, as the kernel does.
fn set(memory: &mut Memory, base: u64, field: Field, value: u64) -> Result<(), Error> {
    memory.set(base.wrapping_add((WORD * field.word) as u64), WORD, field.word_of(value))
}

/// One packet more for each acknowledged one, up to the threshold; the acknowledged packets that are left.
fn slow_start(memory: &mut Memory, socket: u64, acked: u32) -> Result<u64, Error> {
    let (window, clamp) = (get(memory, socket, CWND)?, get(memory, socket, CWND_CLAMP)?);
    let grown = (window + u64::from(acked)).min(get(memory, socket, SSTHRESH)?);
    set(memory, socket, CWND, grown.min(clamp))?;
    Ok((u64::from(acked) + window).wrapping_sub(grown) & u64::from(u32::MAX))
}

/// One packet more for each `per` acknowledged ones, which the socket counts.
fn grow(memory: &mut Memory, socket: u64, per: u32, acked: u32) -> Result<u64, Error> {
    let per = u64::from(per.max(1));
    let (mut window, mut count) = (get(memory, socket, CWND)?, get(memory, socket, CWND_COUNT)?);
    // Credit from a time with a larger `per` counts for one packet at most.
    if count >= per {
        count = 0;
        window += 1;
    }
    count += u64::from(acked);
    window += count / per;
    set(memory, socket, CWND_COUNT, count % per)?;
    set(memory, socket, CWND, window.min(get(memory, socket, CWND_CLAMP)?))?;
    Ok(0)
}

/// Reno, as a controller may fall back to it.
fn reno(memory: &mut Memory, socket: u64, acked: u32) -> Result<u64, Error> {
    if get(memory, socket, IS_CWND_LIMITED)? == 0 {
        return Ok(0);
    }
    let mut acked = acked;
    if get(memory, socket, CWND)? < get(memory, socket, SSTHRESH)? {
        acked = slow_start(memory, socket, acked)? as u32;
    }
    if acked > 0 {
        let window = get(memory, socket, CWND)? as u32;
        grow(memory, socket, window, acked)?;
    }
    Ok(0)
}
