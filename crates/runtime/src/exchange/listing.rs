//! Lists the ciphertext operations of a program: an observer watches the recording, and the graph identifies values.

use super::ops::{Operand, Operation, Operations, What};
use crate::{error::Result, server::Server};
use limbwise::{
    ckks::{Ciphertext, Done, Encoder, LinearTransform, Watch, With},
    params::Params,
    rlwe::DeclaredKeys,
    scheme::{Ckks, Keys},
};
use limbwise_apps::Program;
use limbwise_device::{Device, Handle as _, Null};
use limbwise_graph::{Graph, NodeId, Recorded, Recorder};
use limbwise_math::galois::GaloisElement;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// The operations of a program on its ciphertexts, in order.
pub fn listed<P: Program<Scheme = Ckks>>(program: &P) -> Result<Operations> {
    let params = program.params();
    let (recorder, encoder) = (Recorder::new(Null::default()), Encoder::new(params));
    let keys = DeclaredKeys::all(&recorder, params);
    let server = Server::declared(&recorder, &encoder, program)?;
    let inputs = server.declared_inputs(program.encryption())?;
    let notes = Notes { params, list: Mutex::default() };
    let results =
        server.evaluate(Keys { store: &keys, bootstrap: None, watch: Some(&notes) }, &inputs, &mut (), &mut ())?;
    let graph = recorder.graph();
    drop(results);
    let list = notes.list.into_inner().unwrap_or_else(PoisonError::into_inner);
    let levels = || (0..=params.top_level()).map(|level| params.basis(level)).collect();
    Ok(Operations {
        log_n: params.log_n(),
        limbs: params.limbs(params.top_level()),
        special: params.special().len(),
        dnum: params.literal().dnum,
        levels: params.literal().words.is_some().then(levels),
        list: named(&graph, params, list),
    })
}

/// A value, identified by the node of its first polynomial.
#[derive(Clone, Copy)]
struct Value {
    node: NodeId,
    parts: usize,
    level: usize,
    batch: usize,
}

impl Value {
    fn of<D: Device>(a: &Ciphertext<Recorder<D>>) -> Self {
        Self { node: a.parts[0].node(), parts: a.parts.len(), level: a.level, batch: a.batch() }
    }
}

/// An observed operation.
struct Note {
    what: What,
    op: &'static str,
    operands: Vec<Value>,
    /// What is added to a product in the same pass.
    onto: Option<Onto>,
    plaintext: Option<Value>,
    constants: usize,
    result: Value,
}

/// Values that are added to a product, each times a constant; the product is doubled before or not.
struct Onto {
    doubled: bool,
    terms: Vec<Value>,
}

struct Notes<'a> {
    params: &'a Params,
    list: Mutex<Vec<Note>>,
}

impl<D: Device> Watch<Recorder<D>> for Notes<'_>
where
    Recorded<D::Poly>: Send + Sync,
{
    fn after(&self, done: &Done<'_, Recorder<D>>) {
        let mut operands: Vec<Value> = done.operands.iter().map(|a| Value::of(a)).collect();
        let Some((what, constants)) = self.kind(done) else { return };
        let onto = match done.with {
            With::Onto { doubled } => {
                let terms = operands.split_off(if what == What::Square { 1 } else { 2 });
                Some(Onto { doubled, terms })
            }
            _ => None,
        };
        let plaintext = match done.with {
            With::Plaintext(p) => {
                Some(Value { node: p.poly.node(), parts: 1, level: p.level, batch: p.poly.shape().batch })
            }
            _ => None,
        };
        let note = Note { what, op: done.op, operands, onto, plaintext, constants, result: Value::of(done.result) };
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }
}

