//! What calls of a CPU take over the sum of their operations: `[correction]` of the machine model `cpu`.
//!
//! A device runs composites in kernels of their own, and a program's operands are not those of the call before. So each
//! call is timed as programs make it, with all threads, on sets of operands that take turns and exceed the second-level
//! caches; and it is recorded, so that the model's own price of the same call is known. The correction is the ratio of
//! both. All calls are timed in several rounds one after another: a host is not as fast in one moment as in another, and
//! the rounds tell by how much.

mod spans;

use super::{done, open_ring, polynomial};
use crate::error::Result;
use limbwise_device::{
    Basis, Device, Domain, GadgetKey, IntegerMatrix, Null, Ring, Role, Rotation, Shape, Terms, Weight,
};
use limbwise_graph::Recorder;
use limbwise_machines::Spec;
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use spans::Spans;
use std::{
    cell::Cell,
    fmt::Write as _,
    time::{Duration, Instant},
};

/// Limbs of the largest polynomial that a measured call makes, by which the model knows its size.
const ROWS: [usize; 3] = [3, 10, 40];
/// Limbs of the ring: those of the largest operand, which [`Probe::ModDown`] has.
const RING_LIMBS: usize = ROWS[2] + ROWS[2] / 5;
/// Bytes of all sets of operands of a call, at least: more than second-level caches hold, less than most last ones.
const TURNS_BYTES: usize = 12 << 20;
/// Bytes of all sets of operands of a call with a key, at least: keys come from memory, for a program has many.
const KEY_TURNS_BYTES: usize = 128 << 20;
/// Bytes of one set of operands that no cache holds.
const MANY_BYTES: usize = 256 << 20;
/// Most sets of operands of a call.
const MOST_SETS: usize = 1024;
/// Rounds of measurement.
const ROUNDS: usize = 3;
/// Time for a call in a round, which may be one call.
const ROUND: Duration = Duration::from_millis(4);
/// Corrections beyond these limits are measurements gone wrong.
const PLAUSIBLE: [f64; 2] = [0.02, 50.0];

/// A call that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Transform,
    Mul,
    MulAcc,
    Add,
    AddAssign,
    ScaleLimbs,
    Automorphism,
    BasisConvert,
    Copy,
    ExpandSeed,
    ModUp,
    GadgetProduct,
    ModDown,
    Rescale,
    KeySwitch,
    KeySwitchOnto,
    KeySwitchUndivided,
    RotatedSums,
    AddedRotations,
    Tensor,
    ExtendLimb,
    WeightedSums,
    ExtendedWeights,
    LinearCombination,
    MatrixProduct,
}

impl Probe {
    const ALL: [Self; 25] = [
        Self::Transform,
        Self::Mul,
        Self::MulAcc,
        Self::Add,
        Self::AddAssign,
        Self::ScaleLimbs,
        Self::Automorphism,
        Self::BasisConvert,
        Self::Copy,
        Self::ExpandSeed,
        Self::ModUp,
        Self::GadgetProduct,
        Self::ModDown,
        Self::Rescale,
        Self::KeySwitch,
        Self::KeySwitchOnto,
        Self::KeySwitchUndivided,
        Self::RotatedSums,
        Self::AddedRotations,
        Self::Tensor,
        Self::ExtendLimb,
        Self::WeightedSums,
        Self::ExtendedWeights,
        Self::LinearCombination,
        Self::MatrixProduct,
    ];

    /// The field of this correction under `[correction]`.
    fn field(self) -> &'static str {
        match self {
            Self::Transform => "transform",
            Self::Mul => "mul",
            Self::MulAcc => "mul_acc",
            Self::Add => "add",
            Self::AddAssign => "add_assign",
            Self::ScaleLimbs => "scale_limbs",
            Self::Automorphism => "automorphism",
            Self::BasisConvert => "basis_convert",
            Self::Copy => "copy",
            Self::ExpandSeed => "expand_seed",
            Self::ModUp => "mod_up",
            Self::GadgetProduct => "gadget_product",
            Self::ModDown => "mod_down",
            Self::Rescale => "rescale",
            Self::KeySwitch => "key_switch",
            Self::KeySwitchOnto => "key_switch_onto",
            Self::KeySwitchUndivided => "key_switch_undivided",
            Self::RotatedSums => "rotated_sums",
            Self::AddedRotations => "added_rotations",
            Self::Tensor => "tensor",
            Self::ExtendLimb => "extend_limb",
            Self::WeightedSums => "weighted_sums",
            Self::ExtendedWeights => "extended_weights",
            Self::LinearCombination => "linear_combination",
            Self::MatrixProduct => "matrix_product",
        }
    }
}

