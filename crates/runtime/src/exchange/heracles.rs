//! Program traces of HERACLES as CSV, both ways. Source: \[HERACLES\], the traces of its tutorials and the reader and
//! writer of its program mapper.
//!
//! A line is an instruction: `mul,CKKS,16384,3,ct2-3-2,ct0-2-2,ct1-2-2`. Its fields are the instruction, the scheme, N,
//! the number of primes of Q and P, the result, the operands, and numbers. An operand is `name-polynomials-primes`. The
//! first line is a heading; several headings are in use.

use super::ops::{Operand, Operation, Operations, TraceError, What};
use std::{
    collections::{BTreeMap, HashMap, btree_map::Entry},
    io::{self, BufRead, Read as _, Write},
};

/// The heading of the published traces.
const HEADING: &str =
    "instruction,scheme,poly_modulus_degree,rns_terms,arg0,arg1,arg2,arg3,arg4,arg5,arg6,arg7,arg8,arg9";
/// Largest number of lines, line length and name length that are read.
const MOST_LINES: usize = 1_000_000;
const MOST_LINE: u64 = 1024;
const MOST_NAME: usize = 64;
/// Largest number of primes of Q and P.
const MOST_PRIMES: usize = 127;

/// Why a list could not be written as HERACLES instructions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    #[error(
        "HERACLES has no instruction for {op}{}: write lines of JSON (a name that ends in .jsonl)",
        if region.is_empty() { String::new() } else { format!(" (in region {region})") }
    )]
    Lacks { op: String, region: String },
    #[error(
        "HERACLES tells the primes of a value by their number alone, and under a set with words a level may have primes that \
         the one above lacks ({}): write lines of JSON (a name that ends in .jsonl), or choose a set without words, such as boot",
        alike.map(|(a, b)| format!("levels {a} and {b} have as many")).unwrap_or_default()
    )]
    Words {
        /// Two levels of as many primes, but others.
        alike: Option<(usize, usize)>,
    },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes a list. One operation here can be several lines there. A linear map becomes its rotations, plaintext products
/// and sums, without what the rotations share; a merged division becomes a line.
///
/// # Errors
/// [`WriteError`]; nothing is written for a list with an operation or a set that the format lacks.
pub fn write(mut out: impl Write, operations: &Operations) -> Result<(), WriteError> {
    if let Some(Operation { op, region, .. }) = operations.list.iter().find(|o| o.what == What::ModRaise) {
        return Err(WriteError::Lacks { op: op.clone(), region: region.clone() });
    }
    if let Some(levels) = &operations.levels {
        let alike = (1..levels.len()).rev().find(|&level| levels[level].len() == levels[level - 1].len());
        return Err(WriteError::Words { alike: alike.map(|level| (level - 1, level)) });
    }
    writeln!(out, "{HEADING}")?;
    let primes = operations.limbs + operations.special;
    let mut lines = Lines {
        out,
        prefix: format!("CKKS,{},{primes}", 1u64 << operations.log_n),
        temporary: 0,
        aliases: HashMap::new(),
    };
    let keys = format!("{},{},{}", operations.special, operations.limbs, operations.dnum);
    operations.list.iter().try_for_each(|operation| lines.operation(operation, &keys))?;
    lines.out.flush()?;
    Ok(())
}

struct Lines<W> {
    out: W,
    prefix: String,
    temporary: usize,
    /// Values of the program whose line has another name for the result.
    aliases: HashMap<String, String>,
}

fn text(operand: &Operand) -> String {
    format!("{}-{}-{}", operand.name, operand.parts, operand.limbs)
}

