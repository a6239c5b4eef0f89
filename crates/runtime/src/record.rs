//! Recording: the program's graph, and what it requires, before any key exists.
//!
//! Three passes over the device that computes nothing. The first learns which keys are asked for and at which level;
//! the second records the program with exactly those keys, declared; the third runs the whole session, key generation
//! included, to see how many bytes are alive at once.

use crate::{
    keys::{Imagined, InMemory, ReadPlan},
    session::{Reader, session},
};
use limbwise::{
    Result,
    ckks::{Auto, Bootstrapper, Ciphertext, Encoder, Estimate, Evaluator, LinearTransform, decrypt::phase},
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, Request, Requirements},
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
    /// How they are read, where they are on disk.
    pub reads: Option<ReadPlan>,
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
    let params = program.params();
    let (required, requests) = requirements(program)?;
    let plan = KeyPlan { required, form };
    let reads = (form == KeyForm::Disk).then(|| ReadPlan::least(params, requests));
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
    let (session_peak_bytes, result_bytes) = rehearsed(program, &plan, reads.as_ref())?;
    let host_bytes = result_bytes + clear_maps;
    Ok(Recording { graph, keys: plan, reads, results, input_bytes, session_peak_bytes, host_bytes })
}

impl Recording {
    /// The same with more memory for keys on disk, or less: fewer reads, or more.
    ///
    /// # Errors
    /// None that the recording did not have.
    pub fn with_key_memory<P: Program>(mut self, program: &P, budget_bytes: u64) -> Result<Self> {
        if let Some(reads) = &mut self.reads {
            reads.budget_bytes = budget_bytes;
            (self.session_peak_bytes, _) = rehearsed(program, &self.keys, self.reads.as_ref())?;
        }
        Ok(self)
    }
}

/// Most bytes of polynomials in a whole session, and the words of its largest result.
fn rehearsed<P: Program>(program: &P, plan: &KeyPlan, reads: Option<&ReadPlan>) -> Result<(u64, u64)> {
    let null = Null::default();
    let read = |reader: &Reader<'_, Null>, result: &Ciphertext<Null>| {
        Ok(phase(reader.dev, program.params(), reader.secret, result).shape().bytes())
    };
    let bytes = match reads {
        Some(reads) => session(&null, program, (plan, &Imagined(reads)), &mut (), &(), read)?,
        None => session(&null, program, (plan, &InMemory), &mut (), &(), read)?,
    };
    Ok((null.meter().peak_bytes(), bytes.into_iter().max().unwrap_or(0)))
}

/// The keys a program asks for, and every request in order.
fn requirements<P: Program>(program: &P) -> Result<(Requirements, Vec<Request>)> {
    let (null, params) = (Null::default(), program.params());
    let encoder = Encoder::new(params);
    let keys = DeclaredKeys::all(&null, params);
    let Declared { maps, bootstrapper, inputs } = declared(&null, &encoder, program)?;
    let auto = Auto::new(Evaluator::new(&null, params, &keys), &encoder).with_bootstrapper(bootstrapper.as_ref());
    program.evaluate(&auto, &maps, &inputs, &mut ())?;
    Ok((keys.requirements(), keys.requests()))
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
