//! Logistic regression trained on encrypted rows by Nesterov gradient descent (HELR), with its clear twin.

pub mod data;
pub mod metrics;
pub mod plain;
pub mod sigmoid;
