//! Records a foreign trace as a graph of this library's own operations, for timing.
//!
//! The evaluator executes each line on the recorder, with the keys that the lines need. A value is dropped after the
//! last line that reads it; values that no line reads are the program's results. What a trace leaves out does not
//! change the cost: prime sizes are chosen here, and scales are set so that no operation refuses them.

use super::{
    heracles::{Instruction, Line, Trace},
    ops::{Operand, TraceError},
};
use limbwise::{
    ckks::{Ciphertext, Estimate, Evaluator, Plaintext},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, KeyStore},
};
use limbwise_device::{Device, Handle as _, Null, Role, Shape, Wordless};
use limbwise_graph::{Graph, Recorder};
use limbwise_math::galois::GaloisElement;
use std::collections::HashMap;

/// Bits of the primes: of q₀ and P, and of the other levels.
const FIRST: u32 = 50;
const LEVEL: u32 = 45;
/// A scale with room for a product at every level.
const SCALE: f64 = 256.0;
/// Largest graph, by an upper estimate of its nodes.
const MOST_NODES: usize = 20_000_000;

/// Records a trace. The result is the same graph for the same operations, wherever they were listed.
///
/// # Errors
/// [`TraceError`] for parameters that this library does not support, values read with another shape than they were made
/// with, and traces beyond 20 million nodes.
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
    let mut literal =
        ParamsLiteral::chain(trace.log_n, FIRST, LEVEL, trace.limbs - 1, (FIRST, trace.special), trace.dnum);
    literal.insecure = Some(Insecure { reason: "a program recorded elsewhere: only its cost is wanted".into() });
    let params = Params::new(&literal).map_err(|e| TraceError::of_all(e.to_string()))?;
    let null = Null::default();
    let asked = DeclaredKeys::all(&null, &params);
    run(&null, &params, &asked, trace, |_| ())?;
    let plan = KeyPlan { required: asked.requirements(), form: KeyForm::Stored };
    let recorder = Recorder::new(Null::default());
    let keys = DeclaredKeys::exactly(&recorder, &params, &plan);
    run(&recorder, &params, &keys, trace, Recorder::graph)
}

enum Value<D: Device> {
    Ciphertext(Ciphertext<D>),
    Plaintext(Plaintext<D>),
}

struct Replay<'a, D: Device> {
    eval: Evaluator<'a, D>,
    values: HashMap<&'a str, Value<D>>,
}

/// Executes every line, then calls `then` while the results live.
fn run<'a, D: Wordless, R>(
    dev: &'a D,
    params: &'a Params,
    keys: &'a dyn KeyStore<D>,
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
    let mut replay = Replay { eval: Evaluator::new(dev, params, keys), values: HashMap::new() };
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
    Ok(then(dev))
}

impl<'a, D: Wordless> Replay<'a, D> {
    fn line(&mut self, line: &'a Line) -> Result<Ciphertext<D>, TraceError> {
        let [first, others @ ..] = &line.operands[..] else {
            return Err(TraceError::at(line.number, "an instruction has an operand"));
        };
        let wrong = |e: limbwise::Error| TraceError::at(line.number, e.to_string());
        let a = self.ciphertext(line.number, first)?;
        let eval = self.eval;
        let result = match (line.instruction, others) {
            (Instruction::Add, [b]) => eval.add(&a, &self.ciphertext(line.number, b)?),
            (Instruction::Sub, [b]) => eval.sub(&a, &self.ciphertext(line.number, b)?),
            (Instruction::Mul, [b]) => eval.multiply(&a, &self.ciphertext(line.number, b)?),
            (Instruction::AddPlain, [p]) => eval.add_plain(&a, &self.plaintext(line.number, p, a.level)?),
            (Instruction::MulPlain, [p]) => eval.mul_plain(&a, &self.plaintext(line.number, p, a.level)?),
            (Instruction::Square, _) => eval.square(&a),
            (Instruction::Relin, _) => eval.relinearize(&a),
            (Instruction::Rotate(1), _) => Ok(a),
            (Instruction::Rotate(g), _) => eval.galois(&a, GaloisElement::new(g, eval.params().log_n())),
            (Instruction::Rescale, _) => {
                let mut result = Ok(a);
                while let Ok(now) = &result
                    && now.level + 1 > line.out.limbs
                {
                    let scale = SCALE * eval.params().dropped(now.level);
                    result = eval.rescale(&Ciphertext { scale, ..now.clone() });
                }
                result
            }
            _ => return Err(TraceError::at(line.number, "an operand is missing")),
        };
        // The scale does not affect the cost: each operation starts from a scale that none refuses.
        Ok(Ciphertext { scale: SCALE, ..result.map_err(wrong)? })
    }

    /// A value by name, at the number of primes that the line reads; a name that no line made is an input.
    fn ciphertext(&mut self, line: usize, operand: &'a Operand) -> Result<Ciphertext<D>, TraceError> {
        let level = operand.limbs - 1;
        let known = self.values.entry(&operand.name).or_insert_with(|| Value::Ciphertext(input(&self.eval, operand)));
        let Value::Ciphertext(a) = known else {
            return Err(TraceError::at(line, format!("{} is a plaintext in a line before", operand.name)));
        };
        if a.parts.len() != operand.parts || a.level < level {
            let (has, limbs) = (a.parts.len(), a.level + 1);
            let read = format!("{} polynomials of {} primes are read", operand.parts, operand.limbs);
            return Err(TraceError::at(
                line,
                format!("{} has {has} polynomials of {limbs} primes, {read}", operand.name),
            ));
        }
        let a = a.clone();
        if a.level == level {
            return Ok(a);
        }
        self.eval.drop_level(&a, level).map_err(|e| TraceError::at(line, e.to_string()))
    }

    /// A plaintext by name, cut to the level of its use.
    fn plaintext(&mut self, line: usize, operand: &'a Operand, level: usize) -> Result<Plaintext<D>, TraceError> {
        let (dev, params) = (self.eval.device(), self.eval.params());
        let declared = || {
            let shape = Shape::eval(params.ring(), params.basis(operand.limbs - 1));
            let poly = dev.declare(&shape, Role::Plaintext);
            let (level, slots) = (operand.limbs - 1, params.max_slots());
            Value::Plaintext(Plaintext {
                poly,
                level,
                scale: SCALE,
                slots,
                estimate: Estimate::exact(1.0),
                shadow: None,
            })
        };
        let Value::Plaintext(p) = self.values.entry(&operand.name).or_insert_with(declared) else {
            return Err(TraceError::at(line, format!("{} is a ciphertext in a line before", operand.name)));
        };
        if p.level < level {
            let has = format!("{} has {} primes, {} are read", operand.name, p.level + 1, level + 1);
            return Err(TraceError::at(line, has));
        }
        let poly = match p.level == level {
            true => p.poly.clone(),
            false => dev.restrict(&p.poly, params.basis(level)),
        };
        debug_assert_eq!(poly.shape().basis, params.basis(level));
        Ok(Plaintext { poly, level, ..p.clone() })
    }
}

fn input<D: Wordless>(eval: &Evaluator<'_, D>, operand: &Operand) -> Ciphertext<D> {
    let params = eval.params();
    let shape = Shape::eval(params.ring(), params.basis(operand.limbs - 1));
    let part = |_| eval.device().declare(&shape, Role::Ciphertext);
    let (level, slots) = (operand.limbs - 1, params.max_slots());
    let parts = (0..operand.parts).map(part).collect();
    Ciphertext { parts, level, scale: SCALE, slots, estimate: Estimate::exact(1.0), shadow: None }
}
