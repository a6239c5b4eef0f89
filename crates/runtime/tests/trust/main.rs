//! What a client and a server may be given: anything. Hostile files with right checksums through both sides.

#[cfg(test)]
mod campaign;
#[cfg(test)]
mod forge;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod sides;
#[cfg(test)]
mod states;
