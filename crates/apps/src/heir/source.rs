//! A program of HEIR: its text, its signature, its steps, and how its arguments become slots and its results numbers again.

use super::{
    act::{Act, Nominal, Plain, Step},
    constant::{Element, Float, MOST_NUMBERS, Type},
    params::MOST_LOG_N,
    text::{HeirError, Module, Op, Read, Text},
    unroll::{Left, Machine},
    value::{Tensor, Value},
};

/// Parameters that the text was made for.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub log_n: u32,
    /// Bits of the primes of each level, level 0 first.
    pub bits: Vec<u32>,
    pub log_scale: u32,
    /// Numbers in a ciphertext.
    pub slots: usize,
}

/// What an argument of the program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers that the server knows.
    Clear,
    /// Numbers that the client encrypts.
    Secret,
    /// Zeros that the client encrypts, for constants.
    Zero,
}

#[derive(Clone, Debug)]
pub struct Argument {
    pub kind: Kind,
    /// Sides of the numbers, as a user has them.
    pub shape: Vec<usize>,
    /// Its ciphertexts: one after the other among the inputs.
    pub ciphertexts: usize,
    pub nominal: Nominal,
    /// The function that packs it; `None` where slots are given as they are.
    packs: Option<String>,
    whole: bool,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its ciphertexts.
    pub ids: Vec<u32>,
    /// The function that unpacks it.
    unpacks: Option<String>,
    tensor: bool,
}

#[derive(Clone, Debug)]
pub struct Source {
    pub text: Text,
    pub name: String,
    pub header: Header,
    pub arguments: Vec<Argument>,
    pub outcomes: Vec<Outcome>,
    pub steps: Vec<Step>,
    pub plains: Vec<Plain>,
}

impl Source {
    /// The program of a text: of this function, or of the only one that can be meant.
    ///
    /// `clear` has the numbers of each clear argument, in order.
    ///
    /// # Errors
    /// [`HeirError`] with the line.
    pub fn new(text: Text, entry: Option<&str>, clear: &[Vec<f64>]) -> Read<Self> {
        let module = Module::parse(&text)?;
        let mut machine = Machine::new(&module)?;
        let mut header = header(&module.top)?;
        in_ring(&text, &header)?;
        let (name, function) = entry_of(&machine, entry)?;
        let mut arguments = signature(&module, &mut machine, name, function)?;
        let expected = arguments.iter().filter(|argument| argument.kind == Kind::Clear).count();
        if clear.len() != expected {
            let text = format!("@{name} has {expected} clear arguments, got numbers for {} (--data)", clear.len());
            return Err(function.wrong(text));
        }
        let values = given(&mut machine, function, &arguments, clear)?;
        let results = machine.call(name, values)?;
        let ids = |value: &Value| {
            let ids = value.ciphers().filter(|ids| !ids.is_empty());
            let tensor = matches!(value, Value::Tensor(_));
            ids.map(|ids| (ids, tensor)).ok_or_else(|| function.wrong("a result that is not encrypted"))
        };
        let mut outcomes = Vec::new();
        for (at, value) in results.iter().enumerate() {
            let (ids, tensor) = ids(value)?;
            let unpacks = found(&machine, &format!("{name}__decrypt__result{at}"));
            outcomes.push(Outcome { ids, unpacks, tensor });
        }
        if outcomes.is_empty() {
            return Err(function.wrong("the program has no result"));
        }
        let name = name.to_owned();
        let Left { steps, plains, .. } = machine.left;
        header.slots = slots(&header, &plains)?;
        in_chain(&header, &arguments, &steps)?;
        for argument in
            arguments.iter_mut().filter(|argument| argument.packs.is_none() && argument.kind == Kind::Secret)
        {
            argument.shape = vec![argument.ciphertexts, header.slots];
        }
        drop(module);
        Ok(Self { name, header, arguments, outcomes, steps, plains, text })
    }

