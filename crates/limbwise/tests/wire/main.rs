//! Files: what is written comes back, and nothing else passes.

#[cfg(test)]
mod bgv;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod common;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod expectations;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod prepared;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod schemes;
#[cfg(test)]
mod size;
#[cfg(test)]
mod tfhe;
