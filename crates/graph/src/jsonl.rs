//! The file format: JSON lines, described in `docs/graph-format.md`.
//!
//! Files are read line by line with bounded sizes; an error names the line and the field.

use crate::{
    graph::{Annotation, Graph, LWE, NEVER, Node, NodeId, RegionId, RegionInfo, ShapeId, count},
    op::Op,
};
use limbwise_device::{Basis, Domain, LweShape, Ring, RingSpec, Shape};
use serde_json::{Map, Value};
use std::io::{self, BufRead, Read, Write};

/// Version written; no other is read.
pub const VERSION: u64 = 1;
/// Longest line in bytes.
const LINE_BYTES: u64 = 1 << 20;
/// Largest batch of a shape.
const MOST_BATCH: u64 = 1 << 20;
/// Largest number of rows of a shape.
const MOST_ROWS: usize = 1 << 22;
/// Deepest nesting of regions.
const DEEPEST: usize = 64;
/// Largest number of words in a batch of LWE ciphertexts.
const MOST_LWE_WORDS: u64 = 1 << 30;
/// Largest number of nodes.
const MOST_NODES: u64 = 1 << 26;

/// Reasons why a graph file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A missing, unknown or invalid field.
    #[error("graph file, line {line}, field \"{field}\": {problem} (format: docs/graph-format.md)")]
    Field {
        /// Number of the line, from 1.
        line: usize,
        /// Name of the field.
        field: String,
        /// Description of the problem.
        problem: String,
    },
    /// A line that is no JSON object, or too many or too few lines.
    #[error("graph file, line {line}: {problem} (format: docs/graph-format.md)")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Description of the problem.
        problem: String,
    },
    /// The system cannot read the file.
    #[error("graph file: {0}")]
    Io(#[from] io::Error),
}

