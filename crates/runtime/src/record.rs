//! Recording: the program's graph, and what it requires, before any key exists.
//!
//! Three passes over a device that computes nothing. The first learns which keys are asked for and at which level;
//! the second records the program with exactly those keys, declared; the third runs the whole session, key generation
//! included, to see how many bytes are alive at once on the device that will run it.

use crate::{
    keys::{Declared, DiskKeys, ReadPlan},
    server::Server,
};
#[cfg(feature = "client")]
use crate::{
    keys::{Imagined, InMemory},
    session::{NoData, Reader, Sides, session},
};
#[cfg(feature = "client")]
use limbwise::scheme::ClientScheme;
#[cfg(not(feature = "client"))]
use limbwise::scheme::Scheme as ClientScheme;
use limbwise::{
    Result,
    params::Params,
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, KeyStore, Request, Requirements},
    scheme::{NoKeys, Scheme},
};
use limbwise_apps::{Observer, Program};
use limbwise_device::{Null, SharedFootprint, Wordless};
use limbwise_graph::{Graph, Op, Recorder};
use std::{cell::OnceCell, sync::Arc};

pub struct Recording<S: Scheme> {
    /// The evaluation: what a server does. Inputs and keys are declared.
    pub graph: Arc<Graph>,
    /// The evaluation keys it needs, each with the highest level it is used at, and how they are kept.
    pub keys: KeyPlan,
    /// How they are read, where they are on disk.
    pub reads: Option<ReadPlan>,
    /// What is expected of each result.
    pub results: Vec<S::Estimate>,
    /// What is expected of what was made on the way.
    pub expected: Arc<Expected>,
    /// Programmable bootstrappings that it takes: rows of every LWE key switch.
    pub rotations: u64,
    /// Bytes of the encrypted inputs.
    pub input_bytes: u64,
    /// Most bytes of polynomials alive at once in a whole session, key generation and decryption included; in a build
    /// without the feature `client`, on the server. Words without padding.
    pub session_peak_bytes: u64,
    /// Bytes that the host holds beside them at most: the words of one result, the clear maps of bootstrapping, the
    /// published keys of TFHE, this recording.
    pub host_bytes: u64,
    /// Of the device for which the peak was measured.
    pub footprint: SharedFootprint,
}

/// Bits that are expected of what is made in outermost regions: name, index, bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected(pub Vec<(String, u32, f64)>);

impl Observer for Expected {
    fn step(&mut self, _name: &str, _done: usize, _total: usize) {}

    fn expects(&mut self, region: &str, index: u32, bits: f64) {
        self.0.push((region.into(), index, bits));
    }
}

/// Declared keys of a scheme, if it has any in a store.
enum Store<'a, D: Wordless> {
    Declared(DeclaredKeys<'a, D>),
    None(NoKeys),
}

impl<'a, D: Wordless> Store<'a, D> {
    fn exactly(dev: &'a D, params: Option<&Params>, plan: &KeyPlan) -> Self {
        params.map_or(Self::None(NoKeys), |params| Self::Declared(DeclaredKeys::exactly(dev, params, plan)))
    }

    fn keys(&self) -> &dyn KeyStore<D> {
        match self {
            Self::Declared(keys) => keys,
            Self::None(none) => none,
        }
    }
}

/// Records a program with its keys kept in one form or the other, for the device with this footprint.
pub fn record<P: Program<Scheme: ClientScheme>>(
    program: &P,
    form: KeyForm,
    footprint: &SharedFootprint,
) -> Result<Recording<P::Scheme>> {
    Forms::of(program, footprint)?.record(form)
}

/// The recordings of one program in each form of keys, with what they share: the keys it asks for, and the evaluation,
/// which differs only between keys that are there whole and keys whose second half grows from a seed.
pub(crate) struct Forms<'p, P: Program> {
    program: &'p P,
    footprint: &'p SharedFootprint,
    required: Requirements,
    requests: Vec<Request>,
    whole: OnceCell<Evaluation<P::Scheme>>,
    from_seeds: OnceCell<Evaluation<P::Scheme>>,
}

/// What the second pass finds.
struct Evaluation<S: Scheme> {
    graph: Arc<Graph>,
    results: Vec<S::Estimate>,
    expected: Arc<Expected>,
    rotations: u64,
    /// Bytes of what the server holds in clear.
    host_bytes: u64,
}

impl<'p, P: Program<Scheme: ClientScheme>> Forms<'p, P> {
    pub(crate) fn of(program: &'p P, footprint: &'p SharedFootprint) -> Result<Self> {
        let (required, requests) = requirements(program, footprint)?;
        let (whole, from_seeds) = (OnceCell::new(), OnceCell::new());
        Ok(Self { program, footprint, required, requests, whole, from_seeds })
    }

    /// The evaluation alone, for models of machines: a whole session is not rehearsed.
    pub(crate) fn graph(&self, form: KeyForm) -> Result<Arc<Graph>> {
        Ok(Arc::clone(&self.evaluation(&self.keys(form))?.graph))
    }

    fn keys(&self, form: KeyForm) -> KeyPlan {
        KeyPlan { required: self.required.clone(), form }
    }