/// One size of calls.
struct Size {
    ring: Ring,
    rows: usize,
    chain: Basis,
    special: Basis,
    digits: Vec<Basis>,
}

impl Size {
    /// `rows` limbs, of which a fifth are special primes, and as many are a digit of the others.
    fn of(ring: &Ring, rows: usize) -> Self {
        let digit = (rows / 5).max(1);
        let limbs = rows - digit;
        Self {
            ring: ring.clone(),
            rows,
            chain: Basis::range(0, limbs),
            special: Basis::range(limbs, rows),
            digits: (0..limbs).step_by(digit).map(|i| Basis::range(i, (i + digit).min(limbs))).collect(),
        }
    }

    fn full(&self) -> Basis {
        self.chain | self.special
    }

    /// The chain without its last prime.
    fn less(&self) -> Basis {
        Basis::range(0, self.chain.len() - 1)
    }

    /// The whole basis and so many primes more.
    fn more(&self, primes: usize) -> Basis {
        Basis::range(0, self.rows + primes)
    }
}

/// Where a call is made, and where its operands come from.
struct Bench<'a, D: Device> {
    dev: &'a D,
    size: &'a Size,
    /// Values over the ring's whole basis that operands are copied from; without it they are uploaded, which is slower and
    /// leaves no operation in a recording.
    template: Option<D::Poly>,
    /// Bytes of the sets of operands made last.
    bytes: Cell<usize>,
}

impl<D: Device> Bench<'_, D> {
    fn values(&self, basis: Basis) -> D::Poly {
        let copied = |whole: &D::Poly| self.dev.copy(&self.dev.restrict(whole, basis));
        self.template.as_ref().map_or_else(|| polynomial(self.dev, &self.size.ring, basis, Domain::Eval), copied)
    }

    fn many(&self, count: usize, basis: Basis) -> Vec<D::Poly> {
        std::iter::repeat_with(|| self.values(basis)).take(count).collect()
    }

    fn coefficients(&self, basis: Basis) -> D::Poly {
        polynomial(self.dev, &self.size.ring, basis, Domain::Coeff)
    }

    fn key(&self) -> GadgetKey<D::Poly> {
        let Size { digits, special, .. } = self.size;
        let pair = |_: &Basis| [0, 1].map(|_| self.values(self.size.full()));
        GadgetKey { digits: digits.clone(), special: *special, pairs: digits.iter().map(pair).collect() }
    }

    /// Sets of operands with so many polynomials each: more than fit a second-level cache.
    fn sets<T>(&self, polynomials: usize, make: impl FnMut() -> T) -> Turns<T> {
        self.turns(TURNS_BYTES, polynomials, make)
    }

    /// Sets of operands with keys: more than fit the last cache.
    fn sets_with_keys<T>(&self, polynomials: usize, make: impl FnMut() -> T) -> Turns<T> {
        self.turns(KEY_TURNS_BYTES, polynomials, make)
    }

    /// Sets of so many bytes, two at least unless one exceeds all caches.
    fn turns<T>(&self, all: usize, polynomials: usize, make: impl FnMut() -> T) -> Turns<T> {
        let bytes = 8 * polynomials * self.size.full().len() * self.size.ring.n();
        let least = if bytes > MANY_BYTES { 1 } else { 2 };
        let sets = if self.template.is_some() { all.div_ceil(bytes).clamp(least, MOST_SETS) } else { 1 };
        self.bytes.set(bytes * sets);
        Turns { sets: std::iter::repeat_with(make).take(sets).collect(), next: 0 }
    }
}

