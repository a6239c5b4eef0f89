//! A recorded program as a FHETCH trace: one instruction a line on one residue polynomial.
//!
//! Every value of the graph is rows, one for each message and prime; a row has an address, and views share addresses. Base
//! conversion has no instruction. It becomes mixed radix digits: half of the source modulus is added, the digits are
//! computed prime by prime, their value is taken modulo each target, and half is subtracted. All of it is sums and products
//! modulo one prime, and the result is the centered lift that the seam asks for.
//! Differs: the seam takes fractions to 48 bits, so that coefficients within 2^−46 of half the source modulus may be lifted
//! to the other side.

use crate::{error::Result, server::Server};
use limbwise::{
    rlwe::{DeclaredKeys, KeyForm, KeyPlan},
    scheme::{Ckks, Keys, Scheme as _},
};
use limbwise_apps::Program;
use limbwise_device::{Basis, Domain, Null, Role, Shape};
use limbwise_graph::{Graph, NodeId, Op, Recorder};
use limbwise_math::{modulus::Modulus, prime::primitive_root};
use std::{
    collections::{BTreeSet, HashMap},
    io::{self, Write},
};

/// The entry of the table of moduli that means none.
const NONE: u64 = u64::MAX;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub instructions: u64,
    /// Residue polynomials that come from outside.
    pub inputs: u64,
}

/// Why a program has no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FhetchError {
    #[error("FHETCH has no instruction for {0} (only programs on CKKS or BGV ciphertexts have traces)")]
    Lacks(&'static str),
    #[error("the constants of node {0} were not kept: record with Recorder::with_constants")]
    Constants(u32),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the trace of a CKKS program: recorded with its keys whole, its results as outputs.
pub fn program<P: Program<Scheme = Ckks>>(
    out: impl Write,
    program: &P,
) -> Result<std::result::Result<Written, FhetchError>> {
    let params = program.params();
    let encoder = Ckks::encoder(params);
    let asked = {
        let null = Null::default();
        let keys = DeclaredKeys::all(&null, params);
        Server::declared(&null, &encoder, program)?.rehearse(&keys, program.encryption())?;
        keys.requirements()
    };
    let recorder = Recorder::new(Null::default()).with_constants();
    let keys = DeclaredKeys::exactly(&recorder, params, &KeyPlan { required: asked, form: KeyForm::Stored });
    let server = Server::declared(&recorder, &encoder, program)?;
    let inputs = server.declared_inputs(program.encryption())?;
    let results = server.evaluate(Keys { store: &keys, bootstrap: None, watch: None }, &inputs, &mut (), &mut ())?;
    let outputs: Vec<NodeId> = results.iter().flat_map(|result| result.parts.iter().map(|part| part.node())).collect();
    Ok(write(out, &recorder.graph(), &recorder.constants(), &outputs))
}

/// Writes the trace of a graph with these constants; the outputs are named in comments at its end.
///
/// # Errors
/// [`FhetchError`] for operations of TFHE, and for constants that were not kept.
pub fn write(
    out: impl Write,
    graph: &Graph,
    constants: &HashMap<NodeId, Box<[u64]>>,
    outputs: &[NodeId],
) -> std::result::Result<Written, FhetchError> {
    let primes: BTreeSet<u64> = graph
        .ids()
        .filter(|&id| graph.lwe_shape(id).is_none())
        .flat_map(|id| primes_of(graph.shape(id)).into_iter().map(Modulus::value))
        .collect();
    let table: HashMap<u64, usize> = primes.iter().enumerate().map(|(at, &prime)| (prime, at + 1)).collect();
    let mut writer = Writer {
        out,
        graph,
        constants,
        table,
        roots: HashMap::new(),
        rows: HashMap::new(),
        next: 1,
        done: Written { instructions: 0, inputs: 0 },
    };
    writer.head(&primes)?;
    for id in graph.ids() {
        writer.node(id)?;
    }
    for (at, output) in outputs.iter().enumerate() {
        let (shape, rows) = (graph.shape(*output), writer.rows[output].clone());
        for (row, (batch, prime)) in rows.iter().zip(places(shape)) {
            let m = writer.table[&prime.value()];
            writeln!(writer.out, "# output %{row} value={at} message={batch} m={m} domain={}", domain(shape))?;
        }
    }
    writeln!(writer.out, "halt")?;
    writer.out.flush()?;
    Ok(writer.done)
}

fn primes_of(shape: &Shape) -> Vec<Modulus> {
    shape.ring.moduli_of(shape.basis)
}

/// Message and prime of each row, in order.
fn places(shape: &Shape) -> Vec<(usize, Modulus)> {
    let primes = primes_of(shape);
    (0..shape.batch).flat_map(|batch| primes.iter().map(move |&prime| (batch, prime)).collect::<Vec<_>>()).collect()
}

fn domain(shape: &Shape) -> &'static str {
    if shape.domain == Domain::Eval { "eval" } else { "coeff" }
}

