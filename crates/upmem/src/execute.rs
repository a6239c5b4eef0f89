//! The effect of one instruction on registers and memories.

use crate::{
    dpu::{Direction, Trap},
    isa::{Cond, DMA_BYTES, Instruction, MUTEXES, Op, REGISTERS, constants},
};
use std::ops::Range;

/// One tasklet: 24 registers, then the constants, then the sink of discarded results.
#[derive(Clone, Debug)]
pub(crate) struct Tasklet {
    registers: [u32; 64],
    pub(crate) pc: u32,
    carry: bool,
}

impl Tasklet {
    pub(crate) fn new(id: u32) -> Self {
        let mut registers = [0; 64];
        let first = usize::from(REGISTERS);
        registers[first..first + 8].copy_from_slice(&constants(id));
        Self { registers, pc: 0, carry: false }
    }

    fn id(&self) -> u32 {
        self.registers[usize::from(REGISTERS) + 4] & 63
    }

    #[inline(always)]
    fn get(&self, r: u8) -> u32 {
        self.registers[usize::from(r & 63)]
    }

    #[inline(always)]
    fn set(&mut self, r: u8, value: u32) {
        self.registers[usize::from(r & 63)] = value;
    }
}

/// Largest number of instructions run ahead, so that an endless loop is found.
const MOST_AHEAD: u64 = 4096;

/// Runs instructions that touch only the tasklet's own registers, up to the first other one or a hazard. Returns their
/// number.
pub(crate) fn run_ahead(t: &mut Tasklet, program: &[Instruction]) -> u64 {
    let mut done = 0;
    while let Some(&i) = program.get(t.pc as usize) {
        if i.hazard > 0 || done == MOST_AHEAD {
            break;
        }
        let a = t.get(i.ra);
        match i.op {
            Op::Lw | Op::Ld | Op::Lhu | Op::Lbu | Op::Sw | Op::Sd | Op::Sh | Op::Sb => break,
            Op::Ldma | Op::Sdma | Op::Acquire | Op::Release | Op::Resume | Op::Stop => break,
            Op::Nop => t.pc += 1,
            Op::Jump | Op::Call | Op::Return => jump(t, i, a),
            Op::MulStep | Op::DivStep => {
                t.pc += 1;
                step_of_pair(t, i, a);
            }
            _ => {
                t.pc += 1;
                arithmetic(t, i, a);
            }
        }
        done += 1;
    }
    done
}

#[inline(always)]
fn arithmetic(t: &mut Tasklet, i: Instruction, a: u32) {
    let b = t.get(i.rb).wrapping_add(i.number);
    let result = compute(t, i, a, b);
    t.set(i.rc, result);
    branch(t, i, a, b, result);
}

#[inline(always)]
fn jump(t: &mut Tasklet, i: Instruction, a: u32) {
    t.set(i.rc, t.pc + 1);
    t.pc = a.wrapping_add(i.target); // one of the two is zero
}

/// Effect of an instruction on the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    Go,
    Transfer(Direction, u32),
    Stop,
    Wake(usize),
    Trap(u32, Trap),
}

/// The memories of a DPU.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) wram: Vec<u32>,
    /// Contents up to the highest address used; zeros beyond.
    pub(crate) mram: Vec<u32>,
    mram_bytes: u32,
    mutexes: [bool; MUTEXES],
    /// One bit per tasklet.
    asleep: u64,
}

impl Machine {
    pub(crate) fn new(wram_bytes: u32, mram_bytes: u32) -> Self {
        let wram = vec![0; wram_bytes as usize / 4];
        Self { wram, mram: Vec::new(), mram_bytes, mutexes: [false; MUTEXES], asleep: 0 }
    }

    /// The state at a launch: all mutexes free, all tasklets awake.
    pub(crate) fn start(&mut self) {
        self.mutexes.fill(false);
        self.asleep = 0;
    }

    /// The range of words in MRAM.
    pub(crate) fn mram(&mut self, address: u32, words: usize) -> Result<Range<usize>, Trap> {
        let first = address as usize / 4;
        if !address.is_multiple_of(4) {
            return Err(Trap::Unaligned { wanted: 4 });
        }
        if first + words > self.mram_bytes as usize / 4 {
            return Err(Trap::Mram { limit: self.mram_bytes });
        }
        if first + words > self.mram.len() {
            self.mram.resize(first + words, 0);
        }
        Ok(first..first + words)
    }

