//! Exit codes: 2 for a user mistake, 1 for a system failure or a bug. A closed output pipe is no error.

#[cfg(feature = "client")]
use limbwise::ckks::Finding;
use limbwise::{Error as Scheme, error::KeyError, wire::WireError};
use limbwise_device::Fault;
use limbwise_runtime::Error as Runtime;
use std::{
    any::Any,
    io::{self, Write as _},
};

/// A user mistake found by the command line: the whole text, with what, got, wanted, next step.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Mistake(pub(crate) String);

/// Two ciphertexts that are not the same: no mistake, and yet no success.
#[derive(Debug, thiserror::Error)]
#[error("{0} residues differ")]
pub(crate) struct Unequal(pub(crate) u64);

/// An operation that shadow mode found wrong: neither a user mistake nor a system failure.
#[cfg(feature = "client")]
#[derive(Debug, thiserror::Error)]
#[error("the first wrong operation is {0}")]
pub(crate) struct Wrong(pub(crate) Finding);

/// Results of a program on TFHE that are not the clear twin's.
#[cfg(feature = "client")]
#[derive(Debug, thiserror::Error)]
#[error("{wrong} of {all} results are not the clear twin's: a bug, or a failure as rare as planned")]
pub(crate) struct WrongMessages {
    pub(crate) wrong: usize,
    pub(crate) all: usize,
}

/// Whether the system failed. Other refusals of the libraries are user mistakes.
pub(crate) fn is_fault(error: &anyhow::Error) -> bool {
    let scheme = match error.downcast_ref::<Runtime>() {
        Some(Runtime::Scheme(scheme)) => Some(scheme),
        Some(Runtime::File { cause, .. }) => Some(&**cause),
        Some(Runtime::Io { source, .. }) => return !is_asked_for(source),
        Some(Runtime::Refused(refusal)) => return refusal.is::<io::Error>(),
        _ => error.downcast_ref::<Scheme>(),
    };
    let failed = match scheme {
        Some(Scheme::Device(_) | Scheme::Entropy(_) | Scheme::Key(KeyError::Unread { .. })) => true,
        Some(Scheme::Wire(WireError::Io { source, .. })) => !is_asked_for(source),
        _ => false,
    };
    failed || found_wrong(error) || error.is::<Unequal>() || error.is::<io::Error>()
}

/// Whether shadow mode found something.
#[cfg(feature = "client")]
fn found_wrong(error: &anyhow::Error) -> bool {
    error.is::<Wrong>() || error.is::<WrongMessages>() || matches!(error.downcast_ref(), Some(Runtime::Shadow { .. }))
}

/// A server has no shadows.
#[cfg(not(feature = "client"))]
fn found_wrong(_error: &anyhow::Error) -> bool {
    false
}

/// Whether the system refused the user's request, such as a wrong path, and did not fail itself.
fn is_asked_for(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::NotFound | Kind::PermissionDenied | Kind::AlreadyExists | Kind::NotADirectory | Kind::IsADirectory
    )
}

/// Prints the error and returns the exit code. Library errors include their causes, so only the outermost is printed.
pub(crate) fn exit(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return 0;
    }
    say(&format!("error: {error}\n"));
    if is_fault(error) { 1 } else { 2 }
}

/// After an unwinding; returns the exit code. The message of a panic is on standard error already; a device that has no more
/// memory unwinds with its fault and without a message.
pub(crate) fn unwound(payload: &(dyn Any + Send)) -> u8 {
    if let Some(fault) = payload.downcast_ref::<Fault>() {
        say(&format!("error: {fault}\n"));
        return 1;
    }
    say("error: this is a bug in limbwise; please report the lines above with the command that led here\n");
    1
}

/// Writes to standard error and ignores failures, which nobody could read.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
