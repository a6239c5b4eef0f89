//! Kernels on random words against `math`, and their exact counts.

use limbwise_math::{
    modulus::Modulus,
    ntt::{NttTable, bit_reverse},
    prime::{ntt_primes_below, primitive_root},
    sampling::{Seed, Stream},
};
use limbwise_upmem::{
    Dpu, Form, Multiplications, Preset, Reduction, assemble,
    exact::Bench,
    kernels::{
        Writer,
        frame::Operation,
        image::Tables,
        program,
        routines::{MUL32, MUL64, barrett, lengths, montgomery},
    },
};

const FORMS: [Form; 4] = [
    Form { multiplications: Multiplications::Called, reduction: Reduction::Barrett },
    Form { multiplications: Multiplications::Inlined, reduction: Reduction::Barrett },
    Form { multiplications: Multiplications::Called, reduction: Reduction::Montgomery },
    Form { multiplications: Multiplications::Inlined, reduction: Reduction::Montgomery },
];

/// Primes of every width that has one at this degree.
fn primes(log_n: u32) -> Vec<Modulus> {
    [20, 27, 31, 32]
        .iter()
        .map(|&bits| Modulus::new(ntt_primes_below(log_n, bits, 1, &[]).expect("primes exist")[0]))
        .collect()
}

fn uniform(q: Modulus, n: usize, label: u64) -> Vec<u64> {
    let mut words = vec![0; n];
    Stream::new(&Seed([7; 32]), &label.to_le_bytes()).uniform(q, &mut words);
    words[..4].copy_from_slice(&[0, q.value() - 1, 1, q.value() / 2]);
    words
}

fn narrow(words: &[u64]) -> Vec<u32> {
    words.iter().map(|&x| u32::try_from(x).expect("a residue")).collect()
}

/// Runs straight code with registers loaded from WRAM, and gives r4, r5 and its slots.
fn straight(code: &str, inputs: &[(&str, u32)]) -> (u32, u32, u64) {
    let loads: String = (0..).zip(inputs).map(|(i, (r, _))| format!("lw {r}, zero, {}\n", 4 * i)).collect();
    let text = format!("{loads}{code}\nsw zero, 128, r4\nsw zero, 132, r5\nstop");
    let mut dpu = Dpu::new(Preset::v1b(), 0);
    inputs.iter().enumerate().for_each(|(i, (_, x))| dpu.wram()[i] = *x);
    let counts = dpu.run(&assemble(&text).expect("a program"), 1).expect("no fault");
    assert!(counts.hazards == 0 || code.contains("_step"), "only pairs lie in both banks");
    (dpu.wram()[32], dpu.wram()[33], counts.slots - inputs.len() as u64 - 3)
}

/// D1: what the source counts, on edges and random words, whatever they are.
#[test]
fn multiplications_are_right_and_take_21_and_36_slots() {
    let mut stream = Stream::new(&Seed([1; 32]), b"words");
    let edges = [0, 1, 0xff, 0x100, 0xffff, 0x1_0000, 0xff00_ff00, u32::MAX];
    let random: Vec<u32> = (0..300).map(|_| (stream.next_word() >> 32).try_into().unwrap()).collect();
    let pairs = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b)));
    for (a, b) in pairs.chain(random.chunks_exact(2).map(|x| (x[0], x[1]))) {
        let wide = u64::from(a) * u64::from(b);
        let (low, high, slots) = straight(MUL64, &[("r0", a), ("r1", b)]);
        assert_eq!((u64::from(high) << 32 | u64::from(low), slots), (wide, 36), "{a} * {b}");
        let (low, _, slots) = straight(MUL32, &[("r0", a), ("r1", b)]);
        assert_eq!((low, slots), (a.wrapping_mul(b), 21), "{a} * {b}");
    }
    assert_eq!(lengths(), [21, 36]);
}

/// The native multiplication: as many steps as its multiplier has bits.
#[test]
fn native_steps_end_early() {
    let steps: String = (0..32).map(|i| format!("mul_step r4, r1, r4, {i}, z, done\n")).collect();
    for (a, b) in [(12_345u32, 678u32), (3, u32::MAX), (u32::MAX, 1)] {
        let (low, _, slots) = straight(&format!("move r4, 0\n{steps}done:"), &[("r5", b), ("r1", a)].map(|x| x));
        assert_eq!((low, slots), (a.wrapping_mul(b), u64::from(1 + 32 - b.leading_zeros())));
    }
    let steps: String = (0..32).rev().map(|i| format!("div_step r4, r1, r4, {i}\n")).collect();
    let (remainder, quotient, _) = straight(&format!("move r5, 0\n{steps}"), &[("r4", 1_000_003), ("r1", 37)]);
    assert_eq!((quotient, remainder), (1_000_003 / 37, 1_000_003 % 37));
}