struct Writer<'g, W> {
    out: W,
    graph: &'g Graph,
    constants: &'g HashMap<NodeId, Box<[u64]>>,
    /// Number of each prime in the table of moduli.
    table: HashMap<u64, usize>,
    /// A primitive root of order 2N for each prime.
    roots: HashMap<(u64, u32), u64>,
    /// Addresses of the rows of each value.
    rows: HashMap<NodeId, Vec<u64>>,
    next: u64,
    done: Written,
}

type Done<T = ()> = std::result::Result<T, FhetchError>;

impl<W: Write> Writer<'_, W> {
    fn head(&mut self, primes: &BTreeSet<u64>) -> io::Result<()> {
        let degree = self.graph.ids().find(|&id| self.graph.lwe_shape(id).is_none());
        let degree = degree.map_or(0, |id| self.graph.shape(id).ring.n());
        writeln!(self.out, "# FHETCH trace of a program recorded by limbwise; N = {degree}")?;
        writeln!(
            self.out,
            "# values in evaluation domain: entry i is the value at omega^(2*r+1), r the bits of i reversed"
        )?;
        writeln!(self.out, "modulus_count {}", primes.len() + 1)?;
        writeln!(self.out, "m[0] 0x{NONE:X}")?;
        for (at, prime) in primes.iter().enumerate() {
            writeln!(self.out, "m[{}] 0x{prime:X}", at + 1)?;
        }
        Ok(())
    }

    fn address(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// An instruction: its result's address, then sources and a scalar as they are.
    fn put(&mut self, name: &str, sources: &str, prime: Modulus) -> io::Result<u64> {
        let (to, m) = (self.address(), self.table[&prime.value()]);
        self.done.instructions += 1;
        writeln!(self.out, "{name} %{to}, {sources}, m={m}")?;
        Ok(to)
    }

    fn two(&mut self, name: &str, a: u64, b: u64, prime: Modulus) -> io::Result<u64> {
        self.put(name, &format!("%{a}, %{b}"), prime)
    }

    fn scalar(&mut self, name: &str, a: u64, scalar: u64, prime: Modulus) -> io::Result<u64> {
        self.put(name, &format!("%{a}, {scalar}"), prime)
    }

    fn transform(&mut self, name: &str, a: u64, prime: Modulus, log_n: u32) -> io::Result<u64> {
        let root = *self.roots.entry((prime.value(), log_n)).or_insert_with(|| primitive_root(prime, log_n));
        let (to, m) = (self.address(), self.table[&prime.value()]);
        self.done.instructions += 1;
        writeln!(self.out, "{name} %{to}, %{a}, m={m}, omega={root}")?;
        Ok(to)
    }

    /// A row modulo one prime as a row modulo another.
    fn reduced(&mut self, a: u64, from: Modulus, to: Modulus) -> io::Result<u64> {
        if from.value() <= to.value() { Ok(a) } else { self.scalar("sr_mulps", a, 1, to) }
    }

    /// The row of an operand for a message and a prime; a batch of one serves all messages.
    fn row(&self, id: NodeId, batch: usize, prime: usize) -> u64 {
        let shape = self.graph.shape(id);
        let limbs = shape.basis.len();
        let batch = if shape.batch == 1 { 0 } else { batch };
        self.rows[&id][batch * limbs + prime]
    }

    fn node(&mut self, id: NodeId) -> Done {
        let graph = self.graph;
        let (node, operands) = (graph.node(id), graph.operands(id));
        let op = node.op();
        if graph.lwe_shape(id).is_some() || op.is_tfhe() {
            return Err(FhetchError::Lacks(op.name()));
        }
        let shape = graph.shape(id);
        let rows = match op {
            Op::Upload | Op::ExpandSeed => self.inputs(node.role(), shape)?,
            Op::Zeros => {
                let mut rows = Vec::new();
                for (_, prime) in places(shape) {
                    let own = self.next;
                    rows.push(self.scalar("sr_mulps", own, 0, prime)?);
                }
                rows
            }
            Op::Copy => self.rows[&operands[0]].clone(),
            Op::Restrict | Op::Join | Op::Stack | Op::Split => self.view(id),
            Op::BasisConvert | Op::Reduce => {
                if node.is_scaled() {
                    return Err(FhetchError::Lacks("a base conversion of scaled limbs"));
                }
                self.converted(operands[0], shape)?
            }
            _ => self.each(id)?,
        };
        self.rows.insert(id, rows);
        Ok(())
    }

    fn inputs(&mut self, role: Role, shape: &Shape) -> io::Result<Vec<u64>> {
        let role = match role {
            Role::Ciphertext => "ciphertext".to_owned(),
            Role::Plaintext => "plaintext".to_owned(),
            Role::EvaluationKey(key) | Role::BootstrapKey(key) => format!("evaluation_key id={}", key.0),
            _ => "temporary".to_owned(),
        };
        let mut rows = Vec::new();
        for (batch, prime) in places(shape) {
            let (to, m) = (self.address(), self.table[&prime.value()]);
            self.done.inputs += 1;
            writeln!(self.out, "# input %{to} {role} message={batch} m={m} domain={}", domain(shape))?;
            rows.push(to);
        }
        Ok(rows)
    }

    /// Views: addresses of their operands.
    fn view(&self, id: NodeId) -> Vec<u64> {
        let (node, operands) = (self.graph.node(id), self.graph.operands(id));
        let (shape, rows) = (self.graph.shape(id), |of: NodeId| self.rows[&of].clone());
        match node.op() {
            Op::Stack => operands.iter().flat_map(|&part| rows(part)).collect(),
            Op::Split => {
                let limbs = shape.basis.len();
                let from = node.split_from().unwrap_or(0) as usize * limbs;
                rows(operands[0])[from..from + shape.batch * limbs].to_vec()
            }
            _ => {
                // Each prime stands in the operand that has it.
                let of = |prime: usize| {
                    operands.iter().find_map(|&part| {
                        let at = indices(self.graph.shape(part).basis).position(|index| index == prime)?;
                        Some((part, at))
                    })
                };
                let sources: Vec<_> = indices(shape.basis).filter_map(of).collect();
                let row = |batch: usize| sources.iter().map(move |&(part, at)| self.row(part, batch, at));
                (0..shape.batch).flat_map(row).collect()
            }
        }
    }

    /// Operations that take the rows one by one.
    fn each(&mut self, id: NodeId) -> Done<Vec<u64>> {
        let graph = self.graph;
        let (node, operands, shape) = (graph.node(id), graph.operands(id), graph.shape(id));
        let op = node.op();
        let constants = match op {
            Op::ScaleLimbs | Op::ShiftLimbs => &self.constants.get(&id).ok_or(FhetchError::Constants(id.0))?[..],
            _ => &[],
        };
        let (log_n, limbs) = (shape.ring.log_n(), shape.basis.len());
        let mut rows = Vec::with_capacity(shape.batch * limbs);
        for (at, (batch, prime)) in places(shape).into_iter().enumerate() {
            let limb = at % limbs;
            let operand = |i: usize| self.row(operands[i], batch, limb);
            let a = operand(0);
            rows.push(match op {
                Op::Add | Op::AddAssign => self.two("sr_addp", a, operand(1), prime)?,
                Op::Sub => self.two("sr_subp", a, operand(1), prime)?,
                Op::Mul => self.two("sr_mulp", a, operand(1), prime)?,
                Op::MulAcc => {
                    let product = self.two("sr_mulp", operand(1), operand(2), prime)?;
                    self.two("sr_addp", a, product, prime)?
                }
                Op::Neg => self.put("sr_negp", &format!("%{a}"), prime)?,
                Op::ScaleLimbs => self.scalar("sr_mulps", a, constants[limb], prime)?,
                Op::ShiftLimbs => self.scalar("sr_addps", a, constants[limb], prime)?,
                Op::Ntt => self.transform("sr_ntt", a, prime, log_n)?,
                Op::Intt => self.transform("sr_intt", a, prime, log_n)?,
                Op::Automorphism => self.automorphism(a, node.galois().unwrap_or(1), prime, shape.domain)?,
                _ => return Err(FhetchError::Lacks(op.name())),
            });
        }
        Ok(rows)
    }

    fn automorphism(&mut self, a: u64, galois: u32, prime: Modulus, domain: Domain) -> io::Result<u64> {
        let (to, m) = (self.address(), self.table[&prime.value()]);
        self.done.instructions += 1;
        match domain {
            Domain::Eval => writeln!(self.out, "sr_automorph_eval %{to}, %{a}, m={m}, k={galois}")?,
            Domain::Coeff => writeln!(self.out, "sr_automorph_coeff %{to}, %{a}, k={galois}, m={m}")?,
        }
        Ok(to)
    }

    /// The centered value of some limbs modulo other primes.
    fn converted(&mut self, from: NodeId, shape: &Shape) -> io::Result<Vec<u64>> {
        let (sources, targets) = (primes_of(self.graph.shape(from)), primes_of(shape));
        let mut rows = Vec::with_capacity(shape.batch * targets.len());
        for batch in 0..shape.batch {
            let mut digits: Vec<u64> = Vec::with_capacity(sources.len());
            for (at, &q) in sources.iter().enumerate() {
                // Half of the source modulus A is (q − 1)/2 modulo q, because A is 0.
                let mut digit = self.scalar("sr_addps", self.row(from, batch, at), (q.value() - 1) / 2, q)?;
                for (&before, &p) in digits.clone().iter().zip(&sources) {
                    let before = self.reduced(before, p, q)?;
                    let difference = self.two("sr_subp", digit, before, q)?;
                    digit = self.scalar("sr_mulps", difference, q.inv(q.reduce(p.value())), q)?;
                }
                digits.push(digit);
            }
            for &t in &targets {
                rows.push(self.valued(&digits, &sources, t)?);
            }
        }
        Ok(rows)
    }

    /// The value of mixed radix digits modulo a prime, less half of the source modulus.
    fn valued(&mut self, digits: &[u64], sources: &[Modulus], t: Modulus) -> io::Result<u64> {
        let last = digits.len() - 1;
        let mut value = self.reduced(digits[last], sources[last], t)?;
        for at in (0..last).rev() {
            let product = self.scalar("sr_mulps", value, t.reduce(sources[at].value()), t)?;
            let digit = self.reduced(digits[at], sources[at], t)?;
            value = self.two("sr_addp", product, digit, t)?;
        }
        let modulus = sources.iter().fold(1, |product, q| t.mul(product, t.reduce(q.value())));
        let half = t.mul(t.sub(modulus, 1), t.inv(2));
        self.scalar("sr_subps", value, half, t)
    }
}

/// Primes of a basis by their place in the ring.
fn indices(basis: Basis) -> impl Iterator<Item = usize> {
    basis.iter()
}
