//! Ciphertexts of other libraries.

#[cfg(test)]
mod lattigo;
