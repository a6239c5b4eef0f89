//! Kernels as assembly text, and the contents of MRAM that the host writes for them.
//!
//! One program holds all operations. A launch gives it a list of commands, each with a table of jobs (sub-polynomials),
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

/// Placement of multiplication routines in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiplications {
    /// One copy of each, called, as in the source.
    Called,
    /// Inlined at each use.
    Inlined,
}

/// Reduction of products in transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Barrett's, by a reciprocal of the modulus, as in the source.
    Barrett,
    /// Montgomery's, by the inverse modulo 2^32; twiddles carry a factor 2^32.
    Montgomery,
}

/// Form of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Placement of multiplications.
    pub multiplications: Multiplications,
    /// Reduction in transforms. Element-wise products have no constant operand and use Barrett's.
    pub reduction: Reduction,
}

impl Default for Form {
    fn default() -> Self {
        Self { multiplications: Multiplications::Called, reduction: Reduction::Barrett }
    }
}

/// Collects assembly text.
#[derive(Clone, Debug)]
pub struct Writer {
    text: String,
    labels: usize,
    /// The program's form.
    pub form: Form,
}

impl Writer {
    /// An empty program text.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self { text: String::new(), labels: 0, form }
    }

    /// Appends lines.
    pub fn lines(&mut self, text: &str) {
        for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
            let indent = if line.trim().ends_with(':') { "" } else { "    " };
            let _ = writeln!(self.text, "{indent}{}", line.trim());
        }
    }

    /// A unique label.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    /// The text so far.
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
/// If the text of this crate does not assemble: a bug.
#[must_use]
pub fn program(form: Form) -> Program {
    assemble(&listing(form)).expect("this crate's listing assembles")
}