    /// The arguments of a text's program, before it is executed.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn arguments_of(text: &str, entry: Option<&str>) -> Read<Vec<Argument>> {
        let module = Module::parse(text)?;
        let mut machine = Machine::new(&module)?;
        let (name, function) = entry_of(&machine, entry)?;
        signature(&module, &mut machine, name, function)
    }

    pub fn bootstraps(&self) -> bool {
        self.steps.iter().any(|step| step.act == Act::Bootstrap)
    }

    /// Ciphertexts that the client makes.
    pub fn inputs(&self) -> usize {
        self.arguments.iter().map(|argument| argument.ciphertexts).sum()
    }

    /// Slots of each ciphertext of an argument.
    ///
    /// # Errors
    /// [`HeirError`] for numbers of another count than the argument's.
    pub fn pack(&self, argument: usize, numbers: &[f64]) -> Read<Vec<Vec<f64>>> {
        let Argument { shape, packs, ciphertexts, kind, .. } = &self.arguments[argument];
        let slots = self.header.slots;
        if *kind == Kind::Zero {
            return Ok(vec![vec![0.0; slots]; *ciphertexts]);
        }
        let wanted: usize = shape.iter().product();
        if numbers.len() != wanted {
            let got = numbers.len();
            return Err(HeirError::of_all(format!(
                "argument {argument} takes {wanted} numbers ({shape:?}), got {got}"
            )));
        }
        let Some(packs) = packs else {
            return Ok(numbers.chunks(slots).map(<[f64]>::to_vec).collect());
        };
        let module = Module::parse(&self.text)?;
        let mut machine = Machine::new(&module)?;
        let function = machine.functions()[packs.as_str()];
        let types = function.regions.first().map(|body| body.types.clone()).unwrap_or_default();
        let of_type = types.first().and_then(|text| Type::parse(&module, text));
        let of_type = of_type.ok_or_else(|| function.wrong("a first argument that is not read"))?;
        let mut values = vec![Value::of_reals(&of_type, numbers.to_vec())];
        values.extend(types.iter().skip(1).map(|_| Value::Key));
        let results = machine.call(packs, values)?;
        let ids = results.first().and_then(Value::ciphers);
        let ids = ids.ok_or_else(|| function.wrong("wanted ciphertexts as its result"))?;
        let row = |id: u32| {
            let plain = machine.left.encrypted.get(id as usize)?;
            let values = &machine.left.plains[*plain as usize].values;
            (values.len() == slots).then(|| values.to_vec())
        };
        let rows: Option<Vec<Vec<f64>>> = ids.into_iter().map(row).collect();
        let rows = rows.filter(|rows| rows.len() == *ciphertexts);
        rows.ok_or_else(|| function.wrong(format!("wanted {ciphertexts} ciphertexts of {slots} slots")))
    }

    /// The numbers of a result, with their shape, from the slots of its ciphertexts.
    ///
    /// # Errors
    /// [`HeirError`] from the function that unpacks them.
    pub fn unpack(&self, outcome: usize, rows: &[Vec<f64>]) -> Read<(Vec<usize>, Vec<f64>)> {
        let Outcome { unpacks, tensor, .. } = &self.outcomes[outcome];
        let Some(unpacks) = unpacks else { return Ok((vec![rows.len(), self.header.slots], rows.concat())) };
        let module = Module::parse(&self.text)?;
        let mut machine = Machine::new(&module)?;
        let function = machine.functions()[unpacks.as_str()];
        machine.contents = rows.iter().map(|row| row.clone().into()).collect();
        let handles: Vec<Value> = rows.iter().map(|_| cipher(machine.input())).collect();
        let wrong = |e: String| function.wrong(e);
        let first = match (tensor, &handles[..]) {
            (false, [one]) => one.clone(),
            _ => super::value::gathered(vec![handles.len()], &handles).map_err(wrong)?,
        };
        let count = function.regions.first().map_or(0, |body| body.arguments.len());
        let mut values = vec![first];
        values.extend((1..count).map(|_| Value::Key));
        let results = machine.call(unpacks, values)?;
        let value = results.first().ok_or_else(|| function.wrong("it gives nothing"))?;
        let shape = if let Value::Tensor(Tensor { shape, .. }) = value { shape.clone() } else { Vec::new() };
        Ok((shape, value.reals().map_err(wrong)?))
    }
}

fn cipher(id: u32) -> Value {
    Value::Handle(super::constant::Handle::Cipher(id))
}

fn found(machine: &Machine<'_, '_>, name: &str) -> Option<String> {
    machine.functions().contains_key(name).then(|| name.to_owned())
}

/// The function that is the program.
fn entry_of<'m, 't>(machine: &Machine<'m, 't>, asked: Option<&str>) -> Read<(&'t str, &'m Op<'t>)> {
    let all = || machine.functions().iter().map(|(&name, &op)| (name, op));
    if let Some(asked) = asked {
        let known = || all().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        let named = all().find(|(name, _)| *name == asked);
        return named.ok_or_else(|| HeirError::of_all(format!("no function {asked:?} (there are {})", known())));
    }
    let marked = |op: &Op<'_>| op.attribute("heir.interface").is_some_and(|text| text.contains("\"entry\""));
    let plain = |name: &str, op: &Op<'_>| {
        let takes = op
            .regions
            .first()
            .is_some_and(|body| body.types.iter().any(|t| t.contains("!ct") || t.contains("lwe_ciphertext")));
        takes && !name.contains("__")
    };
    let mut entries: Vec<_> = all().filter(|(_, op)| marked(op)).collect();
    if entries.is_empty() {
        entries = all().filter(|(name, op)| plain(name, op)).collect();
    }
    entries.sort_by_key(|(name, _)| *name);
    match entries[..] {
        [one] => Ok(one),
        [] => Err(HeirError::of_all("no function that takes ciphertexts")),
        _ => {
            let names = entries.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            Err(HeirError::of_all(format!("several programs: {names} (choose one with --entry)")))
        }
    }
}

