//! Every operation, forwarded to the chosen device.

use super::{AnyDevice, AnyLwe, AnyPoly, Member as _, on};
use limbwise_device::{
    Basis, Device, Fault, Fill, Gadget, HostRead, LweFill, LweShape, OpenRegion, Region, Ring, RingError, RingSpec,
    Role, Rounding, Shape, for_each_composite, for_each_primitive, seam_type,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};

/// Converts an operand to the chosen device's type.
#[rustfmt::skip] // a line an arm
macro_rules! inward {
    ($own:ident, (Poly), $arg:ident) => { $own::own($arg) };
    ($own:ident, (&Poly), $arg:ident) => { $own::poly($arg) };
    ($own:ident, (&mut Poly), $arg:ident) => { $own::poly_mut($arg) };
    ($own:ident, (&[Poly]), $arg:ident) => { &$own::handles($arg) };
    ($own:ident, (&[&Poly]), $arg:ident) => { &$own::polys($arg) };
    ($own:ident, ([Option<&Poly>; 2]), $arg:ident) => { $arg.map(|p| p.map($own::poly)) };
    ($own:ident, (&[Terms<'_, Poly>]), $arg:ident) => { &$arg.iter().map($own::terms).collect::<Vec<_>>() };
    ($own:ident, (&GadgetKey<Poly>), $arg:ident) => { &$own::gadget_key($arg) };
    ($own:ident, (&[Rotation<Poly>]), $arg:ident) => { &$arg.iter().map($own::rotation).collect::<Vec<_>>() };
    ($own:ident, (&Ggsw<Poly>), $arg:ident) => { &$own::ggsw($arg) };
    ($own:ident, (&Lwe), $arg:ident) => { $own::lwe($arg) };
    ($own:ident, (&[&Lwe]), $arg:ident) => { &$own::lwes($arg) };
    ($own:ident, (&LweSwitchKey<Lwe>), $arg:ident) => { &$own::switch_key($arg) };
    ($own:ident, $_other:tt, $arg:ident) => { $arg };
}

/// Wraps the chosen device's result as an [`AnyDevice`] value.
#[rustfmt::skip] // a line an arm
macro_rules! outward {
    ($own:ident, (), $result:expr) => { $result };
    ($own:ident, (Poly), $result:expr) => { $own::any($result) };
    ($own:ident, ([Poly; 2]), $result:expr) => { $own::any_pair($result) };
    ($own:ident, (Vec<Poly>), $result:expr) => { $own::all_any($result) };
    ($own:ident, (Lwe), $result:expr) => { $own::any_lwe($result) };
}

macro_rules! primitives {
    ($($(#[$_doc:meta])+ $_op:ident = $_kind:ident $name:ident($($arg:ident: $type:tt),+) -> $result:tt $([$_kept:ident])?: $_shape:expr;)+) => {
        composites! { $($name($($arg: $type),+) -> $result;)+ }
    };
}

/// Composites are forwarded too: a default body here would replace the chosen device's fused kernel.
macro_rules! composites {
    ($($(#[$_doc:meta])* $name:ident($($arg:ident: $type:tt),+) -> $result:tt;)+) => {
        $(fn $name(&self, $($arg: seam_type!($type)),+) -> seam_type!($result) {
            on!(self, d: D, outward!(D, $result, d.$name($(inward!(D, $type, $arg)),+)))
        })+
    };
}

impl Device for AnyDevice {
    type Poly = AnyPoly;
    type Lwe = AnyLwe;

    fn name(&self) -> String {
        on!(self, d, d.name())
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        on!(self, d, d.ring(spec))
    }

    fn sync(&self) -> Result<(), Fault> {
        on!(self, d, d.sync())
    }

    fn scrub(&self) {
        on!(self, d, d.scrub());
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        on!(self, d, d.region(region, index))
    }

    fn regions(&self) -> Vec<(Region, u32)> {
        on!(self, d, d.regions())
    }

    fn evaluation(&self) -> OpenRegion<'_> {
        on!(self, d, d.evaluation())
    }

    for_each_primitive!(primitives);

    for_each_composite!(composites);
}

impl HostRead for AnyDevice {
    fn download(&self, a: &AnyPoly) -> Result<Vec<u64>, Fault> {
        on!(self, d: D, d.download(D::poly(a)))
    }

    fn each_row(&self, a: &AnyPoly, take: &(dyn Fn(usize, &[u64]) + Sync)) -> Result<(), Fault> {
        on!(self, d: D, d.each_row(D::poly(a), take))
    }

    fn download_lwe(&self, a: &AnyLwe) -> Result<Vec<u64>, Fault> {
        on!(self, d: D, d.download_lwe(D::lwe(a)))
    }
}
