//! A socket that exists in memory only, with a controller in eBPF: the operations that a kernel calls, with the
//! kernel's values.

use std::sync::Arc;

use fairhaul_units::Chance;

use crate::error::Error;
use crate::fields::{
    ACK_IN_FLIGHT, ACK_RTT, ACK_SAMPLE_WORDS, ACKED, APP_LIMITED, CA_STATE, Field, OWN, OWN_WORDS,
    RATE_ACKED, RATE_DELIVERED, RATE_INTERVAL, RATE_IS_APP_LIMITED, RATE_LOSSES, RATE_PRIOR_DELIVERED,
    RATE_PRIOR_IN_FLIGHT, RATE_RTT, RATE_SAMPLE_WORDS, SND_UNA, SOCKET_WORDS, named,
};
use crate::kernel::Around;
use crate::machine::Machine;
use crate::program::{Operation, Program, Table};

/// More arguments than any operation has.
const ARGUMENTS: usize = 5;

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

/// What the kernel passes to a controller that moves the window itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Of the acknowledgement: 1 processed in full, 4 with a mark.
    pub flags: u64,
    /// Packets newly delivered.
    pub acked: u32,
    /// Packets newly found to be lost.
    pub lost: u32,
    /// Packets in flight before this acknowledgement.
    pub in_flight: u32,
    /// The round-trip time in microseconds.
    pub rtt_us: u64,
    /// The sample of the delivery rate, if there is one.
    pub rate: Option<Delivery>,
}

/// A sample of the delivery rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// What had been delivered when the acknowledged packet left.
    pub before: u32,
    /// What was delivered since.
    pub packets: u32,
    /// In this time, microseconds.
    pub interval_us: u64,
    /// Whether the application, and not the window or the pacer, held the sender.
    pub is_app_limited: bool,
}

/// What the kernel has for a number without a sample.
const INVALID: u64 = u64::MAX;

/// The controller of one socket, in the bytecode that a kernel would run.
///
/// The fields of the socket are those of the kernel, by their names.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(crate) program: Arc<Program>,
    table: Table,
    pub(crate) machine: Machine,
    around: Around,
    arguments: u64,
    socket: u64,
    ack_sample: u64,
    rate_sample: u64,
}

impl Socket {
    /// Loads the only controller of an object on a new socket, and initialises it.
    ///
    /// # Errors
    /// What is wrong with the object, or what it uses and is missing here.
    pub fn new(object: &[u8]) -> Result<Socket, Error> {
        let program = Program::load(object)?;
        let table = program.table(None)?.clone();
        let mut socket = Socket::of(&Arc::new(program), table, 0);
        socket.init()?;
        Ok(socket)
    }

    /// A socket that the controller is not yet attached to.
    pub(crate) fn of(program: &Arc<Program>, table: Table, stream: u64) -> Socket {
        let mut machine = program.machine.clone();
        let arguments = machine.memory.add_words(vec![0; ARGUMENTS], false);
        let socket = machine.memory.add_words(vec![0; SOCKET_WORDS], true);
        let ack_sample = machine.memory.add_words(vec![0; ACK_SAMPLE_WORDS], false);
        let rate_sample = machine.memory.add_words(vec![0; RATE_SAMPLE_WORDS], false);
        let (storages, missing) = (program.storages.clone(), Arc::clone(&program.missing));
        let random = Chance::stream(stream, "bpf", 0);
        let around = Around { now_ns: 0, random, storages, missing };
        Socket {
            program: Arc::clone(program),
            table,
            machine,
            around,
            arguments,
            socket,
            ack_sample,
            rate_sample,
        }
    }

    /// What it takes beside its code, bytes: also the storages that the program has not made yet.
    pub(crate) fn bytes(&self) -> usize {
        let to_make = self.around.storages.iter().filter(|storage| storage.value.is_none());
        size_of::<Socket>() + self.machine.bytes() + to_make.map(|storage| storage.bytes).sum::<usize>()
    }

    /// Attaches the socket to the controller, whose state is initialised.
    pub fn init(&mut self) -> Result<(), Error> {
        self.call(Operation::Init, &[]).map(drop)
    }

