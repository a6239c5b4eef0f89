//! Integers of several digits compute what their clear twins do, in as many bootstrappings and layers as they say.

use crate::common::{Session, cpu, small};
use limbwise::tfhe::{
    Ciphertext, Comparison, Evaluator, Format, Integers, Radix, ServerKey, TfheLiteral, TfheParams, preset,
    radix::{
        bits::{Bitwise, Shift},
        carry,
        compare::{ciphertext_cost, constant_cost},
    },
};
use limbwise_cpu::Cpu;
use limbwise_device::Null;
use limbwise_graph::{Op, Recorder};

/// Edges and bits that follow no pattern.
pub(crate) fn values(format: Format, rows: usize, seed: u64) -> Vec<i128> {
    let (least, most) = format.range();
    let edges = [least, most, 0, 1, most - 1, most / 2];
    let mut state = seed;
    let random = (0..rows).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format.wrapped(i128::from(state ^ (state >> 29)))
    });
    edges.into_iter().map(|v| format.wrapped(v)).chain(random).take(rows).collect()
}

pub(crate) fn encrypted<'a>(s: &'a Session, format: Format, values: &[i128]) -> Radix<'a, Cpu> {
    let ct = s.encrypt(&format.messages(values).unwrap());
    Integers::new(s.eval()).unwrap().value(format, &ct).unwrap()
}

pub(crate) fn read(s: &Session, x: &Radix<'_, Cpu>) -> Vec<i128> {
    x.format().values(&s.decrypt(&x.ciphertext().unwrap())).unwrap()
}

/// Pairs of values of which some are equal, and what a function makes of them.
pub(crate) fn twin(format: Format, pairs: [&[i128]; 2], f: impl Fn(i128, i128) -> i128) -> Vec<i128> {
    pairs[0].iter().zip(pairs[1]).map(|(&a, &b)| format.wrapped(f(a, b))).collect()
}

fn inputs(format: Format, rows: usize) -> [Vec<i128>; 2] {
    let (a, mut b) = (values(format, rows, 1), values(format, rows, 2));
    b.rotate_left(1);
    b[rows - 1] = a[rows - 1];
    [a, b]
}

fn formats() -> [Format; 3] {
    [Format::unsigned(8).unwrap(), Format::signed(16).unwrap(), Format::unsigned(64).unwrap()]
}

#[test]
fn sums_and_products() {
    let s = Session::on(cpu(), &small(4, 1), 1);
    for format in formats() {
        let [a, b] = inputs(format, 4);
        let (x, y) = (encrypted(&s, format, &a), encrypted(&s, format, &b));
        let wanted = |f: fn(i128, i128) -> i128| twin(format, [&a, &b], f);
        assert_eq!(read(&s, &(&x + &y).unwrap()), wanted(|a, b| a + b), "{format}");
        assert_eq!(read(&s, &(&x - &y).unwrap()), wanted(|a, b| a - b), "{format}");
        assert_eq!(read(&s, &(-&x).unwrap()), wanted(|a, _| -a), "{format}");
        assert_eq!(read(&s, &!&x), wanted(|a, _| -1 - a), "{format}");
        assert_eq!(read(&s, &x.add_clear(100).unwrap()), wanted(|a, _| a + 100), "{format}");
        assert_eq!(read(&s, &x.sub_clear(77).unwrap()), wanted(|a, _| a - 77), "{format}");
        assert_eq!(read(&s, &x.mul_clear(103).unwrap()), wanted(|a, _| a * 103), "{format}");
        let some = if format.bits() > 16 { [&a[..1], &b[..1]] } else { [&a[..], &b[..]] };
        let (x, y) = (encrypted(&s, format, some[0]), encrypted(&s, format, some[1]));
        assert_eq!(read(&s, &(&x * &y).unwrap()), twin(format, some, |a, b| a.wrapping_mul(b)), "{format}");
    }
}

