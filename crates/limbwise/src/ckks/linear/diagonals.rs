//! A linear map on n slots as its diagonals: `y[j] = Σ_d diagonal_d[j]·x[(j + d) mod n]`.

use super::{layout::Layout, strategy::Strategy};
use crate::{
    ckks::Promise,
    error::{EncodeError, Result},
};
use num_complex::Complex64;
use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Largest slot count: the largest ring has 2^17 coefficients.
const MOST_SLOTS: usize = 1 << 16;

/// The nonzero diagonals of a complex linear map.
#[derive(Clone, Debug)]
pub struct Diagonals {
    slots: usize,
    /// Shared, so that clones of a network's large maps are handles.
    inner: Arc<Inner>,
}

/// Diagonals in the order of their indices.
type Numbers = Arc<Vec<Row>>;

/// The numbers of a diagonal. A network's are real, and gigabytes: those take half the room.
#[derive(Clone, Debug, PartialEq)]
enum Row {
    Real(Vec<f64>),
    Complex(Vec<Complex64>),
}

impl Row {
    fn of(values: Vec<Complex64>) -> Self {
        let real = values.iter().all(|z| z.im == 0.0);
        if real { Self::Real(values.into_iter().map(|z| z.re).collect()) } else { Self::Complex(values) }
    }

    fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    #[inline]
    fn at(&self, slot: usize) -> Complex64 {
        match self {
            Self::Real(values) => values[slot].into(),
            Self::Complex(values) => values[slot],
        }
    }

    /// The numbers as complex ones, copied only if they are real.
    fn complex(&self) -> Cow<'_, [Complex64]> {
        match self {
            Self::Real(_) => Cow::Owned(self.each().collect()),
            Self::Complex(values) => Cow::Borrowed(values),
        }
    }

    fn each(&self) -> impl Iterator<Item = Complex64> {
        (0..self.len()).map(|slot| self.at(slot))
    }

    /// Zeros up to so many slots.
    fn padded(self, slots: usize) -> Self {
        match self {
            Self::Real(mut values) => {
                values.resize(slots, 0.0);
                Self::Real(values)
            }
            Self::Complex(mut values) => {
                values.resize(slots, Complex64::default());
                Self::Complex(values)
            }
        }
    }

    fn scale(&mut self, factor: f64) {
        match self {
            Self::Real(values) => values.iter_mut().for_each(|x| *x *= factor),
            Self::Complex(values) => values.iter_mut().for_each(|z| *z *= factor),
        }
    }

    fn rotate_left(&mut self, by: usize) {
        match self {
            Self::Real(values) => values.rotate_left(by),
            Self::Complex(values) => values.rotate_left(by),
        }
    }

    /// Each number so often.
    fn repeated(&self, count: usize) -> Self {
        let places = |len: usize| (0..len).flat_map(move |slot| std::iter::repeat_n(slot, count));
        match self {
            Self::Real(values) => Self::Real(places(values.len()).map(|slot| values[slot]).collect()),
            Self::Complex(values) => Self::Complex(places(values.len()).map(|slot| values[slot]).collect()),
        }
    }

    fn bytes(&self) -> u64 {
        let each = if matches!(self, Self::Real(_)) { size_of::<f64>() } else { size_of::<Complex64>() };
        (self.len() * each) as u64
    }
}

/// A function that computes the entries on first use.
pub(crate) type MakeNumbers = Arc<dyn Fn() -> Diagonals + Send + Sync>;

struct Inner {
    /// Indices in ascending order.
    indices: Vec<usize>,
    /// `None` before their first use, and when they were let go.
    numbers: Mutex<Option<Numbers>>,
    /// Computes the entries when they are used; `None` if they are given.
    later: Option<MakeNumbers>,
    /// Sizes of the diagonals, cached: planning asks for them once per strategy.
    sizes: OnceLock<Vec<Promise>>,
    norm: OnceLock<f64>,
    /// Strategies with their best numbers of baby steps, cached: every pass of a recording asks for them.
    strategies: Mutex<BTreeMap<Strategy, Strategy>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Diagonals").field("indices", &self.indices).finish_non_exhaustive()
    }
}

impl PartialEq for Diagonals {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots && self.inner.indices == other.inner.indices && self.numbers() == other.numbers()
    }
}

/// A map without its entries: enough to lay it out and declare it, in kilobytes instead of megabytes.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    slots: usize,
    indices: Vec<usize>,
    sizes: Vec<Promise>,
    norm: f64,
}

