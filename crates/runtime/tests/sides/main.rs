//! Client and server apart, with nothing between them but files, for the programs of every scheme that is exact.

#[cfg(test)]
mod both;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod made;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod resumed;
#[cfg(test)]
mod whole;
