//! Predicted and measured memory of a device: several kinds of calls, each on a newly opened device.

use crate::{
    footprint::{BlindRotation, Body, Footprint, KeySwitch, RotatedSums, SharedFootprint},
    lwe::{Gadget, Ggsw, LweShape, LweSwitchKey, Rounding},
    matrix::IntegerMatrix,
    null::Null,
    ops::{Device, Fill, GadgetKey, KeyId, Role, Rotation, Weight},
    ring::{Basis, Domain, Ring, RingSpec, Shape},
};
use limbwise_math::{galois::GaloisElement, prime::ntt_primes_below};
use std::sync::Arc;

/// A ring with its chain, special primes and digits, and a batch.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Bits of each prime.
    pub bits: u32,
    /// Primes of the chain, and special ones.
    pub limbs: [usize; 2],
    /// Primes of a digit.
    pub digit: usize,
    /// Number of ciphertexts in a batch.
    pub batch: usize,
}

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `key_switch`.
    KeySwitch,
    /// `key_switch_onto` with a rescale.
    Merged,
    /// Two rotations of one polynomial, whose digits are raised once.
    Hoisted,
    /// `key_switch_undivided`, then `rotated_sums` with weights of values, then with one of one limb.
    Undivided,
    /// `rescale` by one prime, then by two.
    Rescale,
    /// `weighted_sums` with weights of values and of one limb.
    WeightedSums,
    /// `tensor`, `linear_combination`, `extend_limb`, `matrix_product`.
    Combination,
    /// A bootstrapping over one prime: key switch, modulus switch, blind rotation, extraction.
    Bootstrapping,
}

impl Call {
    /// All kinds of calls.
    pub const ALL: [Self; 8] = [
        Self::KeySwitch,
        Self::Merged,
        Self::Hoisted,
        Self::Undivided,
        Self::Rescale,
        Self::WeightedSums,
        Self::Combination,
        Self::Bootstrapping,
    ];

    /// Operands are made, used and dropped.
    ///
    /// # Panics
    /// If there is no ring of these sizes.
    pub fn run<D: Device>(self, dev: &D, sizes: &Sizes) {
        let Sizes { log_n, bits, limbs: [chain, special], .. } = *sizes;
        let count = if self == Self::Bootstrapping { 1 } else { chain + special };
        let primes = ntt_primes_below(log_n, bits, count, &[]).expect("primes of a test");
        let ring = dev.ring(&RingSpec { log_n, primes }).expect("a ring of a test");
        let work = Work { dev, ring: &ring, sizes, chain: Basis::range(0, chain.min(count)) };
        match self {
            Self::KeySwitch => drop(dev.key_switch(&work.values(), &work.key())),
            Self::Merged => {
                let (c, b) = (work.values(), work.values());
                let to = Basis::range(0, chain - 1);
                drop(dev.key_switch_onto(&c, &work.key(), [Some(&b), None], to));
            }
            Self::Hoisted => work.hoisted(),
            Self::Undivided => work.undivided(),
            Self::Rescale => {
                let once = dev.rescale(&work.values(), Basis::range(0, chain - 1));
                drop(dev.rescale(&once, Basis::range(0, chain - 3)));
            }
            Self::WeightedSums => work.weighted_sums(),
            Self::Combination => {
                let x = [work.values(), work.values(), work.values()];
                let constants = vec![vec![1; chain]; x.len()];
                drop(dev.linear_combination(&x.each_ref(), &constants));
                let pair = [&x[0], &x[1]];
                drop(dev.tensor(&pair, &[&x[1], &x[2]], 1, &pair, &constants[..1]));
                drop(dev.tensor(&pair, &[], 0, &[], &[]));
                drop(dev.extend_limb(&work.limb(), ring.full()));
                let columns = IntegerMatrix::new(3, sizes.batch, vec![1; 3 * sizes.batch]).expect("a matrix");
                drop(dev.matrix_product(&x[0], &columns));
            }
            Self::Bootstrapping => work.bootstrapping(),
        }
    }
}

struct Work<'a, D> {
    dev: &'a D,
    ring: &'a Ring,
    sizes: &'a Sizes,
    chain: Basis,
}

/// Values are arbitrary: memory does not depend on them.
const ZEROS: Fill<'static> = &|_, words| words.fill(0);

