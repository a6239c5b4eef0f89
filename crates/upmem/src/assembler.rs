//! The assembler: labels, named numbers, and conditions with a jump target on the same line.
//!
//! The language is `docs/upmem.md`. A line holds a label (`name:`), an instruction, or a directive: `.equ NAME number`
//! names a number, `.mark NAME` gives the next instruction a name that counts are kept by. `;` starts a comment.

use crate::isa::{CONSTANTS, Cond, DMA_BYTES, Form, Instruction, Op, REGISTERS, SINK, ZERO};
use std::{collections::HashMap, ops::RangeInclusive};

/// An assembled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Decoded instructions; tasklets start at the first.
    pub instructions: Vec<Instruction>,
    /// Names of marks and the instructions they name, in program order.
    pub marks: Vec<(String, usize)>,
    /// Labels and the indices of the instructions after them.
    pub labels: Vec<(String, usize)>,
}

impl Program {
    /// Indices of the instructions with a mark of this name.
    pub fn instructions_marked(&self, name: &str) -> impl Iterator<Item = usize> {
        self.marks.iter().filter(move |(mark, _)| mark == name).map(|&(_, at)| at)
    }
}

/// An error in a program's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {mistake}")]
pub struct AssemblyError {
    /// Line number, from 1.
    pub line: usize,
    /// The mistake in that line.
    pub mistake: Mistake,
}

/// A mistake in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// Unknown mnemonic.
    #[error("{0:?} is no instruction (docs/upmem.md lists them)")]
    Mnemonic(String),
    /// Wrong number of operands.
    #[error("{op} is written {op} {wanted}; got {got} operands")]
    Operands {
        /// Mnemonic of the instruction.
        op: &'static str,
        /// Operands that the instruction takes.
        wanted: &'static str,
        /// Number of operands given.
        got: usize,
    },
    /// An operand that must be a register.
    #[error("{0:?} is no register: wanted r0 to r23, zero, one, lneg, mneg, id, id2, id4 or id8")]
    Register(String),
    /// A read-only register as a destination.
    #[error("{0:?} cannot be written: wanted r0 to r23, or zero to discard the result")]
    Destination(String),
    /// A register pair that does not start at an even register.
    #[error("{0:?} starts no pair: wanted r0, r2, … r22")]
    Pair(String),
    /// An operand that must be a number.
    #[error("{0:?} is neither a number nor named by .equ")]
    Number(String),
    /// A number outside the instruction's range.
    #[error("{got} does not fit {op}: wanted {least} to {most}")]
    Range {
        /// Mnemonic of the instruction.
        op: &'static str,
        /// Number given.
        got: i64,
        /// Smallest number allowed.
        least: i64,
        /// Largest number allowed.
        most: i64,
    },
    /// A condition that the instruction cannot carry.
    #[error("{op} has no condition {cond:?}")]
    Condition {
        /// Mnemonic of the instruction.
        op: &'static str,
        /// Condition given.
        cond: String,
    },
    /// An undefined label.
    #[error("no label {0:?}")]
    Label(String),
    /// A name defined twice.
    #[error("{0:?} is set already")]
    Twice(String),
    /// An invalid name.
    #[error("{0:?} is no name: wanted letters, digits and _, a letter first")]
    Name(String),
}

/// Assembles a program.
///
/// # Errors
/// [`AssemblyError`] for the first wrong line.
pub fn assemble(text: &str) -> Result<Program, AssemblyError> {
    let mut names = Names::default();
    let mut lines = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let place = |mistake| AssemblyError { line, mistake };
        let mut code = text.split(';').next().unwrap_or("").trim();
        while let Some((label, rest)) = code.split_once(':') {
            names.label(label.trim(), lines.len()).map_err(place)?;
            code = rest.trim();
        }
        let (word, rest) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
        match word {
            "" => {}
            ".equ" => names.define_number(rest).map_err(place)?,
            ".mark" => names.marks.push((name(rest.trim()).map_err(place)?.into(), lines.len())),
            _ => lines.push((line, word, rest)),
        }
    }
    let instructions = lines
        .iter()
        .map(|&(line, word, rest)| names.instruction(word, rest).map_err(|mistake| AssemblyError { line, mistake }))
        .collect::<Result<_, _>>()?;
    let mut labels: Vec<(String, usize)> = names.labels.into_iter().collect();
    labels.sort_by_key(|(name, at)| (*at, name.clone()));
    Ok(Program { instructions, marks: names.marks, labels })
}

