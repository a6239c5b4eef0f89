//! The linear transforms of ARK's bootstrapping, recorded, beside what its paper says of them.

#[cfg(test)]
mod claims;
#[cfg(test)]
mod transforms;
