//! Recording: the program's graph, and what it requires, before any key exists.
//!
//! Three passes over the device that computes nothing. The first learns which keys are asked for and at which level;
//! the second records the program with exactly those keys, declared; the third runs the whole session, key generation
//! included, to see how many bytes are alive at once.

use crate::{
    keys::{Declared, DiskKeys, ReadPlan},
    plan::peak_on,
    server::Server,
};
#[cfg(feature = "client")]
use crate::{
    keys::{Imagined, InMemory},
    session::{NoData, Reader, Sides, session},
};
#[cfg(feature = "client")]
use limbwise::ckks::decrypt::phase;
use limbwise::{
    Result,
    ckks::{Ciphertext, Encoder, Estimate},
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, KeyStore, Request, Requirements},
};
use limbwise_apps::Program;
#[cfg(feature = "client")]
use limbwise_device::Handle as _;
use limbwise_device::{Null, SharedFootprint};
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
    /// Most bytes of polynomials alive at once in a whole session, key generation and decryption included; in a build
    /// without the feature `client`, on the server.
    pub session_peak_bytes: u64,
    /// Bytes that the host holds beside them at most: the words of one result, and the clear maps of bootstrapping.
    pub host_bytes: u64,
    /// Of the device for which the peak was measured.
    pub footprint: SharedFootprint,
    scope: Scope,
}

/// What a recording's peak is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// A whole session.
    Session,
    /// A server alone.
    Server,
}

/// What is expected of a result.
#[derive(Clone, Copy, Debug)]
pub struct ResultEstimate {
    /// Rescales left.
    pub level: usize,
    /// Size and error.
    pub estimate: Estimate,
}

/// Records a program for the CPU, with its keys kept in one form or the other.
///
/// # Errors
/// What the schemes refuse: too few levels, values that cannot be encoded.
pub fn record<P: Program>(program: &P, form: KeyForm) -> Result<Recording> {
    record_on(program, form, limbwise_cpu::footprint())
}

/// The same for the device with this footprint.
///
/// # Errors
/// As [`record`].
pub fn record_on<P: Program>(program: &P, form: KeyForm, footprint: SharedFootprint) -> Result<Recording> {
    let params = program.params();
    let (required, requests) = requirements(program)?;
    let plan = KeyPlan { required, form };
    let reads = (form == KeyForm::Disk).then(|| ReadPlan::least(params, requests));
    let encoder = Encoder::new(params);
    let recorder = Recorder::new(Null::default());
    let keys = DeclaredKeys::exactly(&recorder, params, &plan);
    let server = Server::declared(&recorder, &encoder, program)?;
    let inputs = server.declared_inputs(program.encryption())?;
    let input_bytes = inputs.iter().map(Ciphertext::bytes).sum();
    let outputs = server.evaluate((&keys, None), &inputs, &mut (), &mut ())?;
    let results = outputs.iter().map(|c| ResultEstimate { level: c.level, estimate: c.estimate }).collect();
    let graph = recorder.graph(); // while the results live: they are what the program keeps
    let (session_peak_bytes, result_bytes) = rehearsed(program, &plan, reads.as_ref(), &footprint)?;
    let (host_bytes, scope) = (result_bytes + server.host_bytes(), Scope::Session);
    Ok(Recording { graph, keys: plan, reads, results, input_bytes, session_peak_bytes, host_bytes, footprint, scope })
}

impl Recording {
    /// The same with more memory for keys on disk, or less: fewer reads, or more.
    ///
    /// # Errors
    /// None that the recording did not have.
    pub fn with_key_memory<P: Program>(mut self, program: &P, budget_bytes: u64) -> Result<Self> {
        if let Some(reads) = &mut self.reads {
            reads.budget_bytes = budget_bytes;
            (self.session_peak_bytes, _) = rehearsed(program, &self.keys, self.reads.as_ref(), &self.footprint)?;
        }
        Ok(self)
    }

