//! A parameter set with its options, checked.

use super::count::Poly;
use schemars::JsonSchema;
use serde::Serialize;

/// Data cached on the chip: a label, not a size. Source: `params.CacheStyle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Caching {
    /// Every step reads its inputs and writes its results.
    None,
    /// O(1) limbs: what follows in the same limb is fused.
    Limb,
    /// And β limbs: raised digits are read once for all rotations.
    Beta,
    /// And α limbs: changes of basis go to memory no more.
    Alpha,
    /// And keys of products.
    Huge,
}

/// Algorithm of a matrix-vector product. Source: `params.FFTStyle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransformStyle {
    /// Babies from the same digits, giants whole.
    Bsgs,
    /// Babies stay raised until they are summed.
    BsgsHoisted,
    /// No giants: every rotation from the same digits, one division.
    UnrolledHoisted,
}

/// Parameters and options. Source: `params.SchemeParams`, `params.ArchParam`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Set {
    /// log₂ N, 3 to 20.
    pub log_n: u32,
    /// Bits of a limb, 1 to 1024.
    pub log_q: u64,
    /// Limbs of the largest ciphertext, at most 1000.
    pub limbs: u64,
    /// Digits of key switching.
    pub dnum: u64,
    /// Stages of each transform.
    pub fft_iter: u64,
    /// Degree of the series, not a power of two.
    pub degree: u64,
    /// Doublings after it, at most 64.
    pub doublings: u64,
    /// Algorithm of the linear transforms.
    pub transform: TransformStyle,
    /// Data cached on the chip.
    pub caching: Caching,
    /// Three products in place of four.
    pub karatsuba: bool,
    /// The uniform half of keys is made on the chip.
    pub key_compression: bool,
    /// The rescaling of a product is a part of its division by P.
    pub merge: bool,
    /// Limbs are in the order in which a division by P wants them.
    pub reorder: bool,
}

/// A set that the formulas are not made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// No such set.
    #[error("there is no set \"{got}\": choose one of {}", Set::NAMES.join(", "))]
    Unknown {
        /// The requested name.
        got: String,
    },
    /// No such field.
    #[error("a set has no field \"{got}\": its fields are {}", Set::FIELDS.join(", "))]
    Field {
        /// The requested name.
        got: String,
    },
    /// A value that a field does not take.
    #[error("{field}: {wanted} is wanted, got {got}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its range.
        wanted: String,
        /// The given value.
        got: String,
    },
}

const MAX_LIMBS: u64 = 1000;

impl Set {
    /// The sets that have names: that of the published tables of subroutines, and FAB's.
    pub const NAMES: [&str; 2] = ["p35", "fab"];
    /// The fields, as [`Self::with`] takes them.
    pub const FIELDS: [&str; 13] = [
        "log_n",
        "log_q",
        "limbs",
        "dnum",
        "fft_iter",
        "degree",
        "doublings",
        "transform",
        "caching",
        "karatsuba",
        "key_compression",
        "merge",
        "reorder",
    ];

    /// A set by its name, with nothing cached and no option but Karatsuba's.
    ///
    /// # Errors
    /// [`SetError::Unknown`].
    pub fn named(name: &str) -> Result<Self, SetError> {
        let (log_n, log_q, limbs, fft_iter) = match name {
            "p35" => (17, 64, 35, 3),
            "fab" => (16, 54, 24, 4),
            _ => return Err(SetError::Unknown { got: name.into() }),
        };
        Ok(Self {
            log_n,
            log_q,
            limbs,
            dnum: 3,
            fft_iter,
            degree: 63,
            doublings: 2,
            transform: TransformStyle::Bsgs,
            caching: Caching::None,
            karatsuba: true,
            key_compression: false,
            merge: false,
            reorder: false,
        })
    }

    /// A copy with fields changed, as `("log_n", "16")`; underscores may be left out.
    ///
    /// # Errors
    /// [`SetError`] for fields that there are not, and values that are none of theirs.
    pub fn with<F: AsRef<str>, V: AsRef<str>>(mut self, changes: &[(F, V)]) -> Result<Self, SetError> {
        for (field, value) in changes {
            self.assign(field.as_ref(), value.as_ref())?;
        }
        self.check()?;
        Ok(self)
    }

