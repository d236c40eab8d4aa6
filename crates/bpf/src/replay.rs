//! Repeats calls that a kernel has recorded, and compares what the object does here with what it did there.
//!
//! The record is that of `python/fairhaul/linux/kernel/fairhaul_calls.c`: of every call the operation, the fields of the
//! socket before and after, the sample that the call got, and the memory of the object's maps. Before a call the fields of
//! the socket here are set to the values that they had in the kernel, except for the words of the controller and its
//! storage, which only the controller writes: they follow from the calls before. Afterwards every field has to be the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Error;
use crate::fields::{Field, OWN_WORDS, STATE, recorded};
use crate::program::{Operation, Program};
use crate::socket::Socket;

/// What the record begins with, in front of the names of fields.
const TITLE: &str = "fairhaul calls 1";
/// Kinds of memory.
const VARIABLES: u32 = 1;
const STORAGE: u32 = 2;
/// Kinds of samples; of the delivery rate is the third.
const NO_SAMPLE: u32 = 0;
const ACK: u32 = 1;
/// The structures of samples.
const SAMPLES: [&str; 2] = ["ack_sample", "rate_sample"];
/// The states of a socket whose connection is being opened: `SYN_SENT` and `SYN_RECV`.
const OPENING: [u64; 2] = [2, 3];
/// The state of a socket whose connection has ended.
const CLOSE: u64 = 7;
/// The result of an operation has as many bits.
const RESULT: u64 = 0xffff_ffff;

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Sockets whose calls were repeated.
    pub sockets: u64,
    /// Calls by their operation.
    pub calls: BTreeMap<String, u64>,
    /// Values that were compared: fields, words of the controller, words of its storage, and results.
    pub values: u64,
    /// Values that the calls changed.
    pub changed: u64,
    /// Values that differ.
    pub differences: u64,
    /// The first of them, as a sentence.
    pub first: Option<String>,
    /// Bytes of sockets that calls changed in the kernel and that are in none of the fields.
    pub outside: u64,
}

/// One call, as the kernel recorded it.
struct Call<'a> {
    operation: &'a str,
    controller: &'a str,
    socket: u64,
    arguments: [u64; 5],
    result: u64,
    outside: u64,
    before: Vec<u64>,
    sample: (u32, Vec<u64>),
    after: Vec<u64>,
    pieces: Vec<Piece<'a>>,
}

/// The memory of a map.
struct Piece<'a> {
    name: &'a str,
    kind: u32,
    bytes: &'a [u8],
}

/// The fields of the words of a record, in its order.
struct Layout {
    socket: Vec<Field>,
    ack: Vec<Field>,
    rate: Vec<Field>,
}

/// Repeats the calls of a record by an object, whose only controller every recorded socket has, or the one with this name.
///
/// # Errors
/// The record is damaged or is of other fields; the object cannot be loaded, or uses a field, a function or an
/// operation that does not exist.
pub fn replay(record: &[u8], object: &[u8], controller: Option<&str>) -> Result<Replayed, Error> {
    let program = Arc::new(Program::load(object)?);
    let table = program.table(controller)?.clone();
    let mut reader = Reader { rest: record };
    let mut result = Replayed::default();
    if record.is_empty() {
        return Ok(result);
    }
    let layout = Layout::of(reader.line()?)?;
    let mut sockets: BTreeMap<u64, Recorded<'_>> = BTreeMap::new();
    let mut variables: BTreeMap<(&str, &str), &[u8]> = BTreeMap::new();
    while !reader.rest.is_empty() {
        let call = reader.call(&layout)?;
        let operation = Operation::named(call.operation).ok_or_else(|| {
            Error::new(format!("the kernel called {}, which is unknown here", call.operation))
        })?;
        for piece in call.pieces.iter().filter(|piece| piece.kind == VARIABLES) {
            variables.insert((call.controller, piece.name), piece.bytes);
            let of_it = sockets.values_mut().filter(|known| known.controller == call.controller);
            of_it.into_iter().try_for_each(|known| known.socket.take_variables(piece.name, piece.bytes))?;
        }
        let known = sockets.get(&call.socket);
        if known.is_none_or(|known| known.is_another(operation, &call, &layout)) {
            let mut socket = Socket::of(&program, table.clone(), 0);
            for ((_, name), bytes) in variables.iter().filter(|(key, _)| key.0 == call.controller) {
                socket.take_variables(name, bytes)?;
            }
            let controller = call.controller;
            sockets.insert(call.socket, Recorded { controller, socket, is_initialised: false });
        }
        let recorded = sockets.get_mut(&call.socket).expect("it was inserted");
        recorded.is_initialised |= operation == Operation::Init;
        recorded.socket.repeat(operation, &call, &layout, &mut result)?;
        // The kernel clears the words of the controller then.
        if operation == Operation::Release {
            sockets.remove(&call.socket);
        }
        result.sockets += u64::from(operation == Operation::Init);
    }
    Ok(result)
}