impl<D: Device> Bench<'_, D> {
    fn rotation(&self, steps: i64) -> Rotation<D::Poly> {
        Rotation { galois: GaloisElement::rotation(steps, self.size.ring.log_n()), key: self.key() }
    }

    /// Both halves over the whole basis.
    fn both(&self) -> D::Poly {
        self.dev.stack(&[&self.values(self.size.full()), &self.values(self.size.full())])
    }

    /// Sums of two rotations, each with a key of its own, and of one more operand.
    fn rotated_sums(&self) -> Box<dyn FnMut() + '_> {
        let (dev, size) = (self.dev, self.size);
        let (chain, full) = (size.chain, size.full());
        let polynomials = 2 * 2 * size.digits.len() + 4 + SUMS * 3;
        let mut x = self.sets_with_keys(polynomials, || {
            ([1, 2].map(|steps| self.rotation(steps)), self.many(2, chain), [self.both()], self.many(SUMS * 3, full))
        });
        Box::new(move || {
            let (rotations, parts, more, weights) = x.next();
            let sums: Vec<Terms<'_, D::Poly>> =
                weights.chunks(3).map(|group| group.iter().map(Weight::Values).enumerate().collect()).collect();
            drop(dev.rotated_sums(&parts[1], &parts[0], rotations, more, &sums));
        })
    }

    /// A step of a sum: three rotations, each with a key of its own, added to one more operand.
    fn added_rotations(&self) -> Box<dyn FnMut() + '_> {
        let (dev, size) = (self.dev, self.size);
        let polynomials = 3 * 2 * size.digits.len() + 4;
        let mut x = self.sets_with_keys(polynomials, || {
            (
                [1, 2, 3].map(|steps| self.rotation(steps)),
                self.values(size.chain),
                self.values(size.full()),
                [self.both()],
            )
        });
        Box::new(move || {
            let (rotations, c, onto, more) = x.next();
            let sum: Terms<'_, D::Poly> = (0..=rotations.len()).map(|i| (i, Weight::One)).collect();
            drop(dev.rotated_sums(c, onto, rotations, more, &[sum]));
        })
    }
}

/// Sets of operands that take turns.
struct Turns<T> {
    sets: Vec<T>,
    next: usize,
}

impl<T> Turns<T> {
    fn next(&mut self) -> &mut T {
        self.next = (self.next + 1) % self.sets.len();
        &mut self.sets[self.next]
    }
}

/// Weighted sums in a call.
const SUMS: usize = 2;
/// Terms of each of them, and of a combination.
const TERMS: usize = 4;
/// Columns of a matrix, by the degree: as many polynomials of one limb go in. Long sums are what matrices are for, but
/// the operands of a large ring must not fill the memory.
fn columns(n: usize) -> usize {
    ((1 << 20) / n).clamp(32, 256)
}

impl Probe {
    /// Prepares operands and returns the call.
    fn call<'a, D: Device>(self, bench: &'a Bench<'_, D>) -> Box<dyn FnMut() + 'a> {
        let (dev, size) = (bench.dev, bench.size);
        let (chain, full, digits) = (size.chain, size.full(), size.digits.len());
        match self {
            Self::ModUp => {
                let mut x = bench.sets(1 + digits, || bench.values(chain));
                Box::new(move || drop(dev.mod_up(x.next(), &size.digits, full)))
            }
            Self::GadgetProduct => {
                let mut x = bench.sets_with_keys(3 * digits, || (bench.many(digits, full), bench.key()));
                Box::new(move || {
                    let (raised, key) = x.next();
                    drop(dev.gadget_product(raised, key));
                })
            }
            Self::ModDown => {
                let mut x = bench.sets(1, || bench.values(size.more(size.special.len())));
                Box::new(move || drop(dev.mod_down(x.next(), full)))
            }
            Self::Rescale => {
                let mut x = bench.sets(1, || bench.values(size.more(1)));
                Box::new(move || drop(dev.rescale(x.next(), full)))
            }
            Self::KeySwitch | Self::KeySwitchOnto | Self::KeySwitchUndivided => self.key_switch(bench),
            Self::RotatedSums => bench.rotated_sums(),
            Self::AddedRotations => bench.added_rotations(),
            Self::ExtendLimb => {
                let mut x = bench.sets(1, || bench.coefficients(Basis::single(0)));
                Box::new(move || drop(dev.extend_limb(x.next(), full)))
            }
            Self::WeightedSums | Self::ExtendedWeights => self.sums(bench),
            Self::Tensor => {
                // A product of two pairs, onto which one pair is added.
                let mut x = bench.sets(6, || bench.many(6, full));
                let constants = vec![vec![3 << 20; full.len()]];
                Box::new(move || {
                    let all: Vec<&D::Poly> = x.next().iter().collect();
                    drop(dev.tensor(&all[..2], &all[2..4], 0, &all[4..], &constants));
                })
            }
            Self::LinearCombination => {
                let mut x = bench.sets(TERMS, || bench.many(TERMS, full));
                let constants: Vec<Vec<u64>> = (1..=TERMS as u64).map(|c| vec![c << 20; full.len()]).collect();
                Box::new(move || drop(dev.linear_combination(&x.next().iter().collect::<Vec<_>>(), &constants)))
            }
            Self::MatrixProduct => {
                let columns = columns(size.ring.n());
                let weights = (-125..126).cycle().take(size.rows * columns).collect();
                let matrix = IntegerMatrix::new(size.rows, columns, weights).expect("small weights, each row as long");
                let mut x = bench.sets(columns.div_ceil(size.rows), || {
                    dev.stack(&bench.many(columns, Basis::single(0)).iter().collect::<Vec<_>>())
                });
                Box::new(move || drop(dev.matrix_product(x.next(), &matrix)))
            }
            _ => self.primitive(bench),
        }
    }