impl Diagonals {
    /// From diagonals by index, taken modulo the slots. Short diagonals are padded with zeros and equal indices add up.
    /// A map without diagonals gets a zero diagonal 0.
    ///
    /// # Errors
    /// [`EncodeError`] for a slot count that is no power of two up to 2^16, too many values, or a value that is not
    /// finite.
    pub fn new(slots: usize, diagonals: impl IntoIterator<Item = (i64, Vec<Complex64>)>) -> Result<Self> {
        Self::of_rows(slots, diagonals.into_iter().map(|(index, values)| (index, Row::of(values))))
    }

    /// [`Self::new`] for real diagonals.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn real(slots: usize, diagonals: impl IntoIterator<Item = (i64, Vec<f64>)>) -> Result<Self> {
        Self::of_rows(slots, diagonals.into_iter().map(|(index, values)| (index, Row::Real(values))))
    }

    fn of_rows(slots: usize, diagonals: impl Iterator<Item = (i64, Row)>) -> Result<Self> {
        if !slots.is_power_of_two() || slots > MOST_SLOTS {
            return Err(EncodeError::Slots(slots, MOST_SLOTS).into());
        }
        let mut by_index = BTreeMap::new();
        for (index, values) in diagonals {
            if values.len() > slots {
                return Err(EncodeError::TooMany { got: values.len(), slots }.into());
            }
            if let Some(at) = values.each().position(|z| !z.is_finite()) {
                return Err(EncodeError::NotFinite { index: at, value: values.at(at).to_string() }.into());
            }
            let values = values.padded(slots);
            match by_index.entry(modulo(index, slots)) {
                Entry::Vacant(place) => {
                    place.insert(values);
                }
                Entry::Occupied(mut sum) => {
                    let both = sum.get().each().zip(values.each()).map(|(a, b)| a + b).collect();
                    sum.insert(Row::of(both));
                }
            }
        }
        let map = Self::without_zeros(slots, by_index);
        map.sizes(); // asked for by every plan: here by the thread that made the map, whose caches may still hold it
        Ok(map)
    }

    fn without_zeros(slots: usize, mut by_index: BTreeMap<usize, Row>) -> Self {
        by_index.retain(|_, values| values.each().any(|z| z != Complex64::default()));
        if by_index.is_empty() {
            by_index.insert(0, Row::Real(vec![0.0; slots]));
        }
        Self::of(slots, by_index)
    }

    fn of(slots: usize, by_index: BTreeMap<usize, Row>) -> Self {
        let (indices, numbers) = by_index.into_iter().unzip();
        let numbers = Mutex::new(Some(Arc::new(numbers)));
        Self {
            slots,
            inner: Arc::new(Inner {
                indices,
                numbers,
                later: None,
                sizes: OnceLock::new(),
                norm: OnceLock::new(),
                strategies: Mutex::default(),
            }),
        }
    }

    /// A map given by its outline; its entries are computed on first use, which recorders never make.
    pub(crate) fn outlined(outline: &Outline, later: MakeNumbers) -> Self {
        let Outline { slots, indices, sizes, norm } = outline.clone();
        let (sizes, norm) = (OnceLock::from(sizes), OnceLock::from(norm));
        let (numbers, later, strategies) = (Mutex::default(), Some(later), Mutex::default());
        Self { slots, inner: Arc::new(Inner { indices, numbers, later, sizes, norm, strategies }) }
    }

    /// The map without its entries.
    pub(crate) fn outline(&self) -> Outline {
        let (indices, sizes) = (self.inner.indices.clone(), self.sizes().clone());
        Outline { slots: self.slots, indices, sizes, norm: self.norm() }
    }

    fn held(&self) -> MutexGuard<'_, Option<Numbers>> {
        self.inner.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn numbers(&self) -> Numbers {
        let mut held = self.held();
        let make = || self.inner.later.as_ref().expect("what has no numbers has what makes them")().numbers();
        held.get_or_insert_with(make).clone()
    }

    /// The same map, whose numbers are made again when they are used, until [`Self::forget`]: a network's maps are gigabytes,
    /// and each is used once.
    #[must_use]
    pub fn made_at_use(self, make: impl Fn() -> Self + Send + Sync + 'static) -> Self {
        Self::outlined(&self.outline(), Arc::new(make))
    }

    /// Lets the numbers go, if they can be made again.
    pub fn forget(&self) {
        if self.inner.later.is_some() {
            *self.held() = None;
        }
    }

    fn sizes(&self) -> &Vec<Promise> {
        let of = |values: &Row| Promise::of_numbers(values.each(), self.slots);
        self.inner.sizes.get_or_init(|| self.numbers().iter().map(of).collect())
    }

    /// What `choose` makes of a strategy for this map, which it is asked once.
    pub(super) fn resolve_strategy(&self, strategy: Strategy, choose: impl FnOnce() -> Strategy) -> Strategy {
        let known = || self.inner.strategies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&chosen) = known().get(&strategy) {
            return chosen;
        }
        let chosen = choose();
        known().insert(strategy, chosen);
        chosen
    }

    /// What becomes of the diagonals, index by index in ascending order.
    fn each<T>(&self, mut of: impl FnMut(usize, &Row) -> T) -> Vec<T> {
        self.indices().zip(self.numbers().iter()).map(|(index, row)| of(index, row)).collect()
    }

    fn place(&self, index: usize) -> usize {
        self.inner.indices.binary_search(&index).expect("an index of the map")
    }

    /// From the rows of a square matrix: `y = M·x`. Rows shorter than the matrix are padded with zeros.
    ///
    /// # Errors
    /// The errors of [`Self::new`], for rows longer than the matrix too.
    pub fn from_matrix(rows: &[Vec<Complex64>]) -> Result<Self> {
        let slots = rows.len();
        let entry = |row: usize, column: usize| rows[row].get(column).copied().unwrap_or_default();
        if let Some(long) = rows.iter().find(|row| row.len() > slots) {
            return Err(EncodeError::TooMany { got: long.len(), slots }.into());
        }
        let diagonal = |d: usize| (d as i64, (0..slots).map(|j| entry(j, (j + d) % slots)).collect());
        Self::new(slots, (0..slots).map(diagonal))
    }

    /// Slot count of input and output.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of diagonals, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.inner.indices.len()
    }

    /// Whether both share the same entries in memory.
    #[must_use]
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Indices in [0, slots) in ascending order.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.inner.indices.iter().copied()
    }

    /// Bytes of the numbers that are in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.held().as_ref().map_or(0, |rows| rows.iter().map(Row::bytes).sum())
    }

    /// The size of the diagonal at an index.
    pub(super) fn size(&self, index: usize) -> Promise {
        self.sizes()[self.place(index)]
    }

    /// The diagonal at an index, rotated to the left by `steps`.
    pub(super) fn rotated(&self, index: usize, steps: i64) -> Vec<Complex64> {
        let (rows, by) = (self.numbers(), modulo(steps, self.slots));
        let row = &rows[self.place(index)];
        (by..self.slots).chain(0..by).map(|slot| row.at(slot)).collect()
    }

    /// The map of a rotated input, `x → M·rotate(x, steps)`: lets one map do the rotation that the previous one left.
    #[must_use]
    pub fn after_rotation(&self, steps: i64) -> Self {
        self.clone().between_rotations(steps, 0)
    }

    /// The map with a rotated output, `x → rotate(M·x, steps)`.
    #[must_use]
    pub fn before_rotation(&self, steps: i64) -> Self {
        self.clone().between_rotations(0, steps)
    }

    /// `x → rotate(M·rotate(x, input), output)`, in the memory of this map if nothing else holds it.
    #[must_use]
    pub fn between_rotations(self, input: i64, output: i64) -> Self {
        let slots = self.slots;
        let (before, by) = (modulo(input, slots), modulo(output, slots));
        let turned = |(d, mut row): (usize, Row)| {
            row.rotate_left(by);
            ((d + before + by) % slots, row)
        };
        Self::of(slots, self.into_rows().map(turned).collect())
    }

    /// The diagonals with their indices, copied if something else holds them.
    fn into_rows(self) -> impl Iterator<Item = (usize, Row)> {
        let (indices, numbers) = (self.inner.indices.clone(), self.numbers());
        drop(self);
        indices.into_iter().zip(Arc::unwrap_or_clone(numbers))
    }

    /// The composition `x → self·(first·x)`.
    ///
    /// # Panics
    /// If the slot counts differ.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        assert_eq!(self.slots, first.slots, "maps on one number of slots");
        let slots = self.slots;
        let mut by_index: BTreeMap<usize, Vec<Complex64>> = BTreeMap::new();
        // Real ones are made complex one at a time: a second copy of a large map would be hundreds of megabytes.
        self.each(|i, left| {
            let left = left.complex();
            first.each(|j, right| {
                let right = right.complex();
                let sum = by_index.entry((i + j) % slots).or_insert_with(|| vec![Complex64::default(); slots]);
                let moved = right[i..].iter().chain(&right[..i]);
                // Part by part: the operators of complex numbers are calls, of another crate, and this is a sum of millions.
                for ((s, l), r) in sum.iter_mut().zip(&*left).zip(moved) {
                    s.re += l.re * r.re - l.im * r.im;
                    s.im += l.re * r.im + l.im * r.re;
                }
            });
        });
        Self::without_zeros(slots, by_index.into_iter().map(|(d, sum)| (d, Row::of(sum))).collect())
    }

    /// The first index of its progression, in (−n/2, n/2]; used by the strategies with baby steps.
    #[must_use]
    pub fn first_index(&self) -> i64 {
        Layout::first(self)
    }

    /// The map times a constant.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let slots = self.slots;
        let scaled = |(d, mut row): (usize, Row)| {
            row.scale(factor);
            (d, row)
        };
        Self::of(slots, self.into_rows().map(scaled).collect())
    }

    /// Root mean square of the output for independent inputs of size 1: the Frobenius norm over √n.
    #[must_use]
    pub fn norm(&self) -> f64 {
        let squares = || self.numbers().iter().flat_map(Row::each).map(|z| z.norm_sqr()).sum::<f64>();
        *self.inner.norm.get_or_init(|| (squares() / limbwise_math::rns::to_f64(self.slots as u64)).sqrt())
    }

    /// The map on each of `count` interleaved messages: slot j of message k is slot `count·j + k`, so rotations stay
    /// within each message.
    #[must_use]
    pub fn interleaved(&self, count: usize) -> Self {
        if count == 1 {
            return self.clone();
        }
        Self::of(count * self.slots, self.each(|d, row| (count * d, row.repeated(count))).into_iter().collect())
    }

    /// The map from a repeated x to (f₀·M·x, f₁·M·x, …) on as many times the slots as there are factors, a power of two.
    /// With the factors 1 and −i, adding the conjugate gives real and imaginary parts side by side. Negative indices
    /// stay negative.
    #[must_use]
    pub fn beside(&self, factors: &[Complex64]) -> Self {
        let slots = factors.len() * self.slots;
        let index = |d: usize| if 2 * d > self.slots { d + slots - self.slots } else { d };
        let blocks = |row: &Row| Row::of(factors.iter().flat_map(|f| row.each().map(move |z| f * z)).collect());
        Self::of(slots, self.each(|d, row| (index(d), blocks(row))).into_iter().collect())
    }

    /// Applies the map in the clear; a shorter vector is padded with zeros.
    #[must_use]
    pub fn apply(&self, x: &[Complex64]) -> Vec<Complex64> {
        let at = |j: usize| x.get(j % self.slots).copied().unwrap_or_default();
        let rows = self.numbers();
        let slot = |j: usize| self.indices().zip(rows.iter()).map(|(d, row)| row.at(j) * at(j + d)).sum();
        (0..self.slots).map(slot).collect()
    }
}

