//! Work that asks nobody whether to go on, such as recording and planning: on a thread of its own, so that an interrupt is
//! answered at once. What was begun then comes to its end unseen.

use crate::error::exception;
use pyo3::prelude::{PyResult, Python};
use std::{
    panic::resume_unwind,
    sync::mpsc::{RecvTimeoutError, channel},
    thread::Builder,
    time::Duration,
};

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Runs something without the interpreter's lock, and lets signal handlers run meanwhile.
pub(crate) fn apart<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (send, mut receive) = channel();
    // Whoever was interrupted has stopped listening.
    let worker = Builder::new().name("limbwise".into()).spawn(move || drop(send.send(work())));
    let worker = worker.map_err(|e| exception("DeviceFault", &format!("no thread for the computation: {e}")))?;
    loop {
        let told;
        (told, receive) = py.detach(move || (receive.recv_timeout(LOOK), receive));
        match told {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panicked) => resume_unwind(panicked),
                Ok(()) => return Err(exception("DeviceFault", "a computation ended without a result")),
            },
        }
    }
}