#[test]
fn products_modulo_q_take_the_same_slots_whatever_they_are() {
    for q in [Modulus::new((1 << 32) - 5), Modulus::new((1 << 31) + 11), Modulus::new(1_048_573), Modulus::new(3)] {
        let tables = |reduction| {
            let shift = 32 - q.bits();
            let d = q.value() << shift;
            let inverse = (0..5).fold(q.value(), |x, _| x.wrapping_mul(2u64.wrapping_sub(q.value().wrapping_mul(x))));
            let r14 = if reduction == Reduction::Barrett { u64::MAX / d - (1 << 32) } else { inverse & 0xffff_ffff };
            (shift, d, r14)
        };
        let mut x = uniform(Modulus::new((1 << 61) - 1), 40, q.value());
        x[..4].copy_from_slice(&[0, q.value() - 1, 1, q.value() / 2]);
        for reduction in [Reduction::Barrett, Reduction::Montgomery] {
            let form = Form { multiplications: Multiplications::Inlined, reduction };
            let mut w = Writer::new(form);
            if reduction == Reduction::Barrett {
                barrett(&mut w)
            } else {
                montgomery(&mut w)
            }
            let code = w.text();
            let (shift, d, r14) = tables(reduction);
            for (i, &a) in x.iter().enumerate() {
                let (a, b) = (a % q.value(), x[(i * 7 + 1) % x.len()] % q.value());
                let prepared = if reduction == Reduction::Barrett { a << shift } else { q.mul(a, 1 << 32) };
                let registers = [("r0", prepared), ("r1", b), ("r13", q.value()), ("r14", r14), ("r15", d)];
                let registers = [&registers[..], &[("r17", u64::from(shift))]].concat();
                let registers: Vec<_> = registers.iter().map(|&(r, x)| (r, u32::try_from(x).unwrap())).collect();
                let (got, _, slots) = straight(&code, &registers);
                assert_eq!(u64::from(got), q.mul(a, b), "{a} * {b} modulo {}", q.value());
                assert_eq!(slots, if reduction == Reduction::Barrett { 105 } else { 101 });
            }
        }
    }
}

#[test]
fn inverse_twiddles_lie_in_the_order_of_their_use() {
    let (log_n, form) = (10, Form { multiplications: Multiplications::Called, reduction: Reduction::Montgomery });
    let q = primes(log_n)[1];
    let tables = Tables::new(q, log_n, form);
    let psi = q.inv(primitive_root(q, log_n));
    let plain = |x: u32| q.mul(u64::from(x), q.inv(q.reduce(1 << 32)));
    for i in 1..1usize << log_n {
        let at = 1 + bit_reverse(i - 1, log_n);
        let factor = if at + 1 == 1 << log_n { q.inv(1 << log_n) } else { 1 };
        assert_eq!(plain(tables.inverse_twiddles[at]), q.mul(q.pow(psi, i as u64), factor), "number {i}");
    }
}

#[test]
fn transforms_are_the_definition_in_every_form() {
    for (log_n, form) in [(10, FORMS[0]), (10, FORMS[1]), (10, FORMS[2]), (10, FORMS[3]), (12, FORMS[0])] {
        for q in primes(log_n).into_iter().skip(if log_n > 10 { 3 } else { 0 }) {
            let table = NttTable::new(q, log_n);
            let mut bench = Bench::new(Preset::v1b(), form, q, log_n).unwrap();
            let x = uniform(q, 1 << log_n, q.value());
            let mut values = x.clone();
            table.forward(&mut values);
            for (op, from, to) in [
                (Operation::Ntt, &x, &values),
                (Operation::NttShared, &x, &values),
                (Operation::Intt, &values, &x),
                (Operation::InttShared, &values, &x),
            ] {
                bench.write(1, &narrow(from)).unwrap();
                bench.run(&[(op, vec![bench.job(op, 0, 0)])], 5).unwrap();
                assert_eq!(bench.read(0).unwrap(), narrow(to), "{} modulo {} at 2^{log_n}", op.name(), q.value());
                assert_eq!(bench.read(1).unwrap(), narrow(from), "the source stays");
            }
        }
    }
}

