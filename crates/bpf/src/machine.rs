//! Executes eBPF instructions [RFC 9669].

use std::sync::Arc;

use crate::code::{Code, Op, REGISTERS, SLOTS, Step};
use crate::error::Error;
use crate::memory::Memory;

/// Instructions of a call: the verifier of a kernel refuses a program with a longer path.
const MOST_INSTRUCTIONS: usize = 1_000_000;
/// The stack of a program, and how deep programs may call each other, as in the kernel.
const STACK_BYTES: usize = 512;
const MOST_FRAMES: usize = 8;
const WORD: usize = 8;

/// Code, memory, and the registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    code: Arc<Code>,
    /// The registers, and the constants behind them.
    slots: Vec<u64>,
    pub memory: Memory,
    stack: u64,
}

/// What a called program gives back when it ends: registers 6 to 10, and where its caller goes on.
type Frame = ([u64; 5], usize);

/// What a machine asks its owner for: a function of the kernel, by its number, with its arguments.
pub(crate) trait Kernel {
    fn call(&mut self, number: usize, arguments: [u64; 5], memory: &mut Memory) -> Result<u64, Error>;

    /// How long the next call of a function takes, in instructions.
    fn cost(&self, number: usize) -> usize;

    /// The name of a field that does not exist here.
    fn missing(&self, number: usize) -> Error;
}

impl Machine {
    /// Takes the code, and adds its stack to the memory that is there.
    pub(crate) fn begin(&mut self, code: Arc<Code>) {
        self.stack = self.memory.add(&[0; STACK_BYTES * MOST_FRAMES], true);
        self.slots = [&[0; REGISTERS], code.constants.as_slice()].concat();
        self.slots.resize(SLOTS, 0);
        self.code = code;
    }

    /// What it takes beside its code, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.bytes() + WORD * self.slots.capacity()
    }

    /// Runs the program that begins at that instruction, with `argument` in register 1, and returns its result.
    pub(crate) fn run(
        &mut self,
        entry: usize,
        argument: u64,
        kernel: &mut impl Kernel,
    ) -> Result<u64, Error> {
        self.slots[1] = argument;
        self.slots[10] = self.stack + STACK_BYTES as u64;
        self.execute(entry, kernel)?;
        Ok(self.slots[0])
    }

    fn execute(&mut self, entry: usize, kernel: &mut impl Kernel) -> Result<(), Error> {
        let Machine { code, slots, memory, .. } = self;
        let slots: &mut [u64; SLOTS] = slots.as_mut_slice().try_into().expect("the code has begun");
        let mut frames: Vec<Frame> = Vec::new();
        let mut at = entry;
        // Instructions are counted where the program leaves a straight piece, by the length of the piece.
        let mut passed = Passed { begun: entry, sum: 0 };
        loop {
            let Step { op, to, from, offset } = code.steps[at];
            at += 1;
            // Code is checked; the remainders only say so to the compiler.
            let (to, from) = (usize::from(to) % SLOTS, usize::from(from) % SLOTS);
            let address = |base: u64| base.wrapping_add_signed(offset.into());
            match op {
                Op::Load1 => slots[to] = memory.load(address(slots[from]), 1)?,
                Op::Load2 => slots[to] = memory.load(address(slots[from]), 2)?,
                Op::Load4 => slots[to] = memory.load(address(slots[from]), 4)?,
                Op::Load8 => slots[to] = memory.load(address(slots[from]), 8)?,
                Op::LoadSigned1 => slots[to] = sign8(memory.load(address(slots[from]), 1)?),
                Op::LoadSigned2 => slots[to] = sign16(memory.load(address(slots[from]), 2)?),
                Op::LoadSigned4 => slots[to] = sign32(memory.load(address(slots[from]), 4)?),
                Op::Store1 => memory.store(address(slots[to]), 1, slots[from])?,
                Op::Store2 => memory.store(address(slots[to]), 2, slots[from])?,
                Op::Store4 => memory.store(address(slots[to]), 4, slots[from])?,
                Op::Store8 => memory.store(address(slots[to]), 8, slots[from])?,
                Op::Exit => match frames.pop() {
                    None => return Ok(()),
                    Some((kept, caller)) => {
                        slots[6..REGISTERS].copy_from_slice(&kept);
                        passed.leave(at, caller)?;
                        at = caller;
                    }
                },
                Op::Call => {
                    frames.push(enter(slots, at, frames.len())?);
                    passed.leave(at, offset as usize)?;
                    at = offset as usize;
                }
                Op::CallKernel => {
                    let arguments = [slots[1], slots[2], slots[3], slots[4], slots[5]];
                    passed.sum += kernel.cost(offset as usize);
                    slots[0] = kernel.call(offset as usize, arguments, memory)?;
                }
                Op::Missing => return Err(kernel.missing(offset as usize)),
                Op::Rest => (), // skipped by what stands before it
                _ if is_arithmetic(op) => slots[to] = arithmetic(op, slots[to], slots[from]),
                _ => {
                    if jumps_now(op, slots[to], slots[from]) {
                        passed.leave(at, offset as usize)?;
                        at = offset as usize;
                    }
                }
            }
        }
    }
}

