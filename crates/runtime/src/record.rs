//! Recording: the program's graph, and what it requires, before any key exists.
//!
//! Three passes over the device that computes nothing. The first learns which keys are asked for and at which level;
//! the second records the program with exactly those keys, declared; the third runs the whole session, key generation
//! included, to see how many bytes are alive at once.

use crate::session::session;
use limbwise::{
    Result,
    ckks::{Auto, Bootstrapper, Ciphertext, Encoder, Estimate, Evaluator, LinearTransform, decrypt::phase},
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, Requirements},
};
use limbwise_apps::{Encryption, Program};
use limbwise_device::{Device, Handle as _, Null};
use limbwise_graph::{Graph, Recorder};

/// A recorded program.
pub struct Recording {
    /// The evaluation: what a server does. Inputs and keys are declared.
    pub graph: Graph,
    /// The keys it needs, each with the highest level it is used at, and how they are kept.
    pub keys: KeyPlan,
    /// Level and estimate of each result.
    pub results: Vec<ResultEstimate>,
    /// Bytes of the encrypted inputs.
    pub input_bytes: u64,
    /// Most bytes of polynomials alive at once in a whole session, key generation and decryption included.
    pub session_peak_bytes: u64,
    /// Bytes that the host holds beside them at most: the words of one result, and the clear maps of bootstrapping.
    pub host_bytes: u64,
}

/// What is expected of a result.
#[derive(Clone, Copy, Debug)]
pub struct ResultEstimate {
    /// Rescales left.
    pub level: usize,
    /// Size and error.
    pub estimate: Estimate,
}

/// Records a program with its keys kept in one form or the other.
///
/// # Errors
/// What the schemes refuse: too few levels, values that cannot be encoded.
pub fn record<P: Program>(program: &P, form: KeyForm) -> Result<Recording> {
    let plan = KeyPlan { required: requirements(program)?, form };
    let params = program.params();
    let encoder = Encoder::new(params);
    let recorder = Recorder::new(Null::default());
    let keys = DeclaredKeys::exactly(&recorder, params, &plan);
    let Declared { maps, bootstrapper, inputs } = declared(&recorder, &encoder, program)?;
    let input_bytes = inputs.iter().map(Ciphertext::bytes).sum();
    let auto = Auto::new(Evaluator::new(&recorder, params, &keys), &encoder).with_bootstrapper(bootstrapper.as_ref());
    let outputs = program.evaluate(&auto, &maps, &inputs, &mut ())?;
    let results = outputs.iter().map(|c| ResultEstimate { level: c.level, estimate: c.estimate }).collect();
    let graph = recorder.graph(); // while the results live: they are what the program keeps
    let clear_maps = bootstrapper.as_ref().map_or(0, Bootstrapper::host_bytes);
    let null = Null::default();
    let host_bytes = session(&null, program, &plan, &mut (), |reader, result| {
        Ok(phase(reader.dev, params, reader.secret, result).shape().bytes())
    })?;
    Ok(Recording {
        graph,
        keys: plan,
        results,
        input_bytes,
        session_peak_bytes: null.meter().peak_bytes(),
        host_bytes: host_bytes.into_iter().max().unwrap_or(0) + clear_maps,
    })
}

/// The keys a program asks for.
fn requirements<P: Program>(program: &P) -> Result<Requirements> {
    let (null, params) = (Null::default(), program.params());
    let encoder = Encoder::new(params);
    let keys = DeclaredKeys::all(&null, params);
    let Declared { maps, bootstrapper, inputs } = declared(&null, &encoder, program)?;
    let auto = Auto::new(Evaluator::new(&null, params, &keys), &encoder).with_bootstrapper(bootstrapper.as_ref());
    program.evaluate(&auto, &maps, &inputs, &mut ())?;
    Ok(keys.requirements())
}

/// What a program works with, without words.
struct Declared<D: Device> {
    maps: Vec<LinearTransform<D>>,
    bootstrapper: Option<Bootstrapper<D>>,
    inputs: Vec<Ciphertext<D>>,
}

fn declared<D: Device, P: Program>(dev: &D, encoder: &Encoder, program: &P) -> Result<Declared<D>> {
    let maps = program.maps().into_iter().map(|(map, plan)| LinearTransform::declare(dev, encoder, map, plan));
    let bootstrapper = program.bootstrapping().map(|plan| Bootstrapper::declare(dev, encoder, plan)).transpose()?;
    let inputs = program.inputs();
    let inputs = inputs.iter().map(|input| match program.encryption() {
        Encryption::PublicKey => encoder.declare(dev, &input.values, input.packing),
        Encryption::SecretKey => encoder.declare_secret(dev, &input.values, input.packing),
    });
    Ok(Declared { maps: maps.collect::<Result<_>>()?, bootstrapper, inputs: inputs.collect::<Result<_>>()? })
}
