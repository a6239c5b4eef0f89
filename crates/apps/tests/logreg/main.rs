//! Logistic regression on a real device.

#[cfg(test)]
mod encrypted;
mod helr;
