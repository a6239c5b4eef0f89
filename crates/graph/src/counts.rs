//! The arithmetic of a program: the only place that assigns counts to primitives.
//!
//! Convention of \[ARK\]: transforming a limb is (N/2)·log₂N products (no twist, no 1/N). A base conversion is
//! sources·N products (step 1, the scaling) and sources·targets·N (step 2, the sums). A product of polynomials or a
//! scaling is N per limb, accumulated or not. Lifting one limb (`reduce`) and adding constants cost no product.

use crate::{
    graph::{Graph, NodeId, RegionId},
    op::Op,
};
use limbwise_device::Region;
use schemars::JsonSchema;
use serde::Serialize;

/// Operation counts of a node, a region or a program, over the whole batch. Products are modular products of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Limbs transformed, in either direction.
    pub transformed_limbs: u64,
    /// Products of transforms.
    pub ntt_products: u64,
    /// Products of step 1 of base conversions.
    pub convert_scale_products: u64,
    /// Products of step 2 of base conversions.
    pub convert_sum_products: u64,
    /// Products of polynomials and of polynomials with constants.
    pub elementwise_products: u64,
    /// Words added without a product: sums, differences, negations, added constants, lifts.
    pub added_words: u64,
    /// Words permuted by automorphisms.
    pub permuted_words: u64,
}

impl Counts {
    /// All modular products.
    #[must_use]
    pub fn products(&self) -> u64 {
        self.ntt_products
            .saturating_add(self.convert_scale_products)
            .saturating_add(self.convert_sum_products)
            .saturating_add(self.elementwise_products)
    }
}

/// Sums saturate at 2^64 − 1, which only a forged file reaches.
impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let sum = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        sum(&mut self.transformed_limbs, other.transformed_limbs);
        sum(&mut self.ntt_products, other.ntt_products);
        sum(&mut self.convert_scale_products, other.convert_scale_products);
        sum(&mut self.convert_sum_products, other.convert_sum_products);
        sum(&mut self.elementwise_products, other.elementwise_products);
        sum(&mut self.added_words, other.added_words);
        sum(&mut self.permuted_words, other.permuted_words);
    }
}

impl Graph {
    /// How often an operator is called, inside others too. One call serves a batch.
    #[must_use]
    pub fn calls(&self, operator: Region) -> u64 {
        self.regions().iter().filter(|region| region.is(operator)).map(|region| u64::from(region.entered)).sum()
    }

    /// The operation counts of one node.
    #[must_use]
    pub fn work(&self, id: NodeId) -> Counts {
        if self.node(id).op().is_tfhe() {
            return self.tfhe_work(id);
        }
        let shape = self.shape(id);
        let (rows, log_n) = (shape.rows() as u64, shape.ring.log_n());
        let words = rows << log_n;
        let none = Counts::default();
        match self.node(id).op() {
            Op::Ntt | Op::Intt => {
                Counts { transformed_limbs: rows, ntt_products: words / 2 * u64::from(log_n), ..none }
            }
            Op::BasisConvert => {
                let source = self.shape(self.operands(id)[0]);
                Counts {
                    convert_scale_products: if self.node(id).is_scaled() { 0 } else { (source.rows() as u64) << log_n },
                    convert_sum_products: source.basis.len() as u64 * words,
                    ..none
                }
            }
            Op::Mul | Op::MulAcc | Op::ScaleLimbs => Counts { elementwise_products: words, ..none },
            Op::Add | Op::Sub | Op::Neg | Op::AddAssign | Op::ShiftLimbs | Op::Reduce => {
                Counts { added_words: words, ..none }
            }
            Op::Automorphism => Counts { permuted_words: words, ..none },
            // Inputs and views cost nothing; operations of TFHE are counted separately.
            _ => none,
        }
    }

    /// The counts of a TFHE operation, by the words of its value. A digit counts as one added word, because it is
    /// shifts and a subtraction; the product with rows counts one product per term.
    fn tfhe_work(&self, id: NodeId) -> Counts {
        let (words, none) = (self.value_bytes(id) / 8, Counts::default());
        match self.node(id).op() {
            Op::MonomialMul | Op::SampleExtract | Op::LweEmbed => Counts { permuted_words: words, ..none },
            Op::LweScale | Op::LweModSwitch => Counts { elementwise_products: words, ..none },
            Op::LweProduct => {
                let terms = self.lwe_shape(self.operands(id)[1]).map_or(0, |rows| rows.batch as u64);
                Counts { elementwise_products: words.saturating_mul(terms), ..none }
            }
            Op::Decompose | Op::LweDecompose | Op::LweAdd => Counts { added_words: words, ..none },
            Op::LweShift => Counts { added_words: self.lwe_shape(id).map_or(0, |s| s.batch as u64), ..none },
            _ => none,
        }
    }

    /// The operation counts of the whole program.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts_by_region()[RegionId::ROOT.index()]
    }

    /// The operation counts of each region including its inner regions, in the order of [`Graph::regions`].
    #[must_use]
    pub fn counts_by_region(&self) -> Vec<Counts> {
        let mut all = vec![Counts::default(); self.regions().len()];
        for id in self.ids() {
            all[self.node(id).region().index()] += self.work(id);
        }
        for i in (1..all.len()).rev() {
            let inner = all[i];
            all[self.regions()[i].parent.index()] += inner;
        }
        all
    }
}
