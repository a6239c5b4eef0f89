//! The program as a user meets it: contracts of its JSON, its mistakes, its help.

#![expect(clippy::unwrap_used, reason = "a test binary")]

mod benchmarks;
mod cluster;
mod common;
mod contract;
#[cfg(test)]
mod digests;
mod exact_serve;
mod exact_sides;
mod exact_trust;
mod floats;
mod golden;
mod heir;
mod helr_lola;
mod mistakes;
mod pipes;
mod prepared;
mod profile;
mod query;
mod readings;
mod schemas;
mod serve;
#[cfg(unix)]
mod serve_plans;
#[cfg(test)]
mod sides;
mod similarity;
mod sweep;
mod trust;
mod wishes;
