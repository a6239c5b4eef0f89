//! Transforms of the shared layout in passes of radix 4, written once for all vector arithmetics.
//!
//! `transforms!("features")` is invoked in a module with an arithmetic: `V` (a vector of `LANES` words, `HALVES` of
//! them per line), `Constants`, `Factor` and `Wide` (a factor in all lanes), and the functions `load`, `store`, `zero`,
//! `wide`, `lane_factor`, `enter` (a residue → a value), `leave` (a value → its residue), `correct` and `correct_sum`
//! (the same value, smaller), `product`, `sum`, `difference`, `transpose`. It defines `forward`, its parts
//! `forward_strip` and `forward_block`, and `inverse`. They have a raw form for what computes on with values instead of
//! residues: `forward` then neither enters nor leaves, `inverse` only leaves.
//!
//! Why radix 4: sixteen registers hold one radix-4 pass with its constants and no more, and arithmetic without a wide
//! multiply-add is slow enough to hide the loads from the L1 cache between passes. The outer passes, over several
//! blocks, run on strips of columns one after another, so that a large limb crosses the L2 cache only twice.
//!
//! In what order: where an arithmetic `OVERLAPS`, the first of the two levels of the next four vectors, be they of this group
//! or of the next, is written before the second level of these. Each level is one chain of dependent instructions, and a core looks ahead over fewer of them than
//! two levels have. Without, the four vectors of one step leave more registers for long products.
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
                let w = wide(k, &node[0]);
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

        /// The upper level on four vectors. The upper operands are corrected, not the lower ones: products accept any operand in
        /// range and return reduced values.
        #[inline]
        #[target_feature(enable = $features)]
        fn forward_upper<const FIX: u8>(k: Constants, [mut a, mut b, c, d]: [V; 4], w: Wide) -> [V; 4] {
            if FIX & 1 != 0 {
                (a, b) = (correct(k, a), correct(k, b));
            }
            let (s, t) = (product(k, c, w), product(k, d, w));
            [sum(a, s), sum(b, t), difference(k, a, s), difference(k, b, t)]
        }

        /// The lower level, likewise.
        #[inline]
        #[target_feature(enable = $features)]
        fn forward_lower<const FIX: u8>(k: Constants, [mut a, b, mut c, d]: [V; 4], w: [Wide; 2]) -> [V; 4] {
            if FIX & 2 != 0 {
                (a, c) = (correct(k, a), correct(k, c));
            }
            let (s, t) = (product(k, b, w[0]), product(k, d, w[1]));
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
            let mut groups = a.chunks_mut(4 * stride).zip(nodes);
            if !OVERLAPS {
                for (group, node) in groups {
                    let w = wides(k, node);
                    for mut at in quarters(group, stride, columns.clone()) {
                        for half in 0..HALVES {
                            let v = forward_begun::<FIX, FIRST>(k, &at, half, w[0]);
                            forward_ended::<FIX>(k, &mut at, half, v, [w[1], w[2]]);
                        }
                    }
                }
                return;
            }
            let Some((group, node)) = groups.next() else { return };
            let (mut w, mut lines) = (wides(k, node), quarters(group, stride, columns.clone()));
            let Some(mut at) = lines.next() else { return };
            let mut v = forward_begun::<FIX, FIRST>(k, &at, 0, w[0]);
            loop {
                for half in 1..HALVES {
                    let next = forward_begun::<FIX, FIRST>(k, &at, half, w[0]);
                    forward_ended::<FIX>(k, &mut at, half - 1, v, [w[1], w[2]]);
                    v = next;
                }
                if let Some(line) = lines.next() {
                    let next = forward_begun::<FIX, FIRST>(k, &line, 0, w[0]);
                    forward_ended::<FIX>(k, &mut at, HALVES - 1, v, [w[1], w[2]]);
                    (at, v) = (line, next);
                    continue;
                }
                // The first lines of the next group, before the last of this one.
                let Some((group, node)) = groups.next() else { break };
                let of_next = wides(k, node);
                lines = quarters(group, stride, columns.clone());
                let Some(line) = lines.next() else { break };
                let next = forward_begun::<FIX, FIRST>(k, &line, 0, of_next[0]);
                forward_ended::<FIX>(k, &mut at, HALVES - 1, v, [w[1], w[2]]);
                (at, v, w) = (line, next, of_next);
            }
            forward_ended::<FIX>(k, &mut at, HALVES - 1, v, [w[1], w[2]]);
        }

        /// The factors of a group.
        #[inline]
        #[target_feature(enable = $features)]
        fn wides(k: Constants, node: &[Factor; 3]) -> [Wide; 3] {
            [wide(k, &node[0]), wide(k, &node[1]), wide(k, &node[2])]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn forward_begun<const FIX: u8, const FIRST: bool>(
            k: Constants,
            at: &[&mut Line; 4],
            half: usize,
            w: Wide,
        ) -> [V; 4] {
            let mut v = [load(at[0], half), load(at[1], half), load(at[2], half), load(at[3], half)];
            if FIRST {
                v = [enter(k, v[0]), enter(k, v[1]), enter(k, v[2]), enter(k, v[3])];
            }
            forward_upper::<FIX>(k, v, w)
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn forward_ended<const FIX: u8>(k: Constants, at: &mut [&mut Line; 4], half: usize, v: [V; 4], w: [Wide; 2]) {
            let v = forward_lower::<FIX>(k, v, w);
            at.iter_mut().zip(v).for_each(|(at, v)| store(at, half, v));
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
        fn forward_last<const FIX: u8, const RAW: bool>(
            k: Constants,
            from: &[Line; 16],
            to: &mut [Line],
            nodes: &[[Factor; 3]],
        ) {
            let begun = |from: &[Line], half: usize, w: [Wide; 3]| {
                let v = [load(&from[0], half), load(&from[1], half), load(&from[2], half), load(&from[3], half)];
                forward_upper::<FIX>(k, v, w[0])
            };
            let ended = |to: &mut [Line], half: usize, v: [V; 4], w: [Wide; 3]| {
                let mut v = forward_lower::<FIX>(k, v, [w[1], w[2]]);
                if !RAW {
                    v = [leave(k, v[0]), leave(k, v[1]), leave(k, v[2]), leave(k, v[3])];
                }
                store(&mut to[0], half, v[0]);
                store(&mut to[1], half, v[1]);
                store(&mut to[2], half, v[2]);
                store(&mut to[3], half, v[3]);
            };
            each_tile_group(k, (from, to), nodes, begun, ended);
        }

        /// Four lines at a time of a tile, with the factors of each: all vectors are begun before the ones before them are
        /// ended, where the arithmetic overlaps.
        #[inline]
        #[target_feature(enable = $features)]
        fn each_tile_group(
            k: Constants,
            (from, to): (&[Line], &mut [Line]),
            nodes: &[[Factor; 3]],
            begun: impl Fn(&[Line], usize, [Wide; 3]) -> [V; 4],
            ended: impl Fn(&mut [Line], usize, [V; 4], [Wide; 3]),
        ) {
            let mut groups = from.chunks_exact(4).zip(to.chunks_exact_mut(4)).zip(nodes);
            if !OVERLAPS {
                return groups.for_each(|((from, to), node)| {
                    let w = wides(k, node);
                    (0..HALVES).for_each(|half| ended(to, half, begun(from, half, w), w));
                });
            }
            let Some(((mut from, mut to), node)) = groups.next() else { return };
            let mut w = wides(k, node);
            let mut v = begun(from, 0, w);
            loop {
                for half in 1..HALVES {
                    let next = begun(from, half, w);
                    ended(to, half - 1, v, w);
                    v = next;
                }
                let Some(((next_from, next_to), node)) = groups.next() else { break };
                let of_next = wides(k, node);
                let next = begun(next_from, 0, of_next);
                ended(to, HALVES - 1, v, w);
                (from, to, v, w) = (next_from, next_to, next, of_next);
            }
            ended(to, HALVES - 1, v, w);
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

        /// The passes over several blocks, on the strip of columns from line `first` of each block on.
        #[target_feature(enable = $features)]
        pub(super) fn forward_strip<const RAW: bool>(k: Constants, t: &Factors<Factor>, a: &mut [Line], first: usize) {
            let mut span = a.len().div_ceil(PADDED);
            for (i, pass) in t.passes[..t.outer].iter().enumerate() {
                span /= if pass.is_double { 4 } else { 2 };
                for block in 0..span {
                    let start = block * PADDED + first;
                    let rows = Rows { stride: span * PADDED, columns: start..start + STRIP };
                    if i == 0 && !RAW {
                        forward_pass::<true>(k, pass, a, rows, 0);
                    } else {
                        forward_pass::<false>(k, pass, a, rows, 0);
                    }
                }
            }
        }

        /// The passes within a block, which is given without its padding.
        #[target_feature(enable = $features)]
        pub(super) fn forward_block<const RAW: bool>(
            k: Constants,
            t: &Factors<Factor>,
            block: &mut [Line],
            number: usize,
        ) {
            let (inner, rows) = t.passes[t.outer..].split_at(t.passes.len() - t.outer - 4);
            let mut tile = [Line::default(); 16];
            let bare = block.len();
            let mut span = bare;
            for (i, pass) in inner.iter().enumerate() {
                let first_node = number * (bare / span);
                span /= if pass.is_double { 4 } else { 2 };
                if t.outer == 0 && i == 0 && !RAW {
                    forward_pass::<true>(k, pass, block, Rows::all(span), first_node);
                } else {
                    forward_pass::<false>(k, pass, block, Rows::all(span), first_node);
                }
            }
            for (r, row) in block.chunks_exact_mut(32).enumerate() {
                let r = number * (bare / 32) + r;
                t.prefetch(r);
                forward_pass::<false>(k, &rows[0], row, Rows::all(8), r);
                forward_pass::<false>(k, &rows[1], row, Rows::all(2), 4 * r);
                for (to, twist) in row.chunks_exact_mut(16).zip(&t.twist) {
                    forward_twist(k, to, &mut tile, twist);
                    forward_pass::<false>(k, &rows[2], &mut tile, Rows::all(4), r);
                    let nodes = &rows[3].nodes[4 * r..4 * r + 4];
                    match rows[3].fix {
                        0 => forward_last::<0, RAW>(k, &tile, to, nodes),
                        1 => forward_last::<1, RAW>(k, &tile, to, nodes),
                        _ => forward_last::<3, RAW>(k, &tile, to, nodes),
                    }
                }
            }
        }

        /// Coefficients → values in internal order. Range: [0, q) → [0, q); raw: values as a pass takes and leaves them.
        #[target_feature(enable = $features)]
        pub(super) fn forward<const RAW: bool>(k: Constants, t: &Factors<Factor>, a: &mut [Line]) {
            if t.outer > 0 {
                (0..BLOCK).step_by(STRIP).for_each(|first| forward_strip::<RAW>(k, t, a, first));
            }
            for (number, block) in blocks_mut(a).enumerate() {
                forward_block::<RAW>(k, t, block, number);
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
                let w = wide(k, &node[0]);
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

        /// The lower level on four vectors.
        #[inline]
        #[target_feature(enable = $features)]
        fn inverse_lower<const FIX: u8>(k: Constants, [a, b, c, d]: [V; 4], w: [Wide; 2]) -> [V; 4] {
            let (s, t) = (product(k, difference(k, a, b), w[0]), product(k, difference(k, c, d), w[1]));
            let (mut a, mut c) = (sum(a, b), sum(c, d));
            if FIX & 1 != 0 {
                (a, c) = (correct_sum(k, a), correct_sum(k, c));
            }
            [a, c, s, t]
        }

        /// The upper level on the four vectors that the lower leaves.
        #[inline]
        #[target_feature(enable = $features)]
        fn inverse_upper<const FIX: u8>(k: Constants, [a, c, s, t]: [V; 4], w: Wide) -> [V; 4] {
            let (p, r) = (product(k, difference(k, a, c), w), product(k, difference(k, s, t), w));
            let (mut a, mut s) = (sum(a, c), sum(s, t));
            if FIX & 2 != 0 {
                a = correct_sum(k, a);
            }
            if FIX & 4 != 0 {
                s = correct_sum(k, s);
            }
            [a, s, p, r]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn inverse_begun<const FIX: u8>(k: Constants, at: &[&mut Line; 4], half: usize, w: [Wide; 2]) -> [V; 4] {
            let v = [load(at[0], half), load(at[1], half), load(at[2], half), load(at[3], half)];
            inverse_lower::<FIX>(k, v, w)
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn inverse_ended<const FIX: u8, const LAST: bool>(
            k: Constants,
            at: &mut [&mut Line; 4],
            half: usize,
            v: [V; 4],
            w: Wide,
        ) {
            let mut v = inverse_upper::<FIX>(k, v, w);
            if LAST {
                v = [leave(k, v[0]), leave(k, v[1]), leave(k, v[2]), leave(k, v[3])];
            }
            at.iter_mut().zip(v).for_each(|(at, v)| store(at, half, v));
        }

        #[target_feature(enable = $features)]
        fn inverse4<const FIX: u8, const LAST: bool>(
            k: Constants,
            a: &mut [Line],
            stride: usize,
            columns: Range<usize>,
            nodes: &[[Factor; 3]],
        ) {
            let mut groups = a.chunks_mut(4 * stride).zip(nodes);
            if !OVERLAPS {
                for (group, node) in groups {
                    let w = wides(k, node);
                    for mut at in quarters(group, stride, columns.clone()) {
                        for half in 0..HALVES {
                            let v = inverse_begun::<FIX>(k, &at, half, [w[1], w[2]]);
                            inverse_ended::<FIX, LAST>(k, &mut at, half, v, w[0]);
                        }
                    }
                }
                return;
            }
            let Some((group, node)) = groups.next() else { return };
            let (mut w, mut lines) = (wides(k, node), quarters(group, stride, columns.clone()));
            let Some(mut at) = lines.next() else { return };
            let mut v = inverse_begun::<FIX>(k, &at, 0, [w[1], w[2]]);
            loop {
                for half in 1..HALVES {
                    let next = inverse_begun::<FIX>(k, &at, half, [w[1], w[2]]);
                    inverse_ended::<FIX, LAST>(k, &mut at, half - 1, v, w[0]);
                    v = next;
                }
                if let Some(line) = lines.next() {
                    let next = inverse_begun::<FIX>(k, &line, 0, [w[1], w[2]]);
                    inverse_ended::<FIX, LAST>(k, &mut at, HALVES - 1, v, w[0]);
                    (at, v) = (line, next);
                    continue;
                }
                let Some((group, node)) = groups.next() else { break };
                let of_next = wides(k, node);
                lines = quarters(group, stride, columns.clone());
                let Some(line) = lines.next() else { break };
                let next = inverse_begun::<FIX>(k, &line, 0, [of_next[1], of_next[2]]);
                inverse_ended::<FIX, LAST>(k, &mut at, HALVES - 1, v, w[0]);
                (at, v, w) = (line, next, of_next);
            }
            inverse_ended::<FIX, LAST>(k, &mut at, HALVES - 1, v, w[0]);
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
        fn inverse_first<const FIX: u8, const RAW: bool>(
            k: Constants,
            from: &[Line],
            to: &mut [Line; 16],
            nodes: &[[Factor; 3]],
        ) {
            let begun = |from: &[Line], half: usize, w: [Wide; 3]| {
                let mut v = [load(&from[0], half), load(&from[1], half), load(&from[2], half), load(&from[3], half)];
                if !RAW {
                    v = [enter(k, v[0]), enter(k, v[1]), enter(k, v[2]), enter(k, v[3])];
                }
                inverse_lower::<FIX>(k, v, [w[1], w[2]])
            };
            let ended = |to: &mut [Line], half: usize, v: [V; 4], w: [Wide; 3]| {
                let v = inverse_upper::<FIX>(k, v, w[0]);
                store(&mut to[0], half, v[0]);
                store(&mut to[1], half, v[1]);
                store(&mut to[2], half, v[2]);
                store(&mut to[3], half, v[3]);
            };
            each_tile_group(k, (from, to), nodes, begun, ended);
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

        /// Values in internal order → coefficients, from another limb if there is one. Range: [0, q) → [0, q); raw: values as
        /// a pass takes them → [0, q).
        #[target_feature(enable = $features)]
        pub(super) fn inverse<const RAW: bool>(
            k: Constants,
            t: &Factors<Factor>,
            from: Option<&[Line]>,
            a: &mut [Line],
        ) {
            let (inner, rows) = t.passes[t.outer..].split_at(t.passes.len() - t.outer - 4);
            let mut tile = [Line::default(); 16];
            for (b, block) in a.chunks_mut(PADDED).enumerate() {
                let bare = block.len().min(BLOCK);
                let (block, padding) = block.split_at_mut(bare);
                let from = from.map(|from| &from[b * PADDED..]);
                if let Some(from) = from {
                    padding.copy_from_slice(&from[bare..bare + padding.len()]);
                }
                for (r, row) in block.chunks_exact_mut(32).enumerate() {
                    let mut tiles = from.map(|from| from[32 * r..].chunks_exact(16));
                    let r = b * (bare / 32) + r;
                    t.prefetch(r);
                    for (to, twist) in row.chunks_exact_mut(16).zip(&t.twist) {
                        let from = tiles.as_mut().and_then(Iterator::next).unwrap_or(&*to);
                        let nodes = &rows[3].nodes[4 * r..4 * r + 4];
                        match rows[3].fix {
                            0 => inverse_first::<0, RAW>(k, from, &mut tile, nodes),
                            2 => inverse_first::<2, RAW>(k, from, &mut tile, nodes),
                            6 => inverse_first::<6, RAW>(k, from, &mut tile, nodes),
                            _ => inverse_first::<7, RAW>(k, from, &mut tile, nodes),
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

pub(super) use super::rows::{Rows, TransformPart, quarters};
