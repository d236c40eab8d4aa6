//! An interpreter of eBPF bytecode [RFC 9669]: the instructions that the ports use, without any kernel function.
//!
//! Memory is a list of regions, each with its own addresses. An access outside of them, or a write to a read-only
//! region, ends the run with an error, as does a program that runs for too long. Programs call nothing, neither
//! helpers nor functions.

use crate::error::Error;

/// More than any program of ours executes.
const MOST_STEPS: u32 = 1_000_000;
const STACK_BYTES: usize = 512;
/// The number of a region is in the bits of an address above this many; region 0 does not exist, so that no
/// memory is at address 0.
const REGION_SHIFT: u32 = 32;

/// Code and memory.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    code: Vec<Instruction>,
    regions: Vec<Region>,
}

#[derive(Clone, Debug)]
struct Region {
    bytes: Vec<u8>,
    writable: bool,
}

#[derive(Clone, Copy, Debug)]
struct Instruction {
    opcode: u8,
    to: usize,
    from: usize,
    offset: i16,
    number: i32,
}

impl Instruction {
    fn decode(word: [u8; 8]) -> Instruction {
        Instruction {
            opcode: word[0],
            to: usize::from(word[1] & 15),
            from: usize::from(word[1] >> 4),
            offset: i16::from_le_bytes([word[2], word[3]]),
            number: i32::from_le_bytes([word[4], word[5], word[6], word[7]]),
        }
    }
}

/// Classes of instructions: the lowest three bits of the opcode.
mod class {
    pub(super) const LOAD_NUMBER: u8 = 0;
    pub(super) const LOAD: u8 = 1;
    pub(super) const STORE_NUMBER: u8 = 2;
    pub(super) const STORE: u8 = 3;
    pub(super) const ARITHMETIC_32: u8 = 4;
    pub(super) const JUMP: u8 = 5;
    pub(super) const JUMP_32: u8 = 6;
    pub(super) const ARITHMETIC: u8 = 7;
}

const WIDE_NUMBER: u8 = 0x18;
const EXIT: u8 = 0x95;
const ALWAYS: u8 = 0x05;

impl Interpreter {
    /// A machine for code whose length is a whole number of instructions.
    pub(crate) fn new(code: &[u8]) -> Interpreter {
        let (words, _) = code.as_chunks::<8>();
        let code = words.iter().copied().map(Instruction::decode).collect();
        Interpreter { code, regions: Vec::new() }
    }

    /// Adds memory, and returns its address.
    pub(crate) fn add(&mut self, bytes: Vec<u8>, writable: bool) -> u64 {
        self.regions.push(Region { bytes, writable });
        (self.regions.len() as u64) << REGION_SHIFT
    }

    /// Adds `address` to the constant of the two-word instruction at that byte of the code.
    pub(crate) fn relocate(&mut self, at: usize, address: u64) -> Result<(), Error> {
        let wrong = || Error::new("a relocation stands where no address is loaded");
        let [low, high] = self.code.get_mut(at / 8..at / 8 + 2).ok_or_else(wrong)? else {
            return Err(wrong());
        };
        if low.opcode != WIDE_NUMBER {
            return Err(wrong());
        }
        let sum = wide(*low, *high).wrapping_add(address);
        (low.number, high.number) = (sum as u32 as i32, (sum >> 32) as u32 as i32);
        Ok(())
    }

    /// Reads a little-endian number of that many bytes at an address.
    pub(crate) fn load(&self, address: u64, bytes: usize) -> Result<u64, Error> {
        let (region, at) = place(address);
        let bytes_at = self.regions.get(region).and_then(|region| region.bytes.get(at..at + bytes));
        let bytes_at = bytes_at.ok_or_else(|| {
            Error::new(format!("a read of {bytes} bytes at {address:#x}, where nothing is"))
        })?;
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(bytes_at);
        Ok(u64::from_le_bytes(word))
    }

    /// Writes to any region, including read-only ones.
    pub(crate) fn store(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), Error> {
        let (region, at) = place(address);
        let bytes_at = self.regions.get_mut(region).and_then(|region| region.bytes.get_mut(at..at + bytes));
        let bytes_at = bytes_at.ok_or_else(|| {
            Error::new(format!("a write of {bytes} bytes at {address:#x}, where nothing is"))
        })?;
        bytes_at.copy_from_slice(&value.to_le_bytes()[..bytes]);
        Ok(())
    }

    fn store_checked(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), Error> {
        match self.regions.get(place(address).0) {
            Some(region) if !region.writable => {
                Err(Error::new(format!("a write to {address:#x}, which is read-only")))
            }
            _ => self.store(address, bytes, value),
        }
    }

    /// Runs the program that begins at that instruction, with `argument` in register 1, and returns its result.
    pub(crate) fn run(&mut self, entry: usize, argument: u64) -> Result<u64, Error> {
        let stack = self.add(vec![0; STACK_BYTES], true);
        let mut registers = [0; 11];
        (registers[1], registers[10]) = (argument, stack + STACK_BYTES as u64);
        let result = self.execute(entry, &mut registers);
        self.regions.pop();
        result.map(|()| registers[0])
    }

