//! Regions: named parts of a program, for recorders, profilers and machine models.
//!
//! The seam opens a region around each composite; schemes and programs open their own. Regions that a machine model or
//! a tool matches are variants of [`Region`], so a rename cannot break the match. All others are [`Region::Named`].

use std::fmt;

macro_rules! regions {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// The kind of a region.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Region {
            $($(#[$doc])+ $variant,)+
            /// A region that only its program knows.
            Named(Name),
        }

        impl Region {
            /// All variants except [`Self::Named`].
            pub const KNOWN: &[Self] = &[$(Self::$variant),+];

            /// Name in files, profiles and reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Named(Name(name)) => name,
                }
            }
        }
    };
}

regions! {
    /// The composite [`Device::key_switch`](crate::Device::key_switch).
    KeySwitch = "key_switch",
    /// The composite [`Device::key_switch_onto`](crate::Device::key_switch_onto).
    KeySwitchOnto = "key_switch_onto",
    /// The composite [`Device::key_switch_undivided`](crate::Device::key_switch_undivided).
    KeySwitchUndivided = "key_switch_undivided",
    /// The composite [`Device::rotated_sums`](crate::Device::rotated_sums).
    RotatedSums = "rotated_sums",
    /// The same where all terms are added as they are.
    AddedRotations = "added_rotations",
    /// The composite [`Device::mod_up`](crate::Device::mod_up), the first part of a key switch.
    ModUp = "mod_up",
    /// One digit in [`Self::ModUp`].
    Digit = "digit",
    /// The composite [`Device::gadget_product`](crate::Device::gadget_product).
    GadgetProduct = "gadget_product",
    /// The composite [`Device::mod_down`](crate::Device::mod_down).
    ModDown = "mod_down",
    /// The composite [`Device::rescale`](crate::Device::rescale).
    Rescale = "rescale",
    /// The composite [`Device::extend_limb`](crate::Device::extend_limb).
    ExtendLimb = "extend_limb",
    /// The composite [`Device::weighted_sums`](crate::Device::weighted_sums).
    WeightedSums = "weighted_sums",
    /// The composite [`Device::tensor`](crate::Device::tensor).
    Tensor = "tensor",
    /// The composite [`Device::linear_combination`](crate::Device::linear_combination).
    LinearCombination = "linear_combination",
    /// The composite [`Device::matrix_product`](crate::Device::matrix_product).
    MatrixProduct = "matrix_product",
    /// The composite [`Device::external_product`](crate::Device::external_product).
    ExternalProduct = "external_product",
    /// Digits in [`Self::ExternalProduct`].
    Decomposition = "decomp",
    /// Transforms of the digits.
    Ntt = "ntt",
    /// Products of the digits with the key.
    Products = "ep",
    /// Transforms of the sums.
    Intt = "intt",
    /// The composite [`Device::blind_rotate`](crate::Device::blind_rotate).
    BlindRotate = "blind_rotate",
    /// Rotations and sums around the products of [`Self::BlindRotate`].
    Steps = "ps",
    /// The composite [`Device::lwe_key_switch`](crate::Device::lwe_key_switch).
    LweKeySwitch = "lwe_key_switch",
    /// A rotation of slots, opened by schemes.
    Rotate = "rotate",
    /// A bootstrapping, opened by schemes.
    Bootstrap = "bootstrap",
    /// Clear values that are encoded where they are used, opened by schemes.
    Encode = "encode",
}

/// A name without a variant of [`Region`]; only [`Region::from`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(&'static str);

impl Region {
    /// The variant with this name, if any.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::KNOWN.iter().copied().find(|region| region.name() == name)
    }
}

impl From<&'static str> for Region {
    fn from(name: &'static str) -> Self {
        Self::from_name(name).unwrap_or(Self::Named(Name(name)))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Notified when a region ends.
pub trait LeaveRegion {
    /// Ends the innermost region.
    fn leave_region(&self);
}

/// An open region; ends when dropped.
#[must_use = "a region ends when this is dropped"]
pub struct OpenRegion<'a>(Option<&'a dyn LeaveRegion>);

impl<'a> OpenRegion<'a> {
    /// A region without an observer.
    pub fn none() -> Self {
        Self(None)
    }

    /// A region whose end is reported to `by`.
    pub fn reporting_to(by: &'a dyn LeaveRegion) -> Self {
        Self(Some(by))
    }
}

impl Drop for OpenRegion<'_> {
    fn drop(&mut self) {
        if let Some(watcher) = self.0 {
            watcher.leave_region();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for &region in Region::KNOWN {
            assert_eq!(Region::from(region.name()), region, "a name of two regions");
        }
        let own = Region::from("layer");
        assert!(matches!(own, Region::Named(_)) && own.name() == "layer" && Region::from_name("layer").is_none());
    }
}
