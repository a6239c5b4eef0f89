//! Every operation handed on to the device that was chosen.

use super::{AnyDevice, AnyLwe, AnyPoly, Member as _, on};
use limbwise_cpu::Cpu;
use limbwise_cuda::Cuda;
use limbwise_device::{
    Basis, Device, Fault, Fill, Gadget, GadgetKey, Ggsw, HostRead, LweFill, LweShape, LweSwitchKey, OpenRegion, Region,
    Ring, RingError, RingSpec, Role, Rounding, Shape, Terms,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use limbwise_upmem::Upmem;

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

    fn upload(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> AnyPoly {
        on!(self, d: D, D::any(d.upload(shape, role, fill)))
    }

    fn zeros(&self, shape: &Shape) -> AnyPoly {
        on!(self, d: D, D::any(d.zeros(shape)))
    }

    fn copy(&self, a: &AnyPoly) -> AnyPoly {
        on!(self, d: D, D::any(d.copy(D::poly(a))))
    }

    fn expand_seed(&self, shape: &Shape, role: Role, seed: &Seed) -> AnyPoly {
        on!(self, d: D, D::any(d.expand_seed(shape, role, seed)))
    }

    fn restrict(&self, a: &AnyPoly, to: Basis) -> AnyPoly {
        on!(self, d: D, D::any(d.restrict(D::poly(a), to)))
    }

    fn join(&self, parts: &[&AnyPoly]) -> AnyPoly {
        on!(self, d: D, D::any(d.join(&D::polys(parts))))
    }

    fn stack(&self, parts: &[&AnyPoly]) -> AnyPoly {
        on!(self, d: D, D::any(d.stack(&D::polys(parts))))
    }

    fn split(&self, a: &AnyPoly, from: usize, to: usize) -> AnyPoly {
        on!(self, d: D, D::any(d.split(D::poly(a), from, to)))
    }

    fn add(&self, a: &AnyPoly, b: &AnyPoly) -> AnyPoly {
        on!(self, d: D, D::any(d.add(D::poly(a), D::poly(b))))
    }

    fn sub(&self, a: &AnyPoly, b: &AnyPoly) -> AnyPoly {
        on!(self, d: D, D::any(d.sub(D::poly(a), D::poly(b))))
    }

    fn mul(&self, a: &AnyPoly, b: &AnyPoly) -> AnyPoly {
        on!(self, d: D, D::any(d.mul(D::poly(a), D::poly(b))))
    }

    fn neg(&self, a: AnyPoly) -> AnyPoly {
        on!(self, d: D, D::any(d.neg(D::own(a))))
    }

    fn mul_acc(&self, acc: &mut AnyPoly, a: &AnyPoly, b: &AnyPoly) {
        on!(self, d: D, d.mul_acc(D::poly_mut(acc), D::poly(a), D::poly(b)));
    }

    fn add_assign(&self, acc: &mut AnyPoly, a: &AnyPoly) {
        on!(self, d: D, d.add_assign(D::poly_mut(acc), D::poly(a)));
    }

    fn scale_limbs(&self, a: AnyPoly, constants: &[u64]) -> AnyPoly {
        on!(self, d: D, D::any(d.scale_limbs(D::own(a), constants)))
    }

    fn shift_limbs(&self, a: AnyPoly, constants: &[u64]) -> AnyPoly {
        on!(self, d: D, D::any(d.shift_limbs(D::own(a), constants)))
    }

    fn ntt(&self, a: AnyPoly) -> AnyPoly {
        on!(self, d: D, D::any(d.ntt(D::own(a))))
    }

    fn intt(&self, a: AnyPoly) -> AnyPoly {
        on!(self, d: D, D::any(d.intt(D::own(a))))
    }

    fn automorphism(&self, a: &AnyPoly, g: GaloisElement) -> AnyPoly {
        on!(self, d: D, D::any(d.automorphism(D::poly(a), g)))
    }

    fn basis_convert(&self, a: &AnyPoly, to: Basis) -> AnyPoly {
        on!(self, d: D, D::any(d.basis_convert(D::poly(a), to)))
    }

    fn reduce(&self, a: &AnyPoly, to: Basis) -> AnyPoly {
        on!(self, d: D, D::any(d.reduce(D::poly(a), to)))
    }

    fn monomial_mul(&self, a: &AnyPoly, exponents: &AnyLwe, word: usize) -> AnyPoly {
        on!(self, d: D, D::any(d.monomial_mul(D::poly(a), D::lwe(exponents), word)))
    }

    fn decompose(&self, a: &AnyPoly, gadget: Gadget) -> AnyPoly {
        on!(self, d: D, D::any(d.decompose(D::poly(a), gadget)))
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.upload_lwe(shape, role, fill)))
    }

    fn lwe_stack(&self, parts: &[&AnyLwe]) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_stack(&D::lwes(parts))))
    }

    fn lwe_split(&self, a: &AnyLwe, from: usize, to: usize) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_split(D::lwe(a), from, to)))
    }

    fn lwe_add(&self, a: &AnyLwe, b: &AnyLwe) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_add(D::lwe(a), D::lwe(b))))
    }

    fn lwe_scale(&self, a: &AnyLwe, c: u64) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_scale(D::lwe(a), c)))
    }

    fn lwe_shift(&self, a: &AnyLwe, constants: &[u64]) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_shift(D::lwe(a), constants)))
    }

    fn lwe_mod_switch(&self, a: &AnyLwe, to: u64, rounding: Rounding) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_mod_switch(D::lwe(a), to, rounding)))
    }

    fn lwe_decompose(&self, a: &AnyLwe, gadget: Gadget) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_decompose(D::lwe(a), gadget)))
    }

    fn lwe_product(&self, a: &AnyLwe, rows: &AnyLwe) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_product(D::lwe(a), D::lwe(rows))))
    }

    fn sample_extract(&self, glwe: &[&AnyPoly], at: &[usize]) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.sample_extract(&D::polys(glwe), at)))
    }

    fn lwe_embed(&self, a: &AnyLwe, ring: &Ring, basis: Basis, part: usize) -> AnyPoly {
        on!(self, d: D, D::any(d.lwe_embed(D::lwe(a), ring, basis, part)))
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        on!(self, d, d.region(region, index))
    }

    fn regions(&self) -> Vec<(Region, u32)> {
        on!(self, d, d.regions())
    }

    fn mod_up(&self, c: &AnyPoly, digits: &[Basis], full: Basis) -> Vec<AnyPoly> {
        on!(self, d: D, D::all_any(d.mod_up(D::poly(c), digits, full)))
    }

    fn gadget_product(&self, digits: &[AnyPoly], key: &GadgetKey<AnyPoly>) -> [AnyPoly; 2] {
        on!(self, d: D, D::any_pair(d.gadget_product(&D::handles(digits), &D::gadget_key(key))))
    }

    fn mod_down(&self, a: &AnyPoly, to: Basis) -> AnyPoly {
        on!(self, d: D, D::any(d.mod_down(D::poly(a), to)))
    }

    fn rescale(&self, a: &AnyPoly, to: Basis) -> AnyPoly {
        on!(self, d: D, D::any(d.rescale(D::poly(a), to)))
    }

    fn extend_limb(&self, a: &AnyPoly, to: Basis) -> AnyPoly {
        on!(self, d: D, D::any(d.extend_limb(D::poly(a), to)))
    }

    fn key_switch(&self, c: &AnyPoly, key: &GadgetKey<AnyPoly>) -> [AnyPoly; 2] {
        on!(self, d: D, D::any_pair(d.key_switch(D::poly(c), &D::gadget_key(key))))
    }

    fn key_switch_onto(
        &self,
        c: &AnyPoly,
        key: &GadgetKey<AnyPoly>,
        onto: [Option<&AnyPoly>; 2],
        to: Basis,
    ) -> [AnyPoly; 2] {
        on!(self, d: D, {
            let onto = onto.map(|p| p.map(D::poly));
            D::any_pair(d.key_switch_onto(D::poly(c), &D::gadget_key(key), onto, to))
        })
    }

    fn weighted_sums(&self, x: &[AnyPoly], sums: &[Terms<'_, AnyPoly>]) -> Vec<AnyPoly> {
        on!(self, d: D, {
            let sums: Vec<_> = sums.iter().map(D::terms).collect();
            D::all_any(d.weighted_sums(&D::handles(x), &sums))
        })
    }

    fn linear_combination(&self, x: &[&AnyPoly], constants: &[Vec<u64>]) -> AnyPoly {
        on!(self, d: D, D::any(d.linear_combination(&D::polys(x), constants)))
    }

    fn external_product(&self, c: &[&AnyPoly], key: &Ggsw<AnyPoly>) -> Vec<AnyPoly> {
        on!(self, d: D, D::all_any(d.external_product(&D::polys(c), &D::ggsw(key))))
    }

    fn blind_rotate(&self, test: &AnyPoly, exponents: &AnyLwe, key: &Ggsw<AnyPoly>) -> Vec<AnyPoly> {
        on!(self, d: D, D::all_any(d.blind_rotate(D::poly(test), D::lwe(exponents), &D::ggsw(key))))
    }

    fn lwe_key_switch(&self, a: &AnyLwe, key: &LweSwitchKey<AnyLwe>) -> AnyLwe {
        on!(self, d: D, D::any_lwe(d.lwe_key_switch(D::lwe(a), &D::switch_key(key))))
    }
}

impl HostRead for AnyDevice {
    fn download(&self, a: &AnyPoly) -> Result<Vec<u64>, Fault> {
        on!(self, d: D, d.download(D::poly(a)))
    }

    fn download_lwe(&self, a: &AnyLwe) -> Result<Vec<u64>, Fault> {
        on!(self, d: D, d.download_lwe(D::lwe(a)))
    }
}