impl<D: Device> Work<'_, D> {
    fn values(&self) -> D::Poly {
        self.dev.zeros(&Shape::eval(self.ring, self.chain).with_batch(self.sizes.batch))
    }

    fn limb(&self) -> D::Poly {
        self.dev.zeros(&Shape::eval(self.ring, Basis::single(1)).with_domain(Domain::Coeff))
    }

    fn key(&self) -> GadgetKey<D::Poly> {
        let (limbs, digit) = (self.chain.len(), self.sizes.digit);
        let digits: Vec<Basis> = (0..limbs).step_by(digit).map(|i| Basis::range(i, (i + digit).min(limbs))).collect();
        let shape = Shape::eval(self.ring, self.ring.full());
        let half = |_| self.dev.upload(&shape, Role::EvaluationKey(KeyId(1)), ZEROS);
        let pairs = digits.iter().map(|_| [0, 1].map(half)).collect();
        GadgetKey { digits, special: self.ring.full() - self.chain, pairs }
    }

    fn hoisted(&self) {
        let (dev, key, c) = (self.dev, self.key(), self.values());
        let raised = dev.mod_up(&c, &key.digits, self.ring.full());
        let rotated = |steps| {
            let g = GaloisElement::rotation(steps, self.sizes.log_n);
            let turned: Vec<D::Poly> = raised.iter().map(|digit| dev.automorphism(digit, g)).collect();
            dev.gadget_product(&turned, &key).map(|half| dev.mod_down(&half, self.chain))
        };
        let ([b, a], [d, c]) = (rotated(1), rotated(2));
        drop([dev.add(&b, &d), dev.add(&a, &c)]);
    }

    fn undivided(&self) {
        let (dev, key, c, onto) = (self.dev, self.key(), self.values(), self.values());
        let wide = Shape::eval(self.ring, self.ring.full());
        let whole = dev.zeros(&wide.with_batch(self.sizes.batch));
        drop(dev.key_switch_undivided(&c, &key, [Some(&whole), None]));
        let rotation = |steps| Rotation { galois: GaloisElement::rotation(steps, self.sizes.log_n), key: key.clone() };
        let (rotations, both) = ([1, 2, 3].map(rotation), dev.stack(&[&whole, &whole]));
        let (values, limb) = (dev.zeros(&wide), self.limb());
        let sum = |last| vec![(0, Weight::Values(&values)), (2, Weight::Values(&values)), (3, last)];
        for last in [Weight::Values(&values), Weight::OneLimb(&limb)] {
            drop(dev.rotated_sums(&c, &onto, &rotations, std::slice::from_ref(&both), &[sum(last), sum(last)]));
        }
        let one = |i| (i, Weight::One);
        drop(dev.rotated_sums(&c, &onto, &rotations, std::slice::from_ref(&both), &[vec![one(0), one(3), one(2)]]));
        drop(dev.rotated_sums(&c, &onto, &rotations, &[], &[vec![one(0)], vec![one(1)], vec![one(2)]]));
    }

    fn weighted_sums(&self) {
        let x = [self.values(), self.values()];
        let (values, limbs) = (self.dev.zeros(&Shape::eval(self.ring, self.chain)), [self.limb(), self.limb()]);
        let sum = |ones: usize| {
            let one_limb = (0..ones).map(|i| (i % 2, Weight::OneLimb(&limbs[i % 2])));
            [(0, Weight::Values(&values)), (1, Weight::Values(&values))].into_iter().chain(one_limb).collect()
        };
        drop(self.dev.weighted_sums(&x, &[vec![(0, Weight::One)], vec![(1, Weight::One), (0, Weight::One)]]));
        drop(self.dev.weighted_sums(&x, &[sum(0), sum(3), sum(11), sum(1)]));
    }

    fn bootstrapping(&self) {
        let (dev, batch, steps) = (self.dev, self.sizes.batch, 8);
        let gadget = Gadget { base_log: 6, levels: 2 };
        let (n, q) = (self.ring.n(), self.ring.moduli()[0].value());
        let lwe = |shape: LweShape, role| dev.upload_lwe(shape, role, &|_, words| words.fill(0));
        let narrow = LweShape { dimension: steps, modulus: 1 << 20, batch: n * gadget.len() };
        let switching = LweSwitchKey { gadget, rows: lwe(narrow, Role::EvaluationKey(KeyId(2))) };
        let shape = Shape::eval(self.ring, self.ring.full());
        let part = |_| dev.upload(&shape.with_batch(steps), Role::BootstrapKey(KeyId(3)), ZEROS);
        let rows = (0..2 * gadget.len()).map(|_| (0..2).map(part).collect()).collect();
        let (key, test) = (Ggsw { gadget, rows }, dev.zeros(&shape.with_domain(Domain::Coeff)));
        let a = lwe(LweShape { dimension: n, modulus: q, batch }, Role::Ciphertext);
        let a = dev.lwe_mod_switch(&a, narrow.modulus, Rounding::Nearest);
        let exponents = dev.lwe_mod_switch(&dev.lwe_key_switch(&a, &switching), 2 * n as u64, Rounding::Nearest);
        let turned = dev.blind_rotate(&test, &exponents, &key);
        drop(dev.sample_extract(&turned.iter().collect::<Vec<_>>(), &[0]));
    }
}