    #[inline(always)]
    pub(crate) fn step(&mut self, t: &mut Tasklet, i: Instruction) -> Next {
        let a = t.get(i.ra);
        let b = t.get(i.rb).wrapping_add(i.number);
        t.pc += 1;
        match i.op {
            Op::Lw => match self.wram.get(b_word(a, i.number)) {
                Some(&word) if a.wrapping_add(i.number).is_multiple_of(4) => t.set(i.rc, word),
                _ => return self.bad_word(a.wrapping_add(i.number), 4),
            },
            Op::Sw => {
                let at = a.wrapping_add(i.number);
                match self.wram.get_mut(at as usize / 4) {
                    Some(word) if at.is_multiple_of(4) => *word = t.get(i.rb),
                    _ => return self.bad_word(at, 4),
                }
            }
            Op::Ld | Op::Lhu | Op::Lbu | Op::Sd | Op::Sh | Op::Sb => return self.narrow_or_wide(t, i),
            Op::Ldma | Op::Sdma => return self.transfer(i, a, t.get(i.rb)),
            Op::Jump | Op::Call | Op::Return => {
                t.pc -= 1;
                jump(t, i, a);
            }
            Op::MulStep | Op::DivStep => step_of_pair(t, i, a),
            Op::Acquire => {
                let taken = &mut self.mutexes[a.wrapping_add(i.number) as usize % MUTEXES];
                let result = u32::from(std::mem::replace(taken, true));
                branch(t, i, a, b, result);
            }
            Op::Release => self.mutexes[a.wrapping_add(i.number) as usize % MUTEXES] = false,
            Op::Stop => {
                self.asleep |= 1 << t.id();
                return Next::Stop;
            }
            Op::Resume => return self.resume(t, i, a),
            Op::Nop => {}
            _ => arithmetic(t, i, a),
        }
        Next::Go
    }

    fn resume(&mut self, t: &mut Tasklet, i: Instruction, a: u32) -> Next {
        let tasklet = a.wrapping_add(i.number) & 63;
        let awake = self.asleep >> tasklet & 1 == 0;
        self.asleep &= !(1 << tasklet);
        branch(t, i, a, i.number, u32::from(awake));
        if awake { Next::Go } else { Next::Wake(tasklet as usize) }
    }

    #[cold]
    fn bad_word(&self, address: u32, wanted: u32) -> Next {
        let limit = u32::try_from(4 * self.wram.len()).unwrap_or(u32::MAX);
        let trap = if address.is_multiple_of(wanted) { Trap::Wram { limit } } else { Trap::Unaligned { wanted } };
        Next::Trap(address, trap)
    }

    fn narrow_or_wide(&mut self, t: &mut Tasklet, i: Instruction) -> Next {
        let at = t.get(i.ra).wrapping_add(i.number);
        let bytes = match i.op {
            Op::Ld | Op::Sd => 8,
            Op::Lhu | Op::Sh => 2,
            _ => 1,
        };
        let word = at as usize / 4;
        if !at.is_multiple_of(bytes) || word + usize::from(bytes == 8) >= self.wram.len() {
            return self.bad_word(at, bytes);
        }
        let (low, mask) = (8 * (at % 4), if bytes == 2 { 0xffff } else { 0xff });
        match i.op {
            Op::Ld => {
                t.set(i.rc, self.wram[word]);
                t.set(i.rc + 1, self.wram[word + 1]);
            }
            Op::Sd => {
                self.wram[word] = t.get(i.rb);
                self.wram[word + 1] = t.get(i.rb + 1);
            }
            Op::Lhu | Op::Lbu => t.set(i.rc, self.wram[word] >> low & mask),
            _ => self.wram[word] = self.wram[word] & !(mask << low) | (t.get(i.rb) & mask) << low,
        }
        Next::Go
    }

    fn transfer(&mut self, i: Instruction, a: u32, mram_address: u32) -> Next {
        let (wram_address, bytes) = (a & 0x00ff_ffff, DMA_BYTES.0 * (i.number + (a >> 24) + 1));
        if bytes > DMA_BYTES.1 {
            return Next::Trap(mram_address, Trap::Oversized { bytes });
        }
        if let Some(&address) = [mram_address, wram_address].iter().find(|x| !x.is_multiple_of(DMA_BYTES.0)) {
            return Next::Trap(address, Trap::Unaligned { wanted: DMA_BYTES.0 });
        }
        let (first, words) = (wram_address as usize / 4, bytes as usize / 4);
        if first + words > self.wram.len() {
            return self.bad_word(wram_address, 4);
        }
        let place = match self.mram(mram_address, words) {
            Ok(place) => place,
            Err(trap) => return Next::Trap(mram_address, trap),
        };
        let wram = &mut self.wram[first..first + words];
        if i.op == Op::Ldma {
            wram.copy_from_slice(&self.mram[place]);
            Next::Transfer(Direction::ToWram, bytes)
        } else {
            self.mram[place].copy_from_slice(wram);
            Next::Transfer(Direction::ToMram, bytes)
        }
    }
}

#[inline(always)]
fn b_word(a: u32, offset: u32) -> usize {
    a.wrapping_add(offset) as usize / 4
}