/// Every way to cut a number into chunks gives the same sum.
#[test]
fn carries_of_any_number_of_chunks() {
    let s = Session::on(cpu(), &small(4, 1), 2);
    let format = Format::unsigned(32).unwrap();
    let [mut a, mut b] = inputs(format, 4);
    a.extend([0xffff_ffff, 0x0fff_ffff, 0x5555_5555, 0x00ff_ffff]);
    b.extend([1, 1, 0xaaaa_aaab, 0x0100_0001]);
    let mut seen = Vec::new();
    for lanes in [1, 16, 32, 64, 4096] {
        let integers = Integers::new(s.eval()).unwrap().with_lanes(lanes);
        let value = |of| integers.value(format, &s.encrypt(&format.messages(of).unwrap())).unwrap();
        let (x, y) = (value(&a), value(&b));
        seen.push(carry::cost(16, 8, lanes).chunks);
        assert_eq!(read(&s, &(&x + &y).unwrap()), twin(format, [&a, &b], |a, b| a + b), "{lanes} lanes");
        assert_eq!(read(&s, &(&x - &y).unwrap()), twin(format, [&a, &b], |a, b| a - b), "{lanes} lanes");
    }
    seen.dedup();
    assert_eq!(seen, [1, 2, 4, 8], "so many chunks were tried");
}

#[test]
fn comparisons_and_choices() {
    let s = Session::on(cpu(), &small(4, 1), 3);
    for format in formats() {
        let [mut a, mut b] = inputs(format, 4);
        // Differences that only one digit tells: the least, the most significant one.
        let (least, most) = format.range();
        a.extend([5, most, least + 1]);
        b.extend([6, most - 1, least]);
        let (x, y) = (encrypted(&s, format, &a), encrypted(&s, format, &b));
        // Wide numbers go the same way, only further.
        let few = if format.bits() > 16 { &Comparison::ALL[2..3] } else { &Comparison::ALL[..] };
        for &c in few {
            let wanted: Vec<u64> = a.iter().zip(&b).map(|(a, b)| u64::from(c.holds(a.cmp(b)))).collect();
            assert_eq!(s.decrypt(x.compare(c, &y).unwrap().ciphertext()), wanted, "{format} {c:?}");
            for constant in [least, 6] {
                let wanted: Vec<u64> = a.iter().map(|a| u64::from(c.holds(a.cmp(&constant)))).collect();
                let got = x.compare_clear(c, constant).unwrap();
                assert_eq!(s.decrypt(got.ciphertext()), wanted, "{format} {c:?} {constant}");
            }
        }
        let less = x.compare(Comparison::Less, &y).unwrap();
        let least = Radix::select(&less, &x, &y).unwrap();
        assert_eq!(read(&s, &least), twin(format, [&a, &b], Ord::min), "{format}");
        assert_eq!(read(&s, &x.max(&y).unwrap()), twin(format, [&a, &b], Ord::max), "{format}");
        let smaller = twin(format, [&a, &b], Ord::min);
        for constant in [6, format.range().0, format.range().1] {
            let all = vec![constant; a.len()];
            let (low, high) = (x.min_clear(constant).unwrap(), least.max_clear(constant).unwrap());
            assert_eq!(read(&s, &low), twin(format, [&a, &all], Ord::min), "{format} {constant}");
            assert_eq!(read(&s, &high), twin(format, [&smaller, &all], Ord::max), "{format} {constant}");
        }
        // What a choice leaves is a sum of two: everything takes it.
        let wanted = twin(format, [&a, &b], |a, b| a.min(b) + a);
        assert_eq!(read(&s, &(&least + &x).unwrap()), wanted, "{format}");
        let equal = least.compare(Comparison::Equal, &x.min(&y).unwrap()).unwrap();
        assert_eq!(s.decrypt(equal.ciphertext()), vec![1; a.len()], "{format}");
        let small = least.compare_clear(Comparison::AtMost, 6).unwrap();
        let wanted: Vec<u64> = a.iter().zip(&b).map(|(a, b)| u64::from(*a.min(b) <= 6)).collect();
        assert_eq!(s.decrypt(small.ciphertext()), wanted, "{format}");
    }
}