#[test]
fn element_wise_kernels_are_the_definition() {
    let log_n = 10;
    for (form, q) in FORMS.into_iter().zip(primes(log_n)) {
        let n = 1 << log_n;
        let mut bench = Bench::new(Preset::v1b(), form, q, log_n).unwrap();
        let x: Vec<Vec<u64>> = (0..7).map(|i| uniform(q, n, i)).collect();
        let c = q.value() - 2;
        let map = |a: usize, b: usize, f: &dyn Fn(u64, u64) -> u64| -> Vec<u64> {
            x[a].iter().zip(&x[b]).map(|(&a, &b)| f(a, b)).collect()
        };
        let product = |a, b| map(a, b, &|a, b| q.mul(a, b));
        let sum = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(&a, &b)| q.add(a, b)).collect::<Vec<_>>();
        let cases = [
            (Operation::Add, vec![map(1, 2, &|a, b| q.add(a, b))]),
            (Operation::Sub, vec![map(1, 2, &|a, b| q.sub(a, b))]),
            (Operation::Neg, vec![map(1, 1, &|a, _| q.neg(a))]),
            (Operation::Mul, vec![product(1, 2)]),
            (Operation::MulAcc, vec![sum(&x[0], &product(1, 2))]),
            (Operation::Scale, vec![map(1, 1, &|a, _| q.mul(a, c))]),
            (Operation::Shift, vec![map(1, 1, &|a, _| q.add(a, c))]),
            (Operation::BgvProduct, vec![product(3, 5), sum(&product(3, 6), &product(4, 5)), product(4, 6)]),
        ];
        for (op, wanted) in cases {
            (0..).zip(&x).for_each(|(i, x)| bench.write(i, &narrow(x)).unwrap());
            bench.run(&[(op, vec![bench.job(op, 0, c)])], 16).unwrap();
            for (i, wanted) in (0..).zip(wanted) {
                assert_eq!(bench.read(i).unwrap(), narrow(&wanted), "{} modulo {}, result {i}", op.name(), q.value());
            }
        }
    }
}

/// A whole multiplication in one launch: transform, multiply, transform back.
#[test]
fn commands_of_one_launch_follow_each_other() {
    let (log_n, form) = (10, Form::default());
    let q = primes(log_n)[3];
    let table = NttTable::new(q, log_n);
    for tasklets in [1, 11, 16] {
        let mut bench = Bench::new(Preset::v1b(), form, q, log_n).unwrap();
        let (mut a, mut b) = (uniform(q, 1 << log_n, 1), uniform(q, 1 << log_n, 2));
        bench.write(1, &narrow(&a)).unwrap();
        bench.write(2, &narrow(&b)).unwrap();
        let at = [0, 1, 2].map(|i| bench.operand_at(i));
        let in_place = |at: u32| [at, at, 0, 0, 0, 0, 0, 0];
        let list = [
            (Operation::Ntt, vec![in_place(at[1]), in_place(at[2])]),
            (Operation::Mul, vec![[at[0], at[1], at[2], 0, 0, 0, 0, 0]]),
            (Operation::Intt, vec![in_place(at[0])]),
        ];
        bench.run(&list, tasklets).unwrap();
        table.forward(&mut a);
        table.forward(&mut b);
        let mut c: Vec<u64> = a.iter().zip(&b).map(|(&a, &b)| q.mul(a, b)).collect();
        table.inverse(&mut c);
        assert_eq!(bench.read(0).unwrap(), narrow(&c), "{tasklets} tasklets");
    }
}

/// Every form fits both instruction memories, and slots do not depend on the data.
#[test]
fn programs_fit_and_run_in_constant_slots() {
    for form in FORMS {
        let length = program(form).instructions.len();
        assert!(length <= Preset::v1b().instructions.min(Preset::v1a().instructions), "{form:?}: {length}");
    }
    let q = primes(10)[2];
    let slots = |fill: &dyn Fn(u32) -> Vec<u64>| {
        let mut bench = Bench::new(Preset::v1a(), Form::default(), q, 10).unwrap();
        (0..7).for_each(|i| bench.write(i, &narrow(&fill(i))).unwrap());
        Operation::ALL.map(|op| bench.measure(&[(op, vec![bench.job(op, 0, 5)])], 1).unwrap())
    };
    assert_eq!(slots(&|_| vec![0; 1024]), slots(&|i| uniform(q, 1024, u64::from(i))));
}
