//! What a user can get wrong about machines.

use std::borrow::Cow;

/// A mistake in a specification, an override or a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// Unknown machine.
    #[error("there is no machine \"{name}\": choose one of {known}, or give the path of a TOML file{}", hint(nearest))]
    UnknownMachine {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
        /// The most similar name, if one is similar.
        nearest: Option<String>,
    },
    /// Unknown model.
    #[error("machine \"{machine}\" names the unknown model \"{model}\": choose one of {known}")]
    UnknownModel {
        /// Name of the machine.
        machine: String,
        /// The model in its specification.
        model: String,
        /// The known names.
        known: String,
    },
    /// Unknown field.
    #[error("machine \"{machine}\" has no field \"{key}\"{}", hint(nearest))]
    UnknownKey {
        /// Name of the machine.
        machine: String,
        /// The field with its sections.
        key: String,
        /// The most similar field, if one is similar.
        nearest: Option<String>,
    },
    /// A value of another kind or out of range.
    #[error("machine \"{machine}\", field \"{key}\": {wanted} is wanted, got {got}")]
    Value {
        /// Name of the machine.
        machine: String,
        /// The field with its sections.
        key: String,
        /// Kind or range.
        wanted: String,
        /// The value in the file.
        got: String,
    },
    /// A text that is none of the field's choices.
    #[error("machine \"{machine}\", field \"{key}\": {wanted} is wanted, got \"{got}\"{}", hint(nearest))]
    Choice {
        /// Name of the machine.
        machine: String,
        /// The field with its sections.
        key: String,
        /// The choices.
        wanted: String,
        /// The value in the file.
        got: String,
        /// The most similar choice, if one is similar.
        nearest: Option<String>,
    },
    /// A variant of nothing, of itself, or of too many others.
    #[error("{origin}, field \"extends\": wanted {wanted}")]
    Extends {
        /// Path of the file.
        origin: String,
        /// The wanted value.
        wanted: String,
    },
    /// An operation that the machine has no unit for.
    #[error("machine \"{machine}\" has no unit for {op} (node {node} of the program): {why}; {next}")]
    NoUnit {
        /// Name of the machine.
        machine: String,
        /// The operation.
        op: &'static str,
        /// The first node that asks for it.
        node: u32,
        /// What the operation needs and no unit does.
        why: Cow<'static, str>,
        /// What to do about it.
        next: &'static str,
    },
    /// A program whose primes are wider than the machine's words.
    #[error(
        "machine \"{machine}\" has words of {word_bits} bits, the program has primes of {prime_bits} bits: choose a preset \
         with narrower primes, or --set words=split to take {words} words a residue"
    )]
    NarrowWord {
        /// Name of the machine.
        machine: String,
        /// Bits of its words.
        word_bits: u64,
        /// Bits of the widest prime.
        prime_bits: u64,
        /// Words that hold such a residue.
        words: u64,
    },
    /// An operation whose operands and result are more than the on-chip memory holds.
    #[error(
        "{what} needs {needs} bytes at once on the chip of machine \"{machine}\", which has {room} for it and keeps \
         {ahead} for loads ahead and results under way: {missing} bytes are missing; raise {capacity_field}, or run a smaller batch"
    )]
    NoRoom {
        /// Name of the machine.
        machine: String,
        /// The operation, its node and region.
        what: String,
        /// Bytes that it needs at once.
        needs: u64,
        /// Bytes that there are.
        room: u64,
        /// Bytes kept free for loads ahead and results under way.
        ahead: u64,
        /// Bytes that are missing.
        missing: u64,
        /// The field with the size of the memory.
        capacity_field: &'static str,
    },
    /// Values that do not fit into the memory of a DPU.
    #[error(
        "{what} needs {needs} bytes in the MRAM of DPU 0 of machine \"{machine}\", which has {room} for sub-polynomials of \
         {n} coefficients: {share} of {batch} ciphertexts are on it, of {dpus} DPUs that share them; about {fit} fit: run a \
         smaller batch, or raise dpus"
    )]
    NoMram {
        /// Name of the machine.
        machine: String,
        /// The operation and its node.
        what: String,
        /// DPUs that share the ciphertexts of a modulus.
        dpus: u64,
        /// Ciphertexts on the fullest of them, the first.
        share: u64,
        /// Coefficients of a polynomial.
        n: u64,
        /// Bytes that it would have to hold.
        needs: u64,
        /// Bytes that it can hold.
        room: u64,
        /// Ciphertexts that would fit on all.
        fit: u64,
        /// Ciphertexts of the program.
        batch: u64,
    },
    /// Several sides that cannot share a program.
    #[error(transparent)]
    Offload(#[from] crate::offload::OffloadError),
    /// Not a specification at all.
    #[error("{origin}: {problem}")]
    File {
        /// Path of the file.
        origin: String,
        /// The problem.
        problem: String,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |n| format!("; did you mean \"{n}\"?"))
}

/// The most similar candidate, if no more than half of its letters differ.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let percent = |letters: usize, c: &str| 100 * letters / c.len().max(wanted.len()).max(1);
    // At least as many letters differ as one has more than the other: long names are not compared with short ones.
    let near = candidates.filter(|c| percent(c.len().abs_diff(wanted.len()), c) <= 50);
    let differing = near.map(|c| (percent(distance(wanted, c), c), c));
    differing.min().filter(|(percent, _)| *percent <= 50).map(|(_, best)| best.to_owned())
}

/// Levenshtein's distance: letters to insert, delete or replace.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_words_are_found() {
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("abc", "abc")), (3, 3, 0));
        let keys = ["memory.hbm.bandwidth_gb_s", "noc.bandwidth_gb_s_per_cluster"];
        assert_eq!(nearest("hbm.bandwith_gb_s", keys.into_iter()).as_deref(), Some("memory.hbm.bandwidth_gb_s"));
        assert_eq!(nearest("color", keys.into_iter()), None);
    }
}