    /// The same as a server alone has it: keys and inputs come from elsewhere, and results go there.
    ///
    /// # Errors
    /// None that the recording did not have.
    pub fn of_server<P: Program>(mut self, program: &P) -> Result<Self> {
        self.session_peak_bytes = served(program, &self.keys, self.reads.as_ref(), &self.footprint)?;
        self.scope = Scope::Server;
        Ok(self)
    }

    /// The peak on a device: where it was measured for another, it is measured again.
    ///
    /// # Errors
    /// None that the recording did not have.
    pub fn peak_on<P: Program>(&self, program: &P, footprint: &SharedFootprint) -> Result<u64> {
        let (keys, reads) = (&self.keys, self.reads.as_ref());
        let measured = (&self.footprint, self.session_peak_bytes);
        peak_on(measured, footprint, || match self.scope {
            Scope::Session => Ok(rehearsed(program, keys, reads, footprint)?.0),
            Scope::Server => served(program, keys, reads, footprint),
        })
    }
}

/// Most bytes of polynomials in a whole session, and the words of its largest result.
#[cfg(feature = "client")]
fn rehearsed<P: Program>(
    program: &P,
    plan: &KeyPlan,
    reads: Option<&ReadPlan>,
    footprint: &SharedFootprint,
) -> Result<(u64, u64)> {
    let null = Null::of(footprint.clone());
    let (client, seeds) = (NoData::of(program), limbwise_math::sampling::SeedSource::Repeating(0));
    let sides = Sides { program, client: &client, seeds: &seeds };
    let read = |reader: &Reader<'_, Null>, result: &Ciphertext<Null>| {
        Ok(phase(reader.dev, program.params(), reader.secret, result).shape().bytes())
    };
    let bytes = match reads {
        Some(reads) => session(&null, &sides, (plan, &Imagined(reads)), (&mut (), &mut ()), &(), read)?,
        None => session(&null, &sides, (plan, &InMemory::default()), (&mut (), &mut ()), &(), read)?,
    };
    Ok((null.meter().peak_bytes(), bytes.into_iter().max().unwrap_or(0)))
}

/// A server decrypts nothing: what it evaluates is all there is.
#[cfg(not(feature = "client"))]
fn rehearsed<P: Program>(
    program: &P,
    plan: &KeyPlan,
    reads: Option<&ReadPlan>,
    footprint: &SharedFootprint,
) -> Result<(u64, u64)> {
    Ok((served(program, plan, reads, footprint)?, 0))
}

/// Most bytes of polynomials on a server, keys and inputs included.
fn served<P: Program>(
    program: &P,
    plan: &KeyPlan,
    reads: Option<&ReadPlan>,
    footprint: &SharedFootprint,
) -> Result<u64> {
    let (null, params) = (Null::of(footprint.clone()), program.params());
    let encoder = Encoder::new(params);
    let evaluate = |keys: &dyn KeyStore<Null>| {
        let server = Server::declared(&null, &encoder, program)?;
        server.evaluate((keys, None), &server.declared_inputs(program.encryption())?, &mut (), &mut ())
    };
    match reads {
        Some(reads) => {
            let source = Declared(params, &plan.required);
            evaluate(&DiskKeys::rehearsed(&null, params, &source, reads.shelf(params)))?
        }
        None => evaluate(&DeclaredKeys::exactly(&null, params, plan))?,
    };
    Ok(null.meter().peak_bytes())
}

/// The keys a program asks for, and every request in order.
fn requirements<P: Program>(program: &P) -> Result<(Requirements, Vec<Request>)> {
    let (null, params) = (Null::default(), program.params());
    let encoder = Encoder::new(params);
    let keys = DeclaredKeys::all(&null, params);
    let server = Server::declared(&null, &encoder, program)?;
    server.evaluate((&keys, None), &server.declared_inputs(program.encryption())?, &mut (), &mut ())?;
    Ok((keys.requirements(), keys.requests()))
}
