//! Layout of a limb in memory, and its conversion to and from the host's order.
//!
//! A limb is an array of cache lines of eight words. After every 4096 words (512 lines) of a ring with N > 4096 comes
//! one line of padding: without it the sixteen rows that the first pass of a transform reads together share one set of
//! the L1 cache. Padding holds
//! residues like the rest, so that element-wise kernels may run over it, but what they are means nothing: whatever writes
//! a limb from outside writes zeros there ([`clear_padding`]).
//!
//! Coefficients stand in natural order. Values stand in *internal order*: bit-reversed, but with each block of 128
//! transposed from 8 × 16 to 16 × 8, the form in which the vector transform leaves its last four stages. All kernels of
//! all instruction sets share both orders, and with them the tables of the automorphisms.

/// Eight words on one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [u64; 8]);

/// Lines of a block without padding.
pub const BLOCK: usize = 512;

/// Lines of a block with its padding.
pub const PADDED: usize = BLOCK + 1;

/// Lines of one limb with padding.
#[must_use]
pub fn lines(log_n: u32) -> usize {
    let bare = 1usize << (log_n - 3);
    if bare <= BLOCK { bare } else { bare / BLOCK * PADDED }
}

/// The blocks of a limb, up to 4096 words each, without their padding.
pub fn blocks(limb: &[Line]) -> impl Iterator<Item = &[Line]> {
    limb.chunks(PADDED).map(|block| &block[..block.len().min(BLOCK)])
}

/// [`blocks`], to be written.
pub fn blocks_mut(limb: &mut [Line]) -> impl Iterator<Item = &mut [Line]> {
    limb.chunks_mut(PADDED).map(|block| {
        let bare = block.len().min(BLOCK);
        &mut block[..bare]
    })
}

/// Zeros in the padding of a limb.
pub fn clear_padding(limb: &mut [Line]) {
    limb.chunks_exact_mut(PADDED).for_each(|block| block[BLOCK] = Line::default());
}

/// Index of a line counted with padding.
#[inline]
#[must_use]
pub fn padded(line: usize) -> usize {
    line + line / BLOCK
}

/// Lines of a strip: what a pass over columns visits of each block at a time. Sixteen blocks of it are
/// 8 KiB.
pub const STRIP: usize = 8;

/// Lines that a kernel visits: some of one block, or the same columns of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    first: usize,
    count: usize,
    blocks: usize,
}

impl Part {
    /// All lines of so many.
    #[must_use]
    pub fn all(lines: usize) -> Self {
        Self { first: 0, count: lines, blocks: 1 }
    }

    /// The parts of a limb whose columns meet in the first levels of a transform: strips of all blocks, or all of a
    /// limb of one block. Padding is in none of them.
    pub fn strips(lines: usize) -> impl Iterator<Item = Self> {
        let (step, blocks) = if lines > BLOCK { (STRIP, lines / PADDED) } else { (lines.max(1), 1) };
        (0..lines.min(BLOCK)).step_by(step).map(move |first| Self { first, count: step, blocks })
    }

    /// Whether it is of several blocks.
    pub(crate) fn is_strip(self) -> bool {
        self.blocks > 1
    }

    /// The first of the lines.
    #[must_use]
    pub fn first(self) -> usize {
        self.first
    }

    /// The lines of each block.
    pub(crate) fn runs(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        (0..self.blocks).map(move |block| self.first + PADDED * block).map(move |first| first..first + self.count)
    }
}

/// Coefficients from natural order.
pub fn write_coefficients(limb: &mut [Line], words: &[u64]) {
    clear_padding(limb);
    for (block, from) in blocks_mut(limb).zip(words.chunks(8 * BLOCK)) {
        for (line, from) in block.iter_mut().zip(from.chunks_exact(8)) {
            line.0.copy_from_slice(from);
        }
    }
}

/// Coefficients into natural order.
pub fn read_coefficients(limb: &[Line], words: &mut [u64]) {
    for (block, to) in blocks(limb).zip(words.chunks_mut(8 * BLOCK)) {
        for (line, to) in block.iter().zip(to.chunks_exact_mut(8)) {
            to.copy_from_slice(&line.0);
        }
    }
}

/// Values from bit-reversed order.
pub fn write_values(limb: &mut [Line], words: &[u64]) {
    clear_padding(limb);
    for (block, from) in blocks_mut(limb).zip(words.chunks(8 * BLOCK)) {
        for (tile, from) in block.chunks_exact_mut(16).zip(from.chunks_exact(128)) {
            for (i, &word) in from.iter().enumerate() {
                tile[i % 16].0[i / 16] = word;
            }
        }
    }
}

/// Values into bit-reversed order.
pub fn read_values(limb: &[Line], words: &mut [u64]) {
    for (block, to) in blocks(limb).zip(words.chunks_mut(8 * BLOCK)) {
        for (tile, to) in block.chunks_exact(16).zip(to.chunks_exact_mut(128)) {
            for (i, word) in to.iter_mut().enumerate() {
                *word = tile[i % 16].0[i / 16];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_undoes_writing() {
        for log_n in [10, 12, 13, 17] {
            let words: Vec<u64> = (0..1 << log_n).collect();
            let mut limb = vec![Line::default(); lines(log_n)];
            let mut back = vec![0; words.len()];
            write_coefficients(&mut limb, &words);
            read_coefficients(&limb, &mut back);
            assert_eq!(words, back);
            assert_eq!(limb[padded(127)].0[3], 8 * 127 + 3);
            write_values(&mut limb, &words);
            read_values(&limb, &mut back);
            assert_eq!(words, back);
            assert_eq!(limb[17].0[2], 128 + 2 * 16 + 1);
        }
        assert_eq!(lines(16), 16 * 513);
    }
}