    fn execute(&mut self, entry: usize, registers: &mut [u64; 11]) -> Result<(), Error> {
        let mut at = entry;
        for _ in 0..MOST_STEPS {
            let outside = || Error::new("the program runs past its end");
            let instruction = *self.code.get(at).ok_or_else(outside)?;
            at += 1;
            match instruction.opcode & 7 {
                _ if instruction.opcode == EXIT => return Ok(()),
                class::LOAD_NUMBER if instruction.opcode == WIDE_NUMBER => {
                    let high = *self.code.get(at).ok_or_else(outside)?;
                    *register(registers, instruction.to)? = wide(instruction, high);
                    at += 1;
                }
                class::LOAD | class::STORE_NUMBER | class::STORE => self.access(instruction, registers)?,
                class::ARITHMETIC | class::ARITHMETIC_32 => arithmetic(instruction, registers)?,
                class::JUMP | class::JUMP_32 => {
                    if jumps(instruction, registers)? {
                        at = at.checked_add_signed(instruction.offset.into()).ok_or_else(outside)?;
                    }
                }
                _ => return Err(unknown(instruction)),
            }
        }
        Err(Error::new("the program does not end"))
    }

    fn access(&mut self, i: Instruction, registers: &mut [u64; 11]) -> Result<(), Error> {
        if i.opcode & 0xe0 != 0x60 {
            return Err(unknown(i)); // an atomic operation, a packet's or a sign-extending load
        }
        let bytes = [4, 2, 1, 8][usize::from(i.opcode >> 3 & 3)];
        let base = if i.opcode & 7 == class::LOAD { i.from } else { i.to };
        let address = register(registers, base)?.wrapping_add_signed(i.offset.into());
        match i.opcode & 7 {
            class::LOAD => *register(registers, i.to)? = self.load(address, bytes)?,
            class::STORE => self.store_checked(address, bytes, *register(registers, i.from)?)?,
            _ => self.store_checked(address, bytes, i64::from(i.number) as u64)?,
        }
        Ok(())
    }
}

/// Region and offset of an address; no region for addresses below the first.
fn place(address: u64) -> (usize, usize) {
    ((address >> REGION_SHIFT).wrapping_sub(1) as usize, address as u32 as usize)
}

fn wide(low: Instruction, high: Instruction) -> u64 {
    u64::from(high.number as u32) << 32 | u64::from(low.number as u32)
}

fn unknown(instruction: Instruction) -> Error {
    Error::new(format!("the instruction {:#04x} is not supported", instruction.opcode))
}

fn register(registers: &mut [u64; 11], number: usize) -> Result<&mut u64, Error> {
    registers.get_mut(number).ok_or_else(|| Error::new(format!("invalid register {number}")))
}

/// The second operand: a register, or the number of the instruction.
fn operand(i: Instruction, registers: &mut [u64; 11]) -> Result<u64, Error> {
    if i.opcode & 8 == 0 { Ok(i64::from(i.number) as u64) } else { register(registers, i.from).copied() }
}

fn arithmetic(i: Instruction, registers: &mut [u64; 11]) -> Result<(), Error> {
    if i.offset != 0 {
        return Err(unknown(i)); // signed division and sign extension of newer versions
    }
    let b = operand(i, registers)?;
    let to = register(registers, i.to)?;
    let narrow = i.opcode & 7 == class::ARITHMETIC_32;
    let (a, b) = if narrow { (u64::from(*to as u32), u64::from(b as u32)) } else { (*to, b) };
    let by = b as u32 & if narrow { 31 } else { 63 };
    let result = match i.opcode & 0xf0 {
        0x00 => a.wrapping_add(b),
        0x10 => a.wrapping_sub(b),
        0x20 => a.wrapping_mul(b),
        0x30 => a.checked_div(b).unwrap_or(0),
        0x40 => a | b,
        0x50 => a & b,
        0x60 => a << by,
        0x70 => a >> by,
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(b).unwrap_or(a),
        0xa0 => a ^ b,
        0xb0 => b,
        0xc0 if narrow => (a as u32 as i32 >> by) as u32 as u64,
        0xc0 => (a as i64 >> by) as u64,
        _ => return Err(unknown(i)),
    };
    *to = if narrow { u64::from(result as u32) } else { result };
    Ok(())
}

