//! `matrix_product`: a few lines of all operands at a time, which stay in the cache while the whole matrix meets them.
//!
//! Lines of different operands are far apart in memory and fall into the same sets of the caches, so a tile is copied
//! together first: one pass over the operands, where the products read them once a block of rows.

use crate::{
    device::{Cpu, CpuPoly, new_lines},
    kernels::matrix::{MOST_LINES, PackedMatrix},
    layout::Line,
};
use limbwise_device::IntegerMatrix;

/// Lines of a tile of all operands: 1 MiB, half an L2 cache.
const CACHED: usize = 16384;

/// Lines of one limb of one group, in all rows of the result.
struct Tile<'a> {
    /// Entry of the operands' rows: limb within the group.
    row: usize,
    first: usize,
    out: Vec<&'a mut [Line]>,
}

impl Cpu {
    /// [`limbwise_device::composites::matrix_product`].
    pub(crate) fn fused_matrix_product(&self, x: &CpuPoly, matrix: &IntegerMatrix) -> CpuPoly {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        assert!(x.shape.batch.is_multiple_of(columns), "an operand for each of {columns} columns");
        let groups = x.shape.batch / columns;
        let tables = self.tables(&x.shape.ring);
        let limbs = tables.limbs(x.shape.basis);
        let mut result = self.unwritten(x.shape.with_batch(rows * groups));
        let (packed, each) = (PackedMatrix::new(matrix), groups * limbs.len());
        let lines = (CACHED / columns).clamp(4, MOST_LINES);
        let mut tiles: Vec<Tile<'_>> = Vec::new();
        for (i, row) in result.rows.iter_mut().enumerate() {
            let tiles_of_row = new_lines(row).chunks_mut(lines);
            let count = tiles_of_row.len();
            for (t, part) in tiles_of_row.enumerate() {
                if i < each {
                    tiles.push(Tile { row: i, first: t * lines, out: Vec::with_capacity(rows) });
                }
                tiles[i % each * count + t].out.push(part);
            }
        }
        self.each(rows * columns * each * x.shape.ring.n(), tiles, |_, mut tile| {
            let range = tile.first..tile.first + tile.out[0].len();
            let mut operands = Vec::with_capacity(columns * range.len());
            for i in 0..columns {
                operands.extend_from_slice(&x.rows[i * each + tile.row].lines()[range.clone()]);
            }
            limbs[tile.row % limbs.len()].matrix_product(&mut tile.out, &operands, &packed);
        });
        result
    }
}