impl Notes<'_> {
    /// The kind of an operation and its number of constants; `None` if it only changes the scale or the name of a
    /// value.
    fn kind<D: Device>(&self, done: &Done<'_, D>) -> Option<(What, usize)> {
        Some(match (done.op, &done.with) {
            (_, With::Galois(g)) => (What::Galois(g.value()), 0),
            (_, With::Rotations(steps)) => {
                let step = |step: &Vec<GaloisElement>| step.iter().map(|g| g.value()).collect();
                (What::RotatedSum(steps.iter().map(step).collect()), 0)
            }
            (_, With::Map(map)) => (self.map(map, done.result.level < done.operands.first()?.level), 0),
            ("add", _) => (What::Add, 0),
            ("sub", _) => (What::Sub, 0),
            ("multiply", _) => (What::Multiply, 0),
            ("square", _) => (What::Square, 0),
            ("relinearize", _) => (What::Relinearize, 0),
            ("relinearize_rescaled", _) => (What::RelinearizeRescaled, 0),
            ("rescale", _) => (What::Rescale, 0),
            ("mod_raise", _) => (What::ModRaise, 0),
            ("add_plain", _) => (What::AddPlain, 0),
            ("mul_plain", _) => (What::MultiplyPlain, 0),
            ("add_scalar", _) => (What::AddPlain, 1),
            // −a and i·a are products with constants as well.
            ("negate" | "mul_scalar" | "times_i", _) => (What::MultiplyPlain, 1),
            // What a level lacks comes with a division, which the constant is part of.
            ("drop_level" | "scale_to", With::Constants) => (What::MultiplyRescaled, 1),
            (_, With::Constants) => (What::Combination, done.operands.len()),
            _ => return None,
        })
    }

    fn map<D: Device>(&self, map: &LinearTransform<D>, rescaled: bool) -> What {
        let element = |steps: i64| GaloisElement::rotation(steps, self.params.log_n()).value();
        let (groups, offset) = map.rotations();
        let group = |(giant, babies): (i64, Vec<i64>)| (element(giant), babies.into_iter().map(element).collect());
        What::LinearMap { groups: groups.into_iter().map(group).collect(), offset: element(offset), rescaled }
    }
}

/// Gives each entry of each batch its own operation, and each value a name.
fn named(graph: &Graph, params: &Params, notes: Vec<Note>) -> Vec<Operation> {
    let paths = graph.region_paths();
    let mut naming = Naming { names: Names { graph, known: HashMap::new(), plain: 0, partial: 0 }, params, entry: 0 };
    let mut list = Vec::new();
    // What has one polynomial is a plaintext, whatever made it.
    for note in notes.iter().filter(|note| note.result.parts > 1) {
        let region = &paths[graph.node(note.result.node).region().index()];
        for entry in 0..note.result.batch {
            naming.entry = entry;
            let steps = naming.steps(note);
            list.extend(steps.into_iter().map(|(what, out, operands)| Operation {
                what,
                op: note.op.to_owned(),
                region: region.clone(),
                out,
                operands,
            }));
        }
    }
    list
}

/// An operation with its result and operands.
type Named = (What, Operand, Vec<Operand>);

/// The names of an entry's values.
struct Naming<'g> {
    names: Names<'g>,
    params: &'g Params,
    entry: usize,
}