    /// The key switches.
    fn key_switch<'a, D: Device>(self, bench: &'a Bench<'_, D>) -> Box<dyn FnMut() + 'a> {
        let (dev, size) = (bench.dev, bench.size);
        let (chain, full, less, digits) = (size.chain, size.full(), size.less(), size.digits.len());
        match self {
            Self::KeySwitch => {
                let mut x = bench.sets_with_keys(2 * digits + 1, || (bench.values(chain), bench.key()));
                Box::new(move || {
                    let (c, key) = x.next();
                    drop(dev.key_switch(c, key));
                })
            }
            Self::KeySwitchOnto => {
                let mut x = bench.sets_with_keys(2 * digits + 3, || (bench.many(3, chain), bench.key()));
                Box::new(move || {
                    let (three, key) = x.next();
                    drop(dev.key_switch_onto(&three[0], key, [Some(&three[1]), Some(&three[2])], less));
                })
            }
            _ => {
                let mut x =
                    bench.sets_with_keys(2 * digits + 2, || (bench.values(chain), bench.values(full), bench.key()));
                Box::new(move || {
                    let (c, onto, key) = x.next();
                    drop(dev.key_switch_undivided(c, key, [Some(onto), None]));
                })
            }
        }
    }

    fn sums<'a, D: Device>(self, bench: &'a Bench<'_, D>) -> Box<dyn FnMut() + 'a> {
        let full = bench.size.full();
        let weights = move || -> Vec<D::Poly> {
            match self {
                Self::WeightedSums => bench.many(SUMS * TERMS, full),
                _ => std::iter::repeat_with(|| bench.coefficients(Basis::single(0))).take(SUMS * TERMS).collect(),
            }
        };
        let mut x = bench.sets(TERMS * (SUMS + 1), || (bench.many(TERMS, full), weights()));
        Box::new(move || {
            let (x, weights) = x.next();
            let term = |(i, weight)| match self {
                Self::WeightedSums => (i, Weight::Values(weight)),
                _ => (i, Weight::OneLimb(weight)),
            };
            let sums: Vec<_> = weights.chunks(TERMS).map(|sum| sum.iter().enumerate().map(term).collect()).collect();
            drop(bench.dev.weighted_sums(x, &sums));
        })
    }