    /// A field of the socket, by its name in the kernel.
    ///
    /// # Panics
    /// There is no such field here.
    pub fn get(&self, field: &str) -> u64 {
        self.field(named(field).expect("a field of the list"))
    }

    /// One of the 13 words that a controller has in the socket.
    ///
    /// # Panics
    /// There are no more than 13.
    pub fn own_word(&self, number: usize) -> u64 {
        assert!(number < OWN_WORDS, "a controller has {OWN_WORDS} words");
        self.machine.memory.words(self.socket)[OWN.word + number]
    }

    /// The words that the controller has in the socket.
    pub(crate) fn own_words_mut(&mut self) -> &mut [u64] {
        &mut self.machine.memory.words_mut(self.socket)[OWN.word..OWN.word + OWN_WORDS]
    }

    /// The storage that the controller has made for the socket; empty without one. Objects have one at most.
    pub fn storage(&self) -> &[u64] {
        self.storage_address().map_or(&[], |address| self.machine.memory.words(address))
    }

    /// The same, to be changed.
    pub fn storage_mut(&mut self) -> &mut [u64] {
        match self.storage_address() {
            Some(address) => self.machine.memory.words_mut(address),
            None => &mut [],
        }
    }

    fn storage_address(&self) -> Option<u64> {
        self.around.storages.iter().find(|storage| storage.is_made)?.value
    }

    /// Sets a field of the socket.
    ///
    /// # Panics
    /// There is no such field here.
    pub fn set(&mut self, field: &str, value: u64) {
        self.set_field(named(field).expect("a field of the list"), value);
    }

    #[inline]
    pub(crate) fn field(&self, field: Field) -> u64 {
        field.read(self.machine.memory.words(self.socket)[field.word])
    }

    #[inline]
    pub(crate) fn set_field(&mut self, field: Field, value: u64) {
        self.set_fields([(field, value)]);
    }

    #[inline]
    pub(crate) fn set_fields<const N: usize>(&mut self, values: [(Field, u64); N]) {
        set(self.machine.memory.words_mut(self.socket), values);
    }

    /// The address of the sample of an acknowledgement.
    pub(crate) fn ack_sample(&self) -> u64 {
        self.ack_sample
    }

    /// The address of the sample of the delivery rate.
    pub(crate) fn rate_sample(&self) -> u64 {
        self.rate_sample
    }

    /// Sets all fields of a sample.
    pub(crate) fn set_sample(&mut self, address: u64, fields: &[Field], values: &[u64]) {
        let words = self.machine.memory.words_mut(address);
        for (field, value) in fields.iter().zip(values) {
            words[field.word] = field.word_of(*value);
        }
    }

    /// Sets the clock that programs may ask.
    pub(crate) fn set_clock(&mut self, ns: u64) {
        self.around.now_ns = ns;
    }

    pub(crate) fn has(&self, operation: Operation) -> bool {
        self.table.entry(operation).is_some()
    }

    /// Whether the controller moves the window itself, by `cong_control`.
    pub fn has_control(&self) -> bool {
        self.has(Operation::CongControl)
    }

    /// The value of a variable or constant of the object.
    pub fn variable(&self, name: &str) -> Option<u64> {
        let &(address, bytes) = self.program.variables.get(name)?;
        self.machine.memory.load(address, bytes).ok()
    }