#[test]
fn bits_and_shifts() {
    let s = Session::on(cpu(), &small(4, 1), 4);
    for format in [Format::unsigned(8).unwrap(), Format::signed(16).unwrap()] {
        let [a, b] = inputs(format, 6);
        let (x, y) = (encrypted(&s, format, &a), encrypted(&s, format, &b));
        assert_eq!(read(&s, &(&x & &y).unwrap()), twin(format, [&a, &b], |a, b| a & b), "{format}");
        assert_eq!(read(&s, &(&x | &y).unwrap()), twin(format, [&a, &b], |a, b| a | b), "{format}");
        assert_eq!(read(&s, &(&x ^ &y).unwrap()), twin(format, [&a, &b], |a, b| a ^ b), "{format}");
        let masked = x.bitwise_clear(Bitwise::And, 0x36).unwrap();
        assert_eq!(read(&s, &masked), twin(format, [&a, &b], |a, _| a & 0x36), "{format}");
        let bits = format.bits();
        let word = |a: i128| a.rem_euclid(1 << bits);
        for by in [0, 1, 2, 5, bits - 1] {
            let wanted = |f: &dyn Fn(i128) -> i128| a.iter().map(|&a| format.wrapped(f(a))).collect::<Vec<i128>>();
            assert_eq!(read(&s, &(&x << by).unwrap()), wanted(&|a| word(a) << by), "{format} << {by}");
            assert_eq!(read(&s, &(&x >> by).unwrap()), wanted(&|a| a >> by), "{format} >> {by}");
            let left = |a| word(a) << by | word(a) >> (bits - by);
            let right = |a| word(a) >> by | word(a) << (bits - by);
            assert_eq!(read(&s, &x.shifted(Shift::RotateLeft, by).unwrap()), wanted(&left), "{format} rotl {by}");
            assert_eq!(read(&s, &x.shifted(Shift::RotateRight, by).unwrap()), wanted(&right), "{format} rotr {by}");
        }
        let wide = Format::new(2 * bits, format.sign()).unwrap();
        assert_eq!(read(&s, &x.converted(wide).unwrap()), a, "{format}");
        assert_eq!(read(&s, &x.converted(wide).unwrap().converted(format).unwrap()), a, "{format}");
    }
}

pub(crate) type Recorded<'a> = Radix<'a, Recorder<Null>>;

/// Bootstrappings a row and layers of a program on recorded integers of a set, where noise is checked as in a run.
pub(crate) fn counted(
    literal: &TfheLiteral,
    lanes: usize,
    format: Format,
    f: impl Fn(&Recorded<'_>, &Recorded<'_>) -> limbwise::Result<()>,
) -> (usize, usize) {
    let params = TfheParams::new(literal).unwrap();
    let recorder = Recorder::new(Null::default());
    let key = ServerKey::declared(&recorder, &params);
    let integers = Integers::new(Evaluator::new(&recorder, &key)).unwrap().with_lanes(lanes);
    let input = || integers.value(format, &Ciphertext::declared(&recorder, &params, format.digits())).unwrap();
    f(&input(), &input()).unwrap();
    let graph = recorder.graph();
    let switched = graph.ids().filter(|&id| graph.node(id).op() == Op::LweProduct);
    let batches: Vec<usize> = switched.filter_map(|id| graph.lwe_shape(id)).map(|shape| shape.batch).collect();
    (batches.iter().sum(), batches.len())
}

/// The table at the head of `tfhe::radix`, at the noise of sets for 2^−128.
#[test]
fn counts_are_exact() {
    for bits in [8u32, 16, 32, 64] {
        let (unsigned, signed) = (Format::unsigned(bits).unwrap(), Format::signed(bits).unwrap());
        let n = unsigned.digits();
        let of = |lanes, format, f: fn(&Recorded<'_>, &Recorded<'_>) -> limbwise::Result<()>| {
            counted(&preset("2-2-p128").unwrap(), lanes, format, f)
        };
        for lanes in [1, 2, 8, 1000] {
            let cost = carry::cost(n, 1, lanes);
            let k = cost.chunks;
            let wanted = if k == 1 { (n, n) } else { (2 * n - n / k + (k - 2) - 1, n / k + (k - 2).div_ceil(3) + 1) };
            assert_eq!((cost.bootstrappings, cost.layers), wanted);
            assert_eq!(of(lanes, unsigned, |a, b| a.add(b).map(drop)), wanted, "{n} digits, {lanes} lanes");
            assert_eq!(of(lanes, signed, |a, b| a.sub(b).map(drop)), wanted);
            assert_eq!(of(lanes, signed, |a, _| a.negated().map(drop)), wanted);
        }
        let compared = of(2, unsigned, |a, b| a.compare(Comparison::Less, b).map(drop));
        assert_eq!(compared, ciphertext_cost(n));
        assert_eq!(compared.0, n + 1);
        assert_eq!(of(2, signed, |a, b| a.compare(Comparison::Equal, b).map(drop)), ciphertext_cost(n));
        assert_eq!(of(2, signed, |a, _| a.compare_clear(Comparison::Less, 5).map(drop)), constant_cost(n));
        let choose = |a: &Recorded<'_>, b: &Recorded<'_>| a.min(b).map(drop);
        assert_eq!(of(2, unsigned, choose), (2 * n + 1, compared.1 + 1));
        assert_eq!(of(2, unsigned, |a, b| (a ^ b).map(drop)), (n, 1));
        assert_eq!(of(2, unsigned, |a, _| (a << 3).map(drop)), (n - 1, 1));
        assert_eq!(of(2, unsigned, |a, _| (a << 2).map(drop)), (0, 0));
        assert_eq!(of(2, signed, |a, _| (a >> 4).map(drop)), (1, 1));
    }
    assert_eq!(
        [8, 16, 32, 64].map(|bits| constant_cost(bits / 2)),
        [(3, 2), (6, 3), (11, 4), (22, 4)],
        "comparisons with a constant"
    );
    assert_eq!([8, 16, 32, 64].map(|bits| ciphertext_cost(bits / 2).1), [3, 3, 4, 5], "layers of comparisons");
    let products = [8, 16, 32, 64].map(|bits| {
        counted(&preset("2-2-p128").unwrap(), 1, Format::unsigned(bits).unwrap(), |a, b| a.mul(b).map(drop))
    });
    assert_eq!(products, [(26, 7), (105, 13), (412, 21), (1634, 38)]);
}

