//! A program's plaintexts, encoded once into a file and read from it at each start (ADR 166).
//!
//! What a program encodes goes through one place, [`Server::new`], which asks a supply for each plaintext. Preparing lists
//! the shapes on a device without words, then encodes and writes one after another; an evaluation reads them in the same
//! order. So the words are those that encoding would give, whatever the workload.

use crate::{
    any_device::AnyDevice,
    clock::{Clock, Event},
    error::{Error, Result},
    eval::{Job, Limits, program_within},
    origin::program_name,
    places::{Existing, absent, open_file, put, refused},
    scheme::Piped,
    server::Server,
};
use limbwise::{
    params::Params,
    scheme::{Scheme, Setup},
    supply::{Kept, Made, Supply},
    wire::{Fingerprint, Origin, PreparedFile, PreparedWriter, WireError},
};
use limbwise_apps::{AnyProgram, Description, Program, linear::layer::Model, on_scheme};
use limbwise_device::{Device, HostRead, Null, Role, Shape, Wordless as _};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// What to prepare, and where to.
#[derive(Clone, Copy, Debug)]
pub struct ToPrepare<'a> {
    pub description: &'a Description,
    /// The server's model, if the description leaves it to the server.
    pub model: &'a Model,
    pub out: &'a Path,
    pub existing: Existing,
}

/// Report of a preparation: the JSON contract of `limbwise prepare`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PrepareReport {
    pub workload: String,
    pub scheme: &'static str,
    /// Parameter set, as the description names it.
    pub preset: String,
    /// The file.
    pub prepared: PathBuf,
    /// Number of encoded plaintexts.
    pub plaintexts: usize,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes that the plaintexts take in the device's memory.
    pub memory_bytes: u64,
    /// Time of encoding and writing.
    pub seconds: f64,
}

