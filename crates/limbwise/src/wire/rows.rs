//! The limbs of a polynomial as blocks: one per row, batch entry by batch entry, limbs in the order of their primes.

use super::{
    container::{CHECKSUM, Container, Place, Sealed, Writer},
    error::WireError,
    packing::{pack, packed_bytes, unpack_residues},
    source::Source,
};
use limbwise_device::{Basis, Device, Handle, HostRead, Ring, Role, Shape};
use limbwise_math::modulus::Modulus;
use std::{
    io::Write,
    sync::{Mutex, OnceLock, PoisonError},
};

/// A polynomial in a file: its rows and their first place.
pub(crate) struct Rows {
    shape: Shape,
    begin: Place,
}

impl Rows {
    /// A polynomial of this shape, starting at a place.
    pub(crate) fn new(shape: Shape, begin: Place) -> Self {
        Self { shape, begin }
    }

    /// Place of the first row.
    pub(crate) fn begin(&self) -> Place {
        self.begin
    }

    /// Place after the last row.
    pub(crate) fn end(&self) -> Place {
        let rows = (self.shape.batch * self.shape.basis.len()) as u64;
        self.begin.behind(rows, self.shape.batch as u64 * limb_bytes(&self.shape.ring, self.shape.basis))
    }

    /// Place of one row.
    fn place(&self, batch: usize, prime: usize) -> Place {
        let Shape { ring, basis, .. } = &self.shape;
        let before = *basis & Basis::range(0, prime);
        let entries = batch as u64;
        let rows = entries * basis.len() as u64 + before.len() as u64;
        self.begin.behind(rows, entries * limb_bytes(ring, *basis) + limb_bytes(ring, before))
    }

    /// Reads one row into N words; `bytes` is scratch memory.
    pub(crate) fn read_row<S: Source>(
        &self,
        file: &Container<S>,
        batch: usize,
        prime: usize,
        bytes: &mut Vec<u8>,
        out: &mut [u64],
    ) -> Result<(), WireError> {
        let Some(&modulus) = self.shape.ring.moduli().get(prime) else { return Ok(()) };
        let place = self.place(batch, prime);
        bytes.resize(packed_bytes(self.shape.ring.n(), modulus.bits()) + CHECKSUM, 0);
        unpack_residues(file.block(place, bytes)?, modulus, out).map_err(|got| WireError::Residue {
            block: place.block,
            got,
            prime: modulus.value(),
        })
    }

    /// Uploads the limbs of a basis; the device requests the rows from its threads.
    pub(crate) fn read<S: Source, D: Device>(
        &self,
        file: &Container<S>,
        dev: &D,
        basis: Basis,
        role: Role,
    ) -> Result<D::Poly, WireError> {
        let (problem, buffers) = (OnceLock::new(), Mutex::new(Vec::<Vec<u8>>::new()));
        let buffers = || buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let poly = dev.upload(&self.shape.with_basis(basis), role, &|at, row| {
            let mut bytes = buffers().pop().unwrap_or_default();
            if let Err(e) = self.read_row(file, at.batch, at.prime, &mut bytes, row) {
                problem.get_or_init(|| e);
                row.fill(0);
            }
            buffers().push(bytes);
        });
        match problem.into_inner() {
            Some(e) => Err(e),
            None => Ok(poly),
        }
    }
}

/// Bytes of one packed limb of each prime.
fn limb_bytes(ring: &Ring, basis: Basis) -> u64 {
    ring.moduli_of(basis).into_iter().map(|q| packed_bytes(ring.n(), q.bits()) as u64).sum()
}

/// Writes the rows of a polynomial, packed and hashed by the threads of the device.
pub(crate) fn write_rows<W: Write, D: HostRead>(out: &mut Writer<W>, dev: &D, poly: &D::Poly) -> crate::Result<()> {
    let Shape { ring, basis, batch, .. } = poly.shape();
    let moduli: Vec<Modulus> = ring.moduli_of(*basis);
    let blocks: Vec<OnceLock<Sealed>> = (0..batch * moduli.len()).map(|_| OnceLock::new()).collect();
    let sealing = out.sealing();
    dev.each_row(poly, &|row, words| {
        let (Some(q), Some(block)) = (moduli.get(row % moduli.len()), blocks.get(row)) else { return };
        let width = q.bits();
        let mut bytes = Vec::with_capacity(packed_bytes(ring.n(), width) + CHECKSUM);
        pack(words, width, &mut bytes);
        block.get_or_init(|| sealing.seal(row as u64, bytes));
    })?;
    for block in blocks {
        out.sealed(&block.into_inner().expect("a device hands over every row"))?;
    }
    Ok(())
}
