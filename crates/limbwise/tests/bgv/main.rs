//! BGV: exact integers modulo t on encrypted data.

#[cfg(test)]
mod common;
#[cfg(test)]
mod depth;
#[cfg(test)]
mod noise;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod wide;
