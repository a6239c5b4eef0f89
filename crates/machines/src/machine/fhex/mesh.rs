//! The mesh between tiles: messages go along their row first, then along their column (XY), and share links.
//!
//! All messages of an operation start together; a link passes its bytes one message after another. So an exchange takes
//! the bytes of the busiest link at its width, and the hops of the longest way.

/// A mesh of tiles, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mesh {
    columns: u64,
    rows: u64,
}

/// What messages cost: bytes on the busiest link, and hops of the longest way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    pub(super) bytes: f64,
    pub(super) hops: u64,
}

impl Load {
    /// One exchange after another.
    pub(super) fn then(self, next: Self) -> Self {
        Self { bytes: self.bytes + next.bytes, hops: self.hops + next.hops }
    }

    /// The same exchange so many times, each on the heels of the one before.
    pub(super) fn times(self, count: f64) -> Self {
        Self { bytes: self.bytes * count, ..self }
    }
}

impl Mesh {
    /// As square as a power of two of tiles can be, the longer side along rows.
    pub(super) fn of(tiles: u64) -> Self {
        let columns = 1 << tiles.ilog2().div_ceil(2);
        Self { columns, rows: tiles / columns }
    }

    fn place(self, tile: u64) -> (u64, u64) {
        (tile % self.columns, tile / self.columns)
    }

    /// Hops between two tiles.
    pub(super) fn hops(self, from: u64, to: u64) -> u64 {
        let ((x, y), (u, v)) = (self.place(from), self.place(to));
        x.abs_diff(u) + y.abs_diff(v)
    }

    /// The links that a message passes, each by the tile that it leaves and its direction.
    pub(super) fn way(self, from: u64, to: u64) -> Vec<(u64, Direction)> {
        let ((mut x, mut y), (u, v)) = (self.place(from), self.place(to));
        let mut links = Vec::new();
        while x != u {
            let right = x < u;
            links.push((y * self.columns + x, if right { Direction::Right } else { Direction::Left }));
            x = if right { x + 1 } else { x - 1 };
        }
        while y != v {
            let down = y < v;
            links.push((y * self.columns + x, if down { Direction::Down } else { Direction::Up }));
            y = if down { y + 1 } else { y - 1 };
        }
        links
    }

    /// Messages that start together, each from a tile to a tile with its bytes.
    pub(super) fn exchange(self, messages: impl IntoIterator<Item = (u64, u64, f64)>) -> Load {
        let links = self.columns * self.rows * 4;
        let mut busy = vec![0.0f64; usize::try_from(links).unwrap_or(0)];
        let mut hops = 0;
        for (from, to, bytes) in messages {
            hops = hops.max(self.hops(from, to));
            for (tile, direction) in self.way(from, to) {
                busy[usize::try_from(tile).unwrap_or(0) * 4 + direction as usize] += bytes;
            }
        }
        Load { bytes: busy.into_iter().fold(0.0, f64::max), hops }
    }
}

/// Direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Right,
    Left,
    Down,
    Up,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_along_rows_then_columns() {
        let mesh = Mesh::of(16);
        assert_eq!(mesh, Mesh { columns: 4, rows: 4 });
        assert_eq!((mesh.hops(0, 15), mesh.hops(5, 5), mesh.hops(3, 12)), (6, 0, 6));
        use Direction::{Down, Left, Right, Up};
        assert_eq!(mesh.way(1, 10), [(1, Right), (2, Down), (6, Down)]);
        assert_eq!(mesh.way(10, 1), [(10, Left), (9, Up), (5, Up)]);
        assert_eq!(Mesh::of(32), Mesh { columns: 8, rows: 4 });
        assert_eq!(Mesh::of(1).way(0, 0), []);
    }

    #[test]
    fn links_are_shared() {
        let mesh = Mesh::of(16);
        // Partners two columns away: the link between the second and third column carries both pairs.
        let partners = |distance: u64| mesh.exchange((0..16).map(|t| (t, t ^ distance, 100.0)));
        assert_eq!(partners(1), Load { bytes: 100.0, hops: 1 });
        assert_eq!(partners(2), Load { bytes: 200.0, hops: 2 });
        assert_eq!(partners(4), Load { bytes: 100.0, hops: 1 });
        assert_eq!(partners(8), Load { bytes: 200.0, hops: 2 });
        // Three messages into one corner along the first row.
        assert_eq!(mesh.exchange([(1, 0, 1.0), (2, 0, 2.0), (3, 0, 4.0)]), Load { bytes: 7.0, hops: 3 });
        assert_eq!(mesh.exchange([(0, 1, 5.0), (1, 0, 3.0)]), Load { bytes: 5.0, hops: 1 }, "directions are apart");
    }
}
