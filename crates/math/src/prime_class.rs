//! Classes of primes by width. Devices have other kernels for each, calibrations other rates, machine models other costs.

use crate::modulus::Modulus;

/// How wide a prime is, for the arithmetic that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrimeClass {
    /// Products of two residues fit a word, and half of one a 32-bit word.
    Narrow,
    /// Two bits less than the 52 of a mantissa or of a multiply-add: room for lazy sums.
    Short,
    /// All others, by products of two words.
    Long,
}

impl PrimeClass {
    /// All, the narrowest first.
    pub const ALL: &[Self] = &[Self::Narrow, Self::Short, Self::Long];

    /// Bits of its widest prime: the one place where the bound of a class is written.
    #[must_use]
    pub const fn max_bits(self) -> u32 {
        match self {
            Self::Narrow => 31,
            Self::Short => 50,
            Self::Long => Modulus::MAX_BITS,
        }
    }

    /// The narrowest class of primes with so many bits.
    #[must_use]
    pub fn of_bits(bits: u32) -> Self {
        Self::ALL.iter().copied().find(|class| bits <= class.max_bits()).unwrap_or(Self::Long)
    }

    /// The narrowest class of a prime.
    #[must_use]
    pub fn of(q: Modulus) -> Self {
        Self::of_bits(q.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_end_at_their_widest_primes() {
        for pair in PrimeClass::ALL.windows(2) {
            assert_eq!(PrimeClass::of_bits(pair[0].max_bits()), pair[0]);
            assert_eq!(PrimeClass::of_bits(pair[0].max_bits() + 1), pair[1]);
        }
        assert_eq!(PrimeClass::of(Modulus::new((1 << 50) - 27)), PrimeClass::Short);
        assert_eq!(PrimeClass::of_bits(Modulus::MAX_BITS), PrimeClass::Long);
    }
}
