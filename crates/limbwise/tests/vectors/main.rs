//! Ciphertexts of other libraries.

#[cfg(test)]
mod lattigo;
#[cfg(test)]
mod lattigo_bgv;
#[cfg(test)]
mod python_bgv;
