//! Base conversions and centered lifts of every instruction set against `math`, residue for residue.

use limbwise_cpu::{
    Isa,
    kernels::{
        Converter,
        convert::{Sources, lift},
    },
    layout::{BLOCK, Line, PADDED, Part, blocks, lines},
};
use limbwise_math::{modulus::Modulus, prime::ntt_primes_below, rns::BaseConversion};

/// Lines of a limb here: more than one tile, and not a multiple of anything.
const LINES: usize = 67;

fn available() -> Vec<Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available()).collect()
}

/// Bits, and how many primes.
type Width = (u32, usize);

/// So many of the largest primes of each width.
fn primes(widths: &[Width], used: &[Modulus]) -> Vec<Modulus> {
    let mut all: Vec<u64> = used.iter().map(|q| q.value()).collect();
    let first = all.len();
    for &(bits, count) in widths {
        let found = ntt_primes_below(10, bits, count, &all).expect("as many primes");
        all.extend(found);
    }
    all[first..].iter().map(|&q| Modulus::new(q)).collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Coefficients as residues: hostile residues first, then hostile values and terms of the sum, then random ones.
fn coefficients(from: &[Modulus]) -> Vec<Vec<u64>> {
    let inverses = BaseConversion::new(from, &[]).inverses;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let hostile = |q: Modulus, pick: u64| match pick % 8 {
        0 => 0,
        1 => 1,
        2 => q.value() - 1,
        3 => q.value() - 2,
        4 => q.value() / 2,
        5 => q.value() / 2 + 1,
        6 => q.value() / 2 - 1,
        _ => q.reduce(pick >> 3),
    };
    let alike = (0..8).map(|pick| from.iter().map(|&q| hostile(q, pick)).collect());
    // What is summed is x·(A/a)^{-1}: terms as large as they come.
    let term = |q: Modulus, i: usize, y: u64| q.mul(y, q.inv(inverses[i].value));
    let terms = (0..8).map(|pick| from.iter().enumerate().map(|(i, &q)| term(q, i, hostile(q, pick))).collect());
    // Around the centre ±A/2: (A ± 1)/2 plus a little, that is ±1/2 modulo every odd prime.
    let centre = (-4..=4).flat_map(|d: i64| [1, -1].map(|sign| (d, sign))).map(|(d, sign)| {
        let near = |q: &Modulus| q.add(q.mul(q.from_i64(sign), q.value() / 2 + 1), q.from_i64(d));
        from.iter().map(near).collect()
    });
    let zero = (-4..=4).map(|d| from.iter().map(|q| q.from_i64(d)).collect());
    let mut all: Vec<Vec<u64>> = alike.chain(terms).chain(centre).chain(zero).collect();
    while all.len() < 8 * LINES {
        let is_hostile = all.len().is_multiple_of(2);
        all.push(
            from.iter()
                .map(|&q| if is_hostile { hostile(q, random.next()) } else { q.reduce(random.next()) })
                .collect(),
        );
    }
    all
}

/// The limb of each prime.
fn limbs(coefficients: &[Vec<u64>], count: usize) -> Vec<Vec<Line>> {
    let limb = |i| coefficients.chunks_exact(8).map(|eight| Line(std::array::from_fn(|lane| eight[lane][i]))).collect();
    (0..count).map(limb).collect()
}

/// Sources of one width or of several, few and many.
fn shapes() -> Vec<[Vec<Width>; 2]> {
    let mixed = vec![(20, 1), (31, 2), (48, 2), (50, 3), (51, 1), (58, 2), (60, 3), (61, 2)];
    let sources: [&[Width]; 14] = [
        &[(20, 1)],
        &[(50, 1)],
        &[(61, 1)],
        &[(50, 5)],
        &[(60, 5)],
        &[(61, 5)],
        &[(31, 4)],
        &[(61, 2), (20, 1), (50, 1)],
        &[(50, 7)],
        &[(50, 8)],
        &[(60, 7)],
        &[(60, 8)],
        &[(61, 17)],
        &[(49, 30)],
    ];
    let mut shapes: Vec<_> = sources.iter().map(|from| [from.to_vec(), mixed.clone()]).collect();
    shapes.push([vec![(61, 3)], vec![(20, 2)]]);
    shapes.push([vec![(20, 2)], vec![(61, 3)]]);
    shapes.push([vec![(31, 3)], vec![(31, 9)]]);
    shapes.push([vec![(30, 100)], vec![(60, 2)]]);
    // Targets of up to 50 bits alone, more than one sweep takes, and sources that need several sums.
    let reached = vec![(20, 1), (31, 2), (48, 2), (49, 3), (50, 5)];
    shapes.extend([(20, 1), (50, 1), (50, 8), (49, 30), (31, 4)].map(|from| [vec![from], reached.clone()]));
    shapes.push([vec![(50, 7), (30, 2), (40, 1)], reached]);
    shapes
}

#[test]
fn conversions_equal_the_reference() {
    for [from, to] in shapes() {
        let about = format!("{from:?} to {to:?}");
        let from = primes(&from, &[]);
        let to = primes(&to, &from);
        let base = BaseConversion::new(&from, &to);
        let input = coefficients(&from);
        let wanted: Vec<Vec<u64>> = input.iter().map(|x| base.convert(x)).collect();
        let (sources, wanted) = (limbs(&input, from.len()), limbs(&wanted, to.len()));
        for isa in available() {
            let converter = Converter::new(isa, &from, &to);
            let mut got = vec![vec![Line([u64::MAX; 8]); LINES]; to.len()];
            converter.convert(
                &mut got.iter_mut().map(|limb| &mut limb[..]).collect::<Vec<_>>(),
                &sources.iter().map(|limb| &limb[..]).collect::<Vec<_>>(),
            );
            for (j, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                for (line, (got, wanted)) in got.iter().zip(wanted).enumerate() {
                    assert_eq!(got, wanted, "{about}, {}, target {j}, line {line}", isa.name());
                }
            }
        }
    }
}

#[test]
fn some_targets_are_what_they_are_among_all() {
    let from = primes(&[(50, 3)], &[]);
    let to = primes(&[(50, 3), (60, 2), (49, 5), (61, 1), (31, 2)], &from);
    let sources = limbs(&coefficients(&from), from.len());
    for isa in available() {
        let converter = Converter::new(isa, &from, &to);
        let (mut prepared, mut overflows) = (sources.clone(), vec![Line::default(); LINES]);
        converter.prepare(&mut prepared.iter_mut().map(|limb| &mut limb[..]).collect::<Vec<_>>(), &mut overflows);
        let prepared: Vec<&[Line]> = prepared.iter().map(|limb| &limb[..]).collect();
        let swept = |wanted: &[usize]| {
            let mut out = vec![vec![Line::default(); LINES]; wanted.len()];
            let mut targets: Vec<_> = wanted.iter().zip(&mut out).map(|(&j, limb)| (j, &mut limb[..])).collect();
            converter.sweep(&mut targets, Sources { rows: &prepared, overflows: &overflows, part: Part::all(LINES) });
            out
        };
        let all = swept(&(0..to.len()).collect::<Vec<_>>());
        for some in [vec![0], vec![2, 3], vec![1, 4, 5, 6, 12], vec![7, 8, 9, 10, 11]] {
            let wanted: Vec<_> = some.iter().map(|&j| all[j].clone()).collect();
            assert!(swept(&some) == wanted, "{some:?}, {}", isa.name());
        }
    }
}

#[test]
fn strips_make_up_a_limb_without_its_padding() {
    let length = lines(13);
    let from = primes(&[(50, 2), (49, 1)], &[]);
    let to = primes(&[(50, 1), (60, 2), (49, 4)], &from);
    let word = |q: &Modulus, i: usize| q.reduce((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let sources: Vec<Vec<Line>> = from
        .iter()
        .map(|q| (0..length).map(|l| Line([0, 1, 2, 3, 4, 5, 6, 7].map(|i| word(q, 8 * l + i)))).collect())
        .collect();
    for isa in available() {
        let converter = Converter::new(isa, &from, &to);
        let (mut prepared, mut overflows) = (sources.clone(), vec![Line::default(); length]);
        converter.prepare(&mut prepared.iter_mut().map(|limb| &mut limb[..]).collect::<Vec<_>>(), &mut overflows);
        let rows: Vec<&[Line]> = prepared.iter().map(|limb| &limb[..]).collect();
        let untouched = Line([u64::MAX; 8]);
        let swept = |parts: &mut dyn Iterator<Item = Part>| {
            let mut out = vec![vec![untouched; length]; to.len()];
            let mut targets: Vec<_> = out.iter_mut().map(|limb| &mut limb[..]).enumerate().collect();
            parts.for_each(|part| converter.sweep(&mut targets, Sources { rows: &rows, overflows: &overflows, part }));
            out
        };
        let (whole, strips) = (swept(&mut [Part::all(length)].into_iter()), swept(&mut Part::strips(length)));
        for (whole, strips) in whole.iter().zip(&strips) {
            assert!(blocks(whole).eq(blocks(strips)), "{}", isa.name());
            assert!(strips.chunks(PADDED).all(|block| block[BLOCK] == untouched), "{}", isa.name());
        }
    }
}

#[test]
fn lifts_equal_the_modulus() {
    let all = primes(&[(20, 2), (31, 1), (48, 1), (50, 2), (51, 1), (60, 1), (61, 2)], &[]);
    for &from in &all {
        let input = coefficients(&[from]);
        let a = limbs(&input, 1);
        for &to in all.iter().filter(|&&to| to != from) {
            let wanted: Vec<Vec<u64>> = input.iter().map(|x| vec![to.from_i64(from.centered(x[0]))]).collect();
            for isa in available() {
                let mut out = vec![Line([u64::MAX; 8]); LINES];
                lift(isa, from, to, &mut out, &a[0]);
                assert!(out == limbs(&wanted, 1)[0], "{} to {}, {}", from.value(), to.value(), isa.name());
            }
        }
    }
}
