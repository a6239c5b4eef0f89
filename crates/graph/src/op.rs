//! The primitives of the seam as they stand in a graph.

/// What a node does; one for each primitive of [`Device`](limbwise_device::Device).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Op {
    /// A polynomial from the host.
    Upload,
    /// The zero polynomial.
    Zeros,
    /// Rows of its own.
    Copy,
    /// Uniform residues from a seed.
    ExpandSeed,
    /// View: the limbs of a sub-basis.
    Restrict,
    /// View: limbs of disjoint bases.
    Join,
    /// View: batches one after another.
    Stack,
    /// View: a range of the batch.
    Split,
    /// `a + b`.
    Add,
    /// `a − b`.
    Sub,
    /// `−a`, in place.
    Neg,
    /// `a ⊙ b`.
    Mul,
    /// Operand 0, in place, plus the product of operands 1 and 2.
    MulAcc,
    /// Operand 0, in place, plus operand 1.
    AddAssign,
    /// One constant factor a limb, in place.
    ScaleLimbs,
    /// One constant summand a limb, in place.
    ShiftLimbs,
    /// Coefficients → values, in place.
    Ntt,
    /// Values → coefficients, in place.
    Intt,
    /// `a(X^g)`.
    Automorphism,
    /// Base conversion.
    BasisConvert,
    /// Centred lift of one limb.
    Reduce,
    /// `a·X^e`, e a word of operand 1.
    MonomialMul,
    /// Digits of coefficients, the batch once for each.
    Decompose,
    /// LWE ciphertexts from the host.
    UploadLwe,
    /// Batches one after another, copied.
    LweStack,
    /// A range of the batch, copied.
    LweSplit,
    /// `a + b`.
    LweAdd,
    /// Every word times a constant.
    LweScale,
    /// A constant added to each body.
    LweShift,
    /// Every word in another modulus.
    LweModSwitch,
    /// Digits of the words of the mask.
    LweDecompose,
    /// `(0, b) + Σ a_i·row_i`, the rows being operand 1.
    LweProduct,
    /// Coefficients of a phase as LWE ciphertexts.
    SampleExtract,
    /// A component of the ciphertext whose sample 0 is given.
    LweEmbed,
}

impl Op {
    /// All, in the order of the seam.
    pub const ALL: [Self; 34] = [
        Self::Upload,
        Self::Zeros,
        Self::Copy,
        Self::ExpandSeed,
        Self::Restrict,
        Self::Join,
        Self::Stack,
        Self::Split,
        Self::Add,
        Self::Sub,
        Self::Neg,
        Self::Mul,
        Self::MulAcc,
        Self::AddAssign,
        Self::ScaleLimbs,
        Self::ShiftLimbs,
        Self::Ntt,
        Self::Intt,
        Self::Automorphism,
        Self::BasisConvert,
        Self::Reduce,
        Self::MonomialMul,
        Self::Decompose,
        Self::UploadLwe,
        Self::LweStack,
        Self::LweSplit,
        Self::LweAdd,
        Self::LweScale,
        Self::LweShift,
        Self::LweModSwitch,
        Self::LweDecompose,
        Self::LweProduct,
        Self::SampleExtract,
        Self::LweEmbed,
    ];

    /// The name of the seam's function.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Zeros => "zeros",
            Self::Copy => "copy",
            Self::ExpandSeed => "expand_seed",
            Self::Restrict => "restrict",
            Self::Join => "join",
            Self::Stack => "stack",
            Self::Split => "split",
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Neg => "neg",
            Self::Mul => "mul",
            Self::MulAcc => "mul_acc",
            Self::AddAssign => "add_assign",
            Self::ScaleLimbs => "scale_limbs",
            Self::ShiftLimbs => "shift_limbs",
            Self::Ntt => "ntt",
            Self::Intt => "intt",
            Self::Automorphism => "automorphism",
            Self::BasisConvert => "basis_convert",
            Self::Reduce => "reduce",
            Self::MonomialMul => "monomial_mul",
            Self::Decompose => "decompose",
            Self::UploadLwe => "upload_lwe",
            Self::LweStack => "lwe_stack",
            Self::LweSplit => "lwe_split",
            Self::LweAdd => "lwe_add",
            Self::LweScale => "lwe_scale",
            Self::LweShift => "lwe_shift",
            Self::LweModSwitch => "lwe_mod_switch",
            Self::LweDecompose => "lwe_decompose",
            Self::LweProduct => "lwe_product",
            Self::SampleExtract => "sample_extract",
            Self::LweEmbed => "lwe_embed",
        }
    }

    /// The operation of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Costs nothing: the result shares the rows of its operands.
    #[must_use]
    pub fn is_view(self) -> bool {
        matches!(self, Self::Restrict | Self::Join | Self::Stack | Self::Split)
    }

    /// Comes from outside the program, with a role.
    #[must_use]
    pub fn is_input(self) -> bool {
        matches!(self, Self::Upload | Self::ExpandSeed | Self::UploadLwe)
    }

    /// Takes operand 0 by value (or as accumulator) and works in its rows where nobody else holds them.
    #[must_use]
    pub fn is_in_place(self) -> bool {
        matches!(
            self,
            Self::Neg | Self::MulAcc | Self::AddAssign | Self::ScaleLimbs | Self::ShiftLimbs | Self::Ntt | Self::Intt
        )
    }

    /// Has LWE ciphertexts as its value.
    #[must_use]
    pub fn makes_lwe(self) -> bool {
        self >= Self::UploadLwe && self < Self::LweEmbed
    }

    /// Takes part in TFHE: reads or makes LWE ciphertexts, or digits of a small base.
    #[must_use]
    pub fn is_tfhe(self) -> bool {
        self >= Self::MonomialMul
    }

    /// Number of operands; `None`: one or more.
    #[must_use]
    pub fn arity(self) -> Option<usize> {
        match self {
            Self::Upload | Self::Zeros | Self::ExpandSeed | Self::UploadLwe => Some(0),
            Self::Join | Self::Stack | Self::LweStack | Self::SampleExtract => None,
            Self::Add | Self::Sub | Self::Mul | Self::AddAssign => Some(2),
            Self::MonomialMul | Self::LweAdd | Self::LweProduct => Some(2),
            Self::MulAcc => Some(3),
            _ => Some(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for (i, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(Op::from_name(op.name()), Some(op));
            assert_eq!(op as usize, i);
        }
        assert_eq!(Op::from_name("mod_up"), None);
    }
}