impl<W: Write> Lines<W> {
    fn line(&mut self, instruction: &str, out: &Operand, operands: &[&Operand], numbers: &str) -> io::Result<()> {
        let known = |operand: &Operand| match self.aliases.get(&operand.name) {
            Some(name) => text(&Operand { name: name.clone(), ..operand.clone() }),
            None => text(operand),
        };
        let operands: Vec<String> = std::iter::once(out).chain(operands.iter().copied()).map(known).collect();
        let comma = if numbers.is_empty() { "" } else { "," };
        writeln!(self.out, "{instruction},{},{}{comma}{numbers}", self.prefix, operands.join(","))
    }

    fn new_value(&mut self, parts: usize, limbs: usize) -> Operand {
        self.temporary += 1;
        Operand { name: format!("t{}", self.temporary - 1), parts, limbs, level: None }
    }

    fn operation(&mut self, operation: &Operation, keys: &str) -> io::Result<()> {
        let Operation { what, out, operands, .. } = operation;
        let all: Vec<&Operand> = operands.iter().collect();
        match what {
            What::Add => self.line("add", out, &all, ""),
            What::Sub => self.line("sub", out, &all, ""),
            What::Multiply => self.line("mul", out, &all, ""),
            What::Square => self.line("square", out, &all, ""),
            What::AddPlain => self.line("add_plain", out, &all, ""),
            What::MultiplyPlain => self.line("mul_plain", out, &all, ""),
            What::Relinearize => self.line("relin", out, &all, keys),
            What::Rescale => self.line("rescale", out, &all, ""),
            What::Galois(g) => self.line("rotate", out, &all, &format!("{g},{keys}")),
            What::RelinearizeRescaled => {
                let relinearized = self.new_value(2, operands[0].limbs);
                self.line("relin", &relinearized, &all, keys)?;
                self.line("rescale", out, &[&relinearized], "")
            }
            What::Combination => {
                let (ciphertexts, constants) = operands.split_at(operands.len() / 2);
                let mut products = Vec::new();
                for (a, constant) in ciphertexts.iter().zip(constants) {
                    let product = self.new_value(a.parts, out.limbs);
                    self.line("mul_plain", &product, &[&Operand { limbs: out.limbs, ..a.clone() }, constant], "")?;
                    products.push(product);
                }
                let sum = self.added(products, out.limbs)?;
                self.alias(&sum, out);
                Ok(())
            }
            What::RotatedSum(steps) => {
                let mut sum = operands[0].clone();
                for step in steps {
                    let mut terms = vec![sum.clone()];
                    for &galois in step {
                        terms.push(self.rotated(&sum, galois, keys)?);
                    }
                    sum = self.added(terms, sum.limbs)?;
                }
                self.alias(&sum, out);
                Ok(())
            }
            What::LinearMap { groups, offset, rescaled } => {
                let whole = self.map(&operands[0], groups, *offset, keys)?;
                if *rescaled {
                    return self.line("rescale", out, &[&whole], "");
                }
                self.alias(&whole, out);
                Ok(())
            }
            What::ModRaise | What::MultiplyRescaled => unreachable!("refused before the first line"),
        }
    }

    /// Writes each rotation once, as a whole; Galois element 1 needs none.
    fn rotated(&mut self, a: &Operand, galois: u32, keys: &str) -> io::Result<Operand> {
        if galois == 1 {
            return Ok(a.clone());
        }
        let moved = self.new_value(2, a.limbs);
        self.line("rotate", &moved, &[a], &format!("{galois},{keys}"))?;
        Ok(moved)
    }

    fn map(&mut self, a: &Operand, groups: &[(u32, Vec<u32>)], offset: u32, keys: &str) -> io::Result<Operand> {
        let mut babies: BTreeMap<u32, Operand> = BTreeMap::new();
        for &baby in groups.iter().flat_map(|(_, babies)| babies) {
            if let Entry::Vacant(place) = babies.entry(baby) {
                place.insert(self.rotated(a, baby, keys)?);
            }
        }
        let mut sums = Vec::new();
        for (giant, terms) in groups {
            let mut products = Vec::new();
            for baby in terms {
                let product = self.new_value(2, a.limbs);
                let diagonal =
                    Operand { name: format!("diag{}", self.temporary), parts: 1, limbs: a.limbs, level: None };
                self.line("mul_plain", &product, &[&babies[baby], &diagonal], "")?;
                products.push(product);
            }
            let sum = self.added(products, a.limbs)?;
            sums.push(self.rotated(&sum, *giant, keys)?);
        }
        let last = self.added(sums, a.limbs)?;
        self.rotated(&last, offset, keys)
    }

