//! Transforms of the shared layout in passes of radix 4, written once for all vector arithmetics.
//!
//! `transforms!("features")` is invoked in a module with an arithmetic: `V` (a vector of `LANES` words, `HALVES` of
//! them per line), `Constants`, `Factor` and `Wide` (a factor in all lanes), and the functions `load`, `store`, `zero`,
//! `wide`, `lane_factor`, `enter` (a residue → a value), `leave` (a value → its residue), `correct` and `correct_sum`
//! (the same value, smaller), `product`, `sum`, `difference`, `transpose`. It defines `forward` and `inverse`.
//!
//! Why radix 4: sixteen registers hold one radix-4 pass with its constants and no more, and arithmetic without a wide
//! multiply-add is slow enough to hide the loads from the L1 cache between passes. The outer passes, over several
//! blocks, run on strips of columns one after another, so that a large limb crosses the L2 cache only twice.
//!
//! Where the lazy bound is spent: additions let values grow from level to level. `fixes` of each arithmetic decides
//! which operands are corrected before which level, and corrects only where a value would otherwise exceed what a
//! product or a stored word may hold.
//!
//! Bits of a pass's `fix`. Forward: bit 0 corrects the upper operands before the first level, bit 1 before the second.
//! Inverse: bit 0 corrects the sums of the first level, bits 1 and 2 the first and second sum of the second (of a
//! single level: bit 1).

