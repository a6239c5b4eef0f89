//! A product, its relinearization, its division and a rotation, as a FHETCH trace: executed by an interpreter of its own on
//! residues, they are what the CPU device computes.

use limbwise::{
    Complex64,
    ckks::{Ciphertext, Encoder, Evaluator, Noise, Packing, encrypt_secret},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyName, KeyPlan, KeyStore, Requirements, SecretKey, UniformHalf},
};
use limbwise_device::{Device, HostRead, Null};
use limbwise_graph::Recorder;
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use limbwise_runtime::exchange::fhetch;
use std::collections::HashMap;

const LOG_N: u32 = 10;
const N: usize = 1 << LOG_N;

fn params() -> Params {
    // Digits of two primes and three special ones: conversions from one, two and three primes.
    let mut literal = ParamsLiteral::chain(LOG_N, 45, 40, 3, (45, 2), 2);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn circuit<D: Device>(eval: &Evaluator<'_, D>, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Ciphertext<D> {
    let product = eval.relinearize(&eval.multiply(a, b).unwrap()).unwrap();
    let divided = eval.rescale(&product).unwrap();
    let turned = eval.rotate(&divided, 3).unwrap();
    eval.mul_scalar(&eval.add_scalar(&eval.sub(&turned, &divided).unwrap(), 0.25), -1.5, 2f64.powi(20)).unwrap()
}

fn mul(a: u64, b: u64, q: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) % u128::from(q)).unwrap()
}

fn pow(a: u64, mut e: u64, q: u64) -> u64 {
    let (mut result, mut square) = (1, a % q);
    while e > 0 {
        if e & 1 == 1 {
            result = mul(result, square, q);
        }
        square = mul(square, square, q);
        e >>= 1;
    }
    result
}

fn reversed(i: usize) -> usize {
    i.reverse_bits() >> (usize::BITS - LOG_N)
}

/// Powers 0 … 2N − 1 of a root.
fn powers(root: u64, q: u64) -> Vec<u64> {
    std::iter::successors(Some(1), |p| Some(mul(*p, root, q))).take(2 * N).collect()
}

/// Values at ω^(2·r + 1), by the definition.
fn values(a: &[u64], root: u64, q: u64) -> Vec<u64> {
    let powers = powers(root, q);
    let at = |i: usize| {
        let point = 2 * reversed(i) + 1;
        let sum: u128 = a.iter().enumerate().map(|(k, &c)| u128::from(mul(c, powers[point * k % (2 * N)], q))).sum();
        u64::try_from(sum % u128::from(q)).unwrap()
    };
    (0..N).map(at).collect()
}

/// The polynomial with these values, by the definition.
fn coefficients(values: &[u64], root: u64, q: u64) -> Vec<u64> {
    let (powers, inverse) = (powers(root, q), pow(N as u64, q - 2, q));
    let at = |k: usize| {
        let term = |(i, &v): (usize, &u64)| {
            let back = 2 * N - (2 * reversed(i) + 1) * k % (2 * N);
            u128::from(mul(v, powers[back % (2 * N)], q))
        };
        let sum: u128 = values.iter().enumerate().map(term).sum();
        mul(u64::try_from(sum % u128::from(q)).unwrap(), inverse, q)
    };
    (0..N).map(at).collect()
}

/// Executes a trace on residues, given its inputs in order.
fn execute(text: &str, inputs: &mut dyn Iterator<Item = Vec<u64>>) -> Vec<Vec<u64>> {
    let (mut moduli, mut memory, mut outputs) = (Vec::new(), HashMap::<u64, Vec<u64>>::new(), Vec::new());
    let address = |word: &str| word.trim_start_matches('%').parse::<u64>().unwrap();
    for line in text.lines() {
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let named =
            |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok());
        match words[..] {
            ["#", "input", to, ..] => drop(memory.insert(address(to), inputs.next().expect("as many as are named"))),
            ["#", "output", from, ..] => outputs.push(memory[&address(from)].clone()),
            ["#", ..] | ["modulus_count", _] | ["halt"] => {}
            [entry, value] if entry.starts_with("m[") => moduli.push(u64::from_str_radix(&value[2..], 16).unwrap()),
            [name, to, ref sources @ ..] => {
                let q = moduli[usize::try_from(named("m").unwrap()).unwrap()];
                let a = || &memory[&address(sources[0])];
                let b = || &memory[&address(sources[1])];
                let c = || sources[1].parse::<u64>().unwrap();
                let both = |f: &dyn Fn(u64, u64) -> u64| a().iter().zip(b()).map(|(&x, &y)| f(x, y)).collect();
                let one = |f: &dyn Fn(u64) -> u64| a().iter().map(|&x| f(x)).collect();
                let canonical = |x: u64| assert!(x < q, "{line}: a residue of {x} under {q}");
                let result: Vec<u64> = match name {
                    "sr_addp" => both(&|x, y| {
                        canonical(x.max(y));
                        (x + y) % q
                    }),
                    "sr_subp" => both(&|x, y| {
                        canonical(x.max(y));
                        (x + q - y) % q
                    }),
                    "sr_mulp" => both(&|x, y| mul(x, y, q)),
                    "sr_mulps" if c() == 0 => vec![0; N],
                    "sr_mulps" => one(&|x| mul(x, c(), q)),
                    "sr_addps" => one(&|x| {
                        canonical(x);
                        (x + c()) % q
                    }),
                    "sr_subps" => one(&|x| {
                        canonical(x);
                        (x + q - c()) % q
                    }),
                    "sr_negp" => one(&|x| (q - x) % q),
                    "sr_ntt" => values(a(), named("omega").unwrap(), q),
                    "sr_intt" => coefficients(a(), named("omega").unwrap(), q),
                    "sr_automorph_eval" => {
                        let k = usize::try_from(named("k").unwrap()).unwrap();
                        (0..N).map(|i| a()[reversed((k * (2 * reversed(i) + 1) / 2) % N)]).collect()
                    }
                    _ => panic!("unknown instruction: {line}"),
                };
                memory.insert(address(to), result);
            }
            _ => {}
        }
    }
    outputs
}

