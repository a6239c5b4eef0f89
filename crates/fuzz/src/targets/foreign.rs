//! Files of OpenFHE and Lattigo: what is taken fits the parameters, and is written the same.

use super::{Answer, root};
use limbwise::{ckks::Estimate, params::Params};
use limbwise_cpu::Cpu;
use limbwise_runtime::exchange::foreign::{
    Binding, Content, ForeignError, compare, lattigo, openfhe::Document, openfhe_write,
};
use std::{fs, sync::LazyLock};

/// A device, and the parameters of the stored file of Lattigo.
static SET: LazyLock<(Cpu, Params)> = LazyLock::new(|| {
    let text = fs::read(root().join("crates/fuzz/corpus/lattigo-params/params.json")).expect("it is in the tree");
    let literal = lattigo::chain(&text).and_then(|chain| chain.literal(Some("a test"))).expect("parameters");
    (Cpu::builder().threads(1).open().expect("a device"), Params::new(&literal).expect("parameters"))
});

/// Meets the parameters; a ciphertext that fits goes back.
fn bound(content: &Content) -> Result<Option<Vec<u8>>, ForeignError> {
    let (dev, params) = &*SET;
    let binding = Binding::new(params);
    match content {
        Content::Parameters => {}
        Content::Ciphertext(theirs) => {
            let ours = binding.ciphertext(dev, theirs, Estimate::exact(1.0))?;
            return Ok(Some(lattigo::write(&compare::exported(dev, params, &ours, &|_| None)?)));
        }
        Content::SecretKey(poly) => drop(binding.secret(dev, poly)?),
        Content::PublicKey(halves) => drop(binding.public_key(dev, halves)?),
        Content::Keys(keys) => drop(binding.keys(dev, keys)?),
    }
    Ok(None)
}

/// Any JSON of OpenFHE: content and parameters are read, of which none may panic; what fits no parameters is refused.
pub fn openfhe(bytes: &[u8]) -> Answer {
    let text = |e: ForeignError| e.to_string();
    let document = Document::parse(bytes).map_err(text)?;
    let content = document.content();
    let chain = document.chain().and_then(|chain| chain.literal(Some("a test")));
    if let Ok(Content::Ciphertext(theirs)) = &content
        && let Ok(written) = openfhe_write::replaced(bytes, theirs)
    {
        let again = Document::parse(written.as_bytes()).and_then(|again| again.content()).map_err(text)?;
        assert!(matches!(again, Content::Ciphertext(_)), "what was written is a ciphertext");
    }
    let content = content.map_err(text)?;
    drop(bound(&content));
    // Rings below 2^10 have no parameters here: the stored files are refused for that alone.
    drop(chain);
    Ok(())
}

/// A binary file of Lattigo for the stored parameters.
pub fn lattigo_file(bytes: &[u8]) -> Answer {
    let content = lattigo::read(bytes, &SET.1).map_err(|e| e.to_string())?;
    if let Some(once) = bound(&content).map_err(|e| e.to_string())? {
        let again = lattigo::read(&once, &SET.1).expect("what was written is read");
        assert!(bound(&again).expect("it fits").as_ref() == Some(&once), "written differently the second time");
    }
    Ok(())
}

pub fn lattigo_params(bytes: &[u8]) -> Answer {
    let chain = lattigo::chain(bytes).map_err(|e| e.to_string())?;
    chain.literal(Some("a test")).map(drop).map_err(|e| e.to_string())
}
