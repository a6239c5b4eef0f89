//! Executes a text until only operations on ciphertexts are left: loops are unrolled, branches taken, functions entered,
//! clear numbers computed. What remains is a list of steps.
//!
//! The functions of the client (packing, encryption, decryption) are executed by the same code, on the client's numbers.

use super::{
    act::{Nominal, Plain, Step, act, nominal},
    constant::{self, Handle, Items, Type},
    text::{HeirError, Module, Op, Read, Region},
    value::{self, Slice, Tensor, Value},
    whole::Bits,
};
use std::{collections::HashMap, rc::Rc, sync::Arc};

/// Most operations that are executed (fewer in tests, which try the limit), and most steps that are left.
const MOST_EXECUTED: u64 = if cfg!(test) { 10_000_000 } else { 200_000_000 };
const MOST_STEPS: usize = 1_000_000;
/// Most functions and loops inside of each other while executing.
const MOST_NESTED: usize = 160;
/// Most numbers in all plaintexts.
const MOST_PLAIN: usize = 1 << 28;

/// What the execution leaves.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) steps: Vec<Step>,
    pub(super) plains: Vec<Plain>,
    /// Ciphertexts that are not results of steps.
    pub(super) inputs: usize,
    /// Plaintexts that were encrypted, in order.
    pub(super) encrypted: Vec<u32>,
}

pub(super) struct Machine<'m, 't> {
    module: &'m Module<'t>,
    functions: HashMap<&'t str, &'m Op<'t>>,
    values: Vec<Option<Value>>,
    nominals: HashMap<&'t str, Option<Nominal>>,
    storages: Vec<HashMap<Vec<i64>, Value>>,
    active: Vec<&'t str>,
    nested: usize,
    executed: u64,
    numbers: usize,
    pub(super) left: Left,
    /// Slots of the ciphertexts, where they are known: for decryption.
    pub(super) contents: Vec<Arc<[f64]>>,
}

impl<'m, 't> Machine<'m, 't> {
    pub(super) fn new(module: &'m Module<'t>) -> Read<Self> {
        let mut functions = HashMap::new();
        for op in module.top.regions.iter().flat_map(|region| &region.ops) {
            if op.name == "func.func" {
                functions.insert(op.needs("sym_name")?.trim_matches('"'), op);
            }
        }
        Ok(Self {
            module,
            functions,
            values: vec![None; module.values()],
            nominals: HashMap::new(),
            storages: Vec::new(),
            active: Vec::new(),
            nested: 0,
            executed: 0,
            numbers: 0,
            left: Left::default(),
            contents: Vec::new(),
        })
    }