    fn assign(&mut self, field: &str, value: &str) -> Result<(), SetError> {
        let plain = |name: &str| name.replace('_', "");
        let known = Self::FIELDS.into_iter().find(|known| plain(known) == plain(field));
        let field = known.ok_or_else(|| SetError::Field { got: field.into() })?;
        match field {
            "log_n" => self.log_n = parsed(field, "an integer", value)?,
            "log_q" => self.log_q = parsed(field, "an integer", value)?,
            "limbs" => self.limbs = parsed(field, "an integer", value)?,
            "dnum" => self.dnum = parsed(field, "an integer", value)?,
            "fft_iter" => self.fft_iter = parsed(field, "an integer", value)?,
            "degree" => self.degree = parsed(field, "an integer", value)?,
            "doublings" => self.doublings = parsed(field, "an integer", value)?,
            "karatsuba" => self.karatsuba = parsed(field, "true or false", value)?,
            "key_compression" => self.key_compression = parsed(field, "true or false", value)?,
            "merge" => self.merge = parsed(field, "true or false", value)?,
            "reorder" => self.reorder = parsed(field, "true or false", value)?,
            "transform" => {
                let styles = [TransformStyle::Bsgs, TransformStyle::BsgsHoisted, TransformStyle::UnrolledHoisted];
                self.transform = chosen(field, &styles, value)?;
            }
            _ => {
                let levels = [Caching::None, Caching::Limb, Caching::Beta, Caching::Alpha, Caching::Huge];
                self.caching = chosen(field, &levels, value)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), SetError> {
        let wrong = |field, wanted: String, got: u64| Err(SetError::Value { field, wanted, got: got.to_string() });
        let stages = u64::from(self.log_n.saturating_sub(1));
        let ranges = [
            ("log_n", u64::from(self.log_n), 3, 20),
            ("log_q", self.log_q, 1, 1024),
            ("limbs", self.limbs, 2, MAX_LIMBS),
            ("dnum", self.dnum, 1, self.limbs),
            ("fft_iter", self.fft_iter, 1, stages),
            ("degree", self.degree, 3, 1 << 16),
            ("doublings", self.doublings, 0, 64),
        ];
        if let Some((field, got, least, most)) = ranges.into_iter().find(|(_, x, a, b)| !(a..=b).contains(&x)) {
            return wrong(field, format!("an integer from {least} to {most}"), got);
        }
        if self.degree.is_power_of_two() {
            // SimFHE itself stops here: its budget ⌈log₂ degree⌉ is then a level short of what its evaluation takes.
            return wrong("degree", "no power of two".into(), self.degree);
        }
        if self.limbs < self.budget() {
            return wrong("limbs", format!("at least the {} that bootstrapping takes", self.budget()), self.limbs);
        }
        Ok(())
    }

    /// Levels of the sine. Source: `SchemeParams.eval_sine_limbs`: ⌈log₂ degree⌉ + r + 1.
    pub(super) fn sine_levels(&self) -> u64 {
        u64::from(self.degree.next_power_of_two().ilog2()) + self.doublings + 1
    }

    /// Levels of bootstrapping, two transforms and the sine.
    #[must_use]
    pub fn budget(&self) -> u64 {
        2 * self.fft_iter + self.sine_levels()
    }

    /// log₂ of the radix of each stage: log₂N − 1 shared out, what is over to the last ones. Source:
    /// `SchemeParams.bsgs_iters`.
    pub(super) fn stages(&self) -> impl Iterator<Item = u64> + use<> {
        let (all, stages) = (u64::from(self.log_n) - 1, self.fft_iter);
        (0..stages).map(move |i| all / stages + u64::from(i >= stages - all % stages))
    }

    /// A polynomial of the largest ciphertext.
    pub(super) fn largest(&self) -> Poly {
        Poly { log_n: self.log_n, log_q: self.log_q, dnum: self.dnum, limbs: self.limbs }
    }
}

fn parsed<T: std::str::FromStr>(field: &'static str, wanted: &str, value: &str) -> Result<T, SetError> {
    value.parse().map_err(|_| SetError::Value { field, wanted: wanted.into(), got: value.into() })
}

/// The choice of a name, which is the one that its reports have.
fn chosen<T: Copy + Serialize>(field: &'static str, choices: &[T], value: &str) -> Result<T, SetError> {
    let name = |choice: &T| serde_json::to_value(choice).ok().and_then(|v| v.as_str().map(str::to_owned));
    let names: Vec<String> = choices.iter().filter_map(name).collect();
    let found = choices.iter().zip(&names).find(|(_, name)| *name == value).map(|(choice, _)| *choice);
    let wanted = format!("one of {}", names.join(", "));
    found.ok_or_else(|| SetError::Value { field, wanted, got: value.into() })
}