#[derive(Default)]
struct Names {
    labels: HashMap<String, usize>,
    numbers: HashMap<String, i64>,
    marks: Vec<(String, usize)>,
}

fn name(text: &str) -> Result<&str, Mistake> {
    let fits = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if fits { Ok(text) } else { Err(Mistake::Name(text.into())) }
}

fn register(text: &str) -> Result<u8, Mistake> {
    let general = || text.strip_prefix('r')?.parse().ok().filter(|&r: &u8| r < REGISTERS && !text.contains('+'));
    let constant = || (REGISTERS..).zip(CONSTANTS).find(|(_, name)| *name == text).map(|(r, _)| r);
    general().or_else(constant).ok_or_else(|| Mistake::Register(text.into()))
}

fn destination(text: &str) -> Result<u8, Mistake> {
    match register(text)? {
        r if r < REGISTERS => Ok(r),
        ZERO => Ok(SINK),
        _ => Err(Mistake::Destination(text.into())),
    }
}

fn pair(text: &str) -> Result<u8, Mistake> {
    register(text)?.checked_rem(2).filter(|odd| *odd == 0).ok_or_else(|| Mistake::Pair(text.into()))?;
    Some(register(text)?).filter(|&r| r < REGISTERS).ok_or_else(|| Mistake::Pair(text.into()))
}

impl Names {
    fn label(&mut self, label: &str, at: usize) -> Result<(), Mistake> {
        match self.labels.insert(name(label)?.into(), at) {
            Some(_) => Err(Mistake::Twice(label.into())),
            None => Ok(()),
        }
    }

    fn define_number(&mut self, rest: &str) -> Result<(), Mistake> {
        let (text, value) = rest.trim().split_once(char::is_whitespace).ok_or_else(|| Mistake::Number(rest.into()))?;
        let value = self.number(value.trim())?;
        match self.numbers.insert(name(text)?.into(), value) {
            Some(_) => Err(Mistake::Twice(text.into())),
            None => Ok(()),
        }
    }

    /// A number, or a sum or difference of names and numbers.
    fn number(&self, text: &str) -> Result<i64, Mistake> {
        let one = |word: &str| {
            let word = word.trim();
            let (digits, radix) = word.strip_prefix("0x").map_or((word, 10), |digits| (digits, 16));
            let spelt = || i64::from_str_radix(digits, radix).ok().filter(|x| x.unsigned_abs() >> 33 == 0);
            self.numbers.get(word).copied().or_else(spelt).ok_or_else(|| Mistake::Number(text.into()))
        };
        match text.split_once('+') {
            Some((first, rest)) => Ok(one(first)? + self.number(rest)?),
            None => one(text),
        }
    }

    fn number_in(&self, op: Op, text: &str, range: RangeInclusive<i64>) -> Result<u32, Mistake> {
        let got = self.number(text)?;
        let bits = u32::try_from(got).or_else(|_| i32::try_from(got).map(i32::cast_unsigned));
        let (least, most) = (*range.start(), *range.end());
        bits.ok().filter(|_| range.contains(&got)).ok_or(Mistake::Range { op: op.name(), got, least, most })
    }

    fn place(&self, text: &str) -> Result<u32, Mistake> {
        let at = self.labels.get(text).ok_or_else(|| Mistake::Label(text.into()))?;
        u32::try_from(*at).map_err(|_| Mistake::Label(text.into()))
    }

