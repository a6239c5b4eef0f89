//! Levelled CKKS on the CPU device, every contract of the seam checked.

#[cfg(test)]
mod bootstrap;
#[cfg(test)]
mod bootstrap_presets;
#[cfg(test)]
mod bootstrap_range;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod common;
#[cfg(test)]
mod function_levels;
#[cfg(test)]
mod functions;
#[cfg(test)]
mod lazy;
#[cfg(test)]
mod linear;
#[cfg(test)]
mod lookup;
#[cfg(test)]
mod low_levels;
#[cfg(test)]
mod noise;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod precision;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod shadow;
#[cfg(test)]
mod tensor;
#[cfg(test)]
mod threads;
#[cfg(test)]
mod words;