fn jumps(i: Instruction, registers: &mut [u64; 11]) -> Result<bool, Error> {
    if i.opcode == ALWAYS {
        return Ok(true);
    }
    let (b, a) = (operand(i, registers)?, *register(registers, i.to)?);
    let narrow = i.opcode & 7 == class::JUMP_32;
    let (a, b) = if narrow { (u64::from(a as u32), u64::from(b as u32)) } else { (a, b) };
    let signed = |x: u64| if narrow { i64::from(x as u32 as i32) } else { x as i64 };
    Ok(match i.opcode & 0xf0 {
        0x10 => a == b,
        0x20 => a > b,
        0x30 => a >= b,
        0x40 => a & b != 0,
        0x50 => a != b,
        0x60 => signed(a) > signed(b),
        0x70 => signed(a) >= signed(b),
        0xa0 => a < b,
        0xb0 => a <= b,
        0xc0 => signed(a) < signed(b),
        0xd0 => signed(a) <= signed(b),
        _ => return Err(unknown(i)), // a call among them
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One instruction: opcode, registers (the second is the first operand), offset and number.
    fn word(opcode: u8, to: u8, from: u8, offset: i16, number: i32) -> [u8; 8] {
        let [o0, o1] = offset.to_le_bytes();
        let [n0, n1, n2, n3] = number.to_le_bytes();
        [opcode, from << 4 | to, o0, o1, n0, n1, n2, n3]
    }

    const END: [u8; 8] = [EXIT, 0, 0, 0, 0, 0, 0, 0];

    fn run(words: &[[u8; 8]]) -> Result<u64, Error> {
        Interpreter::new(&words.concat()).run(0, 0)
    }

    /// `opcode` with register 0 = `a` and the number `b`.
    fn with(opcode: u8, a: i32, b: i32) -> u64 {
        run(&[word(0xb7, 0, 0, 0, a), word(opcode, 0, 0, 0, b), END]).unwrap()
    }

    #[test]
    fn numbers_are_extended_by_their_sign_and_narrow_results_by_zeros() {
        assert_eq!(with(0x07, 1, -2), u64::MAX, "1 - 2 in 64 bits");
        assert_eq!(with(0x04, 1, -2), 0xffff_ffff, "and in 32");
        assert_eq!(with(0xb4, 0, -1), 0xffff_ffff);
    }

    #[test]
    fn division_is_unsigned_and_by_zero_is_zero() {
        assert_eq!(with(0x37, 7, 2), 3);
        assert_eq!(with(0x37, -1, 2), u64::MAX / 2);
        assert_eq!((with(0x37, 7, 0), with(0x97, 7, 0)), (0, 7));
    }

    #[test]
    fn arithmetic_shifts_keep_the_sign() {
        assert_eq!(with(0xc7, -8, 1), -4i64 as u64);
        assert_eq!(with(0x77, -8, 1), (-8i64 as u64) >> 1);
        assert_eq!(with(0xc4, -8, 1), u64::from(-4i32 as u32));
    }

    /// Counts to 10: r0 += 1; if r0 < 10 go back two.
    #[test]
    fn a_loop_runs_to_its_end_and_one_without_is_stopped() {
        let step = [word(0xb7, 0, 0, 0, 0), word(0x07, 0, 0, 0, 1), word(0xa5, 0, 0, -2, 10), END];
        assert_eq!(run(&step), Ok(10));
        assert!(run(&[word(ALWAYS, 0, 0, -1, 0), END]).is_err());
    }

    #[test]
    fn signed_and_unsigned_comparisons_differ_below_zero() {
        let taken =
            |opcode| run(&[word(0xb7, 0, 0, 0, -1), word(opcode, 0, 0, 1, 1), word(0xb7, 0, 0, 0, 5), END]);
        assert_eq!(taken(0x65), Ok(5), "-1 > 1 is not so");
        assert_eq!(taken(0x25), Ok(u64::MAX), "2^64 - 1 > 1 is");
        assert_eq!(taken(0x66), Ok(5));
    }

    #[test]
    fn memory_is_reached_by_its_address_and_nothing_else_is() {
        let mut machine = Interpreter::new(&[word(0x61, 0, 1, 4, 0), END].concat());
        let address = machine.add(vec![1, 0, 0, 0, 2, 0, 0, 0], true);
        assert_eq!(machine.run(0, address), Ok(2));
        assert!(machine.run(0, address + 4).is_err(), "past the end");
        assert!(machine.run(0, 0).is_err(), "nothing is at zero");
    }

    #[test]
    fn constants_are_not_written_to_and_the_stack_is() {
        let mut machine = Interpreter::new(&[word(0x62, 1, 0, 0, 7), END].concat());
        let (constant, other) = (machine.add(vec![0; 4], false), machine.add(vec![0; 4], true));
        assert!(machine.run(0, constant).is_err());
        assert!(machine.run(0, other).is_ok());
        assert_eq!(machine.load(other, 4), Ok(7));
        let stack = [word(0x7a, 10, 0, -8, 9), word(0x79, 0, 10, -8, 0), END];
        assert_eq!(run(&stack), Ok(9));
    }

    #[test]
    fn a_call_is_refused() {
        assert!(run(&[word(0x85, 0, 0, 0, 1), END]).is_err());
    }
}
