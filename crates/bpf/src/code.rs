//! eBPF instructions [RFC 9669], decoded and checked once, so that execution need not.

use crate::error::Error;

/// Registers 0 to 10; constants are in the slots behind them.
pub(crate) const REGISTERS: usize = 11;
/// Registers and constants together; a power of two.
pub(crate) const SLOTS: usize = 512;
const WIDE_NUMBER: u8 = 0x18;

/// The operations: arithmetic and jumps in 64 bits and, with `32`, on the lower halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(crate) enum Op {
    Add, Sub, Mul, Div, Or, And, Shl, Shr, Neg, Rem, Xor, Mov, Sar,
    Add32, Sub32, Mul32, Div32, Or32, And32, Shl32, Shr32, Neg32, Rem32, Xor32, Mov32, Sar32,
    SignedDiv, SignedRem, SignedDiv32, SignedRem32,
    /// Extends the sign of the lower 8, 16 or 32 bits.
    Sign8, Sign16, Sign32, Sign8In32, Sign16In32,
    /// Turns the order of the lower 2, 4 or 8 bytes, as between a host and the network.
    Swap2, Swap4, Swap8,
    Always, Equal, Above, AtLeast, AnyBit, Differs, Greater, NotLess, Below, AtMost, Less, NotGreater,
    Equal32, Above32, AtLeast32, AnyBit32, Differs32, Greater32, NotLess32, Below32, AtMost32, Less32, NotGreater32,
    Load1, Load2, Load4, Load8, LoadSigned1, LoadSigned2, LoadSigned4,
    Store1, Store2, Store4, Store8,
    /// A program of the object; the offset is its first instruction.
    Call,
    /// What the kernel provides; the offset is its number here.
    CallKernel,
    /// An access to a field that does not exist here; the offset is its number in a list.
    Missing,
    Exit,
    /// The second half of an instruction of two words.
    Rest,
}

/// An instruction: `to = to op from`, with slots for registers and constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub op: Op,
    pub to: u8,
    pub from: u16,
    /// The offset of an access to memory, or the instruction to which a jump leads.
    pub offset: i32,
}

/// Checked code: all registers exist, and every jump stays within.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub steps: Vec<Step>,
    /// The values of the slots behind the registers.
    pub constants: Vec<u64>,
}

/// An instruction as it stands in an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub opcode: u8,
    pub to: u8,
    pub from: u8,
    pub offset: i16,
    pub number: i32,
}