/// Stores the carry or borrow of a sum or difference, and returns its word.
#[inline(always)]
fn set_carry(t: &mut Tasklet, (result, carry): (u32, bool)) -> u32 {
    t.carry = carry;
    result
}

#[inline(always)]
fn compute(t: &mut Tasklet, i: Instruction, a: u32, b: u32) -> u32 {
    let shift = u32::from(i.shift);
    match i.op {
        Op::Move => b,
        Op::Add => set_carry(t, a.overflowing_add(b)),
        Op::Addc => {
            let sum = a.carrying_add_of(b, t.carry);
            set_carry(t, sum)
        }
        Op::Sub => set_carry(t, a.overflowing_sub(b)),
        Op::Subc => {
            let difference = a.borrowing_sub_of(b, t.carry);
            set_carry(t, difference)
        }
        Op::Rsub => set_carry(t, b.overflowing_sub(a)),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Lsl => a << (b & 31),
        Op::Lsr => a >> (b & 31),
        Op::Asr => (a.cast_signed() >> (b & 31)).cast_unsigned(),
        Op::Rol => a.rotate_left(b & 31),
        Op::Lslx => a.checked_shr(32 - (b & 31)).unwrap_or(0),
        Op::Lsrx => a.checked_shl(32 - (b & 31)).unwrap_or(0),
        Op::LslAdd => set_carry(t, a.overflowing_add(b << shift)),
        Op::LslSub => set_carry(t, a.overflowing_sub(b << shift)),
        Op::LsrAdd => set_carry(t, a.overflowing_add(b >> shift)),
        Op::MulUlUl => (a & 0xff) * (b & 0xff),
        Op::MulUlUh => (a & 0xff) * (b >> 8 & 0xff),
        Op::MulUhUl => (a >> 8 & 0xff) * (b & 0xff),
        Op::MulUhUh => (a >> 8 & 0xff) * (b >> 8 & 0xff),
        _ => 0,
    }
}

/// Sums and differences of words with a carry in and out.
trait Carrying: Sized {
    fn carrying_add_of(self, b: Self, carry: bool) -> (Self, bool);
    fn borrowing_sub_of(self, b: Self, borrow: bool) -> (Self, bool);
}

impl Carrying for u32 {
    #[inline(always)]
    fn carrying_add_of(self, b: Self, carry: bool) -> (Self, bool) {
        let (sum, first) = self.overflowing_add(b);
        let (sum, second) = sum.overflowing_add(Self::from(carry));
        (sum, first | second)
    }

    #[inline(always)]
    fn borrowing_sub_of(self, b: Self, borrow: bool) -> (Self, bool) {
        let (difference, first) = self.overflowing_sub(b);
        let (difference, second) = difference.overflowing_sub(Self::from(borrow));
        (difference, first | second)
    }
}

#[inline(always)]
fn branch(t: &mut Tasklet, i: Instruction, a: u32, b: u32, result: u32) {
    if let Some(cond) = i.cond
        && holds(cond, t.carry, a, b, result)
    {
        t.pc = i.target;
    }
}

#[inline(always)]
fn holds(cond: Cond, carry: bool, a: u32, b: u32, result: u32) -> bool {
    let (signed_a, signed_b) = (a.cast_signed(), b.cast_signed());
    match cond {
        Cond::True => true,
        Cond::Z => result == 0,
        Cond::Nz => result != 0,
        Cond::E => result & 1 == 0,
        Cond::O => result & 1 == 1,
        Cond::Pl => result >> 31 == 0,
        Cond::Mi => result >> 31 == 1,
        Cond::C => carry,
        Cond::Nc => !carry,
        Cond::Xz => a == 0,
        Cond::Xnz => a != 0,
        Cond::Eq => a == b,
        Cond::Neq => a != b,
        Cond::Ltu => a < b,
        Cond::Leu => a <= b,
        Cond::Gtu => a > b,
        Cond::Geu => a >= b,
        Cond::Lts => signed_a < signed_b,
        Cond::Les => signed_a <= signed_b,
        Cond::Gts => signed_a > signed_b,
        Cond::Ges => signed_a >= signed_b,
        Cond::Small => result < 256,
        Cond::Large => result >= 256,
    }
}

fn step_of_pair(t: &mut Tasklet, i: Instruction, a: u32) {
    let (even, odd) = (t.get(i.rc), t.get(i.rc + 1));
    let a = a << i.shift;
    let (even, odd) = if i.op == Op::MulStep {
        (if odd & 1 == 1 { even.wrapping_add(a) } else { even }, odd >> 1)
    } else if even >= a {
        (even - a, odd << 1 | 1)
    } else {
        (even, odd << 1)
    };
    t.set(i.rc, even);
    t.set(i.rc + 1, odd);
    branch(t, i, a, odd, odd);
}