/// The longest chain of operations between bootstrappings is within the promise of every set with four message bits.
#[test]
fn every_set_with_four_bits_holds_the_noise() {
    for name in ["2-2-p64", "2-2-p128", "strix-III-32", "fhex-II-32"] {
        let format = Format::signed(8).unwrap();
        counted(&preset(name).unwrap(), 100, format, |a, b| {
            let (low, high) = (a.min(b)?, a.max(b)?);
            low.add(&high)?.mul(&low)?;
            low.sub(&high)?.compare(Comparison::Less, &low)?;
            low.compare_clear(Comparison::Equal, 3)?;
            high.mul_clear(-1)?.bitwise(Bitwise::And, &low)?.shifted(Shift::Right, 3).map(drop)
        });
    }
}

#[test]
fn mistakes_are_errors() {
    let s = Session::on(cpu(), &small(4, 1), 5);
    let format = Format::unsigned(8).unwrap();
    let x = encrypted(&s, format, &[1, 2]);
    let says = |e: Option<limbwise::Error>, wanted: &str| {
        let got = e.map(|e| e.to_string()).unwrap_or_default();
        assert!(got.contains(wanted), "{got:?} should say {wanted:?}");
    };
    let other = encrypted(&s, Format::signed(8).unwrap(), &[1, 2]);
    says((&x + &other).err(), "add: uint8 and int8 do not go together");
    says((&x + &encrypted(&s, format, &[1, 2, 3])).err(), "batches of 2 and 3");
    says(x.compare_clear(Comparison::Less, 256).err(), "256 is outside uint8's 0 to 255");
    says((&x << 8).err(), "a shift by 8 of integers of 8 bits");
    says(Integers::new(s.eval()).unwrap().value(format, &s.encrypt(&[1; 6])).err(), "6 messages is no number");
    let two = Session::on(cpu(), &small(2, 1), 5);
    says(Integers::new(two.eval()).err(), "parameters with 4 message bits (2 and 2 of carry), these have 2");
}

/// Full size: a sum and a comparison of 64 bits at 2^−128.
#[test]
#[ignore = "a few seconds of both cores"]
fn sixty_four_bits_at_full_size() {
    let s = Session::on(cpu(), &preset("2-2-p128").unwrap(), 6);
    let format = Format::unsigned(64).unwrap();
    let [a, b] = inputs(format, 3);
    let (x, y) = (encrypted(&s, format, &a), encrypted(&s, format, &b));
    assert_eq!(read(&s, &(&x + &y).unwrap()), twin(format, [&a, &b], |a, b| a + b));
    let less = x.compare(Comparison::Less, &y).unwrap();
    assert_eq!(s.decrypt(less.ciphertext()), a.iter().zip(&b).map(|(a, b)| u64::from(a < b)).collect::<Vec<u64>>());
}
