//! Grids: fields with their values, and the points between them.

use std::collections::BTreeMap;

/// The field that chooses between machines.
pub const MACHINE: &str = "machine";

/// A field and the values it takes, as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name; unique in a grid.
    pub name: String,
    /// At least one, each once.
    pub values: Vec<String>,
}

/// All combinations of values. Fields of the program come first, so that points of one program are neighbors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    program: Vec<Axis>,
    machine: Vec<Axis>,
}

/// One combination: fields with their values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Those of the program, in the order of the grid.
    pub program: Vec<(String, String)>,
    pub machine: Vec<(String, String)>,
}

impl Point {
    /// Its identity in files: every field by its name.
    pub fn fields(&self) -> BTreeMap<String, String> {
        self.program.iter().chain(&self.machine).cloned().collect()
    }
}

/// Most points of a grid: rows are held in memory, about a kilobyte each.
pub const MOST_POINTS: usize = 300_000;

impl Grid {
    /// Fields of the program and of the machine. None: more than [`MOST_POINTS`] points.
    pub fn new(program: Vec<Axis>, machine: Vec<Axis>) -> Option<Self> {
        let mut lengths = program.iter().chain(&machine).map(|axis| axis.values.len());
        let points = lengths.try_fold(1usize, usize::checked_mul).filter(|&n| n <= MOST_POINTS);
        points.map(|_| Self { program, machine })
    }

    /// Its fields, the program's first.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = &Axis> {
        self.program.iter().chain(&self.machine)
    }

    pub fn len(&self) -> usize {
        self.axes().map(|axis| axis.values.len()).product()
    }

    /// Whether a field has no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A point by its number; the last field runs fastest.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn point(&self, number: usize) -> Point {
        let mut rest = number;
        let mut choices: Vec<usize> = Vec::new();
        for axis in self.axes().rev() {
            choices.push(rest % axis.values.len());
            rest /= axis.values.len();
        }
        assert_eq!(rest, 0, "a grid of {} points has no number {number}", self.len());
        choices.reverse();
        self.at(&choices)
    }

    /// The point with these choices, one for each field in the order of [`Self::axes`].
    ///
    /// # Panics
    /// If there are others than that, or one that its field does not have.
    pub fn at(&self, choices: &[usize]) -> Point {
        assert_eq!(choices.len(), self.program.len() + self.machine.len(), "one choice a field");
        let value = |(axis, &choice): (&Axis, &usize)| (axis.name.clone(), axis.values[choice].clone());
        let (program, machine) = choices.split_at(self.program.len());
        Point {
            program: self.program.iter().zip(program).map(value).collect(),
            machine: self.machine.iter().zip(machine).map(value).collect(),
        }
    }

    pub fn points(&self) -> impl Iterator<Item = Point> {
        (0..self.len()).map(|number| self.point(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &[&str]) -> Axis {
        Axis { name: name.into(), values: values.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn every_combination_is_there_once_and_programs_are_neighbors() {
        let grid = Grid::new(vec![axis("dnum", &["2", "3"])], vec![axis("a", &["x"]), axis("b", &["1", "2", "3"])]);
        let grid = grid.unwrap();
        let points: Vec<Point> = grid.points().collect();
        let distinct: std::collections::BTreeSet<_> = points.iter().map(Point::fields).collect();
        assert_eq!((points.len(), distinct.len(), grid.len()), (6, 6, 6));
        let dnums: Vec<&str> = points.iter().map(|p| p.program[0].1.as_str()).collect();
        assert_eq!(dnums, ["2", "2", "2", "3", "3", "3"]);
        assert_eq!(grid.at(&[1, 0, 2]), points[5]);
    }

    #[test]
    fn too_many_points_are_none() {
        let wide = || axis("a", &["0"; 4000]);
        assert!(Grid::new(vec![wide()], vec![wide()]).is_none());
        assert!(Grid::new(vec![wide(); 7], Vec::new()).is_none(), "beyond 2^64");
        assert_eq!(Grid::new(Vec::new(), Vec::new()).map(|g| g.len()), Some(1));
    }
}
