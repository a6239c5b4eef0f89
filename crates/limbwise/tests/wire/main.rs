//! Files: what is written comes back, and nothing else passes.

#[cfg(test)]
mod common;
#[cfg(test)]
mod round_trip;
