//! A trace, its context and a test vector in HERACLES's protobuf, made from a program of ours, read back and evaluated:
//! every residue is equal. No file of the SDK itself was at hand.

use limbwise::{
    Complex64,
    ckks::{Ciphertext, Encoder, Evaluator, Packing, encrypt_secret},
    params::{Insecure, Params, ParamsLiteral, PrimeChoice},
    rlwe::{EvaluationKey, KeyForm, KeyGenerator, KeyName, KeyPlan, KeyStore, Requirements, SecretKey, UniformHalf},
};
use limbwise_cpu::Cpu;
use limbwise_math::{galois::GaloisElement, prime::primitive_root, sampling::Seed};
use limbwise_runtime::exchange::heracles::Trace;
use limbwise_runtime::exchange::protobuf::{
    Oracle, PbCkks, PbContext, PbData, PbInstruction, PbKeySwitch, PbKeys, PbOperand, PbOperands, PbParameter,
    PbPolynomials, PbResidues, PbTestVector, PbTrace, decoded, params, trace,
};
use prost::Message as _;
use std::collections::HashMap;

const LOG_N: u32 = 11;
const ROTATION: i64 = 5;

/// Levels of two primes of 30 bits, digits of two primes, three special ones.
fn made() -> Params {
    let mut literal = ParamsLiteral::chain(LOG_N, 31, 58, 0, (31, 3), 3);
    literal.levels =
        vec![vec![PrimeChoice::Bits(31); 2], vec![PrimeChoice::Bits(29); 2], vec![PrimeChoice::Bits(29); 2]];
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

fn context(params: &Params) -> PbContext {
    let ring = params.ring();
    let small = |x: u64| u32::try_from(x).unwrap();
    // Roots that are not ours: their third powers.
    let psi = |&q: &limbwise_math::modulus::Modulus| small(q.pow(primitive_root(q, LOG_N), 3));
    let q_size = params.limbs(params.top_level());
    PbContext {
        scheme: 4,
        n: 1 << LOG_N,
        key_rns_num: u32::try_from(ring.moduli().len()).unwrap(),
        digit_size: 2,
        q_i: ring.moduli().iter().map(|q| small(q.value())).collect(),
        psi: ring.moduli().iter().map(psi).collect(),
        q_size: u32::try_from(q_size).unwrap(),
        alpha: 2,
        ckks_info: Some(PbCkks { composite_degree: 2, ..PbCkks::default() }),
    }
}

fn polynomials(oracle: &Oracle<'_, Cpu>, a: &Ciphertext<Cpu>) -> PbData {
    let polys = a.parts.iter().map(|part| oracle.message(part).unwrap()).collect();
    PbData { dcrtpoly: Some(PbPolynomials { polys, in_ntt_form: true }) }
}

fn switch(oracle: &Oracle<'_, Cpu>, key: &EvaluationKey<Cpu>) -> PbKeySwitch {
    let digit = |pair: &limbwise::rlwe::KeyPair<_>| {
        let UniformHalf::Stored { poly, .. } = &pair.uniform else { panic!("stored") };
        let polys = [&pair.masked, poly].map(|half| oracle.message(half).unwrap()).into();
        PbPolynomials { polys, in_ntt_form: true }
    };
    PbKeySwitch { k: 2, digits: key.pairs().iter().map(digit).collect() }
}

fn instruction(op: &str, all: &[(&str, u32, u32)], galois: Option<u32>) -> PbInstruction {
    let operand = |&(name, order, num_rns): &(&str, u32, u32)| PbOperand { symbol_name: name.into(), num_rns, order };
    let params = galois.map(|g| ("galois_elt".to_owned(), PbParameter { value: g.to_string(), kind: 0 }));
    let args = PbOperands {
        dests: vec![operand(&all[0])],
        srcs: all[1..].iter().map(operand).collect(),
        params: HashMap::from_iter(params),
    };
    PbInstruction { op: op.into(), args: Some(args), ..PbInstruction::default() }
}

#[test]
fn traces_and_test_vectors_are_read_and_their_residues_computed() {
    let ours = made();
    let top = ours.top_level();
    let dev = Cpu::builder().threads(2).open().unwrap();
    let galois = GaloisElement::rotation(ROTATION, LOG_N);
    let required = Requirements::from([(KeyName::Relinearization, top), (KeyName::Galois(galois), top)]);
    let secret = SecretKey::generate(&ours, &Seed([9; 32]));
    let generator = KeyGenerator::new(&dev, &ours, &secret).unwrap();
    let keys = generator.key_set(&KeyPlan { required, form: KeyForm::Stored }, |_| ()).unwrap();
    let encoder = Encoder::new(&ours);
    let fresh = |shift: f64| {
        let rows = vec![(0..1 << (LOG_N - 1)).map(|i| Complex64::new((f64::from(i) + shift).sin(), 0.0)).collect()];
        let packing = Packing { slots: 1 << (LOG_N - 1), level: top, scale: 2f64.powi(40) };
        encrypt_secret(&dev, &ours, &secret, &encoder.encode(&dev, &rows, packing).unwrap()).unwrap()
    };
    let [a, b] = [fresh(0.0), fresh(0.5)];
    let eval = Evaluator::new(&dev, &ours, &keys);
    let product = eval.multiply(&a, &b).unwrap();
    let two = eval.relinearize(&product).unwrap();
    let divided = eval.rescale(&two).unwrap();
    let turned = eval.rotate(&divided, ROTATION).unwrap();
    let sum = eval.add(&turned, &divided).unwrap();
    // As messages.
    let mut context = context(&ours);
    let oracle = Oracle::new(&dev, &ours, &context).unwrap();
    let key = |name| switch(&oracle, &keys.key("test", name, top).unwrap());
    context.ckks_info.as_mut().unwrap().keys = Some(PbKeys {
        relin_key: Some(key(KeyName::Relinearization)),
        rotation_keys: HashMap::from([(galois.value(), key(KeyName::Galois(galois)))]),
    });
    let named = [("a", &a), ("b", &b), ("product", &product), ("two", &two), ("divided", &divided), ("sum", &sum)];
    let vector = PbTestVector {
        sym_data_map: named.iter().map(|(name, c)| ((*name).to_owned(), polynomials(&oracle, c))).collect(),
    };
    let instructions = vec![
        instruction("mul", &[("product", 3, 6), ("a", 2, 6), ("b", 2, 6)], None),
        instruction("relin", &[("two", 2, 6), ("product", 3, 6)], None),
        instruction("rescale", &[("divided", 2, 4), ("two", 2, 6)], None),
        instruction("rotate", &[("turned", 2, 4), ("divided", 2, 4)], Some(galois.value())),
        instruction("add", &[("sum", 2, 4), ("turned", 2, 4), ("divided", 2, 4)], None),
    ];
    let message = PbTrace { instructions, scheme: 4, n: 1 << LOG_N, key_rns_num: 9, q_size: 6, dnum: 3, alpha: 2 };
    let files = [message.encode_to_vec(), context.encode_to_vec(), vector.encode_to_vec()];
    // Back, by the context alone.
    let (message, context, mut vector): (PbTrace, PbContext, PbTestVector) =
        (decoded(&files[0]).unwrap(), decoded(&files[1]).unwrap(), decoded(&files[2]).unwrap());
    let read = trace(&message).unwrap();
    assert_eq!((read.log_n, read.limbs, read.special, read.dnum, read.lines.len()), (LOG_N, 6, 3, 3, 5));
    let theirs = params(&context).unwrap();
    let oracle = Oracle::new(&dev, &theirs, &context).unwrap();
    let found = oracle.compare(&read, &context, &vector).unwrap();
    assert_eq!(found.symbols, ["product", "two", "divided", "sum"]);
    assert_eq!((found.words, found.wrong), ((3 * 6 + 2 * 6 + 2 * 4 + 2 * 4) << LOG_N, 0));
    assert!(limbwise_runtime::exchange::replay(&read).is_ok(), "a trace is timed like its CSV form");
    refuses(&oracle, &read, &context, &mut vector);
    assert!(decoded::<PbTrace>(&files[1][..40]).is_err());
}

/// What is wrong in a test vector.
fn refuses(oracle: &Oracle<'_, Cpu>, read: &Trace, context: &PbContext, vector: &mut PbTestVector) {
    // A wrong word is counted, a wrong modulus and a missing input are refused.
    let data = |vector: &mut PbTestVector, name: &str, change: &dyn Fn(&mut PbResidues)| {
        let data = vector.sym_data_map.get_mut(name).unwrap().dcrtpoly.as_mut().unwrap();
        change(&mut data.polys[0].rns_polys[0]);
    };
    data(vector, "sum", &|r| r.coeffs[7] ^= 1);
    assert_eq!(oracle.compare(read, context, vector).unwrap().wrong, 1);
    data(vector, "a", &|r| r.modulus += 2);
    let refused = oracle.compare(read, context, vector).unwrap_err().to_string();
    assert!(refused.starts_with("a: 2048 words modulo"), "{refused}");
    vector.sym_data_map.remove("a");
    let refused = oracle.compare(read, context, vector).unwrap_err().to_string();
    assert!(refused.contains("line 1: a: no line makes it"), "{refused}");
}