fn modulo(steps: i64, slots: usize) -> usize {
    usize::try_from(steps.rem_euclid(slots as i64)).expect("below the slots")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(n: usize, seed: usize) -> Vec<Complex64> {
        (0..n).map(|j| Complex64::new(((j * 7 + seed) % 11) as f64 - 5.0, ((j * 3 + seed) % 5) as f64)).collect()
    }

    #[test]
    fn a_matrix_is_its_diagonals() {
        let n = 8;
        let matrix: Vec<_> = (0..n).map(|i| vector(n, i * i + 1)).collect();
        let x = vector(n, 3);
        let map = Diagonals::from_matrix(&matrix).unwrap();
        let product: Vec<Complex64> = matrix.iter().map(|row| row.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        assert!(map.apply(&x).iter().zip(&product).all(|(a, b)| (a - b).norm() < 1e-9));
        let rotate = |mut v: Vec<Complex64>, by| {
            v.rotate_left(by);
            v
        };
        assert_eq!(map.after_rotation(3).apply(&x), map.apply(&rotate(x.clone(), 3)));
        let close = |a: &[Complex64], b: &[Complex64]| a.iter().zip(b).all(|(a, b)| (a - b).norm() < 1e-9);
        assert!(close(&map.before_rotation(-5).apply(&x), &rotate(map.apply(&x), 3)));
        assert_eq!(map.clone().between_rotations(3, -5), map.after_rotation(3).before_rotation(-5));
        assert_eq!(map, Diagonals::from_matrix(&matrix).unwrap(), "what something else holds stays as it is");
        let [most, least] = [i64::MAX, i64::MIN]; // −1 and 0 modulo 8
        assert_eq!(map.clone().between_rotations(most, least), map.after_rotation(-1));
        assert!(close(&map.after(&map.after_rotation(2)).apply(&x), &map.apply(&map.after_rotation(2).apply(&x))));
        let turns = |a: &[Complex64], b: &[Complex64]| a.iter().zip(b).flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>();
        let y = vector(n, 9);
        assert!(close(&map.interleaved(2).apply(&turns(&x, &y)), &turns(&map.apply(&x), &map.apply(&y))));
        let both = map.scaled(2.0).beside(&[Complex64::ONE, -Complex64::I]).apply(&[x.clone(), x.clone()].concat());
        assert!(close(&both[8..], &both[..8].iter().map(|z| z * Complex64::new(0.0, -1.0)).collect::<Vec<_>>()));
    }

    #[test]
    fn real_numbers_take_half_and_numbers_may_be_let_go() {
        let n = 8;
        let real: Vec<f64> = (0..n).map(|j| j as f64 - 3.5).collect();
        let complex = |values: &[f64]| values.iter().map(|&x| Complex64::from(x)).collect::<Vec<_>>();
        let map = Diagonals::real(n, [(2, real.clone()), (-1, vec![1.0; 3])]).unwrap();
        assert_eq!(map, Diagonals::new(n, [(7, complex(&[1.0; 3])), (2, complex(&real))]).unwrap());
        assert_eq!((map.bytes(), map.after_rotation(1).bytes(), map.interleaved(2).bytes()), (128, 128, 256));
        let turned = map.beside(&[Complex64::ONE, Complex64::I]);
        assert_eq!(turned.bytes(), 2 * 2 * 8 * 16);
        let sum = Diagonals::new(n, [(0, vec![Complex64::I; n]), (8, vec![Complex64::ONE - Complex64::I; n])]).unwrap();
        assert_eq!((sum.bytes(), sum.apply(&complex(&real))), (64, complex(&real)));
        // Made when they are used.
        let (own, of) = (map.clone(), Arc::new(std::sync::atomic::AtomicUsize::new(0)));
        let count = of.clone();
        let later = map.clone().made_at_use(move || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            own.clone()
        });
        assert_eq!((later.bytes(), later.count(), later.size(2)), (0, 2, map.size(2)));
        assert!((later.norm() - map.norm()).abs() < 1e-12);
        for made in 1..3 {
            assert_eq!(later.rotated(2, 3), map.rotated(2, 3));
            assert_eq!(later, map);
            assert_eq!((later.bytes(), of.load(std::sync::atomic::Ordering::Relaxed)), (128, made));
            later.forget();
            assert_eq!(later.bytes(), 0);
        }
        map.forget();
        assert_eq!(map.bytes(), 128, "what cannot be made again stays");
    }

    #[test]
    fn what_is_zero_goes_and_what_is_wrong_is_refused() {
        let one = Complex64::new(1.0, 0.0);
        let map = Diagonals::new(4, [(-1, vec![one]), (3, vec![one]), (2, vec![Complex64::default()])]).unwrap();
        assert_eq!(map.indices().collect::<Vec<_>>(), [3]);
        assert_eq!(map.apply(&[one * 2.0, one, one, one * 5.0])[0], one * 10.0);
        assert_eq!(Diagonals::new(4, []).unwrap().count(), 1);
        let refused = |slots, values: Vec<Complex64>| Diagonals::new(slots, [(0, values)]).unwrap_err().to_string();
        assert!(refused(6, vec![]).contains('6'));
        assert!(refused(2, vec![one; 3]).contains("3 values do not fit 2 slots"));
        assert!(refused(2, vec![one, one / 0.0]).contains("value 1 is"));
        assert!(Diagonals::from_matrix(&[vec![one; 3], vec![one]]).is_err());
    }
}