    fn added(&mut self, values: Vec<Operand>, limbs: usize) -> io::Result<Operand> {
        let mut values = values.into_iter();
        let mut sum = values.next().unwrap_or_else(|| self.new_value(2, limbs));
        for value in values {
            let next = self.new_value(sum.parts.max(value.parts), limbs);
            self.line("add", &next, &[&sum, &value], "")?;
            sum = next;
        }
        Ok(sum)
    }

    /// Gives a value the name that the lines use.
    fn alias(&mut self, value: &Operand, name: &Operand) {
        let known = self.aliases.get(&value.name).unwrap_or(&value.name).clone();
        self.aliases.insert(name.name.clone(), known);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub number: usize,
    pub instruction: Instruction,
    pub out: Operand,
    pub operands: Vec<Operand>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    Add,
    Sub,
    Mul,
    Square,
    AddPlain,
    MulPlain,
    Relin,
    /// Drops primes and divides by them, in CKKS.
    Rescale,
    /// Drops primes and divides by them; in CKKS as [`Self::Rescale`].
    ModSwitch,
    /// Every polynomial from coefficients to values.
    Ntt,
    /// Every polynomial from values to coefficients.
    Intt,
    /// `rotate` by its Galois element; element 1 does nothing.
    Rotate(u32),
}

/// A scheme whose programs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Ckks,
    Bgv,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub scheme: Scheme,
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Primes of Q.
    pub limbs: usize,
    /// Primes of P.
    pub special: usize,
    /// Digits of key switching.
    pub dnum: usize,
    pub lines: Vec<Line>,
}

/// Fields that must agree on all lines of a trace.
#[derive(Default)]
struct Common {
    degree: Option<u64>,
    primes: Option<usize>,
    scheme: Option<Scheme>,
    /// alpha, q_size and dnum, if the lines have them.
    keys: Option<[usize; 3]>,
}

/// Reads a CKKS or BGV trace. If no line has key-switching numbers, P gets the primes that no operand has, and digits
/// are as long as P, as in the published traces.
///
/// # Errors
/// [`TraceError`] with the line: an unknown instruction, scheme or shape, contradicting lines, or a limit exceeded.
pub fn read(mut from: impl BufRead) -> Result<Trace, TraceError> {
    let (mut lines, mut common, mut is_first) = (Vec::new(), Common::default(), true);
    for number in 1.. {
        let mut text = Vec::new();
        let io = |e: io::Error| TraceError::at(number, format!("cannot be read: {e}"));
        let length = (&mut from).take(MOST_LINE).read_until(b'\n', &mut text).map_err(io)?;
        if length == 0 {
            break;
        }
        if length as u64 == MOST_LINE || number > MOST_LINES {
            let most = format!("a trace has at most {MOST_LINES} lines of less than {MOST_LINE} bytes");
            return Err(TraceError::at(number, most));
        }
        let text = std::str::from_utf8(&text).map_err(|_| TraceError::at(number, "is not UTF-8"))?;
        // Some editors begin a file with a mark of its byte order.
        let text = text.trim_start_matches('\u{feff}').trim();
        // The first line is a heading of any form; empty lines are skipped.
        if text.is_empty() || std::mem::take(&mut is_first) && text.to_ascii_lowercase().contains("instruction") {
            continue;
        }
        lines.push(line(number, text, &mut common)?);
    }
    let (Some(degree), Some(primes), Some(scheme)) = (common.degree, common.primes, common.scheme) else {
        return Err(TraceError::of_all(
            "has no instruction: wanted lines such as add,CKKS,16384,3,ct2-2-2,ct0-2-2,ct1-2-2",
        ));
    };
    let used = lines.iter().flat_map(|l| l.operands.iter().chain([&l.out])).map(|o| o.limbs).max().unwrap_or(1);
    let switches = |l: &Line| !matches!(l.instruction, Instruction::Rotate(1)) && has_key(l.instruction);
    let [special, limbs, dnum] = match (common.keys, primes.checked_sub(used)) {
        (Some(keys), _) => fitting(keys, primes, used)?,
        (None, Some(special @ 1..)) => [special, used, used.div_ceil(special)],
        // What no line reads does not matter.
        (None, Some(0)) if !lines.iter().any(switches) => [1, used, used],
        _ => {
            let wrong = format!("operands have up to {used} primes of {primes}: no prime is left for key switching");
            return Err(TraceError::of_all(wrong));
        }
    };
    Ok(Trace { scheme, log_n: degree.ilog2(), limbs, special, dnum, lines })
}