    pub(crate) fn record(&self, form: KeyForm) -> Result<Recording<P::Scheme>> {
        let (program, footprint) = (self.program, self.footprint);
        let params = program.params();
        let rlwe = P::Scheme::rlwe(params).filter(|_| form == KeyForm::Disk);
        let keys = self.keys(form);
        let reads = rlwe.map(|rlwe| ReadPlan::least(rlwe, self.requests.clone()));
        let Evaluation { graph, results, expected, rotations, host_bytes } = self.evaluation(&keys)?;
        let input_bytes = program.inputs().iter().map(|input| P::Scheme::input_bytes(params, input)).sum();
        let (session_peak_bytes, result_bytes) = rehearsed(program, &keys, reads.as_ref(), footprint)?;
        Ok(Recording {
            graph: Arc::clone(graph),
            keys,
            reads,
            results: results.clone(),
            expected: Arc::clone(expected),
            rotations: *rotations,
            input_bytes,
            session_peak_bytes,
            host_bytes: result_bytes + host_bytes + program.transient_bytes() + graph.bytes(),
            footprint: footprint.clone(),
        })
    }

    fn evaluation(&self, keys: &KeyPlan) -> Result<&Evaluation<P::Scheme>> {
        let known = if keys.form == KeyForm::Stored { &self.whole } else { &self.from_seeds };
        match known.get() {
            Some(known) => Ok(known),
            None => evaluated(self.program, keys).map(|found| known.get_or_init(|| found)),
        }
    }
}

/// The second pass.
fn evaluated<P: Program>(program: &P, plan: &KeyPlan) -> Result<Evaluation<P::Scheme>> {
    let params = program.params();
    let encoder = P::Scheme::encoder(params);
    let recorder = Recorder::new(Null::default());
    let server = Server::declared(&recorder, &encoder, program)?;
    let keys = Store::exactly(&recorder, P::Scheme::rlwe(params), plan);
    let mut expected = Expected::default();
    let outputs = server.rehearse_before(keys.keys(), program.encryption(), &mut expected)?;
    let results = outputs.iter().map(|c| P::Scheme::estimate(params, c)).collect();
    let graph = recorder.finish(); // while the results live: they are what the program keeps
    let switched = graph.ids().filter(|&id| graph.node(id).op() == Op::LweProduct);
    let rotations = switched.filter_map(|id| graph.lwe_shape(id)).map(|shape| shape.batch as u64).sum();
    drop(outputs);
    let expected = Arc::new(expected);
    Ok(Evaluation { graph: Arc::new(graph), results, expected, rotations, host_bytes: server.host_bytes() })
}

impl<S: ClientScheme> Recording<S> {
    /// The same with more memory for keys on disk, or less: fewer reads, or more.
    pub fn with_key_memory<P: Program<Scheme = S>>(mut self, program: &P, budget_bytes: u64) -> Result<Self> {
        if let Some(reads) = &mut self.reads {
            reads.budget_bytes = budget_bytes;
            (self.session_peak_bytes, _) = rehearsed(program, &self.keys, self.reads.as_ref(), &self.footprint)?;
        }
        Ok(self)
    }
}

impl<S: Scheme> Recording<S> {
    /// The same as a server alone has it: keys and inputs come from elsewhere, and results go there.
    pub fn of_server<P: Program<Scheme = S>>(mut self, program: &P) -> Result<Self> {
        self.session_peak_bytes = served(program, &self.keys, self.reads.as_ref(), &self.footprint)?;
        Ok(self)
    }
}

/// Most bytes of polynomials in a whole session, and the words of its largest result.
#[cfg(feature = "client")]
fn rehearsed<P: Program<Scheme: ClientScheme>>(
    program: &P,
    plan: &KeyPlan,
    reads: Option<&ReadPlan>,
    footprint: &SharedFootprint,
) -> Result<(u64, u64)> {
    let null = Null::of(footprint.clone());
    let (client, seeds) = (NoData::of(program), limbwise_math::sampling::SeedSource::Repeating(0));
    let sides = Sides { program, client: &client, seeds: &seeds };
    let read = |reader: &Reader<'_, P::Scheme, Null>, _: Vec<_>, results: Vec<_>| {
        let bytes = |result| P::Scheme::rehearse_reading(reader.dev, program.params(), reader.secrets, result);
        Ok(results.iter().map(bytes).max().unwrap_or(0))
    };
    let bytes = match reads {
        Some(reads) => session(&null, &sides, (plan, &Imagined(reads)), (&mut (), &mut ()), &(), read)?,
        None => session(&null, &sides, (plan, &InMemory::default()), (&mut (), &mut ()), &(), read)?,
    };
    Ok((null.meter().peak_bytes(), bytes))
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
    let encoder = P::Scheme::encoder(params);
    let evaluate =
        |keys: &dyn KeyStore<Null>| Server::declared(&null, &encoder, program)?.rehearse(keys, program.encryption());
    match (reads, P::Scheme::rlwe(params)) {
        (Some(reads), Some(rlwe)) => {
            let source = Declared(rlwe, &plan.required);
            evaluate(&DiskKeys::rehearsed(&null, rlwe, &source, reads.shelf(rlwe)))?
        }
        (_, rlwe) => evaluate(Store::exactly(&null, rlwe, plan).keys())?,
    };
    Ok(null.meter().peak_bytes())
}

/// The keys a program asks for, and every request in order. A device's own composites ask for the same keys as the default
/// bodies, in fewer operations.
fn requirements<P: Program>(program: &P, footprint: &SharedFootprint) -> Result<(Requirements, Vec<Request>)> {
    let (null, params) = (Null::of(footprint.clone()), program.params());
    let encoder = P::Scheme::encoder(params);
    let Some(rlwe) = P::Scheme::rlwe(params) else { return Ok((Requirements::new(), Vec::new())) };
    let server = Server::declared(&null, &encoder, program)?;
    let keys = DeclaredKeys::all(&null, rlwe);
    server.rehearse(&keys, program.encryption())?;
    Ok((keys.requirements(), keys.requests()))
}