/// A socket of the kernel at an address, and here.
struct Recorded<'a> {
    /// The name of its controller in the kernel.
    controller: &'a str,
    socket: Socket,
    /// While a connection is opened, operations are called before `init`.
    is_initialised: bool,
}

impl Recorded<'_> {
    /// Whether a call is of a later socket at the same address.
    fn is_another(&self, operation: Operation, call: &Call<'_>, layout: &Layout) -> bool {
        let state = layout.socket.iter().position(|field| *field == STATE);
        let state = state.map(|state| call.before[state]);
        let begins = operation == Operation::Init || state.is_some_and(|state| OPENING.contains(&state));
        // The kernel clears the words of the controller where a connection ends.
        let has_ended = operation != Operation::Release && state == Some(CLOSE);
        self.is_initialised && (begins || has_ended)
    }
}

impl Replayed {
    /// All calls.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    fn compare(&mut self, call: &Call<'_>, name: impl FnOnce() -> String, here: u64, there: u64) {
        self.values += 1;
        if here == there {
            return;
        }
        self.differences += 1;
        if self.first.is_none() {
            let (number, operation) = (self.total(), call.operation);
            let name = name();
            self.first =
                Some(format!("call {number}, {operation}: {name} is {here} here and {there} in the kernel"));
        }
    }
}

impl Socket {
    /// Sets the variables or constants of a section to those in the kernel.
    fn take_variables(&mut self, map: &str, bytes: &[u8]) -> Result<(), Error> {
        let section = self.program.sections.iter().find(|(section, _)| map.ends_with(section.as_str()));
        let Some((_, &address)) = section else { return Ok(()) };
        (address..).zip(bytes).try_for_each(|(place, byte)| self.machine.memory.set(place, 1, (*byte).into()))
    }

    /// Repeats a call, and compares everything after it. What differed is then taken from the kernel, so that a difference
    /// is counted once.
    fn repeat(
        &mut self,
        operation: Operation,
        call: &Call<'_>,
        layout: &Layout,
        result: &mut Replayed,
    ) -> Result<(), Error> {
        *result.calls.entry(call.operation.to_owned()).or_default() += 1;
        result.outside += call.outside;
        let (fields, own) = call.before.split_at(layout.socket.len());
        for (field, value) in layout.socket.iter().zip(fields) {
            self.set_field(*field, *value);
        }
        for (number, there) in own.iter().enumerate() {
            result.compare(call, || format!("own word {number} before"), self.own_word(number), *there);
        }
        self.own_words_mut().copy_from_slice(own);
        let storage_before = self.storage().to_vec();
        let value = self.call_as(operation, call, layout)?;
        if operation.has_result() {
            result.compare(call, || "the result".into(), value & RESULT, call.result & RESULT);
        }
        let (after, own_after) = call.after.split_at(layout.socket.len());
        for (field, there) in layout.socket.iter().zip(after) {
            result.compare(call, || field.name.into(), self.field(*field), field.read(*there));
        }
        for (number, there) in own_after.iter().enumerate() {
            result.compare(call, || format!("own word {number}"), self.own_word(number), *there);
        }
        self.own_words_mut().copy_from_slice(own_after);
        result.changed += differing(&call.before, &call.after) + differing(&storage_before, self.storage());
        let storages = call.pieces.iter().filter(|piece| piece.kind == STORAGE);
        storages.into_iter().try_for_each(|piece| self.compare_storage(call, piece, result))
    }

    /// Calls an operation with the arguments and the sample of a recorded call.
    fn call_as(&mut self, operation: Operation, call: &Call<'_>, layout: &Layout) -> Result<u64, Error> {
        let (kind, sample) = &call.sample;
        match *kind {
            NO_SAMPLE => self.call(operation, &call.arguments[1..]),
            ACK => {
                self.set_sample(self.ack_sample(), &layout.ack, sample);
                self.call(operation, &[self.ack_sample()])
            }
            _ => {
                self.set_sample(self.rate_sample(), &layout.rate, sample);
                self.call_control([call.arguments[1], call.arguments[2]])
            }
        }
    }

    fn compare_storage(
        &mut self,
        call: &Call<'_>,
        piece: &Piece<'_>,
        result: &mut Replayed,
    ) -> Result<(), Error> {
        let words = self.storage_mut();
        if words.len() != piece.bytes.len().div_ceil(8) {
            return Err(Error::new(format!("{} is a storage in the kernel only", piece.name)));
        }
        for (number, (here, there)) in words.iter_mut().zip(self::words(piece.bytes)).enumerate() {
            result.compare(call, || format!("word {number} of {}", piece.name), *here, there);
            *here = there;
        }
        Ok(())
    }
}

impl Layout {
    /// The layout of a record whose first line is this.
    fn of(line: &str) -> Result<Layout, Error> {
        let names = line.strip_prefix(TITLE).ok_or_else(|| Error::new("it is no record of calls"))?;
        let mut layout = Layout { socket: Vec::new(), ack: Vec::new(), rate: Vec::new() };
        for name in names.split_whitespace() {
            let field =
                recorded(name).ok_or_else(|| Error::new(format!("{name} is no field of sockets here")))?;
            match SAMPLES.iter().position(|sample| *sample == field.of) {
                None => layout.socket.push(field),
                Some(0) => layout.ack.push(field),
                Some(_) => layout.rate.push(field),
            }
        }
        Ok(layout)
    }
}