    /// A register, or a number.
    fn second(&self, i: &mut Instruction, text: &str) -> Result<(), Mistake> {
        match register(text) {
            Ok(r) => i.rb = r,
            Err(Mistake::Register(_)) => {
                i.number = self.number_in(i.op, text, i64::from(i32::MIN)..=i64::from(u32::MAX))?
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    fn instruction(&self, word: &str, rest: &str) -> Result<Instruction, Mistake> {
        let op = Op::from_name(word).ok_or_else(|| Mistake::Mnemonic(word.into()))?;
        let parts: Vec<&str> = rest.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        let mut i =
            Instruction { op, cond: None, rc: SINK, ra: ZERO, rb: ZERO, shift: 0, hazard: 0, target: 0, number: 0 };
        let offset = -(1 << 23)..=(1 << 23) - 1;
        let (wanted, count) = shape(op.form());
        let jumps = matches!(op.form(), Form::Binary | Form::Unary | Form::Shifted | Form::Step | Form::Mutex);
        let operands = Mistake::Operands { op: op.name(), wanted, got: parts.len() };
        if parts.len() != count && !(jumps && parts.len() == count + 2) {
            return Err(operands);
        }
        match op.form() {
            Form::Unary => (i.rc, _) = (destination(parts[0])?, self.second(&mut i, parts[1])?),
            Form::Binary => {
                (i.rc, i.ra) = (destination(parts[0])?, register(parts[1])?);
                self.second(&mut i, parts[2])?;
            }
            Form::Shifted => {
                (i.rc, i.ra, i.rb) = (destination(parts[0])?, register(parts[1])?, register(parts[2])?);
                i.shift = self.shift(op, parts[3])?;
            }
            Form::Step => {
                (i.rc, i.ra, i.shift) = (pair(parts[0])?, register(parts[1])?, self.shift(op, parts[3])?);
                if parts[2] != parts[0] {
                    return Err(Mistake::Pair(parts[2].into()));
                }
            }
            Form::Load => {
                i.rc = if op == Op::Ld { pair(parts[0])? } else { destination(parts[0])? };
                (i.ra, i.number) = (register(parts[1])?, self.number_in(op, parts[2], offset)?);
            }
            Form::Store => {
                (i.ra, i.number) = (register(parts[0])?, self.number_in(op, parts[1], offset)?);
                i.rb = if op == Op::Sd { pair(parts[2])? } else { register(parts[2])? };
            }
            Form::Dma => {
                (i.ra, i.rb) = (register(parts[0])?, register(parts[1])?);
                i.number = self.number_in(op, parts[2], 0..=i64::from(DMA_BYTES.1 / DMA_BYTES.0) - 1)?;
            }
            Form::Jump => self.destination_of(&mut i, parts[0])?,
            Form::Call => (i.rc, _) = (destination(parts[0])?, self.destination_of(&mut i, parts[1])?),
            Form::Mutex => (i.ra, i.number) = (register(parts[0])?, self.number_in(op, parts[1], 0..=255)?),
            Form::Alone if op == Op::Return => i.ra = REGISTERS - 1,
            Form::Alone => {}
        }
        if let [cond, label] = parts[count..] {
            let unknown = || Mistake::Condition { op: op.name(), cond: cond.into() };
            i.cond = Some(Cond::from_name(cond).filter(|&cond| op.takes(cond)).ok_or_else(unknown)?);
            i.target = self.place(label)?;
        }
        i.hazard = i.count_hazard();
        Ok(i)
    }

    fn shift(&self, op: Op, text: &str) -> Result<u8, Mistake> {
        Ok(u8::try_from(self.number_in(op, text, 0..=31)?).unwrap_or(0))
    }

    /// A label, or a register that holds the number of an instruction.
    fn destination_of(&self, i: &mut Instruction, text: &str) -> Result<(), Mistake> {
        match register(text) {
            Ok(r) => i.ra = r,
            Err(_) => i.target = self.place(text)?,
        }
        Ok(())
    }
}

/// Operands of a form as written in texts, and their number without a condition.
fn shape(form: Form) -> (&'static str, usize) {
    match form {
        Form::Binary => ("rc, ra, rb|number [, condition, label]", 3),
        Form::Unary => ("rc, rb|number [, condition, label]", 2),
        Form::Shifted => ("rc, ra, rb, shift [, condition, label]", 4),
        Form::Step => ("rc, ra, rc, shift [, condition, label], rc even", 4),
        Form::Load => ("rc, ra, offset", 3),
        Form::Store => ("ra, offset, rb", 3),
        Form::Dma => ("wram, mram, bytes/8 - 1", 3),
        Form::Jump => ("label|ra", 1),
        Form::Call => ("rc, label|ra", 2),
        Form::Mutex => ("ra, number [, condition, label]", 2),
        Form::Alone => ("alone", 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_name_their_line() {
        let cases = [
            ("nop\nnix r0", "line 2: \"nix\" is no instruction (docs/upmem.md lists them)"),
            ("add r0, r1", "line 1: add is written add rc, ra, rb|number [, condition, label]; got 2 operands"),
            (
                "add r24, r1, r2",
                "line 1: \"r24\" is no register: wanted r0 to r23, zero, one, lneg, mneg, id, id2, id4 or id8",
            ),
            ("add one, r1, r2", "line 1: \"one\" cannot be written: wanted r0 to r23, or zero to discard the result"),
            ("ld r3, r1, 0", "line 1: \"r3\" starts no pair: wanted r0, r2, … r22"),
            ("add r0, r1, N", "line 1: \"N\" is neither a number nor named by .equ"),
            ("lsl_add r0, r1, r2, 32", "line 1: 32 does not fit lsl_add: wanted 0 to 31"),
            ("ldma r0, r1, 256", "line 1: 256 does not fit ldma: wanted 0 to 255"),
            ("x: add r0, r1, r2, ltu, x", "line 1: add has no condition \"ltu\""),
            ("\n\njump x", "line 3: no label \"x\""),
            ("x:\nx: nop", "line 2: \"x\" is set already"),
            ("2x: nop", "line 1: \"2x\" is no name: wanted letters, digits and _, a letter first"),
            (".equ A", "line 1: \" A\" is neither a number nor named by .equ"),
        ];
        for (text, wanted) in cases {
            let wanted = wanted.replace("\" A\"", "\"A\"");
            assert_eq!(assemble(text).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn a_line_may_hold_everything() {
        let text = ".equ A 0x10\n.equ B A+4\n start: again: sub zero, r1, B, ltu, again ; comment\n.mark here\nstop";
        let program = assemble(text).unwrap();
        let first = program.instructions[0];
        assert_eq!(
            (first.op, first.cond, first.rc, first.number, first.target),
            (Op::Sub, Some(Cond::Ltu), SINK, 20, 0)
        );
        assert_eq!(program.instructions_marked("here").collect::<Vec<_>>(), [1]);
        assert_eq!(program.labels, [("again".into(), 0), ("start".into(), 0)]);
    }

    #[test]
    fn hazards_are_two_sources_of_one_bank() {
        let hazard = |line: &str| assemble(line).unwrap().instructions[0].hazard;
        let cases = [("add r0, r1, r2", 0), ("add r0, r2, r2", 0), ("add r1, r0, r2", 1), ("sw r1, 0, r3", 1)];
        let wide = [("sd r1, 0, r4", 1), ("sd r4, 0, r4", 0), ("add r0, zero, r2", 0), ("mul_step r0, r2, r0, 3", 1)];
        for (line, wanted) in cases.into_iter().chain(wide) {
            assert_eq!(hazard(line), wanted, "{line}");
        }
    }
}