#[test]
fn a_trace_computes_what_the_device_computes() {
    let params = params();
    let top = params.top_level();
    let encoder = Encoder::new(&params);
    let packing = Packing { slots: N / 2, level: top, scale: params.scale(top) };
    let rows = |shift: f64| vec![(0..N / 2).map(|i| Complex64::new((i as f64 / 99.0 + shift).sin(), 0.0)).collect()];
    let galois = KeyName::Galois(GaloisElement::rotation(3, LOG_N));
    let required = Requirements::from([(KeyName::Relinearization, top), (galois, top - 1)]);
    let plan = KeyPlan { required, form: KeyForm::Stored };
    // On the device.
    let dev = limbwise_cpu::Cpu::builder().threads(2).open().unwrap();
    let secret = SecretKey::generate(&params, &Seed([7; 32]));
    let generator = KeyGenerator::new(&dev, &params, &secret).unwrap();
    let keys = generator.key_set(&plan, |_| ()).unwrap();
    let fresh = |shift: f64| {
        let plain = encoder.encode(&dev, &rows(shift), packing).unwrap();
        encrypt_secret(&dev, &params, &secret, &plain).unwrap()
    };
    let [a, b] = [fresh(0.0), fresh(1.0)];
    let wanted = circuit(&Evaluator::new(&dev, &params, &keys), &a, &b);
    // As a trace.
    let recorder = Recorder::new(Null::default()).with_constants();
    let bounds = limbwise::ckks::Promise { magnitude: 1.0, peak: 1.0, real: false };
    let declare = || encoder.declare_bounded(&recorder, 1, bounds, packing, Noise::Secret).unwrap();
    let [x, y] = [declare(), declare()];
    let declared = DeclaredKeys::exactly(&recorder, &params, &plan);
    let result = circuit(&Evaluator::new(&recorder, &params, &declared), &x, &y);
    let outputs: Vec<_> = result.parts.iter().map(|part| part.node()).collect();
    let mut text = Vec::new();
    let written = fhetch::write(&mut text, &recorder.graph(), &recorder.constants(), &outputs).unwrap();
    // Its inputs, in the order in which they were declared: ciphertexts, then keys, of each digit the uniform half first.
    let words = |poly: &_| dev.download(poly).unwrap().chunks(N).map(<[u64]>::to_vec).collect::<Vec<_>>();
    let mut inputs: Vec<Vec<u64>> = [&a, &b].iter().flat_map(|c| c.parts.iter().flat_map(words)).collect();
    for (&name, &level) in &plan.required {
        for pair in keys.key("test", name, level).unwrap().pairs() {
            let UniformHalf::Stored { poly, .. } = &pair.uniform else { panic!("stored") };
            inputs.extend(words(poly));
            inputs.extend(words(&pair.masked));
        }
    }
    assert_eq!(written.inputs, inputs.len() as u64);
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().count() as u64 > written.instructions && written.instructions > 300, "{written:?}");
    let got = execute(&text, &mut inputs.into_iter());
    let wanted: Vec<Vec<u64>> = wanted.parts.iter().flat_map(words).collect();
    assert_eq!(got.len(), wanted.len());
    let differ: Vec<usize> = (0..got.len()).filter(|&i| got[i] != wanted[i]).collect();
    assert!(differ.is_empty(), "residues differ in rows {differ:?} of {}", got.len());
}

