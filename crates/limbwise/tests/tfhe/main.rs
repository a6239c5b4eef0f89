//! Promises of TFHE, one file each.

#![expect(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test binary")]

mod bootstrap;
mod common;
mod estimates;
mod logic;
mod mistakes;
mod noise;
mod params;
mod radix;
mod radix_long;
mod secrets;
