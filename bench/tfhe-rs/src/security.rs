//! What each row's parameters are worth: the class by Limbwise's gate for both sides, and below it the estimate.

use crate::rival::Shape;
use limbwise::{
    params::security::binary_class,
    tfhe::{TfheLiteral, TfheParams, preset},
};

/// Limbwise's side of a row: its parameters, and the class that the gate found or the reason that stands against it.
///
/// # Errors
/// A preset that does not exist.
pub fn ours(name: &str) -> Result<String, Box<dyn std::error::Error>> {
    let literal = preset(name)?;
    let params = TfheParams::new(&literal)?;
    let TfheLiteral { masks, log_n, lwe_dimension, lwe_sigma, glwe_sigma, .. } = literal;
    let modulus = literal.log_modulus();
    let security = match &params.security().insecure_reason {
        Some(reason) => format!("below 128 bits: {reason}"),
        None => format!("{} bits by {}", params.security().bits, params.security().standard),
    };
    let keys = format!(
        "n {lwe_dimension} sigma 2^{:.2}, {masks} x 2^{log_n} sigma 2^{:.2}",
        lwe_sigma.log2() - f64::from(literal.log_lwe_modulus),
        glwe_sigma.log2() - modulus
    );
    Ok(format!("limbwise {name}: {keys}, p_fail 2^{:.0}; {security}", params.log2_failure()))
}

/// tfhe-rs's side: the same curves on the errors that are drawn here.
pub fn theirs(shape: &Shape, bits: u32) -> String {
    let log_modulus = f64::from(bits);
    let class = |n: usize, relative: f64| binary_class(n, log_modulus, relative * log_modulus.exp2());
    let [narrow, wide] = shape.noise;
    let met = class(shape.lwe_dimension, narrow).min(class(shape.polynomial_size, wide));
    let security = match (met, shape.estimate) {
        (0, Some(estimate)) => format!("below 128 bits: {estimate}"),
        (0, None) => "below 128 bits by the same curves".into(),
        (class, _) => format!("{class} bits by the same curves"),
    };
    let keys = format!(
        "n {} sigma 2^{:.2}, 1 x {} sigma 2^{:.2}",
        shape.lwe_dimension,
        narrow.log2(),
        shape.polynomial_size,
        wide.log2()
    );
    format!("tfhe-rs u{bits}: {keys}; {security}")
}