/// The arguments, by the types of the function and by the functions of the client.
fn signature<'t>(
    module: &Module<'t>,
    machine: &mut Machine<'_, 't>,
    name: &str,
    function: &Op<'t>,
) -> Read<Vec<Argument>> {
    let types = function.regions.first().map(|body| body.types.clone()).unwrap_or_default();
    let attributes = function.attribute("arg_attrs").map(braced).unwrap_or_default();
    let mut arguments = Vec::new();
    for (at, text) in types.into_iter().enumerate() {
        let unread = || {
            let is_key = module.aliases.get(text).is_some_and(|of| of.contains("lwe_secret_key"));
            let why =
                if is_key { "a secret key, as debug=true asks for: compile without it" } else { "which is not read" };
            function.wrong(format!("argument {at} of type {text}, {why}"))
        };
        let of_type = Type::parse(module, text).ok_or_else(unread)?;
        let count = of_type
            .count()
            .ok_or_else(|| function.wrong(format!("argument {at} of more than {MOST_NUMBERS} numbers")))?;
        let whole = matches!(of_type.element, Element::Whole { .. });
        if of_type.element != Element::Handle {
            let (kind, packs, shape) = (Kind::Clear, None, of_type.shape.unwrap_or_default());
            arguments.push(Argument { kind, shape, ciphertexts: 0, nominal: Nominal::default(), packs, whole });
            continue;
        }
        let element = text.trim().strip_prefix("tensor<").and_then(|rest| rest.strip_suffix('>'));
        let element =
            element.map_or(text, |inside| inside.rsplit_once("x!").map_or(text, |(head, _)| &inside[head.len() + 1..]));
        let nominal = machine.nominal(element).filter(|nominal| nominal.level.is_some()).ok_or_else(unread)?;
        let zero = attributes.get(at).is_some_and(|text| text.contains("enc_zero"));
        let kind = if zero { Kind::Zero } else { Kind::Secret };
        let packs = found(machine, &format!("{name}__encrypt__arg{at}")).filter(|_| !zero);
        let packed =
            packs.as_ref().and_then(|packs| machine.functions()[packs.as_str()].regions.first()?.types.first());
        let packed = packed.and_then(|text| Type::parse(module, text));
        let whole = packed.as_ref().is_some_and(|packed| matches!(packed.element, Element::Whole { .. }));
        let shape = packed.and_then(|packed| packed.shape).unwrap_or_default();
        arguments.push(Argument { kind, shape, ciphertexts: count, nominal, packs, whole });
    }
    Ok(arguments)
}

/// The texts of `[{…}, {…}]` between their braces.
fn braced(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0usize, 0, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => {
                if depth == 0 {
                    from = at;
                }
                depth += 1;
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    parts.push(&text[from..=at]);
                }
            }
            _ => {}
        }
    }
    parts
}

/// The values that the program is executed with: ciphertexts as handles, clear numbers as they are.
fn given<'t>(
    machine: &mut Machine<'_, 't>,
    function: &Op<'t>,
    arguments: &[Argument],
    clear: &[Vec<f64>],
) -> Read<Vec<Value>> {
    let mut clear = clear.iter();
    let tensors =
        function.regions.first().map(|body| body.types.iter().map(|t| t.starts_with("tensor<")).collect::<Vec<_>>());
    let tensors = tensors.unwrap_or_default();
    let mut values = Vec::new();
    for (at, (argument, tensor)) in arguments.iter().zip(tensors).enumerate() {
        if argument.kind == Kind::Clear {
            let numbers = clear.next().ok_or_else(|| function.wrong("a clear argument without numbers"))?;
            let wanted: usize = argument.shape.iter().product();
            if numbers.len() != wanted {
                let got = numbers.len();
                return Err(function.wrong(format!("clear argument {at} takes {wanted} numbers, got {got}")));
            }
            let whole = Element::Whole { bytes: 8, signed: true };
            let element = if argument.whole { whole } else { Element::Real(Float::Double) };
            let shape = tensor.then(|| argument.shape.clone());
            values.push(Value::of_reals(&Type { shape, element }, numbers.clone()));
            continue;
        }
        let handles: Vec<Value> = (0..argument.ciphertexts).map(|_| cipher(machine.input())).collect();
        values.push(match (tensor, &handles[..]) {
            (false, [one]) => one.clone(),
            _ => super::value::gathered(vec![handles.len()], &handles).map_err(|e| function.wrong(e))?,
        });
    }
    Ok(values)
}

