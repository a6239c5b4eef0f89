//! The instruction sets of the kernels, and their detection on this CPU.

/// An instruction set with its own kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Isa {
    /// Plain Rust, any CPU, primes of up to 61 bits.
    Scalar,
    /// AVX2 with FMA: arithmetic for all primes; automorphisms as in [`Self::Scalar`].
    Avx2,
    /// AVX-512F and DQ: arithmetic for all primes, and automorphisms.
    Avx512,
    /// AVX-512 with 52-bit multiply-add for narrow and short primes (`PrimeClass`), without it for long ones.
    Ifma,
}

/// An instruction set that this CPU or this build lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction set \"{wanted}\" is not available: this CPU runs {}", available.join(", "))]
pub struct IsaError {
    /// Name requested.
    pub wanted: String,
    /// Names of the available instruction sets.
    pub available: Vec<&'static str>,
}

impl Isa {
    /// All instruction sets, slowest first.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Ifma];

    /// Those that work on vectors.
    pub const VECTORS: [Self; 3] = [Self::Avx2, Self::Avx512, Self::Ifma];

    /// Name in options and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Ifma => "ifma",
        }
    }

    /// Whether this CPU has the instruction set.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Avx2 => super::avx2::Token::detect().is_some(),
            Self::Avx512 => super::avx512::Token::detect().is_some(),
            Self::Ifma => super::ifma::Token::detect().is_some(),
        }
    }

    /// The fastest instruction set of this CPU.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Scalar)
    }

    /// The instruction set with a name ("avx512ifma" is an alias of "ifma").
    ///
    /// # Errors
    /// [`IsaError`] for an unknown name or a missing instruction set; there is no fallback.
    pub fn from_name(name: &str) -> Result<Self, IsaError> {
        let known = match name {
            "avx512ifma" => Some(Self::Ifma),
            _ => Self::ALL.into_iter().find(|isa| isa.name() == name),
        };
        known.filter(|isa| isa.is_available()).ok_or_else(|| IsaError::new(name))
    }
}

impl IsaError {
    pub(crate) fn new(wanted: &str) -> Self {
        let available = Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(Isa::name).collect();
        Self { wanted: wanted.into(), available }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_refusals() {
        assert_eq!(Isa::from_name("scalar"), Ok(Isa::Scalar));
        assert!(Isa::best().is_available());
        let refused = Isa::from_name("avx1024").unwrap_err().to_string();
        assert!(refused.starts_with("instruction set \"avx1024\" is not available: this CPU runs scalar"), "{refused}");
        let ordered = Isa::ALL.map(|isa| isa.is_available().then_some(isa));
        assert_eq!(Some(Isa::best()), ordered.into_iter().flatten().next_back());
        assert_eq!(Isa::from_name("avx2").is_ok(), Isa::Avx2.is_available());
        assert_eq!(Isa::from_name("avx512").is_ok(), Isa::Avx512.is_available());
        assert_eq!(Isa::from_name("avx512ifma").is_ok(), Isa::Ifma.is_available());
    }
}