impl Naming<'_> {
    fn operand(&mut self, prefix: &str, value: &Value) -> Operand {
        let name = self.names.of(prefix, value, if value.batch == 1 { 0 } else { self.entry });
        self.at(name, value.parts, value.level)
    }

    fn at(&self, name: String, parts: usize, level: usize) -> Operand {
        let named = self.params.literal().words.is_some().then_some(level);
        Operand { name, parts, limbs: self.params.limbs(level), level: named }
    }

    fn constants(&mut self, count: usize, level: usize) -> Vec<Operand> {
        let names: Vec<String> = (0..count).map(|_| self.names.constant()).collect();
        names.into_iter().map(|name| self.at(name, 1, level)).collect()
    }

    /// A value that the program does not have: it makes it on the way to another.
    fn partial(&mut self, parts: usize, level: usize) -> Operand {
        let name = self.names.partial();
        self.at(name, parts, level)
    }

    /// The operations of a note: one, but for a product with what is added to it.
    fn steps(&mut self, note: &Note) -> Vec<Named> {
        let (plain, ciphertexts): (Vec<&Value>, Vec<&Value>) = note.operands.iter().partition(|v| v.parts == 1);
        let what = match &note.what {
            What::Add if !plain.is_empty() => What::AddPlain,
            what => what.clone(),
        };
        let mut operands: Vec<Operand> = ciphertexts.into_iter().map(|v| self.operand("ct", v)).collect();
        operands.extend(plain.into_iter().chain(&note.plaintext).map(|v| self.operand("pt", v)));
        let level = note.operands.first().unwrap_or(&note.result).level;
        operands.extend(self.constants(note.constants, level));
        let out = self.operand("ct", &note.result);
        match &note.onto {
            Some(onto) => self.onto(onto, note.result.level, (what, out, operands)),
            None => vec![(what, out, operands)],
        }
    }

    /// A product, its double, the sum of the terms, and the sum of both.
    fn onto(&mut self, onto: &Onto, level: usize, (what, out, operands): Named) -> Vec<Named> {
        let mut steps = vec![(what, self.partial(out.parts, level), operands)];
        if onto.doubled {
            let product = steps[0].1.clone();
            steps.push((What::Add, self.partial(out.parts, level), vec![product.clone(), product]));
        }
        if let Some(first) = onto.terms.first() {
            let so_far = steps[steps.len() - 1].1.clone();
            let what = if onto.terms.len() == 1 { What::MultiplyPlain } else { What::Combination };
            let sum = self.partial(first.parts, level);
            let mut terms: Vec<Operand> = onto.terms.iter().map(|term| self.operand("ct", term)).collect();
            terms.extend(self.constants(onto.terms.len(), level));
            steps.push((what, sum.clone(), terms));
            steps.push((What::Add, out.clone(), vec![so_far, sum]));
        }
        let last = steps.len() - 1;
        steps[last].1 = out;
        steps
    }
}

/// Names of values: numbers in order of first appearance.
struct Names<'g> {
    graph: &'g Graph,
    known: HashMap<(NodeId, usize), usize>,
    plain: usize,
    partial: usize,
}

impl Names<'_> {
    fn of(&mut self, prefix: &str, value: &Value, entry: usize) -> String {
        let made = self.made(value.node, entry);
        let next = self.known.len();
        format!("{prefix}{}", self.known.entry(made).or_insert(next))
    }

    /// The node that made an entry of a batch, and the entry's index in it. A value made limb by limb is identified by
    /// the view that joins its limbs.
    fn made(&self, node: NodeId, entry: usize) -> (NodeId, usize) {
        let (mut node, mut entry) = (node, entry);
        loop {
            let operands = self.graph.operands(node);
            match (self.graph.node(node).op(), operands) {
                (limbwise_graph::Op::Split, &[from]) => {
                    entry += self.graph.node(node).split_from().unwrap_or(0) as usize;
                    node = from;
                }
                (limbwise_graph::Op::Restrict, &[from]) => node = from,
                (limbwise_graph::Op::Stack, parts) => {
                    let mut left = entry;
                    let part = parts.iter().find(|&&part| {
                        let batch = self.graph.shape(part).batch;
                        let inside = left < batch;
                        left -= if inside { 0 } else { batch };
                        inside
                    });
                    let Some(&part) = part else { return (node, entry) };
                    (node, entry) = (part, left);
                }
                _ => return (node, entry),
            }
        }
    }

    fn partial(&mut self) -> String {
        self.partial += 1;
        format!("part{}", self.partial - 1)
    }

    fn constant(&mut self) -> String {
        self.plain += 1;
        format!("const{}", self.plain - 1)
    }
}