/// Whether an instruction has a key, and the numbers of one.
fn has_key(instruction: Instruction) -> bool {
    matches!(instruction, Instruction::Relin | Instruction::Rotate(_))
}

/// The alpha, q_size and dnum of lines, if they go with the primes.
fn fitting([special, limbs, dnum]: [usize; 3], primes: usize, used: usize) -> Result<[usize; 3], TraceError> {
    if limbs + special != primes || used > limbs || dnum == 0 || dnum > limbs || special == 0 {
        let numbers = format!("alpha {special}, q_size {limbs}, dnum {dnum}");
        return Err(TraceError::of_all(format!(
            "{numbers} do not go with {primes} primes, of which operands have {used}"
        )));
    }
    Ok([special, limbs, dnum])
}

fn line(number: usize, text: &str, common: &mut Common) -> Result<Line, TraceError> {
    let wrong = |problem: String| TraceError::at(number, problem);
    // Some tools pad lines with empty fields to the length of the heading.
    let fields: Vec<&str> = text.trim_end_matches([',', ' ', '\t']).split(',').map(str::trim).collect();
    let [name, scheme, degree, primes, arguments @ ..] = &fields[..] else {
        return Err(wrong(format!("{} fields; wanted instruction, scheme, N, primes, operands", fields.len())));
    };
    let same =
        |what: &str, is: bool| if is { Ok(()) } else { Err(wrong(format!("another {what} than in the lines before"))) };
    let scheme = match scheme.to_ascii_uppercase().as_str() {
        "CKKS" => Scheme::Ckks,
        "BGV" => Scheme::Bgv,
        other => return Err(wrong(format!("scheme {other}: programs of CKKS and BGV can be timed"))),
    };
    same("scheme", *common.scheme.get_or_insert(scheme) == scheme)?;
    let degree: u64 = degree
        .parse()
        .ok()
        .filter(|n: &u64| n.is_power_of_two() && (1 << 10..=1 << 17).contains(n))
        .ok_or_else(|| wrong(format!("N = {degree}: wanted a power of two from 2^10 to 2^17")))?;
    same("N", *common.degree.get_or_insert(degree) == degree)?;
    let count: usize = primes
        .parse()
        .ok()
        .filter(|m| (2..=MOST_PRIMES).contains(m))
        .ok_or_else(|| wrong(format!("{primes} primes: wanted 2 to {MOST_PRIMES}, those of Q and P together")))?;
    same("number of primes", *common.primes.get_or_insert(count) == count)?;
    let (instruction, inputs) = named(name, scheme).map_err(wrong)?;
    if arguments.len() <= inputs {
        let got = arguments.len().checked_sub(1).map_or("neither".into(), |count| format!("a result and {count}"));
        let operands = if inputs == 1 { "operand" } else { "operands" };
        return Err(wrong(format!("{name} has a result and {inputs} {operands}, got {got}")));
    }
    let (operands, numbers) = arguments.split_at(inputs + 1);
    let mut operands = operands.iter().map(|text| operand(text).map_err(wrong)).collect::<Result<Vec<_>, _>>()?;
    let (instruction, keys) = numbers_of(instruction, numbers, degree).map_err(wrong)?;
    if let Some(keys) = keys {
        same("alpha, q_size or dnum", *common.keys.get_or_insert(keys) == keys)?;
    }
    let out = operands.remove(0);
    shapes(instruction, &out, &operands).map_err(wrong)?;
    Ok(Line { number, instruction, out, operands })
}