    pub(super) fn functions(&self) -> &HashMap<&'t str, &'m Op<'t>> {
        &self.functions
    }

    /// A new ciphertext that comes from outside.
    pub(super) fn input(&mut self) -> u32 {
        self.left.inputs += 1;
        u32::try_from(self.left.inputs - 1).expect("bounded by the tensors that hold them")
    }

    /// A plaintext with these numbers, which were encoded elsewhere.
    pub(super) fn plain(&mut self, op: &Op<'t>, values: Arc<[f64]>, log_scale: u32) -> Read<u32> {
        self.numbers += values.len();
        if self.numbers > MOST_PLAIN {
            return Err(op.wrong(format!("more than {MOST_PLAIN} numbers in plaintexts")));
        }
        self.left.plains.push(Plain { values, log_scale });
        Ok(u32::try_from(self.left.plains.len() - 1).expect("bounded by their numbers"))
    }

    /// What a type says.
    pub(super) fn nominal(&mut self, text: &'t str) -> Option<Nominal> {
        if let Some(known) = self.nominals.get(text) {
            return *known;
        }
        let found = nominal(self.module, text);
        self.nominals.insert(text, found);
        found
    }

    pub(super) fn call(&mut self, name: &str, arguments: Vec<Value>) -> Read<Vec<Value>> {
        let Some((&name, &function)) = self.functions.get_key_value(name) else {
            return Err(HeirError::of_all(format!("function @{name}, which the text lacks")));
        };
        let Some(body) = function.regions.first().filter(|body| !body.ops.is_empty()) else {
            return Err(function.wrong(format!("@{name} has no body")));
        };
        if self.active.contains(&name) {
            return Err(function.wrong(format!("@{name} calls itself")));
        }
        if body.arguments.len() != arguments.len() {
            let (got, wanted) = (arguments.len(), body.arguments.len());
            return Err(function.wrong(format!("@{name}: {got} arguments, wanted {wanted}")));
        }
        self.active.push(name);
        let results = self.region(body, arguments)?;
        self.active.pop();
        Ok(results)
    }

    /// Executes a block up to its last operation, whose operands are the results.
    fn region(&mut self, region: &'m Region<'t>, arguments: Vec<Value>) -> Read<Vec<Value>> {
        self.nested += 1;
        if self.nested > MOST_NESTED {
            let line = region.ops.first().map(|op| op.line);
            let problem = format!("functions and loops nested deeper than {MOST_NESTED}");
            return Err(HeirError { line, problem });
        }
        for (&slot, value) in region.arguments.iter().zip(arguments) {
            self.values[slot as usize] = Some(value);
        }
        let mut results = Vec::new();
        for op in &region.ops {
            self.executed += 1;
            if self.executed > MOST_EXECUTED {
                return Err(op.wrong(format!("more than {MOST_EXECUTED} operations are executed")));
            }
            let operands = self.operands(op)?;
            match op.name {
                "func.return" | "scf.yield" | "affine.yield" => {
                    results = operands;
                    break;
                }
                _ => {
                    let given = self.execute(op, operands)?;
                    if given.len() != op.results.len() {
                        return Err(op.wrong(format!("{} results, wanted {}", given.len(), op.results.len())));
                    }
                    for (&slot, value) in op.results.iter().zip(given) {
                        self.values[slot as usize] = Some(value);
                    }
                }
            }
        }
        self.nested -= 1;
        Ok(results)
    }

    /// Values of the operands; one that is used no more is taken, so that it can be changed where it stands.
    fn operands(&mut self, op: &Op<'t>) -> Read<Vec<Value>> {
        let value = |operand: &super::text::Use| {
            let place = &mut self.values[operand.slot as usize];
            let value = if self.module.is_last(*operand) { place.take() } else { place.clone() };
            value.ok_or_else(|| op.wrong("an operand has no value here"))
        };
        op.operands.iter().map(value).collect()
    }

    fn execute(&mut self, op: &'m Op<'t>, operands: Vec<Value>) -> Read<Vec<Value>> {
        match op.name {
            "scf.for" => self.counted(op, operands),
            "affine.for" => self.affine(op, operands),
            "scf.if" => {
                let [condition] = known(op, &operands)?;
                let region = op.regions.get(usize::from(condition == 0));
                match region.filter(|region| !region.ops.is_empty()) {
                    Some(region) => self.region(region, Vec::new()),
                    None if op.results.is_empty() => Ok(Vec::new()),
                    None => Err(op.wrong("the branch that is taken gives no results")),
                }
            }
            "func.call" => {
                let callee = op.needs("callee")?.trim_start_matches('@').trim_matches('"');
                self.call(callee, operands).map_err(|e| HeirError { line: e.line.or(Some(op.line)), ..e })
            }
            "arith.constant" => {
                let (of_type, items) = constant::constant(self.module, op)?;
                let tensor = |shape: Vec<usize>| Tensor::new(shape, items.clone()).map_err(|e| op.wrong(e));
                Ok(vec![match (&of_type.shape, &items) {
                    (Some(shape), _) => Value::Tensor(tensor(shape.clone())?),
                    (None, Items::Reals(reals)) => Value::Real(reals[0]),
                    (None, Items::Wholes(wholes)) => Value::Whole(wholes[0]),
                    (None, Items::Handles(_)) => return Err(op.wrong("a constant of ciphertexts")),
                }])
            }
            name if name.starts_with("tensor.") => Ok(vec![self.tensor(op, operands).map_err(|e| op.wrong(e))?]),
            name if name.starts_with("preprocessing.") => self.storage(op, &operands),
            name if name.starts_with("arith.") || name.starts_with("math.") => {
                let predicate = op.attribute("predicate").map(|_| constant::integer(op, "predicate")).transpose()?;
                let bits = |types: &[&str]| types.first().map_or(Bits::of("index"), |text| Bits::of(text));
                let result = value::arithmetic(name, &operands, predicate, [bits(&op.takes), bits(&op.gives)]);
                let result = result.ok_or_else(|| {
                    let kinds: Vec<_> = operands.iter().map(Value::kind).collect();
                    op.wrong(format!("an operation that is not read, of {}", kinds.join(" and ")))
                });
                Ok(vec![result?.map_err(|e| op.wrong(e))?])
            }
            "lwe.rlwe_encode" | "lwe.rlwe_decode" | "lwe.rlwe_encrypt" | "lwe.rlwe_decrypt" => {
                Ok(vec![self.coded(op, operands)?])
            }
            "kernel.prepare_linear_transform" => Ok(vec![self.prepared(op, operands)?]),
            "kernel.apply_linear_transform" | "kernel.linear_transform" => {
                self.map(op, operands).map(|id| vec![Value::Handle(Handle::Cipher(id))])
            }
            _ => self.step(op, &operands).map(|id| vec![Value::Handle(Handle::Cipher(id))]),
        }
    }

    fn counted(&mut self, op: &'m Op<'t>, mut operands: Vec<Value>) -> Read<Vec<Value>> {
        if operands.len() < 3 {
            return Err(op.wrong("wanted a lower bound, an upper bound and a step"));
        }
        let carried = operands.split_off(3);
        let [from, to, by] = known(op, &operands)?;
        self.repeated(op, [from, to, by], carried)
    }

    /// `affine.for` with bounds that are constant, or operands by themselves.
    fn affine(&mut self, op: &'m Op<'t>, mut operands: Vec<Value>) -> Read<Vec<Value>> {
        let sizes = op.attribute("operandSegmentSizes").and_then(constant::integers);
        let [low, high] = match sizes.as_deref() {
            Some([low, high, _]) => [*low, *high].map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
            _ => [0, 0],
        };
        if low.saturating_add(high) > operands.len() {
            return Err(op.wrong("operandSegmentSizes beyond its operands"));
        }
        let carried = operands.split_off(low + high);
        let bound = |name: &str, operands: &[Value]| -> Read<i64> {
            let map = self.module.resolved(op.needs(name)?);
            let value = map.split("->").nth(1).and_then(|to| {
                let to = to.trim().trim_end_matches('>').trim();
                to.strip_prefix('(')?.strip_suffix(')')
            });
            match (value.and_then(|value| value.trim().parse().ok()), operands) {
                (Some(constant), _) => Ok(constant),
                (None, [one]) if value.is_some_and(|value| matches!(value.trim(), "d0" | "s0")) => {
                    one.whole().map_err(|e| op.wrong(e))
                }
                _ => {
                    Err(op.wrong(format!("{name} = {map}; wanted a constant bound (heir-opt --affine-loop-normalize)")))
                }
            }
        };
        let from = bound("lowerBoundMap", &operands[..low])?;
        let to = bound("upperBoundMap", &operands[low..])?;
        let by = if op.attribute("step").is_some() { constant::integer(op, "step")? } else { 1 };
        self.repeated(op, [from, to, by], carried)
    }

    fn repeated(&mut self, op: &'m Op<'t>, [from, to, by]: [i64; 3], mut carried: Vec<Value>) -> Read<Vec<Value>> {
        let Some(body) = op.regions.first().filter(|_| by > 0) else {
            return Err(op.wrong(format!("a step of {by}; wanted a body and a step above 0")));
        };
        if body.arguments.len() != carried.len() + 1 {
            return Err(op.wrong("its block takes other values than it carries"));
        }
        let mut at = from;
        while at < to {
            let mut arguments = vec![Value::Whole(at)];
            arguments.append(&mut carried);
            carried = self.region(body, arguments)?;
            if carried.len() + 1 != body.arguments.len() {
                return Err(op.wrong("its block yields other values than it takes"));
            }
            self.executed += 1;
            let Some(next) = at.checked_add(by) else { break };
            at = next;
        }
        Ok(carried)
    }

    /// Plaintexts that a function leaves for another: by the place in the text and by indices.
    fn storage(&mut self, op: &Op<'t>, operands: &[Value]) -> Read<Vec<Value>> {
        let key = |rest: &[Value]| -> Read<Vec<i64>> {
            let mut key = vec![constant::integer(op, "site_id")?];
            key.extend(known_all(op, rest)?);
            Ok(key)
        };
        match (op.name, operands) {
            ("preprocessing.empty", []) => {
                self.storages.push(HashMap::new());
                Ok(vec![Value::Storage(self.storages.len() - 1)])
            }
            ("preprocessing.store", [value, Value::Storage(at), rest @ ..]) => {
                let (key, value) = (key(rest)?, value.clone());
                self.storages[*at].insert(key, value);
                Ok(Vec::new())
            }
            ("preprocessing.load", [Value::Storage(at), rest @ ..]) => {
                let stored = self.storages[*at].get(&key(rest)?);
                let stored = stored.ok_or_else(|| op.wrong("no plaintext was stored under this number"))?;
                Ok(vec![stored.clone()])
            }
            _ => Err(op.wrong("an operation that is not read, or an operand of the wrong kind")),
        }
    }

    fn tensor(&mut self, op: &Op<'t>, mut operands: Vec<Value>) -> Result<Value, String> {
        let of_type = op.gives.first().and_then(|text| Type::parse(self.module, text));
        let of_type = of_type.ok_or_else(|| format!("a result of type {:?}, which is not read", op.gives))?;
        let shape = || of_type.shape.clone().ok_or("its result is no tensor".to_owned());
        let wholes = |values: &[Value]| values.iter().map(Value::whole).collect::<Result<Vec<i64>, _>>();
        if operands.is_empty() {
            if op.name != "tensor.empty" {
                return Err("it has no operands".into());
            }
            let count = of_type.count().ok_or("a tensor that is too large")?;
            let items = match of_type.element {
                constant::Element::Real(_) => Items::Reals(Rc::new(vec![0.0; count])),
                constant::Element::Whole { .. } => Items::Wholes(Rc::new(vec![0; count])),
                constant::Element::Handle => Items::Handles(Rc::new(vec![None; count])),
            };
            return Ok(Value::Tensor(Tensor::new(shape()?, items)?));
        }
        if op.name == "tensor.from_elements" {
            return value::gathered(shape()?, &operands);
        }
        let first = operands.remove(0);
        match op.name {
            "tensor.splat" => {
                let count = of_type.count().ok_or("a tensor that is too large")?;
                value::gathered(shape()?, &vec![first; count])
            }
            "tensor.extract" => first.tensor()?.extract(&wholes(&operands)?),
            "tensor.insert" => {
                let Some((into, indices)) = operands.split_first() else { return Err("wanted a tensor".into()) };
                let indices = wholes(indices)?;
                let into = into.clone().tensor()?;
                drop(operands); // the only handle then, if it was taken
                Ok(Value::Tensor(into.insert(&first, &indices)?))
            }
            "tensor.extract_slice" => {
                let from = first.tensor()?;
                let slice = slice(op, &wholes(&operands)?)?;
                let kept = resized(&shape()?, &slice.sizes);
                Ok(Value::Tensor(from.slice(&slice, kept)?))
            }
            "tensor.insert_slice" => {
                if operands.is_empty() {
                    return Err("wanted a tensor to insert into".into());
                }
                let into = operands.remove(0).tensor()?;
                Ok(Value::Tensor(into.replaced(&slice(op, &wholes(&operands)?)?, &first.tensor()?)?))
            }
            "tensor.cast" => Ok(first),
            "tensor.collapse_shape" | "tensor.expand_shape" | "tensor.reshape" => {
                Ok(Value::Tensor(Tensor::new(shape()?, first.tensor()?.items)?))
            }
            _ => Err("an operation that is not read".into()),
        }
    }

    /// Encoding and encryption on either side.
    fn coded(&mut self, op: &Op<'t>, mut operands: Vec<Value>) -> Read<Value> {
        let wrong = |e: String| op.wrong(e);
        if operands.is_empty() {
            return Err(op.wrong("an operand is missing"));
        }
        let first = operands.remove(0);
        match op.name {
            "lwe.rlwe_encode" => {
                let values = first.reals().map_err(wrong)?;
                let nominal = op.gives.first().and_then(|text| self.nominal(text));
                let nominal = nominal.ok_or_else(|| op.wrong("the type of its result tells no scale"))?;
                Ok(Value::Handle(Handle::Plain(self.plain(op, values.into(), nominal.log_scale)?)))
            }
            "lwe.rlwe_encrypt" => {
                let plain = first.plain().map_err(wrong)?;
                self.left.encrypted.push(plain);
                Ok(Value::Handle(Handle::Cipher(self.input())))
            }
            "lwe.rlwe_decrypt" => {
                let id = first.cipher().map_err(wrong)?;
                let contents = self.contents.get(id as usize).cloned();
                let contents =
                    contents.ok_or_else(|| op.wrong("decrypts inside of the program: only results are decrypted"))?;
                Ok(Value::Handle(Handle::Plain(self.plain(op, contents, 0)?)))
            }
            _ => {
                let plain = first.plain().map_err(wrong)?;
                let values = self.left.plains[plain as usize].values.to_vec();
                let of_type = op.gives.first().and_then(|text| Type::parse(self.module, text));
                let of_type = of_type.filter(|of_type| of_type.count() == Some(values.len()));
                let of_type = of_type
                    .ok_or_else(|| op.wrong(format!("{} slots for a result of {:?}", values.len(), op.gives)))?;
                Ok(Value::of_reals(&of_type, values))
            }
        }
    }

    /// An operation on ciphertexts becomes a step.
    fn step(&mut self, op: &Op<'t>, operands: &[Value]) -> Read<u32> {
        let wrong = |e: String| op.wrong(e);
        let (act, operands, plain) = act(op, operands)?;
        let nominal = op.gives.first().and_then(|text| self.nominal(text)).filter(|nominal| nominal.level.is_some());
        let nominal = nominal.ok_or_else(|| wrong("the type of its result tells no level".into()))?;
        self.push(op, Step { line: op.line, act, operands, plain, nominal })
    }

    pub(super) fn push(&mut self, op: &Op<'t>, step: Step) -> Read<u32> {
        if self.left.steps.len() >= MOST_STEPS {
            return Err(op.wrong(format!("more than {MOST_STEPS} operations on ciphertexts are left")));
        }
        self.left.steps.push(step);
        Ok(u32::try_from(self.left.inputs + self.left.steps.len() - 1).expect("both are bounded"))
    }
}

