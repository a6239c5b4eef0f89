//! The server as its clients meet it: over a socket, in a process of its own that can be killed. The engine computes
//! digests in place of ciphertexts.

#![expect(clippy::unwrap_used, reason = "a test binary")]

mod access;
mod client;
mod clients;
mod engine;
mod jobs;
mod openapi;
mod page;
mod plans;
mod process;
mod restart;
mod strict;
mod tls;
mod uploads;