    /// The calls that are one operation; a transform's is there and back.
    fn primitive<'a, D: Device>(self, bench: &'a Bench<'_, D>) -> Box<dyn FnMut() + 'a> {
        let (dev, size, full) = (bench.dev, bench.size, bench.size.full());
        let mut x = bench.sets(3, || {
            let first = if self == Self::Transform { bench.coefficients(full) } else { bench.values(full) };
            (Some(first), bench.values(full), bench.values(full))
        });
        let (own, constants) = (size.digits[0], vec![3; full.len()]);
        let g = GaloisElement::rotation(1, size.ring.log_n());
        let shape = Shape::eval(&size.ring, full);
        let few = (self == Self::BasisConvert).then(|| bench.coefficients(own));
        Box::new(move || {
            let (first, a, b) = x.next();
            match self {
                Self::Transform => *first = first.take().map(|p| dev.intt(dev.ntt(p))),
                Self::Mul => drop(dev.mul(a, b)),
                Self::MulAcc => first.iter_mut().for_each(|sum| dev.mul_acc(sum, a, b)),
                Self::Add => drop(dev.add(a, b)),
                Self::AddAssign => dev.add_assign(a, b),
                Self::ScaleLimbs => *first = first.take().map(|p| dev.scale_limbs(p, &constants)),
                Self::Automorphism => drop(dev.automorphism(a, g)),
                Self::BasisConvert => {
                    few.iter().for_each(|few| drop(dev.basis_convert(few, size.more(own.len()) - own)))
                }
                Self::Copy => drop(dev.copy(a)),
                _ => drop(dev.expand_seed(&shape, Role::Temporary, &Seed([0; 32]))),
            }
        })
    }

    /// Time of the call by a model: recorded once.
    fn modelled(self, size: &Size, model: &Spec) -> Result<f64> {
        let recorder = Recorder::new(Null::default());
        self.call(&Bench { dev: &recorder, size, template: None, bytes: Cell::new(0) })();
        Ok(limbwise_machines::seconds(&recorder.graph(), model)?)
    }
}