/// Encodes a program's plaintexts into a file, which is in its place when it is whole.
///
/// # Errors
/// A program that encodes nothing before its inputs come; as [`evaluate_files`](crate::evaluate_files) for the program and
/// memory; errors of the system.
pub fn prepare_files(
    dev: &AnyDevice,
    asked: &ToPrepare<'_>,
    limits: &Limits<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<PrepareReport> {
    absent(&[asked.out.into()], asked.existing)?;
    let program = program_within(asked.description, asked.model, limits)?;
    on_scheme!(AnyProgram, &program, program => prepare(dev, program, asked, tell))
}

fn prepare<P: Program<Scheme: Piped>>(
    dev: &AnyDevice,
    program: &P,
    asked: &ToPrepare<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<PrepareReport> {
    let (began, encoder) = (Instant::now(), P::Scheme::encoder(program.params()));
    let shapes = listed(program, &encoder)?;
    let params = P::Scheme::rlwe(program.params()).filter(|_| !shapes.is_empty());
    let params = params.ok_or_else(|| nothing(program.name()))?;
    let origin = Origin { program: program_name(asked.description), ..Origin::NONE };
    let mut clock = Clock::new(tell);
    put(asked.out, |file| {
        let out = PreparedWriter::begin(BufWriter::new(file), params, &origin, model_name(asked.model), &shapes)?;
        let press = Press(Mutex::new(out));
        Server::new(dev, &press, &encoder, program, &mut clock)?;
        let out = press.0.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
        out.into_inner().map_err(|e| refused(asked.out, "writing")(e.into_error()))
    })?;
    let file_bytes = open_file(asked.out)?.metadata().map_err(refused(asked.out, "reading"))?.len();
    Ok(PrepareReport {
        workload: program.name().into(),
        scheme: P::Scheme::NAME,
        preset: asked.description.preset.clone(),
        prepared: asked.out.into(),
        plaintexts: shapes.len(),
        file_bytes,
        memory_bytes: shapes.iter().map(Shape::bytes).sum(),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The shapes of all plaintexts, in the order in which a server asks for them.
fn listed<P: Program>(program: &P, encoder: &<P::Scheme as Scheme>::Encoder) -> Result<Vec<Shape>> {
    let (null, list) = (Null::default(), List::default());
    let setup = Setup { dev: &null, encoder, params: program.params() };
    P::Scheme::encode(setup, &list, &program.model(), &mut |_, _, _| ())?;
    Ok(list.0.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn nothing(name: &str) -> Error {
    let text = format!(
        "{name} encodes no plaintext before its inputs come, so there is nothing to prepare: evaluate without a prepared model"
    );
    Error::Refused(text.into())
}

/// The name of a model that the server alone has.
fn model_name(model: &Model) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    model.hashed(&mut |bytes| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    });
    Fingerprint(*hasher.finalize().as_bytes())
}

/// Takes down what is asked for.
#[derive(Default)]
struct List(Mutex<Vec<Shape>>);

type NullPoly = <Null as Device>::Poly;
type AtUse<D> = Option<Arc<dyn Kept<D>>>;

impl Supply<Null> for List {
    fn next(&self, null: &Null, shape: &Shape, _make: &dyn Fn() -> NullPoly) -> limbwise::Result<NullPoly> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(shape.clone());
        Ok(null.declare(shape, Role::Plaintext))
    }

    fn next_at_use(&self, null: &Null, shape: &Shape, make: &dyn Fn() -> NullPoly) -> limbwise::Result<AtUse<Null>> {
        self.next(null, shape, make).map(|_| None)
    }
}

/// Writes what it encodes.
struct Press<W>(Mutex<PreparedWriter<W>>);

impl<D: HostRead, W: Write> Supply<D> for Press<W> {
    fn next(&self, dev: &D, _shape: &Shape, make: &dyn Fn() -> D::Poly) -> limbwise::Result<D::Poly> {
        let poly = make();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(dev, &poly)?;
        Ok(poly)
    }

    fn next_at_use(&self, dev: &D, shape: &Shape, make: &dyn Fn() -> D::Poly) -> limbwise::Result<AtUse<D>> {
        self.next(dev, shape, make).map(|_| None)
    }
}

/// Where an evaluation has its plaintexts from.
pub(crate) enum Stock {
    Encoded,
    File(Prepared),
}

impl Stock {
    /// The file that a job names, compared with its program, parameters and model.
    pub(crate) fn of<P: Program>(job: &Job<'_>, program: &P) -> Result<Self> {
        let Some(path) = job.prepared else { return Ok(Self::Encoded) };
        let params = P::Scheme::rlwe(program.params()).ok_or_else(|| nothing(program.name()))?;
        Ok(Self::File(Prepared::open(path, params, (job.description, job.model))?))
    }

    /// The server with its plaintexts.
    pub(crate) fn server<'a, P: Program>(
        &self,
        dev: &'a AnyDevice,
        encoder: &'a <P::Scheme as Scheme>::Encoder,
        program: &'a P,
        clock: &mut Clock<'_>,
    ) -> limbwise::Result<Server<'a, AnyDevice, P>> {
        match self {
            Self::Encoded => Server::new(dev, &Made, encoder, program, clock),
            Self::File(prepared) => {
                prepared.next.store(0, Ordering::Relaxed);
                let server = Server::new(dev, prepared, encoder, program, clock)?;
                prepared.used_up()?;
                Ok(server)
            }
        }
    }

    /// An error with the name of the file, if it is the file's.
    pub(crate) fn named(&self, error: Error) -> Error {
        match (self, error) {
            (Self::File(prepared), Error::Scheme(cause)) if prepared.open.failed.get().is_some() => {
                Error::of_file(&prepared.path, cause)
            }
            (_, error) => error,
        }
    }
}

/// A file of encoded plaintexts, read one after another.
pub(crate) struct Prepared {
    open: Arc<Open>,
    path: PathBuf,
    next: AtomicU64,
}

struct Open {
    file: PreparedFile<File>,
    /// Set by the first error of the file, so that it is told with the file's name.
    failed: OnceLock<()>,
}

impl Open {
    fn noted(&self, error: WireError) -> limbwise::Error {
        self.failed.get_or_init(|| ());
        error.into()
    }

    fn read<D: Device>(&self, dev: &D, number: u64, shape: &Shape) -> limbwise::Result<D::Poly> {
        self.file.read(dev, number, shape).map_err(|e| self.noted(e))
    }
}

/// A plaintext that stays in the file.
struct Place {
    open: Arc<Open>,
    number: u64,
    shape: Shape,
}

impl<D: Device> Kept<D> for Place {
    fn read(&self, dev: &D) -> limbwise::Result<D::Poly> {
        self.open.read(dev, self.number, &self.shape)
    }
}

impl Prepared {
    fn open(path: &Path, params: &Params, (description, model): (&Description, &Model)) -> Result<Self> {
        let of_file = |e: WireError| Error::of_file(path, e.into());
        let file = PreparedFile::open(open_file(path)?, params).map_err(of_file)?;
        let wanted = Origin { program: program_name(description), ..Origin::NONE };
        wanted.admits(&file.origin()).map_err(of_file)?;
        file.admits_model(model_name(model)).map_err(of_file)?;
        let open = Arc::new(Open { file, failed: OnceLock::new() });
        Ok(Self { open, path: path.into(), next: AtomicU64::new(0) })
    }

    /// Fails if the file has more than the program took.
    fn used_up(&self) -> limbwise::Result<()> {
        let (number, count) = (self.next.load(Ordering::Relaxed), self.open.file.count());
        if number == count {
            return Ok(());
        }
        let left = format!("one of {} more", count.saturating_sub(number));
        Err(self.open.noted(WireError::Plaintext { number, got: left, wanted: "none".into() }))
    }
}

impl<D: Device> Supply<D> for Prepared {
    fn next(&self, dev: &D, shape: &Shape, _make: &dyn Fn() -> D::Poly) -> limbwise::Result<D::Poly> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.read(dev, number, shape)
    }

    fn next_at_use(&self, _: &D, shape: &Shape, _: &dyn Fn() -> D::Poly) -> limbwise::Result<AtUse<D>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.file.expect(number, shape).map_err(|e| self.open.noted(e))?;
        Ok(Some(Arc::new(Place { open: self.open.clone(), number, shape: shape.clone() })))
    }
}
