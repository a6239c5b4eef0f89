//! Two devices side by side: every result is read back from both and compared, so a difference is caught at the
//! operation that made it.

use crate::{
    for_each_primitive,
    lwe::{Gadget, LweFill, LweHandle, LweShape, Rounding},
    ops::{Device, Fault, Fill, Handle, HostRead, Role},
    ring::{Basis, Ring, RingError, RingSpec, Shape},
    seam_type,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};

/// Runs every operation on both devices.
#[derive(Clone, Debug)]
pub struct Lockstep<A, B> {
    /// The reference device.
    pub trusted: A,
    /// The device under test.
    pub tested: B,
}

/// A polynomial on both devices.
#[derive(Clone, Debug)]
pub struct Pair<P, Q> {
    trusted: P,
    tested: Q,
}

impl<P: Handle, Q: Handle> Handle for Pair<P, Q> {
    fn shape(&self) -> &Shape {
        self.trusted.shape()
    }
}

impl<L: LweHandle, M: LweHandle> LweHandle for Pair<L, M> {
    fn lwe_shape(&self) -> LweShape {
        self.trusted.lwe_shape()
    }
}

type LwePairOf<A, B> = Pair<<A as Device>::Lwe, <B as Device>::Lwe>;

type PairOf<A, B> = Pair<<A as Device>::Poly, <B as Device>::Poly>;

impl<A: HostRead, B: HostRead> Lockstep<A, B> {
    fn compare(&self, op: &str, pair: PairOf<A, B>) -> PairOf<A, B> {
        self.assert_equal(op, &pair);
        pair
    }

    fn compare_lwe(&self, op: &str, Pair { trusted, tested }: LwePairOf<A, B>) -> LwePairOf<A, B> {
        assert_eq!(
            trusted.lwe_shape(),
            tested.lwe_shape(),
            "{op}: {} and {} differ in shape",
            self.trusted.name(),
            self.tested.name()
        );
        let (left, right) = (self.trusted.download_lwe(&trusted), self.tested.download_lwe(&tested));
        let (left, right) = (left.expect("a fault while comparing"), right.expect("a fault while comparing"));
        if let Some(at) = left.iter().zip(&right).position(|(x, y)| x != y) {
            let words = trusted.lwe_shape().words();
            let (trusted, tested) = (self.trusted.name(), self.tested.name());
            let place = format!("entry {} word {}", at / words, at % words);
            panic!("{op}: {place}: {trusted} has {}, {tested} has {}", left[at], right[at]);
        }
        Pair { trusted, tested }
    }

    fn assert_equal(&self, op: &str, Pair { trusted, tested }: &PairOf<A, B>) {
        assert_eq!(
            trusted.shape(),
            tested.shape(),
            "{op}: {} and {} differ in shape",
            self.trusted.name(),
            self.tested.name()
        );
        let (left, right) = (self.trusted.download(trusted), self.tested.download(tested));
        let (left, right) = (left.expect("a fault while comparing"), right.expect("a fault while comparing"));
        if let Some(at) = left.iter().zip(&right).position(|(x, y)| x != y) {
            let n = trusted.shape().ring.n();
            panic!(
                "{op}: row {} word {}: {} has {}, {} has {}",
                at / n,
                at % n,
                self.trusted.name(),
                left[at],
                self.tested.name(),
                right[at]
            );
        }
    }
}

/// An operand as one of the two devices holds it.
#[rustfmt::skip] // a line an arm
macro_rules! side {
    ($side:ident, (Poly), $arg:ident) => { $arg.$side };
    ($side:ident, (&mut Poly), $arg:ident) => { &mut $arg.$side };
    ($side:ident, (&Poly), $arg:ident) => { &$arg.$side };
    ($side:ident, (&Lwe), $arg:ident) => { &$arg.$side };
    ($side:ident, (&[&Poly]), $arg:ident) => { &$arg.iter().map(|p| &p.$side).collect::<Vec<_>>() };
    ($side:ident, (&[&Lwe]), $arg:ident) => { &$arg.iter().map(|l| &l.$side).collect::<Vec<_>>() };
    ($side:ident, $_other:tt, $arg:ident) => { $arg };
}

/// Compares two results and pairs them; an accumulation has left its result in the operand.
macro_rules! compared {
    ((Poly), $dev:ident, $name:ident($($_arg:ident),+), $pair:ident) => {
        $dev.compare(stringify!($name), $pair)
    };
    ((Lwe), $dev:ident, $name:ident($($_arg:ident),+), $pair:ident) => {
        $dev.compare_lwe(stringify!($name), $pair)
    };
    ((), $dev:ident, $name:ident($acc:ident $(, $_arg:ident)*), $pair:ident) => {{
        let Pair { trusted: (), tested: () } = $pair;
        $dev.assert_equal(stringify!($name), $acc);
    }};
}

macro_rules! primitives {
    ($($(#[$_doc:meta])+ $_op:ident = $_kind:ident $name:ident($($arg:ident: $type:tt),+) -> $result:tt $([$_kept:ident])?: $_shape:expr;)+) => {
        $(fn $name(&self, $($arg: seam_type!($type)),+) -> seam_type!($result) {
            let trusted = self.trusted.$name($(side!(trusted, $type, $arg)),+);
            let pair = Pair { trusted, tested: self.tested.$name($(side!(tested, $type, $arg)),+) };
            compared!($result, self, $name($($arg),+), pair)
        })+
    };
}

impl<A: HostRead, B: HostRead> Device for Lockstep<A, B> {
    type Poly = PairOf<A, B>;
    type Lwe = LwePairOf<A, B>;

    fn name(&self) -> String {
        format!("{} beside {}", self.trusted.name(), self.tested.name())
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        self.tested.ring(spec)?;
        self.trusted.ring(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        self.trusted.sync()?;
        self.tested.sync()
    }

    fn scrub(&self) {
        self.trusted.scrub();
        self.tested.scrub();
    }

    for_each_primitive!(primitives);
}

impl<A: HostRead, B: HostRead> HostRead for Lockstep<A, B> {
    fn download(&self, a: &Self::Poly) -> Result<Vec<u64>, Fault> {
        self.trusted.download(&a.trusted)
    }
    fn download_lwe(&self, a: &Self::Lwe) -> Result<Vec<u64>, Fault> {
        self.trusted.download_lwe(&a.trusted)
    }
}