/// The instructions of a call so far.
struct Passed {
    /// Where the straight piece began that is executed.
    begun: usize,
    /// The instructions of the pieces before.
    sum: usize,
}

impl Passed {
    /// The piece ends before the instruction `at`, and the program goes on at `next`.
    #[inline(always)]
    fn leave(&mut self, at: usize, next: usize) -> Result<(), Error> {
        self.sum += at - self.begun;
        self.begun = next;
        if self.sum > MOST_INSTRUCTIONS { Err(endless()) } else { Ok(()) }
    }
}

#[cold]
fn endless() -> Error {
    Error::new(
        "the program does not end within a million instructions, the most that a kernel allows in a call",
    )
}

/// Begins a program of the object: what its caller goes on with, and its own stack.
fn enter(slots: &mut [u64; SLOTS], caller: usize, depth: usize) -> Result<Frame, Error> {
    if depth + 1 == MOST_FRAMES {
        return Err(Error::new(format!("programs call each other more than {MOST_FRAMES} deep")));
    }
    let mut kept = [0; 5];
    kept.copy_from_slice(&slots[6..REGISTERS]);
    slots[10] += STACK_BYTES as u64;
    Ok((kept, caller))
}

fn is_arithmetic(op: Op) -> bool {
    (op as u8) < Op::Always as u8
}

fn sign8(a: u64) -> u64 {
    i64::from(a as u8 as i8) as u64
}

fn sign16(a: u64) -> u64 {
    i64::from(a as u16 as i16) as u64
}

fn sign32(a: u64) -> u64 {
    i64::from(a as u32 as i32) as u64
}

/// The lower half of a result.
fn low(a: u32) -> u64 {
    a.into()
}

fn signed_quotient(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_div(b) }
}

fn signed_remainder(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { a.wrapping_rem(b) }
}

/// Division by zero gives zero, and the remainder by zero is the dividend.
#[inline(always)]
fn arithmetic(op: Op, a: u64, b: u64) -> u64 {
    let (a32, b32) = (a as u32, b as u32);
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div => a.checked_div(b).unwrap_or(0),
        Op::Or => a | b,
        Op::And => a & b,
        Op::Shl => a << (b & 63),
        Op::Shr => a >> (b & 63),
        Op::Neg => a.wrapping_neg(),
        Op::Rem => a.checked_rem(b).unwrap_or(a),
        Op::Xor => a ^ b,
        Op::Sar => (a as i64 >> (b & 63)) as u64,
        Op::SignedDiv => signed_quotient(a as i64, b as i64) as u64,
        Op::SignedRem => signed_remainder(a as i64, b as i64) as u64,
        Op::Sign8 => sign8(b),
        Op::Sign16 => sign16(b),
        Op::Sign32 => sign32(b),
        Op::Sign8In32 => low(sign8(b) as u32),
        Op::Sign16In32 => low(sign16(b) as u32),
        Op::Swap2 => (a as u16).swap_bytes().into(),
        Op::Swap4 => low(a32.swap_bytes()),
        Op::Swap8 => a.swap_bytes(),
        Op::Add32 => low(a32.wrapping_add(b32)),
        Op::Sub32 => low(a32.wrapping_sub(b32)),
        Op::Mul32 => low(a32.wrapping_mul(b32)),
        Op::Div32 => low(a32.checked_div(b32).unwrap_or(0)),
        Op::Or32 => low(a32 | b32),
        Op::And32 => low(a32 & b32),
        Op::Shl32 => low(a32 << (b32 & 31)),
        Op::Shr32 => low(a32 >> (b32 & 31)),
        Op::Neg32 => low(a32.wrapping_neg()),
        Op::Rem32 => low(a32.checked_rem(b32).unwrap_or(a32)),
        Op::Xor32 => low(a32 ^ b32),
        Op::Mov32 => low(b32),
        Op::Sar32 => low((a32 as i32 >> (b32 & 31)) as u32),
        Op::SignedDiv32 => low(signed_quotient((a32 as i32).into(), (b32 as i32).into()) as u32),
        Op::SignedRem32 => low(signed_remainder((a32 as i32).into(), (b32 as i32).into()) as u32),
        _ => b, // Mov
    }
}

