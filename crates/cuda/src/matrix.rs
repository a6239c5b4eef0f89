//! `matrix_product`: four rows of the matrix a thread, which reads each operand once for them.

use crate::{
    device::{Cuda, CudaPoly},
    launch::{Args, Shape as Blocks, small},
};
use limbwise_device::{Device as _, IntegerMatrix, Region};

/// Rows of the matrix that a thread sums (`sums` in `elementwise.cu`).
const TOGETHER: usize = 4;

/// Rows of blocks in one launch: the limit of a grid's second dimension.
const MOST: usize = 65_535;

impl Cuda {
    /// [`limbwise_device::composites::matrix_product`].
    pub(crate) fn fused_matrix_product(&self, x: &CudaPoly, matrix: &IntegerMatrix) -> CudaPoly {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        assert!(x.shape.batch.is_multiple_of(columns), "an operand for each of {columns} columns");
        let _region = self.region(Region::MatrixProduct, 0);
        let groups = x.shape.batch / columns;
        let out = self.fresh(x.shape.with_batch(rows * groups));
        let primes: Vec<u64> = Self::primes_of(&x.shape.with_batch(1)).into_iter().map(|p| p as u64).collect();
        let (each, n) = (groups * primes.len(), x.shape.ring.n());
        let blocks = rows.div_ceil(TOGETHER) * each;
        for first in (0..blocks).step_by(MOST) {
            let table =
                Args::default().list(x.rows.iter().chain(&out.rows)).structure(&packed(matrix)).structure(&primes);
            let shape = Blocks::pairs(n, (blocks - first).min(MOST));
            self.launch_with_table("lw_matrix_product", shape, table, |table| {
                let at = |word: usize| table.at() + 8 * word as u64;
                let weights = x.rows.len() + out.rows.len();
                let both = |low: usize, high: usize| u64::from(small(low)) | u64::from(small(high)) << 32;
                let primes_at = weights + TOGETHER * rows.div_ceil(TOGETHER) * columns;
                let sizes = [both(columns, rows), both(each, primes.len())];
                let product = [&[at(0), at(x.rows.len()), at(weights), at(primes_at)][..], &sizes].concat();
                let tables = self.tables(&x.shape.ring);
                Args::default().structure(&product).pointer(&tables.primes).int(small(n)).int(small(first))
            });
        }
        out
    }
}

/// Weights with 2^31 added: by blocks of [`TOGETHER`] rows, then columns, then rows.
fn packed(matrix: &IntegerMatrix) -> Vec<u64> {
    let mut words = Vec::new();
    for first in (0..matrix.rows()).step_by(TOGETHER) {
        for i in 0..matrix.columns() {
            let weight = |j: usize| if j < matrix.rows() { i64::from(matrix.row(j)[i]) } else { 0 };
            words.extend((first..first + TOGETHER).map(|j| (weight(j) + (1 << 31)).cast_unsigned()));
        }
    }
    words
}
