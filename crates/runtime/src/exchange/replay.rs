//! Records a foreign trace as a graph of this library's own operations, for timing.
//!
//! The evaluator of the trace's scheme executes each line on the recorder, with the keys that the lines need. A value is
//! dropped after the last line that reads it; values that no line reads are the program's results. What a trace leaves
//! out does not change the cost: prime sizes are chosen here, and scales and noise bounds are set so that no operation
//! refuses them.

mod means;

use super::{
    heracles::{Instruction, Line, Scheme, Trace},
    ops::{Operand, TraceError},
};
use limbwise::{
    bgv::{self, BgvLiteral, BgvParams},
    ckks,
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, KeyStore},
};
use limbwise_device::{Device, Domain, Handle as _, Null, Wordless};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::prime::is_prime;
use means::{Means, Second};
use std::collections::HashMap;

/// Bits of the primes: of q₀ and P, and of the other levels.
const FIRST: u32 = 50;
const LEVEL: u32 = 45;
/// Largest graph, by an upper estimate of its nodes.
const MOST_NODES: usize = 20_000_000;

/// Records a trace. The result is the same graph for the same operations, wherever they were listed.
///
/// # Errors
/// [`TraceError`] for parameters that this library does not support, values read with another shape or domain than they
/// were made with, and traces beyond 20 million nodes.
pub fn replay(trace: &Trace) -> Result<Graph, TraceError> {
    // A key switch has a dozen nodes per digit and a few more.
    let switch = 40 + 12 * trace.dnum;
    let nodes = |line: &Line| match line.instruction {
        Instruction::Relin | Instruction::Rotate(_) => switch,
        _ => 16,
    };
    if trace.lines.iter().map(nodes).sum::<usize>() > MOST_NODES {
        return Err(TraceError::of_all(format!("is too long: its graph would have more than {MOST_NODES} nodes")));
    }
    let wrong = |e: limbwise::params::ParamsError| TraceError::of_all(e.to_string());
    let insecure = Some(Insecure { reason: "a program recorded elsewhere: only its cost is wanted".into() });
    match trace.scheme {
        Scheme::Ckks => {
            let special = (FIRST, trace.special);
            let mut literal = ParamsLiteral::chain(trace.log_n, FIRST, LEVEL, trace.limbs - 1, special, trace.dnum);
            literal.insecure = insecure;
            let params = Params::new(&literal).map_err(wrong)?;
            with_its_keys(
                &params,
                |dev, keys| run(&ckks::Evaluator::new(dev, &params, keys), trace, |_| ()),
                |dev, keys| run(&ckks::Evaluator::new(dev, &params, keys), trace, Recorder::graph),
            )
        }
        Scheme::Bgv => {
            let mut bits = vec![LEVEL; trace.limbs];
            bits[0] = FIRST;
            let t = plaintext_modulus(trace.log_n);
            let mut literal = BgvLiteral::chain(trace.log_n, t, &bits, &vec![FIRST; trace.special], trace.dnum);
            literal.insecure = insecure;
            let params = BgvParams::new(&literal).map_err(wrong)?;
            with_its_keys(
                params.rlwe(),
                |dev, keys| run(&bgv::Evaluator::new(dev, &params, keys), trace, |_| ()),
                |dev, keys| run(&bgv::Evaluator::new(dev, &params, keys), trace, Recorder::graph),
            )
        }
    }
}

/// The smallest prime that is 1 modulo 2N. A trace does not tell it.
fn plaintext_modulus(log_n: u32) -> u64 {
    let mut t = (2 << log_n) + 1;
    while !is_prime(t) {
        t += 2 << log_n;
    }
    t
}

/// Executes twice: first to find the keys, then on the recorder with exactly those.
fn with_its_keys(
    params: &Params,
    asking: impl FnOnce(&Null, &dyn KeyStore<Null>) -> Result<(), TraceError>,
    recording: impl FnOnce(&Recorder<Null>, &dyn KeyStore<Recorder<Null>>) -> Result<Graph, TraceError>,
) -> Result<Graph, TraceError> {
    let null = Null::default();
    let asked = DeclaredKeys::all(&null, params);
    asking(&null, &asked)?;
    let plan = KeyPlan { required: asked.requirements(), form: KeyForm::Stored };
    let recorder = Recorder::new(Null::default());
    let keys = DeclaredKeys::exactly(&recorder, params, &plan);
    recording(&recorder, &keys)
}

enum Value<C, P> {
    Ciphertext(C),
    Plaintext(P),
}

struct Replay<'a, D: Device, M: Means<D>> {
    means: &'a M,
    values: HashMap<&'a str, Value<M::Ciphertext, M::Plaintext>>,
}

