//! Client and server apart, with nothing between them but files, for the programs of every scheme that is exact.

#[cfg(test)]
use limbwise_runtime::{AnyDevice, Calibration, calibrate};
#[cfg(test)]
use std::path::Path;

/// Rates of some host, for a device: no test here looks at seconds, and measuring takes as long as the test.
#[cfg(test)]
fn some_rates(dev: &AnyDevice) -> Calibration {
    calibrate::given(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/fixtures/rates.json")), dev).unwrap()
}

#[cfg(test)]
mod both;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod made;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod resumed;
#[cfg(test)]
mod whole;