impl Graph {
    /// Writes the graph as JSON lines.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_jsonl(&self, mut out: impl Write) -> io::Result<()> {
        let (rings, shapes, regions, nodes) =
            (self.rings.len(), self.shapes.len(), self.regions.len() - 1, self.nodes.len());
        let lwe = match self.lwe_shapes.len() {
            0 => String::new(),
            count => format!(r#""lwe_shapes":{count},"#),
        };
        writeln!(
            out,
            r#"{{"format":"limbwise-graph","version":{VERSION},"rings":{rings},"shapes":{shapes},{lwe}"regions":{regions},"nodes":{nodes}}}"#
        )?;
        for ring in &self.rings {
            let RingSpec { log_n, primes } = ring.spec();
            let primes = Value::from(primes.as_slice());
            writeln!(out, r#"{{"log_n":{log_n},"primes":{primes}}}"#)?;
        }
        for shape in &self.shapes {
            let ring = self.rings.iter().take_while(|&r| *r != shape.ring).count();
            let (basis, batch, domain) = (shape.basis.0, shape.batch, domain_name(shape.domain));
            writeln!(out, r#"{{"ring":{ring},"basis":"{basis:#x}","batch":{batch},"domain":"{domain}"}}"#)?;
        }
        for LweShape { dimension, modulus, batch } in &self.lwe_shapes {
            writeln!(out, r#"{{"dimension":{dimension},"modulus":{modulus},"batch":{batch}}}"#)?;
        }
        for RegionInfo { parent, name, index, entered, .. } in &self.regions[1..] {
            let (parent, name) = (parent.0, Value::from(name.as_str()));
            writeln!(out, r#"{{"parent":{parent},"name":{name},"index":{index},"entered":{entered}}}"#)?;
        }
        for (id, node) in self.ids().zip(&self.nodes) {
            self.write_node(&mut out, id, node)?;
        }
        out.flush()
    }

    fn write_node(&self, out: &mut impl Write, id: NodeId, node: &Node) -> io::Result<()> {
        write!(
            out,
            r#"{{"op":"{}","shape":{},"region":{},"args":["#,
            node.op.name(),
            node.shape.0 & !LWE,
            node.region.0
        )?;
        for (i, operand) in self.operands(id).iter().enumerate() {
            write!(out, "{}{}", if i > 0 { "," } else { "" }, operand.0)?;
        }
        write!(out, "]")?;
        if node.op.is_input() {
            write!(out, r#","role":"{}""#, ROLES[usize::from(node.role)])?;
        }
        if let Some(field) = attribute_field(node.op, node.role) {
            write!(out, r#","{field}":{}"#, node.attribute)?;
        }
        if node.freed != NEVER {
            write!(out, r#","freed":{}"#, node.freed)?;
        }
        writeln!(out, "}}")
    }

    /// Reads JSON lines. Memory grows with the lines present, not with the sizes in the header.
    ///
    /// # Errors
    /// [`GraphError`] for any violation of the format.
    pub fn read_jsonl(input: impl BufRead) -> Result<Self, GraphError> {
        let mut lines = Lines { input, line: 0 };
        let mut graph = Self::default();
        let mut header = lines.object()?;
        if header.text("format")? != "limbwise-graph" {
            return Err(header.wrong("format", "only \"limbwise-graph\" is read"));
        }
        let version = header.number("version", u64::MAX)?;
        if version != VERSION {
            return Err(header.wrong("version", format!("version {version} is not known, this reads {VERSION}")));
        }
        let mut size = |field, most| header.number(field, most);
        let (rings, shapes) = (size("rings", 1 << 10)?, size("shapes", 1 << 20)?);
        let lwe_shapes = if header.map.contains_key("lwe_shapes") { header.number("lwe_shapes", 1 << 20)? } else { 0 };
        let mut size = |field, most| header.number(field, most);
        let (regions, nodes) = (size("regions", 1 << 24)?, size("nodes", MOST_NODES)?);
        header.end()?;
        for _ in 0..rings {
            graph.read_ring(lines.object()?)?;
        }
        for _ in 0..shapes {
            graph.read_shape(lines.object()?)?;
        }
        for _ in 0..lwe_shapes {
            graph.read_lwe_shape(lines.object()?)?;
        }
        for _ in 0..regions {
            graph.read_region(lines.object()?)?;
        }
        for _ in 0..nodes {
            graph.read_node(lines.object()?)?;
        }
        if !lines.next()?.is_empty() {
            return Err(lines.wrong("the header announces fewer lines"));
        }
        Ok(graph)
    }

    fn read_ring(&mut self, mut fields: Fields) -> Result<(), GraphError> {
        let log_n = fields.small("log_n", 63)?;
        let primes = fields.list("primes", 128, u64::MAX)?;
        let ring = Ring::new(&RingSpec { log_n, primes }).map_err(|e| fields.wrong("primes", e.to_string()))?;
        if self.rings.contains(&ring) {
            return Err(fields.wrong("primes", "this ring is listed already"));
        }
        self.rings.push(ring);
        fields.end()
    }

    fn read_shape(&mut self, mut fields: Fields) -> Result<(), GraphError> {
        let ring = fields.small("ring", self.rings.len() as u64)? as usize;
        let ring = self.rings.get(ring).ok_or_else(|| fields.wrong("ring", "no such ring"))?.clone();
        let text = fields.text("basis")?;
        let bits = text.strip_prefix("0x").and_then(|hex| u128::from_str_radix(hex, 16).ok());
        let basis = bits.map(Basis).filter(|b| !b.is_empty() && b.is_subset(ring.full()));
        let basis = basis.ok_or_else(|| fields.wrong("basis", "a set of the ring's primes as \"0x…\" is wanted"))?;
        let batch = fields.small("batch", MOST_BATCH)? as usize;
        if batch == 0 || batch * basis.len() > MOST_ROWS {
            return Err(fields.wrong("batch", format!("at least 1 is wanted, and at most {MOST_ROWS} limbs in all")));
        }
        let name = fields.text("domain")?;
        let domain = [Domain::Coeff, Domain::Eval].into_iter().find(|&d| domain_name(d) == name);
        let domain = domain.ok_or_else(|| fields.wrong("domain", "\"coeff\" or \"eval\" is wanted"))?;
        let known = self.shapes.len();
        self.intern(&Shape { ring, basis, batch, domain });
        if self.shapes.len() == known {
            return Err(fields.wrong("basis", "this shape is listed already"));
        }
        fields.end()
    }

    fn read_lwe_shape(&mut self, mut fields: Fields) -> Result<(), GraphError> {
        let dimension = fields.small("dimension", MOST_LWE_WORDS)? as usize;
        let modulus = fields.number("modulus", 1 << 62)?;
        let batch = fields.small("batch", MOST_LWE_WORDS)? as usize;
        let shape = LweShape { dimension, modulus, batch };
        if !shape.is_valid() || shape.bytes() / 8 > MOST_LWE_WORDS {
            let wanted =
                format!("a mask and a batch of at least 1, a modulus of 2 to 2^62, {MOST_LWE_WORDS} words at most");
            return Err(fields.wrong("dimension", format!("{wanted} are wanted")));
        }
        if self.lwe_shapes.contains(&shape) {
            return Err(fields.wrong("dimension", "this shape is listed already"));
        }
        self.lwe_shapes.push(shape);
        fields.end()
    }

    fn read_region(&mut self, mut fields: Fields) -> Result<(), GraphError> {
        let parent = RegionId(fields.small("parent", self.regions.len() as u64 - 1)?);
        let outwards = |r: &RegionId| (*r != RegionId::ROOT).then(|| self.regions[r.index()].parent);
        if std::iter::successors(Some(parent), outwards).nth(DEEPEST).is_some() {
            return Err(fields.wrong("parent", format!("regions nest at most {DEEPEST} deep")));
        }
        let name = fields.text("name")?;
        let (index, entered) =
            (fields.small("index", u64::from(u32::MAX))?, fields.small("entered", u64::from(u32::MAX))?);
        self.regions.push(RegionInfo { parent, name, index, entered, rows: 0 });
        fields.end()
    }

    fn read_node(&mut self, mut fields: Fields) -> Result<(), GraphError> {
        let name = fields.text("op")?;
        let op = Op::from_name(&name).ok_or_else(|| fields.wrong("op", format!("no operation \"{name}\"")))?;
        let (listed, kind) = if op.makes_lwe() { (self.lwe_shapes.len(), LWE) } else { (self.shapes.len(), 0) };
        let shape = fields.small("shape", (listed as u64).saturating_sub(1))? | kind;
        if listed == 0 {
            return Err(fields.wrong("shape", "no shape is listed"));
        }
        let region = fields.small("region", self.regions.len() as u64 - 1)?;
        let args = fields.list("args", 1 << 16, u64::from(NEVER - 1))?;
        let args: Vec<NodeId> = args.into_iter().filter_map(|x| u32::try_from(x).ok()).map(NodeId).collect();
        let role = if op.is_input() {
            let text = fields.text("role")?;
            let code = (0..5).zip(ROLES).find(|(_, role)| *role == text).map(|(code, _)| code);
            code.ok_or_else(|| fields.wrong("role", format!("one of {ROLES:?} is wanted")))?
        } else {
            3
        };
        let attribute = match attribute_field(op, role) {
            Some(field) => fields.small(field, u64::from(u32::MAX))?,
            None => 0,
        };
        let freed = if fields.map.contains_key("freed") { fields.small("freed", MOST_NODES)? } else { NEVER };
        let (shape, region) = (ShapeId(shape), RegionId(region));
        let node = Node { op, role, shape, region, operands_end: 0, attribute, freed };
        self.check_node(&node, &args).map_err(|(field, problem)| fields.wrong(field, problem))?;
        let id = self.push(op, Annotation { role, attribute }, shape, region, &args);
        self.nodes[id.index()].freed = freed;
        count(self.operands.len());
        fields.end()
    }
}

const ROLES: [&str; 5] = ["ciphertext", "plaintext", "evaluation_key", "temporary", "bootstrap_key"];

/// The name of a node's attribute in files, if its operation has one.
fn attribute_field(op: Op, role: u8) -> Option<&'static str> {
    match op.recorded_operand() {
        Some("role") => (role == 2 || role == 4).then_some("key"),
        other => other,
    }
}

fn domain_name(domain: Domain) -> &'static str {
    match domain {
        Domain::Coeff => "coeff",
        Domain::Eval => "eval",
    }
}

struct Lines<R> {
    input: R,
    line: usize,
}

impl<R: BufRead> Lines<R> {
    /// The next line, empty at the end.
    fn next(&mut self) -> Result<String, GraphError> {
        self.line += 1;
        let mut bytes = Vec::new();
        self.input.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes)?;
        if bytes.len() as u64 == LINE_BYTES && !bytes.ends_with(b"\n") {
            return Err(self.wrong("a line has at most 2^20 bytes"));
        }
        String::from_utf8(bytes).map_err(|_| self.wrong("not UTF-8 text"))
    }

    fn object(&mut self) -> Result<Fields, GraphError> {
        let text = self.next()?;
        if text.is_empty() {
            return Err(self.wrong("the file ends early: its header announces more lines"));
        }
        match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => Ok(Fields { line: self.line, map }),
            Ok(_) => Err(self.wrong("a JSON object is wanted")),
            Err(e) => Err(self.wrong(&format!("a JSON object is wanted: {e}"))),
        }
    }

    fn wrong(&self, problem: &str) -> GraphError {
        GraphError::Line { line: self.line, problem: problem.into() }
    }
}

/// The fields of a line. Reading removes a field, so the remaining ones are unknown.
struct Fields {
    line: usize,
    map: Map<String, Value>,
}

impl Fields {
    fn wrong(&self, field: &str, problem: impl Into<String>) -> GraphError {
        GraphError::Field { line: self.line, field: field.into(), problem: problem.into() }
    }

    fn take(&mut self, field: &str) -> Result<Value, GraphError> {
        self.map.remove(field).ok_or_else(|| self.wrong(field, "missing"))
    }

    fn text(&mut self, field: &str) -> Result<String, GraphError> {
        match self.take(field)? {
            Value::String(text) => Ok(text),
            other => Err(self.wrong(field, format!("a string is wanted, got {other}"))),
        }
    }

    fn number(&mut self, field: &str, most: u64) -> Result<u64, GraphError> {
        let value = self.take(field)?;
        value
            .as_u64()
            .filter(|&x| x <= most)
            .ok_or_else(|| self.wrong(field, format!("an integer from 0 to {most} is wanted, got {value}")))
    }

    fn small(&mut self, field: &str, most: u64) -> Result<u32, GraphError> {
        let value = self.number(field, most.min(u64::from(u32::MAX)))?;
        Ok(u32::try_from(value).expect("bounded by 2^32 − 1"))
    }

    fn list(&mut self, field: &str, longest: usize, most: u64) -> Result<Vec<u64>, GraphError> {
        let problem = || format!("a list of at most {longest} integers from 0 to {most} is wanted");
        let Value::Array(items) = self.take(field)? else { return Err(self.wrong(field, problem())) };
        let numbers: Option<Vec<u64>> = items.iter().map(|x| x.as_u64().filter(|&x| x <= most)).collect();
        numbers.filter(|list| list.len() <= longest).ok_or_else(|| self.wrong(field, problem()))
    }

    fn end(self) -> Result<(), GraphError> {
        match self.map.keys().next() {
            Some(field) => Err(self.wrong(field, "unknown")),
            None => Ok(()),
        }
    }
}
