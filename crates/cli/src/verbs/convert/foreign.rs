//! Files of OpenFHE (JSON) and Lattigo (binary) among those that `convert` takes.

use super::{Converted, MOST_BYTES, MOST_MAGNITUDE, ends};
use crate::failure::Mistake;
use limbwise::{
    ckks::{Ciphertext, Estimate},
    params::{Params, ParamsLiteral},
};
use limbwise_runtime::{
    AnyDevice,
    exchange::foreign::{Binding, Content, ForeignError, compare, lattigo, openfhe::Document, openfhe_write},
    places::{read_secret, read_up_to},
};
use std::path::Path;

/// An error with the file that it is about.
pub(super) fn refused(path: &Path) -> impl FnOnce(ForeignError) -> Mistake {
    let path = path.display().to_string();
    move |e| Mistake(format!("{path}: {e}"))
}

/// Whether the end of a name is one of theirs.
pub(super) fn is_theirs(path: &Path) -> bool {
    matches!(ends(path), "json" | "bin")
}

/// What a file of theirs holds.
pub(super) fn content(path: &Path, params: &Params) -> anyhow::Result<Content> {
    let bytes = read_secret(path, MOST_BYTES)?; // it may be a secret key
    let read = match ends(path) {
        "json" => Document::parse(&bytes).and_then(|document| document.content()),
        _ => lattigo::read(&bytes, params),
    };
    Ok(read.map_err(refused(path))?)
}

/// A ciphertext of theirs.
pub(super) fn ciphertext(
    path: &Path,
    (dev, params): (&AnyDevice, &Params),
    estimate: Option<Estimate>,
) -> anyhow::Result<Ciphertext<AnyDevice>> {
    match content(path, params)? {
        Content::Ciphertext(theirs) => {
            let estimate = estimate.unwrap_or_else(|| Estimate::exact(MOST_MAGNITUDE));
            Ok(Binding::new(params).ciphertext(dev, &theirs, estimate).map_err(refused(path))?)
        }
        other => Err(Mistake(format!("{}: got {}, wanted a ciphertext", path.display(), other.kind())).into()),
    }
}

/// The parameters in a file of theirs, as the text of a parameter file.
pub(super) fn parameters(path: &Path, insecure: Option<&str>) -> anyhow::Result<String> {
    let bytes = read_up_to(path, MOST_BYTES)?;
    let document = Document::parse(&bytes).map_err(refused(path))?;
    let chain = match document.is_lattigos() {
        true => lattigo::chain(&bytes),
        false => document.chain(),
    };
    let literal = chain.and_then(|chain| chain.literal(insecure)).map_err(|e| match e {
        ForeignError::Parameters(e) => {
            Mistake(format!("{}: {e} (--insecure REASON takes a set below 128 bits)", path.display()))
        }
        other => refused(path)(other),
    })?;
    Ok(format!("# Parameters of {}\n{}", path.display(), toml::to_string(&literal)?))
}

/// A parameter file as text.
pub(super) fn of_text(path: &Path) -> anyhow::Result<Params> {
    let bytes = read_up_to(path, 1 << 20)?;
    let wrong = |e: &dyn std::fmt::Display| Mistake(format!("{}: {e}", path.display()));
    let text = std::str::from_utf8(&bytes).map_err(|e| wrong(&e))?;
    let literal: ParamsLiteral = toml::from_str(text).map_err(|e| wrong(&e))?;
    Ok(Params::new(&literal).map_err(|e| wrong(&e))?)
}

/// A ciphertext as a file for OpenFHE, in the place of one of its own.
pub(super) fn for_openfhe(
    (dev, params): (&AnyDevice, &Params),
    ciphertext: &Ciphertext<AnyDevice>,
    like: &Path,
) -> anyhow::Result<Vec<u8>> {
    let form = read_up_to(like, MOST_BYTES)?;
    let roots = Document::parse(&form).and_then(|document| document.roots()).map_err(refused(like))?;
    let theirs = compare::exported(dev, params, ciphertext, &|q| roots.get(&q).copied()).map_err(refused(like))?;
    Ok(openfhe_write::replaced(&form, &theirs).map_err(refused(like))?.into_bytes())
}

/// A ciphertext as a file for Lattigo.
pub(super) fn for_lattigo(
    (dev, params): (&AnyDevice, &Params),
    ciphertext: &Ciphertext<AnyDevice>,
    path: &Path,
) -> anyhow::Result<Vec<u8>> {
    Ok(lattigo::write(&compare::exported(dev, params, ciphertext, &|_| None).map_err(refused(path))?))
}

impl Converted {
    /// The lines of a comparison.
    pub(super) fn compared_text(&self) -> String {
        use crate::text::table::line;
        let mut text = String::new();
        if let Some(residues) = &self.residues {
            let whole = format!("{} of {}", residues.different, residues.compared);
            text += &line("residues that differ", &whole);
            if let Some(first) = &residues.first {
                let [a, b] = first.residues;
                let place = format!(
                    "c{}, limb {} (modulo {}), coefficient {}",
                    first.part, first.limb, first.modulus, first.coefficient
                );
                text += &line("first", &format!("{place}: {a} and {b}"));
            }
        }
        if let Some(largest) = self.largest_difference {
            text += &line("largest difference of slots", &format!("{largest:.3e}"));
        }
        text
    }
}