/// An instruction by its name, and its number of operands.
fn named(name: &str, scheme: Scheme) -> Result<(Instruction, usize), String> {
    Ok(match name {
        "add" => (Instruction::Add, 2),
        "sub" => (Instruction::Sub, 2),
        "mul" => (Instruction::Mul, 2),
        "square" => (Instruction::Square, 1),
        "add_plain" => (Instruction::AddPlain, 2),
        "mul_plain" => (Instruction::MulPlain, 2),
        "relin" => (Instruction::Relin, 1),
        "rescale" if scheme == Scheme::Bgv => {
            return Err("rescale is an instruction of CKKS: the division of BGV is mod_switch".into());
        }
        "rescale" => (Instruction::Rescale, 1),
        "mod_switch" => (Instruction::ModSwitch, 1),
        "rotate" => (Instruction::Rotate(1), 1),
        "ntt" => (Instruction::Ntt, 1),
        "intt" => (Instruction::Intt, 1),
        _ => {
            let known = "add, add_plain, sub, mul, mul_plain, square, relin, rescale, mod_switch, rotate, ntt or intt";
            return Err(format!("no instruction {name:?}: wanted {known}"));
        }
    })
}

/// The numbers after the operands: the Galois element of a rotation; alpha, q_size and dnum, which may be absent.
fn numbers_of(
    instruction: Instruction,
    numbers: &[&str],
    degree: u64,
) -> Result<(Instruction, Option<[usize; 3]>), String> {
    let parsed = |text: &&str| text.parse::<usize>().map_err(|_| format!("{text:?} is no number"));
    let mut numbers = numbers.iter().map(parsed).collect::<Result<Vec<usize>, String>>()?;
    let instruction = match instruction {
        Instruction::Rotate(_) => {
            let wanted = || format!("rotate wants its Galois element: odd, below 2N = {}", 2 * degree);
            let g = if numbers.is_empty() { None } else { u32::try_from(numbers.remove(0)).ok() };
            let g = g.filter(|g| g % 2 == 1 && u64::from(*g) < 2 * degree).ok_or_else(wanted)?;
            Instruction::Rotate(g)
        }
        other => other,
    };
    let keys = match (&instruction, &numbers[..]) {
        (_, []) => None,
        (Instruction::Rescale | Instruction::ModSwitch, [_q_size]) => None,
        (switching, &[alpha, q_size, dnum]) if has_key(*switching) => {
            let all = [alpha, q_size, dnum];
            if all.iter().any(|&n| n == 0 || n > MOST_PRIMES) {
                return Err(format!(
                    "alpha {alpha}, q_size {q_size}, dnum {dnum}: wanted numbers from 1 to {MOST_PRIMES}"
                ));
            }
            Some(all)
        }
        _ => return Err(format!("{} numbers at the end are more or fewer than the instruction has", numbers.len())),
    };
    Ok((instruction, keys))
}

