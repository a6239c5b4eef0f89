//! Secret keys of sessions: under a passphrase, as bytes, and absent.

use crate::error::{exception, of_scheme};
use limbwise::{Result, wire::Lock};
use pyo3::{
    prelude::{Bound, PyErr, PyResult, Python},
    types::PyBytes,
};
use zeroize::Zeroizing;

pub(crate) fn lock(passphrase: Option<&str>) -> Lock<'_> {
    passphrase.map_or(Lock::None, Lock::Passphrase)
}

pub(crate) fn no_secret(op: &str) -> PyErr {
    exception("KeyMissing", &format!("{op} needs the secret key, which only the client has"))
}

/// What is written of a secret key. There is room for all of it: what grows leaves its old place unwiped.
pub(crate) fn secret_bytes<'py>(
    py: Python<'py>,
    room: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<()> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    py.detach(|| write(&mut bytes)).map_err(of_scheme)?;
    Ok(PyBytes::new(py, &bytes))
}