/// Executes every line, then calls `then` while the results live.
fn run<'a, D: Wordless, M: Means<D>, R>(
    means: &'a M,
    trace: &'a Trace,
    then: impl FnOnce(&D) -> R,
) -> Result<R, TraceError> {
    let mut last_read: HashMap<(&str, usize), usize> = HashMap::new();
    let mut versions: HashMap<&str, usize> = HashMap::new();
    for (at, line) in trace.lines.iter().enumerate() {
        for operand in &line.operands {
            let version = versions.get(operand.name.as_str()).copied().unwrap_or(0);
            last_read.insert((operand.name.as_str(), version), at);
        }
        *versions.entry(line.out.name.as_str()).or_default() += 1;
    }
    versions.clear();
    let mut replay = Replay { means, values: HashMap::new() };
    for (at, line) in trace.lines.iter().enumerate() {
        let result = replay.line(line)?;
        for operand in &line.operands {
            let name = operand.name.as_str();
            let version = versions.get(name).copied().unwrap_or(0);
            if last_read.get(&(name, version)) == Some(&at) {
                replay.values.remove(name);
            }
        }
        *versions.entry(line.out.name.as_str()).or_default() += 1;
        replay.values.insert(&line.out.name, Value::Ciphertext(result));
    }
    Ok(then(means.device()))
}

/// The domain of a value's polynomials.
fn domain<D: Device, M: Means<D>>(a: &M::Ciphertext) -> Domain {
    M::parts(a)[0].shape().domain
}

impl<'a, D: Wordless, M: Means<D>> Replay<'a, D, M> {
    fn line(&mut self, line: &'a Line) -> Result<M::Ciphertext, TraceError> {
        let [first, others @ ..] = &line.operands[..] else {
            return Err(TraceError::at(line.number, "an instruction has an operand"));
        };
        let a = self.ciphertext(line, first)?;
        let second = match (line.instruction, others) {
            (Instruction::AddPlain | Instruction::MulPlain, [p, ..]) => {
                Second::Plaintext(self.plaintext(line.number, p, M::level(&a))?)
            }
            (_, [b, ..]) => {
                let b = self.ciphertext(line, b)?;
                if domain::<D, M>(&a) != domain::<D, M>(&b) {
                    let [a, b] = [&first.name, &others[0].name];
                    let said = format!("{a} and {b} are in different domains: ntt or intt one of them first");
                    return Err(TraceError::at(line.number, said));
                }
                Second::Ciphertext(b)
            }
            (_, []) => Second::Nothing,
        };
        match self.means.evaluate(line.instruction, a, &second, line.out.limbs - 1) {
            Some(result) => result.map_err(|e| TraceError::at(line.number, e.to_string())),
            None => Err(TraceError::at(line.number, "an operand is missing")),
        }
    }

    /// A value by name, at the number of primes that the line reads; a name that no line made is an input, in the domain
    /// that the line takes.
    fn ciphertext(&mut self, of: &Line, operand: &'a Operand) -> Result<M::Ciphertext, TraceError> {
        let (line, level) = (of.number, operand.limbs - 1);
        let taken = match of.instruction {
            Instruction::Ntt => Domain::Coeff,
            _ => Domain::Eval,
        };
        let input = || Value::Ciphertext(self.means.input(operand, taken));
        let Value::Ciphertext(a) = self.values.entry(&operand.name).or_insert_with(input) else {
            return Err(TraceError::at(line, format!("{} is a plaintext in a line before", operand.name)));
        };
        let (parts, has_level) = (M::parts(a).len(), M::level(a));
        if parts != operand.parts || has_level < level {
            let read = format!("{} polynomials of {} primes are read", operand.parts, operand.limbs);
            return Err(TraceError::at(
                line,
                format!("{} has {parts} polynomials of {} primes, {read}", operand.name, has_level + 1),
            ));
        }
        // Sums are the same in both domains.
        let either = matches!(of.instruction, Instruction::Add | Instruction::Sub);
        if !either && domain::<D, M>(a) != taken {
            let next = match (of.instruction, taken) {
                (Instruction::Ntt, _) => "is in evaluation domain already",
                (Instruction::Intt, _) => "is in coefficient domain already",
                _ => "is in coefficient domain: this instruction needs an ntt before it",
            };
            return Err(TraceError::at(line, format!("{} {next}", operand.name)));
        }
        let a = a.clone();
        if has_level == level {
            return Ok(a);
        }
        self.means.lowered(&a, level).map_err(|e| TraceError::at(line, e.to_string()))
    }

    /// A plaintext by name, cut to the level of its use.
    fn plaintext(&mut self, line: usize, operand: &'a Operand, level: usize) -> Result<M::Plaintext, TraceError> {
        let declared = || Value::Plaintext(self.means.plaintext(operand));
        let Value::Plaintext(p) = self.values.entry(&operand.name).or_insert_with(declared) else {
            return Err(TraceError::at(line, format!("{} is a ciphertext in a line before", operand.name)));
        };
        self.means.cut(p, level).ok_or_else(|| {
            let has = format!("{} has {} primes, {} are read", operand.name, operand.limbs, level + 1);
            TraceError::at(line, has)
        })
    }
}
