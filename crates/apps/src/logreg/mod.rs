//! Logistic regression trained on encrypted rows by Nesterov gradient descent (HELR), with its clear twin.

pub mod data;
pub mod encrypted;
pub mod metrics;
pub mod plain;
pub mod sigmoid;
