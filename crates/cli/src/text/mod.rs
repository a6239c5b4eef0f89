//! Texts of reports for people: reports in, strings out.
//!
//! Enters: units, tables. Stays out: printing, and any number that is not in the report.

#[cfg(feature = "client")]
pub(crate) mod bench;
pub(crate) mod choice;
pub(crate) mod count;
pub(crate) mod list;
pub(crate) mod machines;
pub(crate) mod params;
pub(crate) mod plan;
pub(crate) mod record;
#[cfg(feature = "client")]
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod time;
pub(crate) mod units;

use limbwise_runtime::scheme::{Forecast, NEVER};

/// What is expected of results, in a line.
pub(crate) fn forecast(forecast: &Forecast) -> String {
    let precision = |bits: f64| table::line("precision", &format!("{bits:.1} bits predicted"));
    // Where nothing is bootstrapped, nothing fails.
    let failure = |log2: f64| match log2 > NEVER {
        true => table::line("failure", &format!("2^{log2:.1} at most")),
        false => String::new(),
    };
    match *forecast {
        Forecast::Ckks { precision_bits_predicted: bits, .. } => precision(bits),
        Forecast::Tfhe { log2_failure } => failure(log2_failure),
        Forecast::Bgv { budget_bits_predicted: bits } => {
            table::line("noise", &format!("{bits:.0} bits of budget left, by the bound"))
        }
        Forecast::Bridged { log2_failure, precision_bits_predicted: bits, .. } => {
            precision(bits) + &failure(log2_failure)
        }
    }
}