impl Word {
    pub(crate) fn of(bytes: [u8; 8]) -> Word {
        Word {
            opcode: bytes[0],
            to: bytes[1] & 15,
            from: bytes[1] >> 4,
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            number: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    /// Whether it loads a constant of 64 bits, half of which is in the next word.
    pub(crate) fn is_wide(self) -> bool {
        self.opcode == WIDE_NUMBER
    }

    /// Whether it calls something: a helper by its number (0), a program (1), or a function of the kernel (2).
    pub(crate) fn calls(self) -> Option<u8> {
        (self.opcode == 0x85).then_some(self.from)
    }
}

/// What the words of calls, and of accesses to missing fields, turn out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A program, by its first word.
    Program(usize),
    /// A function of the kernel, by its number here.
    Kernel(usize),
    /// A field that does not exist here, by its number in a list.
    Missing(usize),
}

/// Decodes words; `target` gives the target of each word that needs one.
pub(crate) fn decode(words: &[Word], target: impl Fn(usize) -> Option<Target>) -> Result<Code, Error> {
    let mut code = Code::default();
    for (at, word) in words.iter().enumerate() {
        let is_rest = at > 0 && words[at - 1].is_wide() && code.steps[at - 1].op != Op::Rest;
        let step = if is_rest { rest() } else { step(&mut code.constants, words, at, *word, target(at))? };
        code.steps.push(step);
    }
    let is_inside = |step: &Step| {
        let jumps =
            (Op::Always as u8..=Op::NotGreater32 as u8).contains(&(step.op as u8)) || step.op == Op::Call;
        let to = usize::try_from(step.offset).ok().and_then(|to| code.steps.get(to));
        !jumps || to.is_some_and(|to| to.op != Op::Rest)
    };
    let ends = code.steps.last().is_none_or(|last| matches!(last.op, Op::Exit | Op::Always));
    if !ends || !code.steps.iter().all(is_inside) {
        return Err(Error::new("a program runs past its end"));
    }
    Ok(code)
}

fn rest() -> Step {
    Step { op: Op::Rest, to: 0, from: 0, offset: 0 }
}

fn step(
    constants: &mut Vec<u64>,
    words: &[Word],
    at: usize,
    word: Word,
    target: Option<Target>,
) -> Result<Step, Error> {
    let Word { opcode, to, from, offset, number } = word;
    if usize::from(to.max(from)) >= REGISTERS {
        return Err(Error::new(format!("invalid register {}", to.max(from))));
    }
    if let Some(target) = target {
        let (op, offset) = match target {
            Target::Program(first) => (Op::Call, first),
            Target::Kernel(number) => (Op::CallKernel, number),
            Target::Missing(number) => (Op::Missing, number),
        };
        return Ok(Step { op, to: 0, from: 0, offset: offset as i32 });
    }
    let op = operation(word)
        .ok_or_else(|| Error::new(format!("the instruction {opcode:#04x} is not supported")))?;
    let mut constant = |value: u64| {
        let known = constants.iter().position(|known| *known == value);
        let index = known.unwrap_or_else(|| {
            constants.push(value);
            constants.len() - 1
        });
        let slot = u16::try_from(REGISTERS + index).ok().filter(|slot| usize::from(*slot) < SLOTS);
        slot.ok_or_else(|| Error::new(format!("the object has more than {} constants", SLOTS - REGISTERS)))
    };
    let from = match opcode & 7 {
        0 => constant(wide(word, words.get(at + 1)))?,
        1 | 3 => from.into(),
        2 => constant(i64::from(number) as u64)?,
        _ if opcode & 8 == 8 => from.into(),
        _ => constant(i64::from(number) as u64)?,
    };
    let is_jump = matches!(opcode & 7, 5 | 6) && op != Op::Exit;
    // A jump of class 6 without a condition has its distance in the number.
    let distance = if opcode == 0x06 { number } else { offset.into() };
    let offset = if is_jump { (at as i32 + 1).wrapping_add(distance) } else { offset.into() };
    Ok(Step { op, to, from, offset })
}

/// The constant of an instruction of two words.
fn wide(low: Word, high: Option<&Word>) -> u64 {
    u64::from(high.map_or(0, |high| high.number as u32)) << 32 | u64::from(low.number as u32)
}

#[rustfmt::skip]
const ARITHMETIC: [Op; 13] = [
    Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Or, Op::And, Op::Shl, Op::Shr, Op::Neg, Op::Rem, Op::Xor, Op::Mov, Op::Sar,
];
#[rustfmt::skip]
const ARITHMETIC_32: [Op; 13] = [
    Op::Add32, Op::Sub32, Op::Mul32, Op::Div32, Op::Or32, Op::And32, Op::Shl32, Op::Shr32, Op::Neg32, Op::Rem32,
    Op::Xor32, Op::Mov32, Op::Sar32,
];
#[rustfmt::skip]
const JUMPS: [Option<Op>; 14] = [
    Some(Op::Always), Some(Op::Equal), Some(Op::Above), Some(Op::AtLeast), Some(Op::AnyBit), Some(Op::Differs),
    Some(Op::Greater), Some(Op::NotLess), None, Some(Op::Exit), Some(Op::Below), Some(Op::AtMost), Some(Op::Less),
    Some(Op::NotGreater),
];
#[rustfmt::skip]
const JUMPS_32: [Option<Op>; 14] = [
    Some(Op::Always), Some(Op::Equal32), Some(Op::Above32), Some(Op::AtLeast32), Some(Op::AnyBit32),
    Some(Op::Differs32), Some(Op::Greater32), Some(Op::NotLess32), None, None, Some(Op::Below32), Some(Op::AtMost32),
    Some(Op::Less32), Some(Op::NotGreater32),
];

/// The operation of a word; `None` for atomic operations, packets and what is unknown.
fn operation(word: Word) -> Option<Op> {
    let high = usize::from(word.opcode >> 4);
    let sized = |ops: [Op; 4]| Some(ops[usize::from(word.opcode >> 3 & 3)]);
    match word.opcode & 7 {
        0 => word.is_wide().then_some(Op::Mov),
        1 if word.opcode & 0xe0 == 0x60 => sized([Op::Load4, Op::Load2, Op::Load1, Op::Load8]),
        1 if word.opcode & 0xe0 == 0x80 && word.opcode != 0x99 => {
            sized([Op::LoadSigned4, Op::LoadSigned2, Op::LoadSigned1, Op::Load8])
        }
        2 | 3 if word.opcode & 0xe0 == 0x60 => sized([Op::Store4, Op::Store2, Op::Store1, Op::Store8]),
        // To the order of the network, and the unconditional form.
        4 | 7 if matches!(word.opcode, 0xdc | 0xd7) => match word.number {
            16 => Some(Op::Swap2),
            32 => Some(Op::Swap4),
            64 => Some(Op::Swap8),
            _ => None,
        },
        4 => signed(ARITHMETIC_32.get(high).copied()?, word.offset),
        7 => signed(ARITHMETIC.get(high).copied()?, word.offset),
        5 => JUMPS.get(high).copied().flatten(),
        6 => JUMPS_32.get(high).copied().flatten(),
        _ => None,
    }
}

/// The variant of an operation that its offset selects.
fn signed(op: Op, offset: i16) -> Option<Op> {
    match (op, offset) {
        (_, 0) => Some(op),
        (Op::Div, 1) => Some(Op::SignedDiv),
        (Op::Rem, 1) => Some(Op::SignedRem),
        (Op::Div32, 1) => Some(Op::SignedDiv32),
        (Op::Rem32, 1) => Some(Op::SignedRem32),
        (Op::Mov, 8) => Some(Op::Sign8),
        (Op::Mov, 16) => Some(Op::Sign16),
        (Op::Mov, 32) => Some(Op::Sign32),
        (Op::Mov32, 8) => Some(Op::Sign8In32),
        (Op::Mov32, 16) => Some(Op::Sign16In32),
        _ => None,
    }
}
