//! Classes of primes by width. Each class has its own kernels on a device, its own rates in a calibration and its own
//! costs in a machine model.

use crate::modulus::Modulus;

/// The width of a prime, which decides the arithmetic it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrimeClass {
    /// A residue fits a 32-bit word, and a product of two fits a word.
    Narrow,
    /// Two bits below the 52 of a mantissa or a multiply-add, which leaves room for lazy sums.
    Short,
    /// All other primes; products take two words.
    Long,
}

impl PrimeClass {
    /// All classes, the narrowest first.
    pub const ALL: &[Self] = &[Self::Narrow, Self::Short, Self::Long];

    /// Bits of the widest prime of the class. The bounds of classes are written here only.
    #[must_use]
    pub const fn max_bits(self) -> u32 {
        match self {
            Self::Narrow => 31,
            Self::Short => 50,
            Self::Long => Modulus::MAX_BITS,
        }
    }

    /// The narrowest class that holds primes of `bits` bits.
    #[must_use]
    pub fn of_bits(bits: u32) -> Self {
        Self::ALL.iter().copied().find(|class| bits <= class.max_bits()).unwrap_or(Self::Long)
    }

    /// The narrowest class that holds a prime.
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