#[inline(always)]
fn jumps_now(op: Op, a: u64, b: u64) -> bool {
    let (a32, b32) = (a as u32, b as u32);
    match op {
        Op::Equal => a == b,
        Op::Above => a > b,
        Op::AtLeast => a >= b,
        Op::AnyBit => a & b != 0,
        Op::Differs => a != b,
        Op::Greater => a as i64 > b as i64,
        Op::NotLess => a as i64 >= b as i64,
        Op::Below => a < b,
        Op::AtMost => a <= b,
        Op::Less => (a as i64) < b as i64,
        Op::NotGreater => a as i64 <= b as i64,
        Op::Equal32 => a32 == b32,
        Op::Above32 => a32 > b32,
        Op::AtLeast32 => a32 >= b32,
        Op::AnyBit32 => a32 & b32 != 0,
        Op::Differs32 => a32 != b32,
        Op::Greater32 => a32 as i32 > b32 as i32,
        Op::NotLess32 => a32 as i32 >= b32 as i32,
        Op::Below32 => a32 < b32,
        Op::AtMost32 => a32 <= b32,
        Op::Less32 => (a32 as i32) < b32 as i32,
        Op::NotGreater32 => a32 as i32 <= b32 as i32,
        _ => true, // Always
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Word, decode};

    struct Nothing;

    impl Kernel for Nothing {
        fn call(&mut self, number: usize, _: [u64; 5], _: &mut Memory) -> Result<u64, Error> {
            panic!("function {number} is called")
        }

        fn missing(&self, number: usize) -> Error {
            Error::new(format!("field {number}"))
        }

        fn cost(&self, _: usize) -> usize {
            0
        }
    }

    /// One instruction: opcode, registers (the second is the first operand), offset and number.
    fn word(opcode: u8, to: u8, from: u8, offset: i16, number: i32) -> Word {
        Word { opcode, to, from, offset, number }
    }

    const END: Word = Word { opcode: 0x95, to: 0, from: 0, offset: 0, number: 0 };

    fn machine(words: &[Word]) -> Result<Machine, Error> {
        let mut machine = Machine::default();
        machine.begin(Arc::new(decode(words, |_| None)?));
        Ok(machine)
    }

    fn run(words: &[Word]) -> Result<u64, Error> {
        machine(words)?.run(0, 0, &mut Nothing)
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
    fn division_is_unsigned_unless_asked_for_and_by_zero_is_zero() {
        assert_eq!(with(0x37, 7, 2), 3);
        assert_eq!(with(0x37, -1, 2), u64::MAX / 2);
        assert_eq!((with(0x37, 7, 0), with(0x97, 7, 0)), (0, 7));
        let signed =
            |opcode, a, b| run(&[word(0xb7, 0, 0, 0, a), word(opcode, 0, 0, 1, b), END]).unwrap() as i64;
        assert_eq!((signed(0x37, -7, 2), signed(0x97, -7, 2), signed(0x37, -7, 0)), (-3, -1, 0));
    }

    #[test]
    fn arithmetic_shifts_keep_the_sign() {
        assert_eq!(with(0xc7, -8, 1), -4i64 as u64);
        assert_eq!(with(0x77, -8, 1), (-8i64 as u64) >> 1);
        assert_eq!(with(0xc4, -8, 1), u64::from(-4i32 as u32));
    }

    #[test]
    fn the_order_of_bytes_is_turned_and_the_rest_is_zero() {
        assert_eq!(with(0xdc, 0x0102_0304, 16), 0x0403);
        assert_eq!(with(0xdc, 0x0102_0304, 32), 0x0403_0201);
        assert_eq!(with(0xd7, 0x0102_0304, 64), 0x0403_0201_0000_0000);
        assert!(run(&[word(0xdc, 0, 0, 0, 8), END]).is_err());
    }

    /// Counts to 10: r0 += 1; if r0 < 10 go back two.
    #[test]
    fn a_loop_runs_to_its_end_and_one_without_is_stopped() {
        let step = [word(0xb7, 0, 0, 0, 0), word(0x07, 0, 0, 0, 1), word(0xa5, 0, 0, -2, 10), END];
        assert_eq!(run(&step), Ok(10));
        assert!(run(&[word(0x05, 0, 0, -1, 0), END]).is_err());
    }

    /// Counts to a number: 1 instruction, 2 for each step, and the end.
    #[test]
    fn a_call_has_at_most_a_million_instructions() {
        let to = |number| {
            run(&[word(0xb7, 0, 0, 0, 0), word(0x07, 0, 0, 0, 1), word(0xa5, 0, 0, -2, number), END])
        };
        assert_eq!(to(499_999), Ok(499_999), "the last jump is not taken: 999,998 are counted then");
        assert!(to(500_002).is_err());
    }

    /// A jump backwards over 1000 instructions, 1001 times.
    #[test]
    fn a_jump_counts_what_lies_before_it() {
        let piece = vec![word(0xb7, 1, 0, 0, 0); 998];
        let back = [word(0x07, 0, 0, 0, 1), word(0xa5, 0, 0, -1000, 1002), END];
        let words = [vec![word(0xb7, 0, 0, 0, 0)], piece, back.to_vec()].concat();
        assert!(run(&words).is_err());
        let fewer = words.iter().map(|word| Word { number: word.number.min(1000), ..*word });
        assert_eq!(run(&fewer.collect::<Vec<_>>()), Ok(1000));
    }

    /// Seven programs, each of which calls the next one 10 times, and the last one does as much: 10^7 instructions without
    /// a jump.
    #[test]
    fn calls_count_what_is_called() {
        let call = word(0x85, 0, 1, 0, 0);
        let programs = 7;
        let words: Vec<Word> = (0..programs).flat_map(|_| [vec![call; 10], vec![END]].concat()).collect();
        let next = |at: usize| (at % 11 < 10 && at / 11 + 1 < programs).then_some((at / 11 + 1) * 11);
        let last: Vec<Word> = words[..11 * (programs - 1)].to_vec();
        let words = [last, vec![word(0xb7, 0, 0, 0, 1); 10], vec![END]].concat();
        let code = decode(&words, |at| next(at).map(crate::code::Target::Program)).unwrap();
        let mut machine = Machine::default();
        machine.begin(Arc::new(code));
        assert!(machine.run(11, 0, &mut Nothing).is_err(), "10^6 instructions of the last, and the calls");
        assert_eq!(machine.run(22, 0, &mut Nothing), Ok(1), "a tenth of that");
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
        let mut machine = machine(&[word(0x61, 0, 1, 4, 0), END]).unwrap();
        let address = machine.memory.add(&[1, 0, 0, 0, 2, 0, 0, 0], true);
        assert_eq!(machine.run(0, address, &mut Nothing), Ok(2));
        assert!(machine.run(0, address + 8, &mut Nothing).is_err(), "past the end");
        assert!(machine.run(0, 0, &mut Nothing).is_err(), "nothing is at zero");
    }

    #[test]
    fn constants_are_not_written_to_and_the_stack_is() {
        let mut machine = machine(&[word(0x62, 1, 0, 0, 7), END]).unwrap();
        let (constant, other) = (machine.memory.add(&[0; 4], false), machine.memory.add(&[0; 4], true));
        assert!(machine.run(0, constant, &mut Nothing).is_err());
        assert!(machine.run(0, other, &mut Nothing).is_ok());
        assert_eq!(machine.memory.load(other, 4), Ok(7));
        let stack = [word(0x7a, 10, 0, -8, 9), word(0x79, 0, 10, -8, 0), END];
        assert_eq!(run(&stack), Ok(9));
    }

    /// Programs 0 and 4: the first keeps 7 in register 6, and adds it to the result of the second, which has its own.
    #[test]
    fn a_called_program_has_its_own_registers_and_stack() {
        let call = word(0x85, 0, 1, 0, 2);
        let first = [word(0xb7, 6, 0, 0, 7), call, word(0x0f, 0, 6, 0, 0), END];
        let second = [word(0xb7, 6, 0, 0, 1), word(0x7b, 10, 6, -8, 0), word(0xbf, 0, 6, 0, 0), END];
        let words = [first, second].concat();
        let code = decode(&words, |at| (at == 1).then_some(crate::code::Target::Program(4))).unwrap();
        let mut machine = Machine::default();
        machine.begin(Arc::new(code));
        assert_eq!(machine.run(0, 0, &mut Nothing), Ok(8));
    }

    #[test]
    fn what_is_not_an_instruction_is_refused_before_it_runs() {
        assert!(run(&[word(0x85, 0, 0, 0, 1), END]).is_err(), "a call of nothing");
        assert!(run(&[word(0xb7, 11, 0, 0, 1), END]).is_err(), "register 11");
        assert!(run(&[word(0x05, 0, 0, 1, 0), END]).is_err(), "a jump past the end");
        assert!(run(&[word(0xb7, 0, 0, 0, 1)]).is_err(), "no end");
        assert!(run(&[word(0x18, 0, 0, 0, 1), word(0, 0, 0, 0, 2), word(0x05, 0, 0, -2, 0), END]).is_err());
    }
}