/// Memory that a device's meter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metered {
    /// At rows of polynomials and at LWE ciphertexts.
    All,
    /// At rows alone: LWE ciphertexts lie elsewhere.
    Rows,
}

/// Peak memory of a call in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// By the footprint.
    pub predicted: u64,
    /// By the device's meter.
    pub real: u64,
}

/// Peak memory of a call on a new device; `meter` returns live bytes and peak bytes. The call runs twice, so that the
/// second run finds its tables; their bytes, which stay alive, are not counted.
pub fn peak<D: Device>(
    dev: &D,
    call: Call,
    sizes: &Sizes,
    footprint: &SharedFootprint,
    metered: Metered,
    meter: impl Fn(&D) -> [u64; 2],
) -> Peak {
    for _ in 0..2 {
        call.run(dev, sizes);
    }
    let [tables, most] = meter(dev);
    Peak { predicted: predicted(call, sizes, footprint, metered), real: most - tables }
}

/// Peak memory of a call in bytes by a footprint.
#[must_use]
pub fn predicted(call: Call, sizes: &Sizes, footprint: &SharedFootprint, metered: Metered) -> u64 {
    match metered {
        Metered::All => {
            let null = Null::of(footprint.clone());
            call.run(&null, sizes);
            null.meter().peak_bytes()
        }
        Metered::Rows => {
            let null = Null::of(Arc::new(RowsOnly(footprint.clone())));
            call.run(&null, sizes);
            footprint.stored_bytes(sizes.log_n, null.meter().peak_bytes())
        }
    }
}

/// A footprint without LWE ciphertexts.
#[derive(Debug)]
struct RowsOnly(SharedFootprint);

impl Footprint for RowsOnly {
    fn lwe_bytes(&self, _shape: LweShape) -> u64 {
        0
    }

    fn mod_up(&self, c: &Shape, digits: usize) -> Body {
        self.0.mod_up(c, digits)
    }

    fn mod_down(&self, a: &Shape, to: Basis) -> Body {
        self.0.mod_down(a, to)
    }

    fn rescale(&self, a: &Shape, to: Basis) -> Body {
        self.0.rescale(a, to)
    }

    fn key_switch(&self, call: &KeySwitch<'_>) -> Body {
        self.0.key_switch(call)
    }

    fn key_switch_onto(&self, call: &KeySwitch<'_>) -> Body {
        self.0.key_switch_onto(call)
    }

    fn key_switch_undivided(&self, c: &Shape, digits: usize) -> Body {
        self.0.key_switch_undivided(c, digits)
    }

    fn rotated_sums(&self, call: &RotatedSums<'_>) -> Body {
        self.0.rotated_sums(call)
    }

    fn extend_limb(&self, a: &Shape, to: Basis) -> Body {
        self.0.extend_limb(a, to)
    }

    fn matrix_product(&self) -> Body {
        self.0.matrix_product()
    }

    fn weighted_sum(&self, extended: &[usize]) -> Body {
        self.0.weighted_sum(extended)
    }

    fn tensor(&self) -> Body {
        self.0.tensor()
    }

    fn linear_combination(&self) -> Body {
        self.0.linear_combination()
    }

    fn blind_rotate(&self, call: &BlindRotation<'_>) -> Body {
        self.0.blind_rotate(call)
    }
}