/// What is left of a record.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> Result<&'a str, Error> {
        let end = self.rest.iter().position(|byte| *byte == b'\n').ok_or_else(damaged)?;
        let line = self.take(end)?;
        self.take(1)?;
        str::from_utf8(line).map_err(|_| damaged())
    }

    fn call(&mut self, layout: &Layout) -> Result<Call<'a>, Error> {
        let (operation, controller, socket) = (self.text()?, self.text()?, self.number()?);
        let arguments = self.numbers(5)?.try_into().map_err(|_| damaged())?;
        let (result, outside, kinds) = (self.number()?, self.number()?, self.number()?);
        let (kind, pieces) = (kinds as u32, kinds >> 32);
        let before = self.numbers(layout.socket.len() + OWN_WORDS)?;
        let sample = match kind {
            NO_SAMPLE => 0,
            ACK => layout.ack.len(),
            _ => layout.rate.len(),
        };
        let sample = (kind, self.numbers(sample)?);
        let after = self.numbers(layout.socket.len() + OWN_WORDS)?;
        let pieces = (0..pieces).map(|_| self.piece()).collect::<Result<_, Error>>()?;
        Ok(Call { operation, controller, socket, arguments, result, outside, before, sample, after, pieces })
    }

    fn piece(&mut self) -> Result<Piece<'a>, Error> {
        let (name, kinds) = (self.text()?, self.number()?);
        let length = (kinds >> 32) as usize;
        let bytes = self.take(length.next_multiple_of(8))?;
        Ok(Piece { name, kind: kinds as u32, bytes: &bytes[..length] })
    }

    /// A text in 16 bytes, which ends with a zero.
    fn text(&mut self) -> Result<&'a str, Error> {
        let bytes = self.take(16)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        str::from_utf8(&bytes[..end]).map_err(|_| damaged())
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<u64>, Error> {
        self.take(8 * count).map(|bytes| words(bytes).collect())
    }

    fn number(&mut self) -> Result<u64, Error> {
        words(self.take(8)?).next().ok_or_else(damaged)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(taken)
    }
}

fn differing(before: &[u64], after: &[u64]) -> u64 {
    before.iter().zip(after).filter(|(before, after)| before != after).count() as u64
}

/// The words of a memory, the last one padded with zeros.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|word| word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

fn damaged() -> Error {
    Error::new("the record of calls is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str =
        "fairhaul calls 1 tcp_sock.snd_cwnd ack_sample.rtt_us rate_sample.losses rate_sample.rtt_us\n";

    /// A call of `ssthresh` by a socket of one field: the header, 1 + 13 words before and after, and a piece of 9 bytes.
    fn recorded_call() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut text = |text: &str| bytes.extend([text.as_bytes(), &[0; 16][text.len()..]].concat());
        text("ssthresh");
        text("fh_1_0");
        let header = [77, 1, 2, 3, 4, 5, 5, 0, 1 << 32];
        let words = header.into_iter().chain([10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let words = words.chain([10, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(words.flat_map(u64::to_le_bytes));
        bytes.extend([b"x.data".as_slice(), &[0; 10], &1_u32.to_le_bytes(), &9_u32.to_le_bytes()].concat());
        bytes.extend([1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_call_is_read_as_it_was_written() {
        let bytes = [NAMES.as_bytes(), &recorded_call()].concat();
        let mut reader = Reader { rest: &bytes };
        let layout = Layout::of(reader.line().unwrap()).unwrap();
        assert_eq!((layout.socket.len(), layout.ack.len(), layout.rate.len()), (1, 1, 2));
        let call = reader.call(&layout).unwrap();
        assert_eq!((call.operation, call.controller, call.socket), ("ssthresh", "fh_1_0", 77));
        assert_eq!((call.arguments, call.result, call.outside), ([1, 2, 3, 4, 5], 5, 0));
        assert_eq!((call.before[0], call.after[0], call.after[1]), (10, 10, 6));
        let [piece] = &call.pieces[..] else { panic!("it has one piece") };
        assert_eq!(
            (piece.name, piece.kind, piece.bytes),
            ("x.data", VARIABLES, &[1, 2, 3, 4, 5, 6, 7, 8, 9][..])
        );
        assert!(reader.rest.is_empty());
    }

    #[test]
    fn a_record_that_was_cut_and_an_unknown_field_are_errors() {
        let whole = recorded_call();
        let layout = Layout::of(NAMES.trim_end()).unwrap();
        assert!((0..whole.len()).all(|length| Reader { rest: &whole[..length] }.call(&layout).is_err()));
        assert!(Layout::of("fairhaul calls 1 tcp_sock.nothing").is_err());
        assert!(Layout::of("something else").is_err());
    }
}
