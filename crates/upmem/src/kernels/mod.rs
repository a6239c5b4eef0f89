//! Kernels as assembly text, and what the host puts into MRAM for them.
//!
//! One program holds all operations. A launch hands it a list of commands, each with a table of jobs (sub-polynomials),
//! and runs them one after another, so that a whole operation is one launch.
//!
//! Read in this order: [`routines`] (multiplications, reductions), [`frame`] (registers, memory, commands),
//! [`transform`], [`elementwise`], [`image`] (the host's side).

pub mod elementwise;
pub mod frame;
pub mod image;
pub mod routines;
pub mod transform;

use crate::assembler::{Program, assemble};
use std::fmt::Write as _;

/// Where multiplications stand in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiplications {
    /// Once each, and called: as the source does.
    Called,
    /// Wherever they are used.
    Inlined,
}

/// How transforms reduce their products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// By a reciprocal of the modulus: as the source does.
    Barrett,
    /// By its inverse modulo 2^32; twiddles carry a factor 2^32.
    Montgomery,
}

/// A choice of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Called or inlined.
    pub multiplications: Multiplications,
    /// Of transforms; element-wise products have no constant operand and are Barrett's.
    pub reduction: Reduction,
}

impl Default for Form {
    fn default() -> Self {
        Self { multiplications: Multiplications::Called, reduction: Reduction::Barrett }
    }
}

/// Collects text.
#[derive(Clone, Debug)]
pub struct Writer {
    text: String,
    labels: usize,
    /// The program's form.
    pub form: Form,
}

impl Writer {
    /// An empty text.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self { text: String::new(), labels: 0, form }
    }

    /// Adds lines.
    pub fn lines(&mut self, text: &str) {
        for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
            let indent = if line.trim().ends_with(':') { "" } else { "    " };
            let _ = writeln!(self.text, "{indent}{}", line.trim());
        }
    }

    /// A label nobody has.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    /// What has been written.
    #[must_use]
    pub fn text(self) -> String {
        self.text
    }
}

/// The text of the program with all operations.
#[must_use]
pub fn listing(form: Form) -> String {
    let mut w = Writer::new(form);
    frame::write(&mut w);
    transform::write(&mut w);
    elementwise::write(&mut w);
    routines::write_routines(&mut w);
    w.text()
}

/// The program with all operations.
///
/// # Panics
/// If the text of this crate is no program.
#[must_use]
pub fn program(form: Form) -> Program {
    assemble(&listing(form)).expect("this crate's listing assembles")
}
