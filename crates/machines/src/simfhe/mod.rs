//! SimFHE's counting model, restated: what a subroutine or a bootstrapping of CKKS takes, from parameters alone.
//!
//! \[MAD\] counts modular operations and the bytes that pass between chip and memory by formulas, not from a program; its
//! public code is \[SimFHE\]. This module says the same, a function for each of its functions, named beside each as
//! `file.function`, so that Limbwise's own counts, which come from recorded programs, can be held against it. It serves
//! `limbwise count` and claims MAD1 and MAD2 of `limbwise reproduce mad` (ADR 78); no machine model uses it. It differs from the
//! convention of `limbwise_graph::counts` in all of this:
//!
//! - a transform of a limb takes (N/2)·log₂N multiplications, twice as many additions, and 1.5·N multiplications to make
//!   its factors, always; an automorphism takes nothing;
//! - the special modulus has α + 1 limbs, and α follows from the limbs of the moment: there are always dnum digits;
//! - decomposing takes two multiplications a word; a product of ciphertexts three (Karatsuba);
//! - caching is a label, from nothing to keys that stay; bytes are counted by it, operations never;
//! - plaintexts of the linear transforms are not read, raising the modulus is free, the sine is evaluated twice.
//!
//! Read in this order: [`Set`], [`Count`], `evaluator` (the subroutines), `transform`, `sine`, [`bootstrap()`].

mod bootstrap;
mod count;
mod evaluator;
mod set;
mod sine;
mod transform;

pub use bootstrap::{Row, Step, bootstrap, steps, subroutines};
pub use count::Count;
pub use set::{Caching, Set, SetError, TransformStyle};
