//! The security gate: tables, and the class a parameter set meets. Never interpolated, never extrapolated.
//!
//! σ = 3.2, classical attacks, any number of samples. Source: \[SG24\] and its script; \[HES18\] for the 2018 table;
//! \[BTH22\] and runs of the lattice estimator for sparse secrets.

use super::{
    error::ParamsError,
    literal::{Insecure, Secret, Standard},
};
use serde::Serialize;

/// Largest log₂(QP) for a uniform ternary secret, N = 2^10 … 2^17.
const GUIDELINES: [(u32, [u32; 8]); 3] = [
    (128, [26, 53, 106, 214, 430, 868, 1747, 3523]),
    (192, [17, 36, 73, 147, 297, 596, 1199, 2411]),
    (256, [13, 27, 56, 114, 230, 462, 929, 1865]),
];

/// The 2018 table for 128 bits, N = 2^10 … 2^15; OpenFHE's own extension to 2^16 is not part of it.
const STANDARD_2018: [u32; 6] = [27, 54, 109, 218, 438, 881];

/// Binary secrets of dimension n with Gaussian errors of relative width σ/q, from dimension n₀ on: class, slope, offset and
/// n₀ of log₂(σ/q) ≥ slope·n + offset. Source: \[BBBCLOT23\], the curves published with its optimizer.
const BINARY: [(u32, f64, f64, usize); 4] = [
    (80, -0.040_458_2, 1.718_38, 450),
    (112, -0.029_881_4, 2.653_932, 450),
    (128, -0.026_599_462_343_105_267, 2.981_543_184_145_991, 450),
    (192, -0.018_894_1, 4.270_035, 532),
];

/// Narrowest errors that a modulus can hold, for the curves as for the tables.
pub const NARROWEST: f64 = 3.2;

/// The class of an LWE or GLWE key with a binary secret: 192, 128, below that 112 or 80 for the record, or 0.
///
/// `sigma` in units of the modulus's own integers.
#[must_use]
pub fn binary_class(dimension: usize, log_modulus: f64, sigma: f64) -> u32 {
    if sigma < NARROWEST {
        return 0;
    }
    let relative = sigma.log2() - log_modulus;
    let n = limbwise_math::rns::to_f64(dimension as u64);
    let met = |row: &&(u32, f64, f64, usize)| dimension >= row.3 && relative >= row.1 * n + row.2 - 1e-9;
    BINARY.iter().filter(met).map(|row| row.0).max().unwrap_or(0)
}

/// Least σ of a binary secret's key in a class, in units of the modulus's own integers; `None` where no row speaks.
#[must_use]
pub fn least_sigma(class: u32, dimension: usize, log_modulus: f64) -> Option<f64> {
    let &(_, slope, offset, least) = BINARY.iter().find(|row| row.0 == class)?;
    let n = limbwise_math::rns::to_f64(dimension as u64);
    (dimension >= least).then(|| (slope * n + offset + log_modulus).exp2().max(NARROWEST))
}

/// What the gate found: printed in every report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecurityReport {
    /// The class met: 128, 192 or 256; 0 below, or 80 or 112 where curves of binary secrets say so.
    pub bits: u32,
    /// log₂ of the largest modulus under which a key is published.
    pub log_qp: f64,
    /// The table that was asked.
    pub standard: &'static str,
    /// Set only where the user took leave to go below 128 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
}

/// The class that a key of this shape meets: 128, 192, 256, or 0 if no row vouches for 128.
#[must_use]
pub fn class(standard: Standard, log_n: u32, log_modulus: f64, secret: Secret, sigma: f64) -> u32 {
    if sigma < 3.2 {
        return 0; // no row has narrower errors
    }
    let column = log_n.checked_sub(10).and_then(|c| usize::try_from(c).ok());
    match (standard, secret) {
        (Standard::Guidelines2024, Secret::Ternary) => {
            let met = |row: &&(u32, [u32; 8])| {
                column.and_then(|c| row.1.get(c)).is_some_and(|&most| log_modulus <= f64::from(most))
            };
            GUIDELINES.iter().filter(met).map(|row| row.0).max().unwrap_or(0)
        }
        (Standard::HomomorphicEncryption2018, Secret::Ternary) => {
            let met = column.and_then(|c| STANDARD_2018.get(c)).is_some_and(|&most| log_modulus <= f64::from(most));
            if met { 128 } else { 0 }
        }
        // Sparse encapsulation keys of bootstrapping: h ≥ 32, N ≥ 2^15, at most 121 bits. Nothing outside passes.
        (_, Secret::FixedWeight(h)) => {
            let met = h >= 32 && (15..=17).contains(&log_n) && log_modulus <= 121.0;
            if met { 128 } else { 0 }
        }
    }
}

/// Largest log₂(QP) with 128 bits for a ternary secret, if the table has the ring.
#[must_use]
pub fn largest_modulus(standard: Standard, log_n: u32) -> Option<u32> {
    let column = usize::try_from(log_n.checked_sub(10)?).ok()?;
    match standard {
        Standard::Guidelines2024 => GUIDELINES[0].1.get(column).copied(),
        Standard::HomomorphicEncryption2018 => STANDARD_2018.get(column).copied(),
    }
}