    /// The names of all variables and constants that are numbers.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.program.variables.keys().map(String::as_str)
    }

    /// Changes a variable or constant.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn set_variable(&mut self, name: &str, value: u64) -> Result<(), Error> {
        let missing = || Error::new(format!("the object has no variable {name}"));
        let &(address, bytes) = self.program.variables.get(name).ok_or_else(missing)?;
        self.machine.memory.set(address, bytes, value)
    }

    /// The slow-start threshold after a loss event or a timeout.
    pub fn ssthresh(&mut self) -> Result<u32, Error> {
        self.call(Operation::Ssthresh, &[]).map(|value| value as u32)
    }

    /// `acked` packets were delivered, and the window may grow.
    pub fn cong_avoid(&mut self, acked: u32) -> Result<(), Error> {
        let una = self.field(SND_UNA);
        self.call(Operation::CongAvoid, &[una, acked.into()]).map(drop)
    }

    /// The state of congestion control is about to be `next`: 0 open, 1 disorder, 2 window
    /// reduced, 3 recovery, 4 loss.
    pub fn set_state(&mut self, next: u8) -> Result<(), Error> {
        self.call(Operation::SetState, &[next.into()])?;
        self.set_field(CA_STATE, next.into());
        Ok(())
    }

    /// An acknowledgement was processed; only controllers with this operation are called.
    pub fn pkts_acked(&mut self, sample: Sample) -> Result<(), Error> {
        if !self.has(Operation::PktsAcked) {
            return Ok(());
        }
        let values =
            [(ACKED, sample.packets), (ACK_RTT, sample.rtt_us as u32), (ACK_IN_FLIGHT, sample.in_flight)];
        set(
            self.machine.memory.words_mut(self.ack_sample),
            values.map(|(field, value)| (field, value.into())),
        );
        self.call(Operation::PktsAcked, &[self.ack_sample]).map(drop)
    }

    /// An acknowledgement was processed, and a controller with this operation moves the window.
    pub fn cong_control(&mut self, control: &Control) -> Result<(), Error> {
        let rate = control.rate;
        let app_limited = rate.is_some_and(|rate| rate.is_app_limited);
        let values = [
            (RATE_PRIOR_DELIVERED, rate.map_or(0, |rate| rate.before.into())),
            (RATE_DELIVERED, rate.map_or(INVALID, |rate| rate.packets.into())),
            (RATE_INTERVAL, rate.map_or(INVALID, |rate| rate.interval_us)),
            (RATE_RTT, control.rtt_us),
            (RATE_LOSSES, control.lost.into()),
            (RATE_ACKED, control.acked.into()),
            (RATE_PRIOR_IN_FLIGHT, control.in_flight.into()),
            (RATE_IS_APP_LIMITED, app_limited.into()),
        ];
        set(self.machine.memory.words_mut(self.rate_sample), values);
        self.set_field(APP_LIMITED, app_limited.into());
        self.call_control([self.field(SND_UNA), control.flags]).map(drop)
    }

    /// Calls `cong_control` with the sample that is set, and with these arguments before it, unless the object is for a
    /// kernel without them.
    pub(crate) fn call_control(&mut self, [ack, flags]: [u64; 2]) -> Result<u64, Error> {
        let all = [ack, flags, self.rate_sample];
        let arguments: &[u64] = if self.table.control_arguments < 4 { &all[2..] } else { &all };
        self.call(Operation::CongControl, arguments)
    }

    /// The smallest burst, in packets; `None` if the kernel decides.
    pub fn min_tso_segs(&mut self) -> Result<Option<u32>, Error> {
        let asked = self.has(Operation::MinTsoSegs);
        asked.then(|| self.call(Operation::MinTsoSegs, &[]).map(|value| value as u32)).transpose()
    }

    /// The window before a spurious reduction.
    pub fn undo_cwnd(&mut self) -> Result<u32, Error> {
        self.call(Operation::UndoCwnd, &[]).map(|value| value as u32)
    }

    /// Detaches the socket from the controller.
    pub fn release(&mut self) -> Result<(), Error> {
        self.call(Operation::Release, &[]).map(drop)
    }

    /// Calls an operation with the socket and `more`; does nothing if the controller does not have it.
    pub(crate) fn call(&mut self, operation: Operation, more: &[u64]) -> Result<u64, Error> {
        let Some(entry) = self.table.entry(operation) else { return Ok(0) };
        let arguments = self.machine.memory.words_mut(self.arguments);
        arguments[0] = self.socket;
        arguments[1..=more.len()].copy_from_slice(more);
        self.machine.run(entry, self.arguments, &mut self.around)
    }
}

/// Sets fields of the structure that has these words.
#[inline]
fn set<const N: usize>(words: &mut [u64], values: [(Field, u64); N]) {
    for (field, value) in values {
        words[field.word] = field.word_of(value);
    }
}