/// Operands that must be known numbers.
fn known<const N: usize>(op: &Op<'_>, values: &[Value]) -> Read<[i64; N]> {
    let all = known_all(op, values)?;
    <[i64; N]>::try_from(all).map_err(|all| op.wrong(format!("{} operands, wanted {N}", all.len())))
}

fn known_all(op: &Op<'_>, values: &[Value]) -> Read<Vec<i64>> {
    values.iter().map(|value| value.whole().map_err(|e| op.wrong(e))).collect()
}

/// Static offsets, sizes and strides with the dynamic ones in their places.
fn slice(op: &Op<'_>, dynamic: &[i64]) -> Result<Slice, String> {
    let mut dynamic = dynamic.iter();
    let mut sides = |name: &str| -> Result<Vec<i64>, String> {
        let text = op.attribute(name).ok_or_else(|| format!("it lacks the attribute {name:?}"))?;
        let sides = constant::integers(text).ok_or_else(|| format!("{name} = {text}; wanted whole numbers"))?;
        let known = |side: i64| if side == constant::DYNAMIC { dynamic.next().copied() } else { Some(side) };
        let sides: Option<Vec<i64>> = sides.into_iter().map(known).collect();
        sides.ok_or_else(|| "an operand of the slice is missing".into())
    };
    Ok(Slice { offsets: sides("static_offsets")?, sizes: sides("static_sizes")?, strides: sides("static_strides")? })
}

/// The shape of a result, whose unknown sides are those of the slice.
fn resized(shape: &[usize], sizes: &[i64]) -> Vec<usize> {
    let mut unknown = sizes.iter().filter(|&&size| size != 1).chain(sizes);
    let dynamic = shape.contains(&0);
    if dynamic && shape.len() == sizes.len() {
        return sizes.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
    }
    let side = |&side: &usize| match side {
        0 => unknown.next().and_then(|&size| usize::try_from(size).ok()).unwrap_or(0),
        side => side,
    };
    shape.iter().map(side).collect()
}