macro_rules! transforms {
    ($features:tt) => {
        #[target_feature(enable = $features)]
        fn forward2<const FIX: u8, const FIRST: bool>(
            k: Constants,
            a: &mut [Line],
            stride: usize,
            columns: Range<usize>,
            nodes: &[[Factor; 3]],
        ) {
            for (group, node) in a.chunks_mut(2 * stride).zip(nodes) {
                let w = wide(&node[0]);
                let (low, high) = group.split_at_mut(stride);
                for (x, y) in low[columns.clone()].iter_mut().zip(&mut high[columns.clone()]) {
                    for half in 0..HALVES {
                        let (mut u, mut v) = (load(x, half), load(y, half));
                        if FIRST {
                            (u, v) = (enter(k, u), enter(k, v));
                        }
                        if FIX & 1 != 0 {
                            u = correct(k, u);
                        }
                        let t = product(k, v, w);
                        store(x, half, sum(u, t));
                        store(y, half, difference(k, u, t));
                    }
                }
            }
        }

        /// Two levels on four vectors. The upper operands are corrected, not the lower ones: products accept any
        /// operand in range and return reduced values.
        #[inline]
        #[target_feature(enable = $features)]
        fn forward_four<const FIX: u8>(k: Constants, v: [V; 4], w: [Wide; 3]) -> [V; 4] {
            let [mut a, mut b, c, d] = v;
            if FIX & 1 != 0 {
                (a, b) = (correct(k, a), correct(k, b));
            }
            let (s, t) = (product(k, c, w[0]), product(k, d, w[0]));
            let (mut a, b, mut c, d) = (sum(a, s), sum(b, t), difference(k, a, s), difference(k, b, t));
            if FIX & 2 != 0 {
                (a, c) = (correct(k, a), correct(k, c));
            }
            let (s, t) = (product(k, b, w[1]), product(k, d, w[2]));
            [sum(a, s), difference(k, a, s), sum(c, t), difference(k, c, t)]
        }

        #[target_feature(enable = $features)]
        fn forward4<const FIX: u8, const FIRST: bool>(
            k: Constants,
            a: &mut [Line],
            stride: usize,
            columns: Range<usize>,
            nodes: &[[Factor; 3]],
        ) {
            for (group, node) in a.chunks_mut(4 * stride).zip(nodes) {
                let w = [wide(&node[0]), wide(&node[1]), wide(&node[2])];
                for [x, y, z, t] in quarters(group, stride, columns.clone()) {
                    for half in 0..HALVES {
                        let mut v = [load(x, half), load(y, half), load(z, half), load(t, half)];
                        if FIRST {
                            v = [enter(k, v[0]), enter(k, v[1]), enter(k, v[2]), enter(k, v[3])];
                        }
                        let v = forward_four::<FIX>(k, v, w);
                        store(x, half, v[0]);
                        store(y, half, v[1]);
                        store(z, half, v[2]);
                        store(t, half, v[3]);
                    }
                }
            }
        }

        /// One pass over selected columns of the groups in `a`; rows are `stride` lines apart.
        #[inline]
        #[target_feature(enable = $features)]
        fn forward_pass<const FIRST: bool>(
            k: Constants,
            pass: &Pass<Factor>,
            a: &mut [Line],
            rows: Rows,
            first_node: usize,
        ) {
            let (Rows { stride, columns }, nodes) = (rows, &pass.nodes[first_node..]);
            match (pass.is_double, pass.fix) {
                (false, 0) => forward2::<0, FIRST>(k, a, stride, columns, nodes),
                (false, _) => forward2::<1, FIRST>(k, a, stride, columns, nodes),
                (true, 0) => forward4::<0, FIRST>(k, a, stride, columns, nodes),
                (true, 1) => forward4::<1, FIRST>(k, a, stride, columns, nodes),
                (true, _) => forward4::<3, FIRST>(k, a, stride, columns, nodes),
            }
        }

        /// The last pass: from a transposed tile to residues.
        #[target_feature(enable = $features)]
        fn forward_last<const FIX: u8>(k: Constants, from: &[Line; 16], to: &mut [Line], nodes: &[[Factor; 3]]) {
            for ((from, to), node) in from.chunks_exact(4).zip(to.chunks_exact_mut(4)).zip(nodes) {
                let w = [wide(&node[0]), wide(&node[1]), wide(&node[2])];
                for half in 0..HALVES {
                    let v = [load(&from[0], half), load(&from[1], half), load(&from[2], half), load(&from[3], half)];
                    let v = forward_four::<FIX>(k, v, w);
                    store(&mut to[0], half, leave(k, v[0]));
                    store(&mut to[1], half, leave(k, v[1]));
                    store(&mut to[2], half, leave(k, v[2]));
                    store(&mut to[3], half, leave(k, v[3]));
                }
            }
        }

        /// Eight rows of sixteen words → their columns, each word times its twist. The twist lets all lanes of a tile
        /// share one factor (see `kernels::factors`).
        #[target_feature(enable = $features)]
        fn forward_twist(k: Constants, from: &[Line], to: &mut [Line; 16], twist: &[LaneFactors; 16]) {
            let from: &[Line; 16] = from.first_chunk().expect("a tile has sixteen lines");
            for (line, (to, twist)) in to.chunks_exact_mut(8).zip(twist.chunks_exact(8)).enumerate() {
                for half in 0..HALVES {
                    for rows in 0..HALVES {
                        let mut v = [zero(); LANES];
                        for (row, v) in v.iter_mut().enumerate() {
                            *v = load(&from[2 * (LANES * rows + row) + line], half);
                        }
                        let v = transpose(v);
                        for (i, &x) in v.iter().enumerate() {
                            let word = LANES * half + i;
                            store(&mut to[word], rows, product(k, x, lane_factor(&twist[word], rows)));
                        }
                    }
                }
            }
        }

        /// Coefficients → values in internal order. Range: [0, q) → [0, q).
        #[target_feature(enable = $features)]
        pub(super) fn forward(k: Constants, t: &Factors<Factor>, a: &mut [Line]) {
            let blocks = a.len().div_ceil(PADDED);
            for strip in (0..if t.outer > 0 { BLOCK } else { 0 }).step_by(STRIP) {
                let mut span = blocks;
                for (i, pass) in t.passes[..t.outer].iter().enumerate() {
                    span /= if pass.is_double { 4 } else { 2 };
                    for block in 0..span {
                        let start = block * PADDED + strip;
                        let rows = Rows { stride: span * PADDED, columns: start..start + STRIP };
                        if i == 0 {
                            forward_pass::<true>(k, pass, a, rows, 0);
                        } else {
                            forward_pass::<false>(k, pass, a, rows, 0);
                        }
                    }
                }
            }
            let (inner, rows) = t.passes[t.outer..].split_at(t.passes.len() - t.outer - 4);
            let mut tile = [Line::default(); 16];
            for (b, block) in a.chunks_mut(PADDED).enumerate() {
                let bare = block.len().min(BLOCK);
                let block = &mut block[..bare];
                let mut span = bare;
                for (i, pass) in inner.iter().enumerate() {
                    let first_node = b * (bare / span);
                    span /= if pass.is_double { 4 } else { 2 };
                    if t.outer == 0 && i == 0 {
                        forward_pass::<true>(k, pass, block, Rows::all(span), first_node);
                    } else {
                        forward_pass::<false>(k, pass, block, Rows::all(span), first_node);
                    }
                }
                for (r, row) in block.chunks_exact_mut(32).enumerate() {
                    let r = b * (bare / 32) + r;
                    t.prefetch(r);
                    forward_pass::<false>(k, &rows[0], row, Rows::all(8), r);
                    forward_pass::<false>(k, &rows[1], row, Rows::all(2), 4 * r);
                    for (to, twist) in row.chunks_exact_mut(16).zip(&t.twist) {
                        forward_twist(k, to, &mut tile, twist);
                        forward_pass::<false>(k, &rows[2], &mut tile, Rows::all(4), r);
                        let nodes = &rows[3].nodes[4 * r..4 * r + 4];
                        match rows[3].fix {
                            0 => forward_last::<0>(k, &tile, to, nodes),
                            1 => forward_last::<1>(k, &tile, to, nodes),
                            _ => forward_last::<3>(k, &tile, to, nodes),
                        }
                    }
                }
            }
        }

        #[target_feature(enable = $features)]
        fn inverse2<const FIX: u8, const LAST: bool>(
            k: Constants,
            a: &mut [Line],
            stride: usize,
            columns: Range<usize>,
            nodes: &[[Factor; 3]],
        ) {
            for (group, node) in a.chunks_mut(2 * stride).zip(nodes) {
                let w = wide(&node[0]);
                let (low, high) = group.split_at_mut(stride);
                for (x, y) in low[columns.clone()].iter_mut().zip(&mut high[columns.clone()]) {
                    for half in 0..HALVES {
                        let (u, v) = (load(x, half), load(y, half));
                        let (mut s, mut t) = (sum(u, v), product(k, difference(k, u, v), w));
                        if FIX & 2 != 0 {
                            s = correct_sum(k, s);
                        }
                        if LAST {
                            (s, t) = (leave(k, s), leave(k, t));
                        }
                        store(x, half, s);
                        store(y, half, t);
                    }
                }
            }
        }

        /// Two levels on four vectors.
        #[inline]
        #[target_feature(enable = $features)]
        fn inverse_four<const FIX: u8>(k: Constants, v: [V; 4], w: [Wide; 3]) -> [V; 4] {
            let [a, b, c, d] = v;
            let (s, t) = (product(k, difference(k, a, b), w[1]), product(k, difference(k, c, d), w[2]));
            let (mut a, mut c) = (sum(a, b), sum(c, d));
            if FIX & 1 != 0 {
                (a, c) = (correct_sum(k, a), correct_sum(k, c));
            }
            let (p, r) = (product(k, difference(k, a, c), w[0]), product(k, difference(k, s, t), w[0]));
            let (mut a, mut s) = (sum(a, c), sum(s, t));
            if FIX & 2 != 0 {
                a = correct_sum(k, a);
            }
            if FIX & 4 != 0 {
                s = correct_sum(k, s);
            }
            [a, s, p, r]
        }

        #[target_feature(enable = $features)]
        fn inverse4<const FIX: u8, const LAST: bool>(
            k: Constants,
            a: &mut [Line],
            stride: usize,
            columns: Range<usize>,
            nodes: &[[Factor; 3]],
        ) {
            for (group, node) in a.chunks_mut(4 * stride).zip(nodes) {
                let w = [wide(&node[0]), wide(&node[1]), wide(&node[2])];
                for [x, y, z, t] in quarters(group, stride, columns.clone()) {
                    for half in 0..HALVES {
                        let v = [load(x, half), load(y, half), load(z, half), load(t, half)];
                        let mut v = inverse_four::<FIX>(k, v, w);
                        if LAST {
                            v = [leave(k, v[0]), leave(k, v[1]), leave(k, v[2]), leave(k, v[3])];
                        }
                        store(x, half, v[0]);
                        store(y, half, v[1]);
                        store(z, half, v[2]);
                        store(t, half, v[3]);
                    }
                }
            }
        }

        /// One pass over some columns of the groups in `a`; rows are `stride` lines apart.
        #[inline]
        #[target_feature(enable = $features)]
        fn inverse_pass<const LAST: bool>(
            k: Constants,
            pass: &Pass<Factor>,
            a: &mut [Line],
            rows: Rows,
            first_node: usize,
        ) {
            let (Rows { stride, columns }, nodes) = (rows, &pass.nodes[first_node..]);
            match (pass.is_double, pass.fix) {
                (false, 0) => inverse2::<0, LAST>(k, a, stride, columns, nodes),
                (false, _) => inverse2::<2, LAST>(k, a, stride, columns, nodes),
                (true, 0) => inverse4::<0, LAST>(k, a, stride, columns, nodes),
                (true, 2) => inverse4::<2, LAST>(k, a, stride, columns, nodes),
                (true, 6) => inverse4::<6, LAST>(k, a, stride, columns, nodes),
                (true, _) => inverse4::<7, LAST>(k, a, stride, columns, nodes),
            }
        }

        /// The first pass: from residues to a transposed tile.
        #[target_feature(enable = $features)]
        fn inverse_first<const FIX: u8>(k: Constants, from: &[Line], to: &mut [Line; 16], nodes: &[[Factor; 3]]) {
            for ((from, to), node) in from.chunks_exact(4).zip(to.chunks_exact_mut(4)).zip(nodes) {
                let w = [wide(&node[0]), wide(&node[1]), wide(&node[2])];
                for half in 0..HALVES {
                    let v = [load(&from[0], half), load(&from[1], half), load(&from[2], half), load(&from[3], half)];
                    let v = [enter(k, v[0]), enter(k, v[1]), enter(k, v[2]), enter(k, v[3])];
                    let v = inverse_four::<FIX>(k, v, w);
                    store(&mut to[0], half, v[0]);
                    store(&mut to[1], half, v[1]);
                    store(&mut to[2], half, v[2]);
                    store(&mut to[3], half, v[3]);
                }
            }
        }

        /// Columns → eight rows of sixteen words, each word times its twist.
        #[target_feature(enable = $features)]
        fn inverse_twist(k: Constants, from: &[Line; 16], to: &mut [Line], twist: &[LaneFactors; 16]) {
            let to: &mut [Line; 16] = to.first_chunk_mut().expect("a tile has sixteen lines");
            for (line, (from, twist)) in from.chunks_exact(8).zip(twist.chunks_exact(8)).enumerate() {
                for half in 0..HALVES {
                    for rows in 0..HALVES {
                        let mut v = [zero(); LANES];
                        for (i, v) in v.iter_mut().enumerate() {
                            let word = LANES * half + i;
                            *v = product(k, load(&from[word], rows), lane_factor(&twist[word], rows));
                        }
                        let v = transpose(v);
                        for (row, &x) in v.iter().enumerate() {
                            store(&mut to[2 * (LANES * rows + row) + line], half, x);
                        }
                    }
                }
            }
        }

        /// Values in internal order → coefficients. Range: [0, q) → [0, q).
        #[target_feature(enable = $features)]
        pub(super) fn inverse(k: Constants, t: &Factors<Factor>, a: &mut [Line]) {
            let (inner, rows) = t.passes[t.outer..].split_at(t.passes.len() - t.outer - 4);
            let mut tile = [Line::default(); 16];
            for (b, block) in a.chunks_mut(PADDED).enumerate() {
                let bare = block.len().min(BLOCK);
                let block = &mut block[..bare];
                for (r, row) in block.chunks_exact_mut(32).enumerate() {
                    let r = b * (bare / 32) + r;
                    t.prefetch(r);
                    for (to, twist) in row.chunks_exact_mut(16).zip(&t.twist) {
                        let nodes = &rows[3].nodes[4 * r..4 * r + 4];
                        match rows[3].fix {
                            0 => inverse_first::<0>(k, to, &mut tile, nodes),
                            2 => inverse_first::<2>(k, to, &mut tile, nodes),
                            6 => inverse_first::<6>(k, to, &mut tile, nodes),
                            _ => inverse_first::<7>(k, to, &mut tile, nodes),
                        }
                        inverse_pass::<false>(k, &rows[2], &mut tile, Rows::all(4), r);
                        inverse_twist(k, &tile, to, twist);
                    }
                    inverse_pass::<false>(k, &rows[1], row, Rows::all(2), 4 * r);
                    inverse_pass::<false>(k, &rows[0], row, Rows::all(8), r);
                }
                let mut span = 32;
                for (i, pass) in inner.iter().enumerate().rev() {
                    let stride = span;
                    span *= if pass.is_double { 4 } else { 2 };
                    let first_node = b * (bare / span);
                    if t.outer == 0 && i == 0 {
                        inverse_pass::<true>(k, pass, block, Rows::all(stride), first_node);
                    } else {
                        inverse_pass::<false>(k, pass, block, Rows::all(stride), first_node);
                    }
                }
            }
            for strip in (0..if t.outer > 0 { BLOCK } else { 0 }).step_by(STRIP) {
                let mut span = 1;
                for (i, pass) in t.passes[..t.outer].iter().enumerate().rev() {
                    for block in 0..span {
                        let start = block * PADDED + strip;
                        let rows = Rows { stride: span * PADDED, columns: start..start + STRIP };
                        if i == 0 {
                            inverse_pass::<true>(k, pass, a, rows, 0);
                        } else {
                            inverse_pass::<false>(k, pass, a, rows, 0);
                        }
                    }
                    span *= if pass.is_double { 4 } else { 2 };
                }
            }
        }
    };
}
pub(super) use transforms;

use crate::layout::Line;
use std::ops::Range;

/// Lines of a strip: sixteen rows of it are 8 KiB.
pub(super) const STRIP: usize = 8;

/// The lines that one pass visits: rows `stride` lines apart, of which it visits some columns.
pub(super) struct Rows {
    /// Lines from one row to the next.
    pub(super) stride: usize,
    /// Lines of each row that are visited.
    pub(super) columns: Range<usize>,
}

impl Rows {
    /// Whole rows of `stride` lines.
    #[inline]
    pub(super) fn all(stride: usize) -> Self {
        Self { stride, columns: 0..stride }
    }
}

/// The lines of some columns in each of the four quarters of a group.
#[inline]
pub(super) fn quarters(
    group: &mut [Line],
    stride: usize,
    columns: Range<usize>,
) -> impl Iterator<Item = [&mut Line; 4]> {
    let (low, high) = group.split_at_mut(2 * stride);
    let ((a, b), (c, d)) = (low.split_at_mut(stride), high.split_at_mut(stride));
    let [a, b, c, d] = [a, b, c, d].map(|row| row[columns.clone()].iter_mut());
    a.zip(b).zip(c.zip(d)).map(|((a, b), (c, d))| [a, b, c, d])
}