/// Passes a key, or says what is wrong with it.
///
/// # Errors
/// [`ParamsError::Insecure`] below 128 bits without [`Insecure`]; [`ParamsError::Range`] for an empty reason.
pub fn gate(
    standard: Standard,
    log_n: u32,
    log_modulus: f64,
    secret: (Secret, f64),
    insecure: Option<&Insecure>,
) -> Result<SecurityReport, ParamsError> {
    let name = match standard {
        Standard::Guidelines2024 => "Security Guidelines 2024",
        Standard::HomomorphicEncryption2018 => {
            "the 2018 standard (superseded: today's estimates are about 2 bits lower)"
        }
    };
    if insecure.is_some_and(|i| i.reason.trim().is_empty()) {
        let wanted = "a reason for going below 128 bits".into();
        return Err(ParamsError::Range { field: "insecure.reason", got: "\"\"".into(), wanted });
    }
    let bits = class(standard, log_n, log_modulus, secret.0, secret.1);
    let insecure_reason = if bits < 128 { insecure.map(|i| i.reason.clone()) } else { None };
    if bits < 128 && insecure_reason.is_none() {
        let allowed = match secret.0 {
            Secret::FixedWeight(_) => "fixed weights h >= 32 at N >= 2^15 and 121 bits only".into(),
            Secret::Ternary if secret.1 < 3.2 => "errors of sigma >= 3.2 only".into(),
            Secret::Ternary => {
                largest_modulus(standard, log_n).map_or("no such ring".into(), |most| format!("at most {most}"))
            }
        };
        let secret = match secret {
            (Secret::Ternary, sigma) => format!("a ternary secret, sigma {sigma}"),
            (Secret::FixedWeight(h), sigma) => format!("a secret of weight {h}, sigma {sigma}"),
        };
        let next = "choose a larger ring or fewer bits; only Insecure { reason } lets a set pass below 128 bits";
        return Err(ParamsError::Insecure { log_n, log_qp: log_modulus, secret, standard: name, allowed, next });
    }
    Ok(SecurityReport { bits, log_qp: log_modulus, standard: name, insecure_reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_holds_at_its_edge_and_not_beyond() {
        for (row, &(bits, limits)) in GUIDELINES.iter().enumerate() {
            for (log_n, most) in (10..).zip(limits) {
                let at =
                    |extra: f64| class(Standard::Guidelines2024, log_n, f64::from(most) + extra, Secret::Ternary, 3.2);
                assert_eq!(at(0.0), bits);
                assert_eq!(at(1.0), if row == 0 { 0 } else { GUIDELINES[row - 1].0 });
            }
        }
        for (log_n, most) in (10..).zip(STANDARD_2018) {
            let at = |m: u32| class(Standard::HomomorphicEncryption2018, log_n, f64::from(m), Secret::Ternary, 3.2);
            assert_eq!((at(most), at(most + 1)), (128, 0));
        }
        assert_eq!(class(Standard::HomomorphicEncryption2018, 16, 10.0, Secret::Ternary, 3.2), 0);
    }

    #[test]
    fn curves_hold_at_their_edge_and_not_beyond() {
        for (class, below) in [(80, 0), (112, 80), (128, 112), (192, 128)] {
            for n in [600, 918, 1024] {
                let sigma = least_sigma(class, n, 60.0).unwrap();
                assert_eq!(binary_class(n, 60.0, sigma), class, "n = {n}");
                assert_eq!(binary_class(n, 61.0, sigma), below, "one bit more at n = {n}");
            }
        }
        // The floor of whole errors: at N = 2048 and 48 bits the curve would allow narrower ones.
        assert_eq!(least_sigma(128, 2048, 48.0), Some(3.2));
        assert_eq!(
            [binary_class(2048, 48.0, 3.2), binary_class(2048, 48.0, 3.19), binary_class(449, 20.0, 1e6)],
            [128, 0, 0]
        );
        assert_eq!((least_sigma(128, 449, 32.0), least_sigma(192, 531, 32.0)), (None, None));
    }

    #[test]
    fn what_no_row_covers_fails() {
        let sparse = |h, log_n, bits| class(Standard::Guidelines2024, log_n, bits, Secret::FixedWeight(h), 3.2);
        assert_eq!(sparse(32, 15, 121.0), 128);
        assert_eq!(
            [sparse(31, 15, 121.0), sparse(32, 14, 121.0), sparse(32, 15, 122.0), sparse(192, 16, 1000.0)],
            [0; 4]
        );
        assert_eq!(class(Standard::Guidelines2024, 18, 10.0, Secret::Ternary, 3.2), 0);
        assert_eq!(class(Standard::Guidelines2024, 9, 10.0, Secret::Ternary, 3.2), 0);
        assert_eq!(class(Standard::Guidelines2024, 16, 100.0, Secret::Ternary, 3.19), 0);
    }

    #[test]
    fn leave_needs_a_reason_and_is_reported() {
        let pass = |reason: &str| {
            let leave = Insecure { reason: reason.into() };
            gate(Standard::Guidelines2024, 12, 200.0, (Secret::Ternary, 3.2), Some(&leave))
        };
        assert!(pass(" ").is_err());
        let report = pass("a test of speed").unwrap();
        assert_eq!((report.bits, report.insecure_reason.as_deref()), (0, Some("a test of speed")));
        let refused = gate(Standard::Guidelines2024, 12, 200.0, (Secret::Ternary, 3.2), None).unwrap_err();
        assert!(refused.to_string().contains("allows at most 106"), "{refused}");
        let strong =
            gate(Standard::Guidelines2024, 16, 1000.0, (Secret::Ternary, 3.2), Some(&Insecure { reason: "x".into() }));
        assert_eq!(strong.unwrap().insecure_reason, None);
    }
}
