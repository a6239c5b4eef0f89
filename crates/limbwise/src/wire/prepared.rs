//! The file of a prepared model: every plaintext that a server encodes before inputs arrive, in the order in which the
//! program asks for them. Each can be read alone.

use super::{
    container::{CHECKSUM, Container, FileKind, Origin, Place, Writer},
    error::WireError,
    params::{Fingerprint, fingerprint},
    rows::{Rows, write_rows},
    source::Source,
};
use crate::{Result, params::Params};
use limbwise_device::{Basis, Device, Domain, HostRead, Role, Shape};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// The order and content of the plaintexts: a change of either makes a new number, and old files are refused.
pub const ENCODING: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    encoding: u32,
    /// Hash of the model that the server alone has, in hexadecimal.
    model: String,
    runs: Vec<Run>,
}

/// Polynomials of one shape, one after another.
#[derive(Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Run {
    count: u64,
    /// Indices of the primes of the ring, ascending.
    limbs: Vec<usize>,
    batch: usize,
    evaluation_domain: bool,
}

impl Run {
    fn of(shape: &Shape) -> Self {
        let limbs = shape.basis.iter().collect();
        Self { count: 1, limbs, batch: shape.batch, evaluation_domain: shape.domain == Domain::Eval }
    }

    fn continues(&self, shape: &Shape) -> bool {
        *self == Self { count: self.count, ..Self::of(shape) }
    }

    /// Bytes that it takes at least: compared with the file before anything is multiplied in 64 bits.
    fn least_bytes(&self, params: &Params) -> u128 {
        let rows = u128::from(self.count).saturating_mul(self.batch as u128).saturating_mul(self.limbs.len() as u128);
        rows.saturating_mul(params.ring().n() as u128 * LEAST_BITS / 8)
    }

    /// The shape; `None` for limbs that the ring lacks, that do not ascend, or for empty polynomials.
    fn shape(&self, params: &Params) -> Option<Shape> {
        let primes = params.ring().moduli().len();
        let ascending = self.limbs.iter().zip(self.limbs.iter().skip(1)).all(|(a, b)| a < b);
        let within = ascending && self.limbs.iter().all(|&limb| limb < primes);
        let basis = within.then(|| self.limbs.iter().fold(Basis::default(), |all, &limb| all | Basis::single(limb)))?;
        let domain = if self.evaluation_domain { Domain::Eval } else { Domain::Coeff };
        let shape = Shape::eval(params.ring(), basis).with_batch(self.batch).with_domain(domain);
        (!basis.is_empty() && self.batch > 0).then_some(shape)
    }
}

/// Bits of the shortest primes of a ring.
const LEAST_BITS: u128 = 20;

/// Runs of equal shapes.
fn runs(shapes: &[Shape]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for shape in shapes {
        match runs.last_mut() {
            Some(run) if run.continues(shape) => run.count += 1,
            _ => runs.push(Run::of(shape)),
        }
    }
    runs
}

/// Writes a prepared model, one plaintext after another.
#[derive(Debug)]
pub struct PreparedWriter<W> {
    out: Writer<W>,
}

impl<W: Write> PreparedWriter<W> {
    /// Writes the header for plaintexts of these shapes, in this order. The origin names the program, `model` what the
    /// server alone has of it.
    ///
    /// # Errors
    /// Errors of `out`; a header above the limit.
    pub fn begin(out: W, params: &Params, origin: &Origin, model: Fingerprint, shapes: &[Shape]) -> Result<Self> {
        let header = Header { encoding: ENCODING, model: hex(model), runs: runs(shapes) };
        Ok(Self { out: Writer::begin(out, FileKind::Prepared, fingerprint(params), origin, &header)? })
    }