/// Files that NumPy's tools read come back as they were; the values in them are at the roots of FHETCH's interpreter.
#[test]
fn ciphertexts_and_keys_go_through_archives() {
    let params = params();
    let top = params.top_level();
    let encoder = Encoder::new(&params);
    let dev = limbwise_cpu::Cpu::builder().threads(2).open().unwrap();
    let secret = SecretKey::generate(&params, &Seed([7; 32]));
    let generator = KeyGenerator::new(&dev, &params, &secret).unwrap();
    let packing = Packing { slots: N / 2, level: top, scale: params.scale(top) };
    let rows = vec![(0..N / 2).map(|i| Complex64::new((i as f64 / 99.0).sin(), 0.0)).collect()];
    let a = encrypt_secret(&dev, &params, &secret, &encoder.encode(&dev, &rows, packing).unwrap()).unwrap();
    let path = std::path::Path::new("a.npz");
    let npz =
        fhetch::files::write_ciphertext(std::io::Cursor::new(Vec::new()), (&dev, &params), &a).unwrap().into_inner();
    let back = fhetch::files::read_ciphertext(&npz, path, (&dev, &params), a.estimate).unwrap();
    let words = |poly: &_| dev.download(poly).unwrap();
    for (part, same) in a.parts.iter().zip(&back.parts) {
        assert!(words(part) == words(same));
    }
    assert_eq!((back.level, back.slots, back.scale.to_bits()), (a.level, a.slots, a.scale.to_bits()));
    // The key goes out and in; a product relinearized with what came back is the same.
    let key = generator.evaluation_key(KeyName::Relinearization, top, KeyForm::Stored).unwrap();
    let basis = params.basis(top) | params.special();
    let through = |poly: &_| {
        let out = std::io::Cursor::new(Vec::new());
        let npz = fhetch::files::write_half(out, (&dev, &params), poly, basis).unwrap().into_inner();
        fhetch::files::read_half(&npz, path, (&dev, &params), KeyName::Relinearization).unwrap()
    };
    let halves = key.pairs().iter().map(|pair| {
        let UniformHalf::Stored { poly, .. } = &pair.uniform else { panic!("stored") };
        [through(&pair.masked), through(poly)]
    });
    let imported = fhetch::files::key_of(KeyName::Relinearization, &params, halves.collect());
    let squared = |key| {
        let keys = limbwise::rlwe::KeySet::new(&params, vec![key]);
        let eval = Evaluator::new(&dev, &params, &keys);
        words(&eval.relinearize(&eval.square(&back).unwrap()).unwrap().parts[0])
    };
    assert!(squared(imported) == squared(key));
    // What does not fit is refused.
    let mut other = ParamsLiteral::chain(LOG_N, 46, 41, 3, (45, 2), 2);
    other.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let other = Params::new(&other).unwrap();
    let refused = |bytes: &[u8], params: &Params| {
        fhetch::files::read_ciphertext(bytes, path, (&dev, params), a.estimate).map(drop).unwrap_err().to_string()
    };
    assert!(refused(&npz, &other).contains("moduli: got"), "{}", refused(&npz, &other));
    assert!(refused(b"PK", &params).contains("not an archive of NumPy"));
    for length in [30, npz.len() / 2, npz.len() - 1] {
        refused(&npz[..length], &params);
    }
}

/// The order of values is that of the interpreter: the polynomial X has the value ψ^(2k+1) at place k.
#[test]
fn values_stand_where_the_interpreter_has_them() {
    use limbwise_device::{Domain, Role, Shape};
    let params = params();
    let dev = limbwise_cpu::Cpu::builder().threads(1).open().unwrap();
    let shape = Shape::eval(params.ring(), params.basis(0)).with_domain(Domain::Coeff);
    let x = dev.ntt(dev.upload(&shape, Role::Temporary, &|_, row| row[1] = 1));
    let out = std::io::Cursor::new(Vec::new());
    let npz = fhetch::files::write_half(out, (&dev, &params), &x, params.basis(0)).unwrap().into_inner();
    // The archive stores its arrays as they are: the last 8·N bytes of the entry are the values.
    let at = npz.windows(11).rposition(|bytes| bytes == b"limb_0.npy\x93").unwrap() + 10;
    let begin = at + 10 + usize::from(u16::from_le_bytes([npz[at + 8], npz[at + 9]]));
    let words: Vec<u64> =
        npz[begin..begin + 8 * N].chunks(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
    let q = params.ring().moduli()[0].value();
    // ψ = g^((q − 1)/2N) with the least g that generates all residues.
    let is_factor =
        |f: u64| (q - 1).is_multiple_of(f) && (2..).take_while(|d| d * d <= f).all(|d| !f.is_multiple_of(d));
    let mut rest = q - 1;
    let mut factors = Vec::new();
    for f in 2..1 << 23 {
        if rest.is_multiple_of(f) && is_factor(f) {
            factors.push(f);
            while rest.is_multiple_of(f) {
                rest /= f;
            }
        }
    }
    factors.extend((rest > 1).then_some(rest));
    let g = (2..).find(|&g| factors.iter().all(|f| pow(g, (q - 1) / f, q) != 1)).unwrap();
    let psi = pow(g, (q - 1) / (2 * N as u64), q);
    let wanted: Vec<u64> = (0..N as u64).map(|k| pow(psi, 2 * k + 1, q)).collect();
    assert!(words == wanted);
}
