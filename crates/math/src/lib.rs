//! Number theory and analysis: word-sized moduli, primes, the reference transform, residue number systems, gadget
//! decomposition, checked input of floats, Galois elements, the canonical embedding, sampling, Chebyshev series and minimax
//! polynomials of the sign, numbers of two floats.
//!
//! Enters: mathematics on slices and scalars, each written for clarity and tested against its definition.
//! Stays out: devices, threads, I/O, `unsafe`, scheme words.
//!
//! Read in this order: [`modulus`], [`prime`], [`prime_class`], [`ntt`], [`rns`], [`gadget`], [`finite`], [`galois`],
//! [`embedding`], [`sampling`], [`tail`], [`chebyshev`], [`remez`], [`wide`].

pub mod chebyshev;
pub mod embedding;
pub mod finite;
pub mod gadget;
pub mod galois;
pub mod modulus;
pub mod ntt;
pub mod prime;
pub mod prime_class;
pub mod remez;
pub mod rns;
pub mod sampling;
pub mod tail;
pub mod uniform_sum;
pub mod wide;