    /// Writes the next plaintext.
    ///
    /// # Errors
    /// Errors of `out`; a device fault.
    pub fn push<D: HostRead>(&mut self, dev: &D, poly: &D::Poly) -> Result<()> {
        write_rows(&mut self.out, dev, poly)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(self) -> Result<W> {
        Ok(self.out.finish()?)
    }
}

/// Plaintexts of one shape in a file.
#[derive(Debug)]
struct Stretch {
    /// Number of the first.
    first: u64,
    count: u64,
    shape: Shape,
    begin: Place,
}

/// An open file of a prepared model.
#[derive(Debug)]
pub struct PreparedFile<S> {
    file: Container<S>,
    model: String,
    stretches: Vec<Stretch>,
    count: u64,
}

impl<S: Source> PreparedFile<S> {
    /// Opens a file for these parameters and checks its header against its length.
    ///
    /// # Errors
    /// [`WireError`] for a bad file, or one that another version encoded.
    pub fn open(source: S, params: &Params) -> Result<Self, WireError> {
        let file = Container::open(source)?;
        file.expect(FileKind::Prepared, Some(params))?;
        let Header { encoding, model, runs } = file.header()?;
        if encoding != ENCODING {
            return Err(WireError::Encoding { got: encoding, wanted: ENCODING });
        }
        let (mut place, mut count, mut stretches) = (file.first(), 0u64, Vec::new());
        for run in runs {
            let bad = || WireError::value("runs", "limbs or a batch that the ring does not have", "those of the ring");
            let shape = run.shape(params).ok_or_else(bad)?;
            let left = file.length().saturating_sub(place.at);
            let least = run.least_bytes(params);
            if least > u128::from(left) {
                let wanted = u64::try_from(least).unwrap_or(u64::MAX).saturating_add(place.at);
                return Err(WireError::Length { got: file.length(), wanted });
            }
            stretches.push(Stretch { first: count, count: run.count, shape: shape.clone(), begin: place });
            place = behind(&shape, place, run.count);
            count += run.count;
        }
        file.ends(place)?;
        Ok(Self { file, model, stretches, count })
    }

    /// What the file says it belongs to: its program.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.file.origin()
    }

    /// Fails unless the file was made of this model.
    ///
    /// # Errors
    /// [`WireError::Origin`].
    pub fn admits_model(&self, model: Fingerprint) -> Result<(), WireError> {
        let wanted = hex(model);
        if self.model == wanted {
            return Ok(());
        }
        Err(WireError::Origin { what: "model", got: self.model.chars().take(64).collect(), wanted })
    }

    /// Number of plaintexts.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shapes of the plaintexts, in their order.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        let times = |s: &Stretch| usize::try_from(s.count).unwrap_or(usize::MAX);
        self.stretches.iter().flat_map(move |s| std::iter::repeat_n(&s.shape, times(s)))
    }

    /// Length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.file.length()
    }

    /// Reads everything, for its checksums.
    ///
    /// # Errors
    /// [`WireError`] for the first damaged block.
    pub fn check<D: Device>(&self, dev: &D) -> Result<(), WireError> {
        for stretch in &self.stretches {
            for number in stretch.first..stretch.first + stretch.count {
                self.read(dev, number, &stretch.shape)?;
            }
        }
        Ok(())
    }

    /// Reads one plaintext, which must have the wanted shape.
    ///
    /// # Errors
    /// [`WireError::Plaintext`] for another shape or a number that the file does not have; damaged blocks.
    pub fn read<D: Device>(&self, dev: &D, number: u64, wanted: &Shape) -> Result<D::Poly, WireError> {
        let stretch = self.stretch(number, wanted)?;
        let rows = Rows::new(wanted.clone(), behind(wanted, stretch.begin, number - stretch.first));
        rows.read(&self.file, dev, wanted.basis, Role::Plaintext)
    }

    /// Fails unless a plaintext is there and has the wanted shape.
    ///
    /// # Errors
    /// [`WireError::Plaintext`].
    pub fn expect(&self, number: u64, wanted: &Shape) -> Result<(), WireError> {
        self.stretch(number, wanted).map(|_| ())
    }

    fn stretch(&self, number: u64, wanted: &Shape) -> Result<&Stretch, WireError> {
        let at = self.stretches.partition_point(|stretch| stretch.first <= number).checked_sub(1);
        let stretch = at.and_then(|at| self.stretches.get(at)).filter(|s| number - s.first < s.count);
        let other = |got: String| WireError::Plaintext { number, got, wanted: said(wanted) };
        let stretch = stretch.ok_or_else(|| other("none".into()))?;
        if stretch.shape == *wanted { Ok(stretch) } else { Err(other(said(&stretch.shape))) }
    }
}

fn hex(name: Fingerprint) -> String {
    name.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The place behind so many polynomials of a shape.
fn behind(shape: &Shape, begin: Place, count: u64) -> Place {
    let one = Rows::new(shape.clone(), begin).end();
    let (blocks, bytes) = (one.block - begin.block, one.at - begin.at - (one.block - begin.block) * CHECKSUM as u64);
    begin.behind(count * blocks, count * bytes)
}

fn said(shape: &Shape) -> String {
    let domain = if shape.domain == Domain::Eval { "evaluation" } else { "coefficient" };
    format!("{} limbs in {domain} domain", shape.basis.len())
}
