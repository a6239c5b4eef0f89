//! Whole sessions of client and server.

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
mod exchange;
#[cfg(test)]
mod fhetch;
#[cfg(test)]
mod footprint;
mod foreign;
#[cfg(test)]
mod heir;
#[cfg(test)]
mod hybrid;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod plan_and_run;
#[cfg(test)]
mod protobuf;
#[cfg(test)]
mod resnet;
#[cfg(test)]
mod tape;