fn operand(text: &str) -> Result<Operand, String> {
    let wrong = || format!("{text:?} is no operand: wanted name-polynomials-primes, such as ct0-2-5");
    let mut fields = text.rsplitn(3, '-');
    let (limbs, parts, name) = (fields.next(), fields.next(), fields.next());
    let number = |text: Option<&str>, most: usize| text?.parse::<usize>().ok().filter(|n| (1..=most).contains(n));
    let (limbs, parts) = (number(limbs, MOST_PRIMES).ok_or_else(wrong)?, number(parts, 3).ok_or_else(wrong)?);
    let name = name.filter(|name| !name.is_empty() && name.len() <= MOST_NAME).ok_or_else(wrong)?;
    Ok(Operand { name: name.to_owned(), parts, limbs, level: None })
}

/// Checks the shapes of result and operands against the instruction.
fn shapes(instruction: Instruction, out: &Operand, operands: &[Operand]) -> Result<(), String> {
    let parts: Vec<usize> = operands.iter().map(|o| o.parts).collect();
    let limbs: Vec<usize> = operands.iter().map(|o| o.limbs).collect();
    let most = limbs[0];
    // Traces disagree on plaintexts: some give them one polynomial, some two.
    let plain = matches!(instruction, Instruction::AddPlain | Instruction::MulPlain);
    let wanted = match (instruction, &parts[..]) {
        (Instruction::Add | Instruction::Sub, &[a @ 2..=3, b @ 2..=3]) => Some((a.max(b), most)),
        (Instruction::Mul, [2, 2]) | (Instruction::Square, [2]) => Some((3, most)),
        (Instruction::AddPlain | Instruction::MulPlain, &[a @ 2..=3, 1..=2]) => Some((a, most)),
        (Instruction::Relin, [3]) | (Instruction::Rotate(_), [2]) => Some((2, most)),
        (Instruction::Rescale | Instruction::ModSwitch, &[a @ 2..=3]) if out.limbs < most => Some((a, out.limbs)),
        (Instruction::Ntt | Instruction::Intt, &[a]) => Some((a, most)),
        _ => None,
    };
    let alike = limbs.iter().skip(1).all(|&l| l == most || plain && l >= most);
    if wanted == Some((out.parts, out.limbs)) && alike {
        return Ok(());
    }
    let all: Vec<String> = operands.iter().map(text).collect();
    Err(format!("{} cannot come of {}: polynomials and primes do not go together", text(out), all.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> Result<Trace, String> {
        read(text.as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn published_traces_are_read() {
        // The three forms of headings and operands in the traces of the tutorials and of the assembler's tests.
        let heading = "instruction,scheme,poly_modulus_degree,rns_terms,cipher_degree,arg0,arg1,arg2";
        let lines = "mul,CKKS,16384,3,ct2-3-2,ct0-2-2,ct1-2-2\nrelin,CKKS,16384,3,ct3-2-2,ct2-3-2\nrescale,CKKS,16384,3,ct4-2-1,ct3-2-2\n";
        let read = trace(&format!("{heading}\n{lines}")).unwrap();
        assert_eq!((read.log_n, read.limbs, read.special, read.dnum, read.lines.len()), (14, 2, 1, 2, 3));
        let rotate = trace("instruction,scheme,n\r\nrotate,BGV,65536,28,ct1-2-27,ct0-2-27,65535\r\n").unwrap();
        assert_eq!((rotate.lines[0].instruction, rotate.dnum), (Instruction::Rotate(65535), 27));
        let fixture =
            "instruction,scheme,poly_modulus_degree,keyrns_terms,arg0\nadd,BGV,8192,2,ct4-2-1,ct0-2-1,ct1-2-1\n";
        assert_eq!(trace(fixture).unwrap().lines[0].number, 2);
        // Lines may be padded to the length of the heading.
        let late = trace("\u{feff}\r\n\nInstruction,scheme\nadd,BGV,8192,2,ct4-2-1,ct0-2-1,ct1-2-1\n").unwrap();
        assert_eq!(late.lines[0].number, 4);
        // Without a key no prime is wanted for one.
        let all = trace("add,CKKS,16384,3,c-2-3,a-2-3,b-2-3\nrotate,CKKS,16384,3,d-2-3,c-2-3,1\n").unwrap();
        assert_eq!((all.limbs, all.special), (3, 1));
        let padded = trace("h,instruction\nmod_switch,BGV,16384,3,a-2-1,b-2-2,,,,,,,,\n").unwrap();
        assert_eq!((padded.scheme, padded.lines[0].instruction), (Scheme::Bgv, Instruction::ModSwitch));
        let keys = trace("relin,CKKS,16384,30,a-2-24,b-3-24,6,24,4\n").unwrap();
        assert_eq!((keys.limbs, keys.special, keys.dnum), (24, 6, 4));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            ("", "has no instruction"),
            ("add,CKKS,16384", "line 1: 3 fields"),
            ("add,BFV,16384,3,c-2-2,a-2-2,b-2-2", "line 1: scheme BFV"),
            ("add,CKKS,16000,3,c-2-2,a-2-2,b-2-2", "N = 16000"),
            ("add,CKKS,16384,1,c-2-2,a-2-2,b-2-2", "1 primes"),
            ("fold,CKKS,16384,3,c-2-2,a-2-2,b-2-2", "no instruction \"fold\""),
            ("rescale,BGV,16384,3,c-2-1,a-2-2", "line 1: rescale is an instruction of CKKS"),
            ("ntt,BGV,16384,3,c-3-2,a-2-2", "do not go together"),
            ("intt,BGV,16384,3,c-2-2", "got a result and 0"),
            ("add,BGV,16384,three,c-2-2,a-2-2,b-2-2", "three primes"),
            ("add,BGV,big,3,c-2-2,a-2-2,b-2-2", "N = big"),
            ("add,BGV,16384,3,c-2-x,a-2-2,b-2-2", "is no operand"),
            ("add,BGV,16384,3,c-2-2,a-2-2,b-2-2\nmul,CKKS,16384,3,d-3-2,c-2-2,b-2-2", "line 2: another scheme"),
            ("add,CKKS,16384,3,c-2-2,a-2-2", "got a result and 1"),
            ("add,CKKS,16384,3,c-2-2,a-2-2,b", "\"b\" is no operand"),
            ("add,CKKS,16384,3,c-2-2,a-2-2,b-9-2", "is no operand"),
            ("add,CKKS,16384,3,c-2-2,a-2-2,b-2-1", "do not go together"),
            ("mul,CKKS,16384,3,c-2-2,a-2-2,b-2-2", "c-2-2 cannot come of"),
            ("rescale,CKKS,16384,3,c-2-2,a-2-2", "do not go together"),
            ("rotate,CKKS,16384,3,c-2-2,a-2-2", "Galois element"),
            ("rotate,CKKS,16384,3,c-2-2,a-2-2,4", "Galois element"),
            ("rotate,CKKS,16384,3,c-2-2,a-2-2,5,1", "numbers at the end"),
            ("relin,CKKS,16384,30,a-2-24,b-3-24,6,24,0", "dnum 0"),
            ("relin,CKKS,16384,30,a-2-24,b-3-24,7,24,4", "do not go with 30 primes"),
            ("rotate,CKKS,16384,3,c-2-3,a-2-3,5", "no prime is left"),
            ("add,CKKS,16384,3,c-2-4,a-2-4,b-2-4", "no prime is left"),
            ("add,CKKS,16384,3,c-2-2,a-2-2,b-2-2\nadd,CKKS,32768,3,c-2-2,a-2-2,b-2-2", "line 2: another N"),
        ];
        for (text, wanted) in cases {
            let error = trace(text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        assert!(trace(&"x".repeat(5000)).unwrap_err().contains("bytes"));
        assert!(read(&b"add,\xff\n"[..]).unwrap_err().to_string().contains("UTF-8"));
    }
}
