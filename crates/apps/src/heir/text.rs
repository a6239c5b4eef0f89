//! Reads MLIR in its generic form \[HEIR\]: `%r = "dialect.name"(%a, %b) <{properties}> ({regions}) {attributes} : (T, T) -> T`.
//!
//! One pass with a stack, so that no text makes it recurse. Each name of a value becomes a number, which is looked up where
//! it is used: an operand that nothing defines is found here, whether or not its operation is ever executed. Attributes and
//! types stay text; who needs one reads it.

use std::{collections::HashMap, sync::Arc};

/// Longest text that is read, in bytes.
pub const MOST_BYTES: usize = 64 << 20;
/// Most operations, and deepest nesting of regions.
const MOST_OPS: usize = 4_000_000;
const MOST_DEPTH: usize = 64;

/// What is wrong with a program, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct HeirError {
    /// Line number from 1; `None` if the problem has no line.
    pub line: Option<usize>,
    pub problem: String,
}

impl HeirError {
    pub(super) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }

    pub(super) fn of_all(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }
}

pub(super) type Read<T> = Result<T, HeirError>;

/// A value: its definition, counted through the text.
pub(super) type Slot = u32;

/// A use of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) slot: Slot,
    /// Whether it stands in the block of the definition: if it is the only use, the value can be taken.
    at_home: bool,
}

/// An operation.
#[derive(Debug, Default)]
pub(super) struct Op<'t> {
    pub(super) line: usize,
    pub(super) name: &'t str,
    pub(super) results: Vec<Slot>,
    pub(super) operands: Vec<Use>,
    /// Properties and attributes, by name, as text.
    attributes: Vec<(&'t str, &'t str)>,
    pub(super) regions: Vec<Region<'t>>,
    /// Types of operands and of results, as text.
    pub(super) takes: Vec<&'t str>,
    pub(super) gives: Vec<&'t str>,
}

/// A region of one block.
#[derive(Debug, Default)]
pub(super) struct Region<'t> {
    pub(super) arguments: Vec<Slot>,
    /// Their types.
    pub(super) types: Vec<&'t str>,
    pub(super) ops: Vec<Op<'t>>,
}

impl<'t> Op<'t> {
    pub(super) fn attribute(&self, name: &str) -> Option<&'t str> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    pub(super) fn needs(&self, name: &str) -> Read<&'t str> {
        let missing = || HeirError::at(self.line, format!("{} without the attribute {name:?}", self.name));
        self.attribute(name).ok_or_else(missing)
    }

    pub(super) fn wrong(&self, problem: impl std::fmt::Display) -> HeirError {
        HeirError::at(self.line, format!("{}: {problem}", self.name))
    }
}

/// A text, read.
#[derive(Debug, Default)]
pub(super) struct Module<'t> {
    /// The operation that holds all others.
    pub(super) top: Op<'t>,
    /// `#name = …` and `!name = …`, with their sign.
    pub(super) aliases: HashMap<&'t str, &'t str>,
    /// `name: "0x…"` of the resources at the end.
    pub(super) resources: HashMap<&'t str, &'t str>,
    /// Uses of each value.
    uses: Vec<u32>,
}

impl<'t> Module<'t> {
    pub(super) fn parse(text: &'t str) -> Read<Self> {
        if text.len() > MOST_BYTES {
            let long = format!("{} bytes of text; at most {MOST_BYTES} are read", text.len());
            return Err(HeirError::of_all(long));
        }
        let mut reader =
            Reader { text, at: 0, line: 1, module: Self::default(), names: HashMap::new(), homes: Vec::new() };
        reader.module()?;
        Ok(reader.module)
    }

    /// Number of values.
    pub(super) fn values(&self) -> usize {
        self.uses.len()
    }

    /// Whether this use is the last one of its value, whatever loops do.
    pub(super) fn is_last(&self, operand: Use) -> bool {
        operand.at_home && self.uses[operand.slot as usize] == 1
    }

    /// A text that may be the name of another, which it stands for.
    pub(super) fn resolved<'a>(&'a self, text: &'a str) -> &'a str {
        self.aliases.get(text.trim()).copied().unwrap_or(text)
    }
}