/// The parameters by the attributes of the module.
fn header(top: &Op<'_>) -> Read<Header> {
    let text = top.attribute("ckks.schemeParam").ok_or_else(|| {
        HeirError::of_all("no attribute ckks.schemeParam of the module: not a CKKS program (heir-opt --mlir-to-ckks)")
    })?;
    let after = |key: &str| text.find(key).map(|at| text[at + key.len()..].trim_start());
    let number = |key: &str| -> Read<u32> {
        let digits = after(key).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        let wrong = || top.wrong(format!("ckks.schemeParam: {key:?} cannot be read"));
        digits.and_then(|digits| digits.parse().ok()).ok_or_else(wrong)
    };
    let primes = after("Q =").and_then(|rest| rest.strip_prefix('[')).and_then(|rest| rest.split(']').next());
    let bits = |word: &str| {
        let word = word.split(':').next().unwrap_or("").trim();
        let prime = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => word.parse().ok()?,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 64")]
        (prime > 1).then(|| (prime as f64).log2().round() as u32)
    };
    let bits: Option<Vec<u32>> = primes.map(|list| list.split(',').map(bits).collect()).unwrap_or_default();
    let bits = bits.filter(|bits| !bits.is_empty() && bits.len() <= 127);
    let bits = bits.ok_or_else(|| top.wrong("ckks.schemeParam: Q cannot be read; wanted 1 to 127 primes"))?;
    let slots =
        top.attribute("scheme.requested_slot_count").and_then(|text| text.split(':').next()?.trim().parse().ok());
    let log_n = number("logN =")?;
    let half = 1usize << log_n.clamp(1, 18).saturating_sub(1);
    Ok(Header { log_n, bits, log_scale: number("logDefaultScale =")?, slots: slots.unwrap_or(half) })
}

/// Checks that rings are that of the parameters, modulo X^N + 1 with N a power of two, and that every scale is one.
fn in_ring(text: &str, header: &Header) -> Read<()> {
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let log_n = header.log_n;
    if !(1..=MOST_LOG_N).contains(&log_n) {
        return Err(HeirError::of_all(format!("ckks.schemeParam: logN = {log_n}; wanted 1 to {MOST_LOG_N}")));
    }
    const RING: &str = "polynomialModulus = <";
    for (at, _) in text.match_indices(RING) {
        let modulus = text[at + RING.len()..].split('>').next().unwrap_or("").trim();
        let wanted = format!("1 + x**{}", 1u64 << log_n);
        if modulus != wanted {
            let problem = format!("a ring modulo {modulus}; wanted {wanted}, as ckks.schemeParam has logN = {log_n}");
            return Err(HeirError::at(line(at), problem));
        }
    }
    const SCALE: &str = "scaling_factor = ";
    for (at, _) in text.match_indices(SCALE) {
        let digits = text[at + SCALE.len()..].split(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
        if digits.trim_start_matches('0').is_empty() {
            return Err(HeirError::at(line(at), "scaling_factor 0; wanted the logarithm of a scale, above 0"));
        }
    }
    Ok(())
}

/// Checks that every level is one of the chain.
fn in_chain(header: &Header, arguments: &[Argument], steps: &[Step]) -> Read<()> {
    let top = header.bits.len() - 1;
    let wrong = |level: usize| format!("level {level} of a chain whose highest is {top} (ckks.schemeParam, Q)");
    let above = |nominal: &Nominal| nominal.level.filter(|&level| level > top);
    if let Some(level) = arguments.iter().find_map(|argument| above(&argument.nominal)) {
        return Err(HeirError::of_all(format!("an argument at {}", wrong(level))));
    }
    match steps.iter().find_map(|step| Some((step, above(&step.nominal)?))) {
        Some((step, level)) => {
            Err(HeirError::at(step.line, format!("{}: a result at {}", step.act.name(), wrong(level))))
        }
        None => Ok(()),
    }
}

/// Numbers in a ciphertext: as many as every plaintext has.
fn slots(header: &Header, plains: &[Plain]) -> Read<usize> {
    let slots = plains.first().map_or(header.slots, |plain| plain.values.len());
    if let Some(other) = plains.iter().find(|plain| plain.values.len() != slots) {
        let other = other.values.len();
        return Err(HeirError::of_all(format!("plaintexts of {slots} and of {other} numbers; wanted one length")));
    }
    match slots.is_power_of_two() && slots <= 1 << 17 {
        true => Ok(slots),
        false => Err(HeirError::of_all(format!("{slots} slots; wanted a power of two up to 2^17"))),
    }
}
