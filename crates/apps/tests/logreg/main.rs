//! Logistic regression on a real device.

#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod helr;
