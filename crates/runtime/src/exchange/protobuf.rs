//! HERACLES's traces, contexts and test vectors as protobuf \[HERACLES\]: a trace is timed like its CSV form, and where there
//! is a test vector, its residues are computed again and compared, word by word.
//!
//! The messages are those of the SDK's `fhe_trace.proto` and `data.proto`, as far as they are used. Primes have 32 bits.

use super::{
    heracles::{self, Instruction, Line, Scheme, Trace},
    ops::TraceError,
};
use limbwise::{
    ckks::{Ciphertext, Estimate, Evaluator, Plaintext},
    params::{Insecure, Params, ParamsLiteral, PrimeChoice},
    rlwe::{EvaluationKey, KeyName, KeyPair, KeySet, UniformHalf},
};
use limbwise_device::{Basis, Device, Domain, Handle as _, HostRead, Role, Shape};
use limbwise_math::{galois::GaloisElement, modulus::Modulus, ntt::bit_reverse, prime::primitive_root};
use prost::Message;
use std::{collections::HashMap, fmt::Write as _};

/// A scale with room for a product at every level; scales change no residue.
const SCALE: f64 = 256.0;
/// Largest message that is read.
pub const MOST_BYTES: usize = 1 << 30;

#[derive(Clone, PartialEq, Message)]
pub struct PbTrace {
    #[prost(message, repeated, tag = "1")]
    pub instructions: Vec<PbInstruction>,
    #[prost(int32, tag = "2")]
    pub scheme: i32,
    #[prost(uint32, tag = "3")]
    pub n: u32,
    #[prost(uint32, tag = "4")]
    pub key_rns_num: u32,
    #[prost(uint32, tag = "5")]
    pub q_size: u32,
    #[prost(uint32, tag = "6")]
    pub dnum: u32,
    #[prost(uint32, tag = "7")]
    pub alpha: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbInstruction {
    #[prost(string, tag = "1")]
    pub op: String,
    #[prost(uint32, tag = "2")]
    pub plaintext_index: u32,
    #[prost(message, optional, tag = "3")]
    pub args: Option<PbOperands>,
    #[prost(string, tag = "4")]
    pub evalop_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbOperands {
    #[prost(message, repeated, tag = "1")]
    pub dests: Vec<PbOperand>,
    #[prost(message, repeated, tag = "2")]
    pub srcs: Vec<PbOperand>,
    #[prost(map = "string, message", tag = "3")]
    pub params: HashMap<String, PbParameter>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbParameter {
    #[prost(string, tag = "1")]
    pub value: String,
    #[prost(int32, tag = "2")]
    pub kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbOperand {
    #[prost(string, tag = "1")]
    pub symbol_name: String,
    #[prost(uint32, tag = "2")]
    pub num_rns: u32,
    #[prost(uint32, tag = "3")]
    pub order: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbContext {
    #[prost(int32, tag = "1")]
    pub scheme: i32,
    #[prost(uint32, tag = "2")]
    pub n: u32,
    #[prost(uint32, tag = "3")]
    pub key_rns_num: u32,
    #[prost(uint32, tag = "4")]
    pub digit_size: u32,
    #[prost(uint32, repeated, tag = "5")]
    pub q_i: Vec<u32>,
    #[prost(uint32, repeated, tag = "6")]
    pub psi: Vec<u32>,
    #[prost(uint32, tag = "7")]
    pub q_size: u32,
    #[prost(uint32, tag = "8")]
    pub alpha: u32,
    #[prost(message, optional, tag = "9")]
    pub ckks_info: Option<PbCkks>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbCkks {
    #[prost(message, optional, tag = "1")]
    pub keys: Option<PbKeys>,
    /// Primes that a rescale drops.
    #[prost(uint32, tag = "2")]
    pub composite_degree: u32,
    #[prost(double, repeated, tag = "3")]
    pub scaling_factor_real: Vec<f64>,
    #[prost(double, repeated, tag = "4")]
    pub scaling_factor_real_big: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbKeys {
    #[prost(message, optional, tag = "1")]
    pub relin_key: Option<PbKeySwitch>,
    /// By Galois element.
    #[prost(map = "uint32, message", tag = "2")]
    pub rotation_keys: HashMap<u32, PbKeySwitch>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbKeySwitch {
    #[prost(uint32, tag = "1")]
    pub k: u32,
    #[prost(message, repeated, tag = "2")]
    pub digits: Vec<PbPolynomials>,
}

/// `Ciphertext` and `DCRTPoly`: both begin so.
#[derive(Clone, PartialEq, Message)]
pub struct PbPolynomials {
    #[prost(message, repeated, tag = "1")]
    pub polys: Vec<PbPolynomial>,
    #[prost(bool, tag = "2")]
    pub in_ntt_form: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbPolynomial {
    #[prost(message, repeated, tag = "1")]
    pub rns_polys: Vec<PbResidues>,
    #[prost(bool, tag = "3")]
    pub in_evaluation: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbResidues {
    #[prost(uint32, repeated, tag = "1")]
    pub coeffs: Vec<u32>,
    #[prost(uint32, tag = "2")]
    pub modulus: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbTestVector {
    #[prost(map = "string, message", tag = "1")]
    pub sym_data_map: HashMap<String, PbData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PbData {
    #[prost(message, optional, tag = "1")]
    pub dcrtpoly: Option<PbPolynomials>,
}

/// Reads any of the messages.
///
/// # Errors
/// [`TraceError`] for bytes that are none, or too many.
pub fn decoded<M: Message + Default>(bytes: &[u8]) -> Result<M, TraceError> {
    if bytes.len() > MOST_BYTES {
        return Err(TraceError::of_all(format!("{} bytes; at most {MOST_BYTES} are read", bytes.len())));
    }
    M::decode(bytes).map_err(|e| TraceError::of_all(format!("not a message of HERACLES's protobuf: {e}")))
}

/// A trace as instructions. The line of an instruction is its number, from 1.
///
/// # Errors
/// [`TraceError`] as for the same instructions as CSV.
pub fn trace(message: &PbTrace) -> Result<Trace, TraceError> {
    let scheme = match message.scheme {
        1 => "BGV",
        2 => "BFV",
        3 | 4 => "CKKS",
        other => return Err(TraceError::of_all(format!("scheme {other}; wanted 1 (BGV), 3 or 4 (CKKS)"))),
    };
    let PbTrace { n, key_rns_num, q_size, dnum, alpha, .. } = *message;
    let mut text = String::new();
    for (at, instruction) in message.instructions.iter().enumerate() {
        let number = at + 1;
        let missing = || TraceError::at(number, "an instruction without operands");
        let args = instruction.args.as_ref().ok_or_else(missing)?;
        let op = instruction.op.to_ascii_lowercase();
        write!(text, "{op},{scheme},{n},{key_rns_num}").expect("a string takes all");
        for PbOperand { symbol_name, num_rns, order } in args.dests.iter().chain(&args.srcs) {
            if symbol_name.contains([',', '\n', '\r']) {
                return Err(TraceError::at(number, format!("the symbol {symbol_name:?}")));
            }
            write!(text, ",{symbol_name}-{order}-{num_rns}").expect("a string takes all");
        }
        // The description does not name the parameter.
        let named = |name: &str| name.to_ascii_lowercase().contains("galois");
        let galois = args.params.iter().find(|(name, _)| named(name)).map(|(_, galois)| galois);
        if let Some(galois) = galois {
            write!(text, ",{}", galois.value.trim()).expect("a string takes all");
        }
        if matches!(op.as_str(), "relin" | "rotate") && dnum > 0 {
            let special = if q_size > 0 { key_rns_num.saturating_sub(q_size) } else { alpha };
            write!(text, ",{special},{q_size},{dnum}").expect("a string takes all");
        }
        text.push('\n');
    }
    heracles::read(text.as_bytes())
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Symbols that were computed and are in the test vector.
    pub symbols: Vec<String>,
    pub words: u64,
    /// Words that differ.
    pub wrong: u64,
}

/// Parameters over the primes of a context: only residues are computed, so their security does not matter.
///
/// # Errors
/// [`TraceError`] for numbers that make no parameters.
pub fn params(context: &PbContext) -> Result<Params, TraceError> {
    let (primes, q_size) = (&context.q_i, context.q_size as usize);
    let degree = context.ckks_info.as_ref().map_or(1, |info| info.composite_degree.max(1)) as usize;
    let fits = q_size > 0 && q_size < primes.len() && q_size.is_multiple_of(degree) && primes.len() <= 127;
    if !fits || !context.n.is_power_of_two() {
        let got = format!("N = {}, {} primes, {q_size} of Q, {degree} a level", context.n, primes.len());
        return Err(TraceError::of_all(format!("{got}: no parameters")));
    }
    let exact = |&prime: &u32| PrimeChoice::Exact(prime.into());
    let alpha = (context.alpha.max(1) as usize).min(q_size);
    // Scales follow the primes of a level; they change no residue.
    let log_scale = primes[q_size - degree..q_size].iter().map(|&q| f64::from(q).log2()).sum::<f64>().clamp(20.0, 58.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "20 to 58")]
    let log_scale = log_scale.round() as u32;
    let mut literal = ParamsLiteral::chain(context.n.ilog2(), 31, log_scale, 0, (31, 1), q_size.div_ceil(alpha));
    literal.levels = primes[..q_size].chunks(degree).map(|level| level.iter().map(exact).collect()).collect();
    literal.special = primes[q_size..].iter().map(exact).collect();
    literal.insecure = Some(Insecure { reason: "a test vector made elsewhere: only its residues are computed".into() });
    Params::new(&literal).map_err(|e| TraceError::of_all(format!("the context: {e}")))
}

/// For each value in the order of a root, its place here.
fn places(q: Modulus, psi: u32, log_n: u32) -> Option<Vec<usize>> {
    let ours = primitive_root(q, log_n);
    let (mut power, mut e) = (1, 0usize);
    while power != u64::from(psi) {
        power = q.mul(power, ours);
        e += 1;
        if e >= 2 << log_n {
            return None;
        }
    }
    let mask = (2usize << log_n) - 1;
    let point = |i: usize| 2 * bit_reverse(i, log_n) + 1;
    Some((0..1usize << log_n).map(|i| bit_reverse(((e * point(i)) & mask) / 2, log_n)).collect())
}

/// A context on a device: what words in it mean.
pub struct Oracle<'a, D: Device> {
    dev: &'a D,
    params: &'a Params,
    /// For each prime of the ring.
    places: Vec<Vec<usize>>,
}

impl<'a, D: HostRead> Oracle<'a, D> {
    /// # Errors
    /// [`TraceError`] for a ψ that is no root of order 2N.
    pub fn new(dev: &'a D, params: &'a Params, context: &PbContext) -> Result<Self, TraceError> {
        let mut all = Vec::new();
        for (at, &q) in params.ring().moduli().iter().enumerate() {
            let psi = context.psi.get(at).copied().unwrap_or(0);
            let places = if q.value() == u64::from(context.q_i[at]) { places(q, psi, params.log_n()) } else { None };
            all.push(
                places.ok_or_else(|| TraceError::of_all(format!("psi {psi} is no root of order 2N modulo {q:?}")))?,
            );
        }
        Ok(Self { dev, params, places: all })
    }

    /// A polynomial over these primes, checked before any word is used.
    fn upload(&self, poly: &PbPolynomial, basis: Basis, domain: Domain, of: &str) -> Result<D::Poly, TraceError> {
        let (n, ring) = (self.params.ring().n(), self.params.ring());
        let wrong = |problem: String| TraceError::of_all(format!("{of}: {problem}"));
        if poly.rns_polys.len() != basis.len() {
            return Err(wrong(format!("{} residues, wanted {}", poly.rns_polys.len(), basis.len())));
        }
        for (residues, q) in poly.rns_polys.iter().zip(ring.moduli_of(basis)) {
            let below = residues.coeffs.iter().all(|&x| u64::from(x) < q.value());
            if residues.coeffs.len() != n || u64::from(residues.modulus) != q.value() || !below {
                let got = format!("{} words modulo {}", residues.coeffs.len(), residues.modulus);
                return Err(wrong(format!("{got}, wanted {n} modulo {}", q.value())));
            }
        }
        let shape = Shape::eval(ring, basis).with_domain(domain);
        Ok(self.dev.upload(&shape, Role::Ciphertext, &|at, row| {
            let limb = basis.position(at.prime).expect("a prime of the basis");
            for (i, &x) in poly.rns_polys[limb].coeffs.iter().enumerate() {
                row[if domain == Domain::Eval { self.places[at.prime][i] } else { i }] = x.into();
            }
        }))
    }

    /// A polynomial as a message.
    ///
    /// # Errors
    /// [`TraceError`] for a fault of the device.
    pub fn message(&self, poly: &D::Poly) -> Result<PbPolynomial, TraceError> {
        let words = self.dev.download(poly).map_err(|e| TraceError::of_all(e.to_string()))?;
        let (shape, n) = (poly.shape(), self.params.ring().n());
        let eval = shape.domain == Domain::Eval;
        let rns_polys = shape.basis.iter().zip(words.chunks(n)).map(|(prime, limb)| {
            let word = |i: usize| limb[if eval { self.places[prime][i] } else { i }];
            let small = |x: u64| u32::try_from(x).unwrap_or(u32::MAX);
            let modulus = small(self.params.ring().moduli()[prime].value());
            PbResidues { coeffs: (0..n).map(|i| small(word(i))).collect(), modulus }
        });
        Ok(PbPolynomial { rns_polys: rns_polys.collect(), in_evaluation: eval })
    }

    fn key(&self, name: KeyName, message: &PbKeySwitch) -> Result<EvaluationKey<D>, TraceError> {
        let top = self.params.top_level();
        let basis = self.params.basis(top) | self.params.special();
        let digits = self.params.digits(top).len();
        if message.digits.len() != digits {
            return Err(TraceError::of_all(format!("{name}: {} digits, wanted {digits}", message.digits.len())));
        }
        let pair = |digit: &PbPolynomials| match &digit.polys[..] {
            [masked, uniform] => {
                let half = |poly| self.upload(poly, basis, Domain::Eval, &name.to_string());
                Ok(KeyPair { masked: half(masked)?, uniform: UniformHalf::Stored { poly: half(uniform)?, seed: None } })
            }
            polys => Err(TraceError::of_all(format!("{name}: a digit of {} polynomials, wanted 2", polys.len()))),
        };
        Ok(EvaluationKey::new(name, top, message.digits.iter().map(pair).collect::<Result<_, _>>()?))
    }

    fn value(&self, data: &PbPolynomials, symbol: &str) -> Result<Ciphertext<D>, TraceError> {
        let count = data.polys.first().map_or(0, |poly| poly.rns_polys.len());
        let level = (0..=self.params.top_level()).find(|&level| self.params.limbs(level) == count);
        let level = level.ok_or_else(|| TraceError::of_all(format!("{symbol}: {count} primes, as no level has")))?;
        let domain = if data.in_ntt_form { Domain::Eval } else { Domain::Coeff };
        let upload = |poly| self.upload(poly, self.params.basis(level), domain, symbol);
        let parts = data.polys.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let (slots, estimate) = (self.params.max_slots(), Estimate::exact(1.0));
        Ok(Ciphertext { parts, level, scale: SCALE, slots, estimate, shadow: None })
    }

    /// Evaluates a CKKS trace on the inputs of a test vector and compares every symbol that it makes and the vector has.
    ///
    /// # Errors
    /// [`TraceError`] for BGV, symbols that are missing, keys that are missing, shapes that do not fit.
    pub fn compare(&self, trace: &Trace, context: &PbContext, vector: &PbTestVector) -> Result<Compared, TraceError> {
        if trace.scheme != Scheme::Ckks {
            return Err(TraceError::of_all("test vectors of CKKS are evaluated"));
        }
        let keys = context.ckks_info.as_ref().and_then(|info| info.keys.as_ref());
        let mut all = Vec::new();
        if let Some(keys) = keys {
            let relin = keys.relin_key.iter().map(|key| self.key(KeyName::Relinearization, key));
            let galois = |(&g, key)| self.key(KeyName::Galois(GaloisElement::new(g, self.params.log_n())), key);
            all = relin.chain(keys.rotation_keys.iter().map(galois)).collect::<Result<_, _>>()?;
        }
        let keys = KeySet::new(self.params, all);
        let eval = Evaluator::new(self.dev, self.params, &keys);
        let mut values: HashMap<&str, Ciphertext<D>> = HashMap::new();
        let mut found = Compared { symbols: Vec::new(), words: 0, wrong: 0 };
        for line in &trace.lines {
            let mut operands = Vec::new();
            for operand in &line.operands {
                let known = values.get(operand.name.as_str()).cloned().map(Ok);
                let data = || vector.sym_data_map.get(&operand.name).and_then(|data| data.dcrtpoly.as_ref());
                let given = || {
                    let data = data().ok_or_else(|| {
                        TraceError::at(
                            line.number,
                            format!("{}: no line makes it, and no value is given", operand.name),
                        )
                    })?;
                    self.value(data, &operand.name)
                };
                operands.push(known.unwrap_or_else(given)?);
            }
            let result = self.step(&eval, line, &operands)?;
            let name = line.out.name.as_str();
            if let Some(wanted) = vector.sym_data_map.get(name).and_then(|data| data.dcrtpoly.as_ref()) {
                self.count(&result, wanted, &mut found)?;
                found.symbols.push(name.to_owned());
            }
            values.insert(name, result);
        }
        Ok(found)
    }

    fn step(
        &self,
        eval: &Evaluator<'_, D>,
        line: &Line,
        operands: &[Ciphertext<D>],
    ) -> Result<Ciphertext<D>, TraceError> {
        let wrong = |e: limbwise::Error| TraceError::at(line.number, e.to_string());
        let level = line.operands[0].limbs;
        let a = self.cut(&operands[0], level, line)?;
        let b = operands.get(1).map(|b| self.cut(b, level, line)).transpose()?;
        let plain = |b: &Ciphertext<D>| {
            let Ciphertext { parts, level, scale, slots, estimate, .. } = b.clone();
            Plaintext { poly: parts[0].clone(), level, scale, slots, estimate, shadow: None }
        };
        let result = match (line.instruction, &b) {
            (Instruction::Add, Some(b)) => eval.add(&a, b),
            (Instruction::Sub, Some(b)) => eval.sub(&a, b),
            (Instruction::Mul, Some(b)) => eval.multiply(&a, b),
            (Instruction::AddPlain, Some(b)) => eval.add_plain(&a, &plain(b)),
            (Instruction::MulPlain, Some(b)) => eval.mul_plain(&a, &plain(b)),
            (Instruction::Square, _) => eval.square(&a),
            (Instruction::Relin, _) => eval.relinearize(&a),
            (Instruction::Rotate(1), _) => Ok(a),
            (Instruction::Rotate(g), _) => eval.galois(&a, GaloisElement::new(g, self.params.log_n())),
            (Instruction::Ntt | Instruction::Intt, _) => {
                let forward = line.instruction == Instruction::Ntt;
                let turn = |part| if forward { self.dev.ntt(part) } else { self.dev.intt(part) };
                Ok(Ciphertext { parts: a.parts.into_iter().map(turn).collect(), ..a })
            }
            (Instruction::Rescale | Instruction::ModSwitch, _) => {
                let mut result = Ok(a);
                while let Ok(now) = &result
                    && self.params.limbs(now.level) > line.out.limbs
                {
                    let scale = SCALE * self.params.dropped(now.level);
                    result = eval.rescale(&Ciphertext { scale, ..now.clone() });
                }
                result
            }
            _ => return Err(TraceError::at(line.number, "an operand is missing")),
        };
        Ok(Ciphertext { scale: SCALE, ..result.map_err(wrong)? })
    }

    fn cut(&self, a: &Ciphertext<D>, limbs: usize, line: &Line) -> Result<Ciphertext<D>, TraceError> {
        let level = (0..=a.level).find(|&level| self.params.limbs(level) == limbs);
        let has = || format!("{limbs} primes are read of a value that has {}", self.params.limbs(a.level));
        let level = level.ok_or_else(|| TraceError::at(line.number, has()))?;
        let parts = a.parts.iter().map(|part| self.dev.restrict(part, self.params.basis(level))).collect();
        Ok(Ciphertext { level, ..a.with_parts(parts) })
    }

    fn count(&self, got: &Ciphertext<D>, wanted: &PbPolynomials, found: &mut Compared) -> Result<(), TraceError> {
        for (part, wanted) in got.parts.iter().zip(&wanted.polys) {
            let got = self.message(part)?;
            for (got, wanted) in got.rns_polys.iter().zip(&wanted.rns_polys) {
                found.words += got.coeffs.len() as u64;
                let same = got.modulus == wanted.modulus && got.coeffs.len() == wanted.coeffs.len();
                let differ = got.coeffs.iter().zip(&wanted.coeffs).filter(|(x, y)| x != y).count();
                found.wrong += if same { differ as u64 } else { got.coeffs.len() as u64 };
            }
        }
        let missing = got.parts.len().abs_diff(wanted.polys.len());
        found.wrong += (missing * self.params.ring().n()) as u64;
        Ok(())
    }
}