/// An operation whose regions are being read.
struct Frame<'t> {
    op: Op<'t>,
    results: Vec<(&'t str, u32)>,
    region: Region<'t>,
    /// Names that the region hides, to be restored where it ends.
    hidden: Vec<(&'t str, Option<Name>)>,
}

#[derive(Clone, Copy)]
struct Name {
    first: Slot,
    count: u32,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    module: Module<'t>,
    names: HashMap<&'t str, Name>,
    /// The depth at which each value was defined, with the number of its block.
    homes: Vec<u32>,
}

impl<'t> Reader<'t> {
    fn wrong<T>(&self, problem: impl Into<String>) -> Read<T> {
        Err(HeirError::at(self.line, problem))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        self.line += self.text[self.at..self.at + bytes].bytes().filter(|&b| b == b'\n').count();
        self.at += bytes;
    }

    /// Skips blanks and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.advance(blank);
            } else if rest.starts_with("//") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else {
                return;
            }
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(token);
        if found {
            self.advance(token.len());
        }
        found
    }

    fn expect(&mut self, token: &str, of: &str) -> Read<()> {
        if self.eat(token) {
            return Ok(());
        }
        let got: String = self.rest().chars().take(20).collect();
        let got = if got.is_empty() { "the end of the text".to_owned() } else { format!("{got:?}") };
        self.wrong(format!("{of}: wanted {token:?}, got {got} (the generic form: heir-opt --mlir-print-op-generic)"))
    }

    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_$.-".contains(c))).unwrap_or(rest.len());
        self.advance(end);
        &rest[..end]
    }

    fn string(&mut self, of: &str) -> Read<&'t str> {
        self.expect("\"", of)?;
        let rest = self.rest();
        let Some(length) = quoted(rest) else { return self.wrong(format!("{of}: a string without its end")) };
        self.advance(length + 1);
        Ok(&rest[..length])
    }

    /// Text up to one of the stops outside of brackets and strings; the stop stays.
    fn balanced(&mut self, stops: &[u8], of: &str) -> Read<&'t str> {
        self.skip();
        let (bytes, start, mut at, mut depth) = (self.text.as_bytes(), self.at, self.at, 0usize);
        while let Some(&byte) = bytes.get(at) {
            if depth == 0 && stops.contains(&byte) {
                break;
            }
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b'<' if bytes.get(at + 1) != Some(&b'=') => depth += 1,
                b'>' if bytes.get(at + 1) == Some(&b'=') || (at > 0 && bytes[at - 1] == b'-') => {}
                b')' | b']' | b'}' | b'>' if depth == 0 => break,
                b')' | b']' | b'}' | b'>' => depth -= 1,
                b'"' => match quoted(&self.text[at + 1..]) {
                    Some(length) => at += length + 1,
                    None => return self.wrong(format!("{of}: a string without its end")),
                },
                _ => {}
            }
            at += 1;
        }
        if depth > 0 {
            return self.wrong(format!("{of}: a bracket without its end"));
        }
        self.advance(at - start);
        Ok(self.text[start..at].trim_end())
    }

    fn define(&mut self, name: &'t str, count: u32, frames: &mut [Frame<'t>], block: u32) -> Read<Vec<Slot>> {
        let first = self.module.uses.len();
        if first + count as usize > 4 * MOST_OPS {
            return self.wrong(format!("more than {} values", 4 * MOST_OPS));
        }
        let first = Slot::try_from(first).expect("far below 2^32");
        self.module.uses.resize(self.module.uses.len() + count as usize, 0);
        self.homes.resize(self.module.uses.len(), block);
        let hidden = self.names.insert(name, Name { first, count });
        if let Some(frame) = frames.last_mut() {
            frame.hidden.push((name, hidden));
        }
        Ok((first..first + count).collect())
    }

    /// `%name`, without its sign.
    fn name(&mut self, of: &str) -> Read<&'t str> {
        self.expect("%", of)?;
        Ok(self.word())
    }

    fn operand(&mut self, block: u32, of: &str) -> Read<Use> {
        let name = self.name(of)?;
        let index = if self.rest().starts_with('#') {
            self.advance(1);
            self.word().parse().unwrap_or(u32::MAX)
        } else {
            0
        };
        match self.names.get(name) {
            Some(found) if index < found.count => {
                let slot = found.first + index;
                let uses = &mut self.module.uses[slot as usize];
                *uses = uses.saturating_add(1);
                Ok(Use { slot, at_home: self.homes[slot as usize] == block })
            }
            _ => self.wrong(format!("{of}: operand %{name}, which nothing before it defines")),
        }
    }

    fn module(&mut self) -> Read<()> {
        let mut frames: Vec<Frame<'t>> = Vec::new();
        let (mut ops, mut blocks) = (0, 0);
        // The block that is being read, for each frame.
        let mut block = vec![0];
        loop {
            match self.peek() {
                None if frames.is_empty() => return self.wrong("a text without an operation"),
                None => return self.wrong("the text ends inside of a region"),
                Some(b'#' | b'!') if frames.is_empty() => {
                    self.alias()?;
                    continue;
                }
                Some(b'}') if !frames.is_empty() => {
                    self.advance(1);
                    let mut frame = frames.pop().expect("there is one");
                    block.pop();
                    for (name, before) in frame.hidden.drain(..).rev() {
                        match before {
                            Some(before) => self.names.insert(name, before),
                            None => self.names.remove(name),
                        };
                    }
                    frame.op.regions.push(std::mem::take(&mut frame.region));
                    if self.eat(",") {
                        blocks += 1;
                        self.region(&mut frames, &mut block, frame, blocks)?;
                        continue;
                    }
                    self.expect(")", frame.op.name)?;
                    if self.finish(frame.op, &frame.results, &mut frames, &block)? {
                        return self.end();
                    }
                }
                Some(b'^') => {
                    return self
                        .wrong("a region of several blocks; wanted structured loops and branches (scf, affine)");
                }
                _ => {
                    ops += 1;
                    if ops > MOST_OPS {
                        return self.wrong(format!("more than {MOST_OPS} operations"));
                    }
                    let (op, results) = self.head(*block.last().expect("never empty"))?;
                    if self.eat("(") {
                        blocks += 1;
                        let frame = Frame { op, results, region: Region::default(), hidden: Vec::new() };
                        self.region(&mut frames, &mut block, frame, blocks)?;
                    } else if self.finish(op, &results, &mut frames, &block)? {
                        return self.end();
                    }
                }
            }
        }
    }

    /// Begins a region: `{`, and the arguments of its block.
    fn region(&mut self, frames: &mut Vec<Frame<'t>>, block: &mut Vec<u32>, frame: Frame<'t>, number: u32) -> Read<()> {
        let name = frame.op.name;
        if frames.len() >= MOST_DEPTH {
            return self.wrong(format!("{name}: regions nested deeper than {MOST_DEPTH}"));
        }
        self.expect("{", name)?;
        frames.push(frame);
        block.push(number);
        if self.peek() != Some(b'^') {
            return Ok(());
        }
        self.advance(1);
        self.word();
        if self.eat("(") {
            while !self.eat(")") {
                let argument = self.name("an argument of a block")?;
                self.expect(":", "an argument of a block")?;
                let of_type = self.balanced(b",)", "an argument of a block")?;
                let slots = self.define(argument, 1, frames, number)?;
                let region = &mut frames.last_mut().expect("just pushed").region;
                region.arguments.extend(slots);
                region.types.push(of_type);
                self.eat(",");
            }
        }
        self.expect(":", "the label of a block")
    }

    /// Results, name, operands and properties.
    fn head(&mut self, block: u32) -> Read<(Op<'t>, Vec<(&'t str, u32)>)> {
        let mut results = Vec::new();
        if self.peek() == Some(b'%') {
            loop {
                let name = self.name("a result")?;
                let count = if self.eat(":") { self.skipped_word().parse().unwrap_or(0) } else { 1 };
                if !(1..=65_536).contains(&count) {
                    return self.wrong(format!("%{name}: wanted 1 to 65536 results"));
                }
                results.push((name, count));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("=", "results")?;
        }
        let line = self.line;
        let name = self.string("an operation")?;
        let mut op = Op { line, name, ..Op::default() };
        self.expect("(", name)?;
        while !self.eat(")") {
            op.operands.push(self.operand(block, name)?);
            self.eat(",");
        }
        if self.peek() == Some(b'[') {
            return self.wrong(format!("{name}: branches between blocks; wanted structured loops (scf, affine)"));
        }
        if self.eat("<{") {
            self.attributes(&mut op)?;
            self.expect(">", name)?;
        }
        Ok((op, results))
    }

    fn skipped_word(&mut self) -> &'t str {
        self.skip();
        self.word()
    }

    /// `name = value, …}`.
    fn attributes(&mut self, op: &mut Op<'t>) -> Read<()> {
        while !self.eat("}") {
            let key = if self.peek() == Some(b'"') { self.string(op.name)? } else { self.skipped_word() };
            if key.is_empty() {
                return self.expect("}", op.name);
            }
            let value = if self.eat("=") { self.balanced(b",}", op.name)? } else { "" };
            op.attributes.push((key, value));
            self.eat(",");
        }
        Ok(())
    }

    /// Attributes and types; gives the operation to what holds it. True if nothing does.
    fn finish(
        &mut self,
        mut op: Op<'t>,
        results: &[(&'t str, u32)],
        frames: &mut [Frame<'t>],
        block: &[u32],
    ) -> Read<bool> {
        if self.eat("{") {
            self.attributes(&mut op)?;
        }
        let name = op.name;
        self.expect(":", name)?;
        self.expect("(", name)?;
        while !self.eat(")") {
            op.takes.push(self.balanced(b",)", name)?);
            self.eat(",");
        }
        self.expect("->", name)?;
        if self.eat("(") {
            while !self.eat(")") {
                op.gives.push(self.balanced(b",)", name)?);
                self.eat(",");
            }
        } else {
            op.gives.push(self.balanced(b"\n ,)", name)?);
        }
        if self.eat("loc(") {
            self.balanced(b")", name)?;
            self.expect(")", name)?;
        }
        for (result, count) in results {
            op.results.extend(self.define(result, *count, frames, *block.last().expect("never empty"))?);
        }
        for (got, wanted, what) in
            [(op.takes.len(), op.operands.len(), "operands"), (op.gives.len(), op.results.len(), "results")]
        {
            if got != wanted {
                return Err(op.wrong(format!("types of {got} {what}, of which it has {wanted}")));
            }
        }
        match frames.last_mut() {
            Some(frame) => {
                frame.region.ops.push(op);
                Ok(false)
            }
            None => {
                self.module.top = op;
                Ok(true)
            }
        }
    }

    /// `#name = …` or `!name = …` up to the end of its line.
    fn alias(&mut self) -> Read<()> {
        let start = self.at;
        self.advance(1);
        self.word();
        let name = &self.text[start..self.at];
        self.expect("=", name)?;
        let value = self.balanced(b"\n", name)?;
        self.module.aliases.insert(name, value);
        Ok(())
    }

    /// After the last operation: locations and resources.
    fn end(&mut self) -> Read<()> {
        while let Some(byte) = self.peek() {
            if matches!(byte, b'#' | b'!') {
                self.alias()?;
                continue;
            }
            self.expect("{-#", "the end of the text")?;
            let rest = self.rest();
            let end = rest.find("#-}").ok_or_else(|| HeirError::at(self.line, "resources without their end"))?;
            for part in rest[..end].split('"').collect::<Vec<_>>().chunks_exact(2) {
                let name = part[0].trim_end().trim_end_matches(':');
                let name = name.rsplit([' ', '\n', ',', '{']).next().unwrap_or(name);
                self.module.resources.insert(name, part[1]);
            }
            self.advance(end + 3);
        }
        Ok(())
    }
}

/// Length of a string up to its end.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// A text that several own.
pub type Text = Arc<str>;