/// Median time of a call for about [`ROUND`].
fn timed(dev: &impl Device, call: &mut dyn FnMut()) -> f64 {
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || begin.elapsed() < ROUND {
        let start = Instant::now();
        done(dev, call);
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A call at a size: seconds, round by round, and the bytes of its operands in all turns.
#[derive(Clone, Copy, Default)]
struct Timed {
    rounds: [f64; ROUNDS],
    bytes: usize,
}

impl Timed {
    fn median(&self) -> f64 {
        self.rounds[ROUNDS / 2]
    }
}

/// Every call at every size.
type Times = Vec<[Timed; ROWS.len()]>;

fn times<D: Device>(dev: &D, sizes: &[Size]) -> Times {
    let mut times = vec![[Timed::default(); ROWS.len()]; Probe::ALL.len()];
    for round in 0..ROUNDS {
        for (at, size) in sizes.iter().enumerate() {
            let template = Some(polynomial(dev, &size.ring, Basis::range(0, RING_LIMBS), Domain::Eval));
            let bench = Bench { dev, size, template, bytes: Cell::new(0) };
            for (probe, times) in Probe::ALL.iter().zip(&mut times) {
                let mut call = probe.call(&bench);
                if round == 0 {
                    call(); // tables and buffers
                }
                times[at].rounds[round] = timed(dev, &mut *call);
                times[at].bytes = bench.bytes.get();
            }
        }
    }
    times.iter_mut().flatten().for_each(|timed| timed.rounds.sort_by(f64::total_cmp));
    times
}

/// What was found.
pub(super) struct Corrections {
    /// Lines that `[memory]` goes on with.
    pub(super) memory: String,
    /// The section `[correction]`.
    pub(super) toml: String,
    /// Half the distance of the fastest and the slowest round, over their middle: the median of all calls.
    pub(super) spread: f64,
}

/// Measures the corrections of a device for polynomials of one degree. `model` makes the model of its operations, given
/// the lines of `[memory]` that are found.
pub(super) fn measured<D: Device>(
    dev: &D,
    log_n: u32,
    model: impl FnOnce(&str) -> Result<Spec>,
) -> Result<Corrections> {
    let ring = open_ring(dev, (log_n, 45), RING_LIMBS)?;
    let sizes: Vec<Size> = ROWS.iter().map(|&rows| Size::of(&ring, rows)).collect();
    let spans = Spans::measured(dev, &ring);
    let (memory, times) = (spans.lines(), times(dev, &sizes));
    // Results are made where those of the call before were, in the cache; a recording of one call would find no room.
    let far = model(&memory)?.with_overrides(&[("memory.write_beyond_gb_s", "1e9")])?;
    let near = far.with_overrides(&[("memory.read_beyond_gb_s", "1e9")])?;
    let spread =
        |timed: &Timed| (timed.rounds[ROUNDS - 1] - timed.rounds[0]) / (timed.rounds[ROUNDS - 1] + timed.rounds[0]);
    let mut spreads: Vec<f64> = times.iter().flatten().map(spread).collect();
    spreads.sort_by(f64::total_cmp);
    // Seconds near the cache of a call, and of its operations by the model.
    let both = |probe: Probe, at: usize| -> Result<[f64; 2]> {
        let timed = Probe::ALL.iter().zip(&times).find(|(p, _)| **p == probe).map_or(Timed::default(), |(_, t)| t[at]);
        let modelled = probe.modelled(&sizes[at], &near)?;
        let beyond = probe.modelled(&sizes[at], &far)? - modelled;
        Ok([timed.median() - spans.share(timed.bytes) * beyond, modelled])
    };
    let mut toml = format!("\n[correction]\nrows = {:?}\n", ROWS.map(|rows| rows as f64));
    for probe in Probe::ALL {
        let mut factors = Vec::new();
        for at in 0..ROWS.len() {
            let [mut seconds, mut modelled] = both(probe, at)?;
            if probe == Probe::ExtendedWeights {
                // The products have the correction of weighted sums; what the call takes beyond is its weights'.
                let [products, of_products] = both(Probe::WeightedSums, at)?;
                (seconds, modelled) = (seconds - products, modelled - of_products);
            }
            factors.push((seconds / modelled).clamp(PLAUSIBLE[0], PLAUSIBLE[1]));
        }
        let _ = writeln!(toml, "{} = {factors:.4?}", probe.field());
    }
    Ok(Corrections { memory, toml, spread: spreads[spreads.len() / 2] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate;
    use limbwise_cpu::{Cpu, Isa};

    /// What is measured makes a model, whose corrections are plausible and whose rounds are told apart.
    #[test]
    fn what_is_measured_makes_a_model() {
        let dev = Cpu::new(Isa::Scalar, 1).unwrap();
        let (text, spread) = calibrate::measured(&dev, &dev, 1, 10).unwrap();
        assert!((0.0..1.0).contains(&spread), "{spread}");
        let fields = Spec::from_toml(&text, "test").unwrap().fields();
        for probe in Probe::ALL {
            let path = format!("correction.{}", probe.field());
            let factors = &fields.iter().find(|field| field.path == path).unwrap().value;
            for factor in factors.as_array().unwrap() {
                let factor = factor.as_f64().unwrap();
                assert!((PLAUSIBLE[0]..=PLAUSIBLE[1]).contains(&factor), "{probe:?}: {factor}");
            }
        }
    }

    /// A call's correction is the factor between the model's times of that call with and without it, at every size.
    #[test]
    fn a_correction_is_of_what_its_probe_does() {
        let dev = Cpu::new(Isa::Scalar, 1).unwrap();
        let plain = Spec::load("cpu").unwrap();
        let plain =
            plain.with_overrides(&[("correction.rows", &format!("{:?}", ROWS.map(|rows| rows as f64)))]).unwrap();
        let ring = open_ring(&dev, (10, 45), RING_LIMBS).unwrap();
        let factors = [2.0, 3.0, 5.0];
        for probe in Probe::ALL {
            let field = format!("correction.{}", probe.field());
            let corrected = plain.with_overrides(&[(&field, &format!("{factors:?}"))]).unwrap();
            for (rows, factor) in ROWS.into_iter().zip(factors) {
                let size = Size::of(&ring, rows);
                let [with, without] = [&corrected, &plain].map(|spec| probe.modelled(&size, spec).unwrap());
                // The sums with one-limb weights are those of `WeightedSums`, which are not corrected here, and the weights.
                let others = match probe {
                    Probe::ExtendedWeights => Probe::WeightedSums.modelled(&size, &plain).unwrap(),
                    _ => 0.0,
                };
                let ratio = (with - others) / (without - others);
                assert!((ratio / factor - 1.0).abs() < 1e-6, "{probe:?} of {rows} limbs: {ratio} for {factor}");
            }
        }
    }
}
