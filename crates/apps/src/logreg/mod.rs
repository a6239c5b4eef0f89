//! Logistic regression trained on encrypted rows by Nesterov gradient descent (HELR), with its clear twin.
//!
//! Enters: preparation of rows, the clear twin, the encrypted program, the client's side, metrics. Stays out: file
//! formats.
//!
//! Read in this order: [`data`], [`sigmoid`], [`plain`], [`metrics`], `descent`, [`encrypted`], [`client`].

pub mod client;
pub mod data;
pub(crate) mod descent;
pub mod encrypted;
pub mod metrics;
pub mod options;
pub mod plain;
pub mod sigmoid;
mod twins;
pub(crate) mod walk;

pub(crate) use twins::Twins;
