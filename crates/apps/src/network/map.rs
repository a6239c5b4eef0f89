//! Linear parts of values: as diagonals, from any layout to any other, or as matrices where a number is a ciphertext.

use super::{
    Network, NetworkError,
    activation::Unit,
    layout::Layout,
    linear::{Linear, Tensors, chain_row, leading_convolution},
};
use crate::memory::Room;
use limbwise::{
    Result,
    ckks::{
        Diagonals,
        tensor::{FilterEntries, Frame, FrameChoice, MapEntries, PackedMap},
    },
};
use limbwise_device::IntegerMatrix;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// From a ciphertext of the input to one of the result.
#[derive(Clone, Debug)]
pub struct Part {
    pub from: usize,
    pub to: usize,
    pub map: PackedMap,
}

/// The maps of a term.
#[derive(Clone, Debug)]
pub struct Parts {
    pub list: Vec<Part>,
    /// What large ones are made of again each time they are used.
    source: Option<Arc<Source>>,
}

/// What a term is on slots.
#[derive(Clone, Debug)]
pub enum Packed {
    /// Every slot times a factor.
    Factor(f64),
    Parts(Parts),
    /// Of ciphertexts with a number each, weights in parts of [`WEIGHT_UNIT`].
    Matrix(IntegerMatrix),
}

impl Packed {
    /// Its maps that are evaluated as diagonals.
    pub fn parts(&self) -> &[Part] {
        if let Self::Parts(parts) = self { &parts.list } else { &[] }
    }

    /// Bytes of clear numbers that are there while the term is evaluated, beside those that are kept.
    pub fn transient_bytes(&self) -> u64 {
        if let Self::Parts(Parts { source: Some(source), .. }) = self { source.bytes } else { 0 }
    }
}

impl Parts {
    /// Lets go what was made for a use.
    pub fn forget(&self) {
        if let Some(source) = &self.source {
            self.list.iter().for_each(|part| part.map.diagonals.forget());
            source.made().clear();
        }
    }
}

/// Maps between the ciphertexts of two values, by these.
type Maps = Vec<([usize; 2], PackedMap)>;

/// What the maps of a term are made of.
#[derive(Debug)]
struct Source {
    chain: Vec<Linear>,
    network: Arc<Network>,
    layouts: [Layout; 2],
    factor: f64,
    frame: Frame,
    /// Samples that take turns.
    count: usize,
    bytes: u64,
    /// Maps that were made with another and have not been asked for: a use asks for each of a term once.
    made: Mutex<Vec<Option<Diagonals>>>,
}

impl Source {
    /// All maps; `None` where there is no room for them.
    fn maps(&self, room: &Room) -> Result<Option<Maps>> {
        let entries = MapEntries::new(self.frame);
        let mut making = Making { entries, factor: self.factor, count: self.count as u64, room, taken: 0 };
        let layouts = [&self.layouts[0], &self.layouts[1]];
        if !each_entry(&self.chain, &self.network.weights, layouts, &mut making) {
            return Ok(None);
        }
        let turns = |(pair, map): ([usize; 2], PackedMap)| {
            (pair, if self.count > 1 { map.interleaved(self.count) } else { map })
        };
        Ok(Some(making.entries.maps()?.into_iter().map(turns).collect()))
    }

    fn made(&self) -> MutexGuard<'_, Vec<Option<Diagonals>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of the maps, made with all others unless it was.
    fn diagonals(&self, at: usize) -> Diagonals {
        let mut made = self.made();
        if let Some(diagonals) = made.get_mut(at).and_then(Option::take) {
            return diagonals;
        }
        let maps = self.maps(&Room::of(u64::MAX)).expect("they were made before").expect("there is room");
        *made = maps.into_iter().map(|(_, map)| Some(map.diagonals)).collect();
        made[at].take().expect("made now")
    }
}

/// Weights of matrices are multiples of one part in so many: rounded, they are off by less than encodings are.
pub const WEIGHT_UNIT: f64 = (1_u64 << 20) as f64;
/// Largest weight of a matrix in its units.
const MOST_WEIGHT: f64 = 1024.0;

/// A term's input and its result.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    pub layouts: [&'a Layout; 2],
    pub units: [Unit; 2],
}

/// A chain between two layouts, so many times side by side; `None` where there is no room for it.
pub(super) fn packed(
    chain: &[Linear],
    network: &Arc<Network>,
    ends: Ends<'_>,
    (room, count): (&Room, usize),
) -> Result<Option<Packed>> {
    let Ends { layouts: [input, output], units: [from, to] } = ends;
    let scale = from.half / to.half;
    if let (true, Some(factor)) = (input.same(output), factor(chain)) {
        return Ok(Some(Packed::Factor(factor * scale)));
    }
    let frames = Frame::all([input.period, output.period]);
    let frame = match frames[..] {
        [only] => only,
        _ => {
            let mut choice = FrameChoice::new(frames);
            each_entry(chain, &network.weights, [input, output], &mut choice);
            choice.best()
        }
    };
    let layouts = [input.clone(), output.clone()];
    let (chain, network, made) = (chain.to_vec(), network.clone(), Mutex::default());
    let mut source = Source { chain, network, layouts, factor: scale, frame, count, bytes: 0, made };
    let Some(maps) = source.maps(room)? else { return Ok(None) };
    source.bytes = maps.iter().map(|(_, map)| map.diagonals.bytes()).sum();
    let part = |([from, to], map): ([usize; 2], PackedMap)| Part { from, to, map };
    if source.bytes <= room.kept {
        return Ok(Some(Packed::Parts(Parts { list: maps.into_iter().map(part).collect(), source: None })));
    }
    room.gives(source.bytes);
    let source = Arc::new(source);
    let again = |(at, (pair, map)): (usize, ([usize; 2], PackedMap))| {
        let own = source.clone();
        part((pair, PackedMap { diagonals: map.diagonals.made_at_use(move || own.diagonals(at)), ..map }))
    };
    let list = maps.into_iter().enumerate().map(again).collect();
    Ok(Some(Packed::Parts(Parts { list, source: Some(source) })))
}

/// A chain between the numbers of two values, whatever their layouts.
///
/// # Errors
/// [`NetworkError::Weight`] for one that is too large for an integer.
///
/// # Panics
/// Never: there is an entry for each row and column.
pub fn matrix(
    chain: &[Linear],
    network: &Network,
    sizes: [usize; 2],
    units: [Unit; 2],
) -> std::result::Result<Packed, NetworkError> {
    let ([columns, rows], scale) = (sizes, units[0].half / units[1].half);
    if let (true, Some(factor)) = (columns == rows, factor(chain)) {
        return Ok(Packed::Factor(factor * scale));
    }
    let mut entries = vec![0.0; rows * columns];
    for (out, row) in entries.chunks_exact_mut(columns).enumerate() {
        chain_row(chain, &network.weights, out, &mut |element, weight| row[element] += weight * scale);
    }
    let part = |weight: f64| {
        let weight = if network.stand_in { weight.clamp(-MOST_WEIGHT, MOST_WEIGHT) } else { weight };
        let fits = weight.abs() <= MOST_WEIGHT;
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^30 in magnitude")]
        let rounded = (weight * WEIGHT_UNIT).round() as i32;
        if fits { Ok(rounded) } else { Err(NetworkError::Weight { weight, most: MOST_WEIGHT }) }
    };
    let entries = entries.into_iter().map(part).collect::<std::result::Result<Vec<_>, _>>()?;
    let matrix = IntegerMatrix::new(rows, columns, entries);
    Ok(Packed::Matrix(matrix.expect("an entry for each row and column")))
}

/// The factor of a chain that moves nothing.
fn factor(chain: &[Linear]) -> Option<f64> {
    chain.iter().try_fold(1.0, |all, map| match map {
        Linear::Factor { factor, .. } => Some(all * factor),
        _ => None,
    })
}

/// What entries are told to.
trait Sink {
    /// An entry between a pair of ciphertexts, from slot i to slot t.
    fn entry(&mut self, pair: [usize; 2], slots: [usize; 2], weight: f64);

    /// The entries of one filter of a convolution.
    fn filter(&mut self, filters: &FilterEntries<'_>, filter: usize);

    /// Whether there is room for more.
    fn goes_on(&mut self) -> bool {
        true
    }
}

impl Sink for FrameChoice {
    fn entry(&mut self, pair: [usize; 2], slots: [usize; 2], _: f64) {
        self.add(pair, slots);
    }

    fn filter(&mut self, filters: &FilterEntries<'_>, filter: usize) {
        self.add_filter(filters, filter);
    }
}

/// Maps under construction, which ask for room as they grow.
struct Making<'r> {
    entries: MapEntries,
    factor: f64,
    /// Samples that take turns.
    count: u64,
    room: &'r Room,
    taken: u64,
}

impl Sink for Making<'_> {
    fn entry(&mut self, pair: [usize; 2], slots: [usize; 2], weight: f64) {
        self.entries.add(pair, slots, weight * self.factor);
    }

    fn filter(&mut self, filters: &FilterEntries<'_>, filter: usize) {
        self.entries.add_filter(filters, filter, self.factor);
    }

    fn goes_on(&mut self) -> bool {
        let bytes = self.entries.bytes() * self.count;
        let fits = bytes <= self.taken || self.room.takes(bytes - self.taken);
        self.taken = bytes;
        fits
    }
}

/// Tells all entries of a chain, of a convolution filter by filter and else output by output; `false` where the sink has no
/// room for more.
fn each_entry(chain: &[Linear], tensors: &Tensors, [input, output]: [&Layout; 2], sink: &mut impl Sink) -> bool {
    let Some((window, weights, behind)) = leading_convolution(chain) else {
        return (0..output.size()).all(|out| {
            let [to, target] = output.at(out);
            chain_row(chain, tensors, out, &mut |element, weight| {
                let [from, slot] = input.at(element);
                sink.entry([from, to], [slot, target], weight);
            });
            sink.goes_on()
        });
    };
    let factors = |out| {
        let mut factor = 0.0;
        chain_row(behind, tensors, out, &mut |_, weight| factor = weight);
        factor
    };
    // What stands behind is looked up once for each result, and not for each entry.
    let factors: Vec<f64> = if behind.is_empty() { Vec::new() } else { (0..output.size()).map(factors).collect() };
    let filters = FilterEntries {
        window,
        weights: &tensors[weights],
        factors: &factors,
        places: [input.places(), output.places()],
    };
    (0..window.channels[1]).all(|filter| {
        sink.filter(&filters, filter);
        sink.goes_on()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{
        layout::layouts,
        linear::{Window, apply},
        skeleton::{Operation, Skeleton, Term, Value},
    };
    use limbwise::Complex64;

    /// A map of one value to another on slots, and what it should give.
    fn check(chain: Vec<Linear>, shapes: [&[usize]; 2], weights: Vec<f64>, slots: usize) -> Packed {
        let value = |shape: &[usize], operation| Value { name: String::new(), shape: shape.into(), operation };
        let terms = vec![Term { of: 0, chain: chain.clone() }];
        let values =
            vec![value(shapes[0], Operation::Input), value(shapes[1], Operation::Affine { terms, bias: None })];
        let skeleton = Skeleton { values, weights: vec![weights.len()], outputs: vec![1] };
        skeleton.check().unwrap();
        let layouts = layouts(&skeleton, &[], slots);
        let [input, output] = [&layouts[0], &layouts[1]];
        let network = Arc::new(Network::new(skeleton, vec![weights]).unwrap());
        let tensors = &network.weights;
        let units = [Unit { middle: 0.0, half: 2.0 }, Unit { middle: 0.0, half: 4.0 }];
        let ends = Ends { layouts: [input, output], units };
        let made = |room: &Room| packed(&chain, &network, ends, (room, 1)).unwrap();
        let packed = made(&Room::of(1 << 30)).unwrap();
        let x: Vec<f64> = (0..input.size()).map(|i| ((i * 13 % 29) as f64 - 14.0) / 15.0).collect();
        let wanted = apply(&chain, tensors, &x);
        let mut cts = vec![vec![Complex64::default(); input.period]; input.count];
        for (element, value) in x.iter().enumerate() {
            let [ct, slot] = input.at(element);
            cts[ct][slot] = (value / 2.0).into();
        }
        assert!(made(&Room::of(8)).is_none(), "no room");
        let Packed::Parts(parts) = &packed else { panic!("a map") };
        // What is made at its use, again and again, is the same, and nothing of it is left in between.
        let mut keeping_nothing = Room::of(1 << 30);
        keeping_nothing.kept = 0;
        let at_use = made(&keeping_nothing).unwrap();
        let Packed::Parts(again) = &at_use else { panic!("a map") };
        assert_eq!((packed.transient_bytes(), at_use.transient_bytes()), (0, held(parts)));
        assert_eq!(held(again), 0);
        for _ in 0..2 {
            assert!(again.list.iter().zip(&parts.list).all(|(a, b)| a.map.diagonals == b.map.diagonals));
            assert_eq!(held(again), held(parts));
            again.forget();
            assert_eq!((held(again), again.source.as_ref().unwrap().made().len()), (0, 0));
        }
        let mut got = vec![vec![0.0; output.period]; output.count];
        for Part { from, to, map } in &parts.list {
            let n = map.diagonals.slots();
            let result = map.apply_clear(&cts[*from].repeat(n / input.period));
            for (slot, z) in result.iter().enumerate() {
                if slot < output.period {
                    got[*to][slot] += z.re;
                } else {
                    assert!((z - result[slot % output.period]).norm() < 1e-9, "results repeat");
                }
            }
        }
        for (element, wanted) in wanted.iter().enumerate() {
            let [ct, slot] = output.at(element);
            assert!((4.0 * got[ct][slot] - wanted).abs() < 1e-9, "{element}");
        }
        packed
    }

    /// Bytes of the numbers that are in memory.
    fn held(parts: &Parts) -> u64 {
        parts.list.iter().map(|part| part.map.diagonals.bytes()).sum()
    }

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| (i as f64 * 0.37).sin() + 0.01).collect()
    }

    fn convolution(channels: [usize; 2], stride: usize, side: usize) -> Linear {
        let result = [side.div_ceil(stride); 2];
        let (kernel, strides) = ([3, 3], [stride; 2]);
        let window =
            Window { channels, groups: 1, image: [side; 2], kernel, strides, pads: [1, 1], dilations: [1, 1], result };
        Linear::Convolution { window, weights: 0 }
    }

    fn diagonals(packed: &Packed) -> usize {
        let Packed::Parts(parts) = packed else { return 0 };
        parts.list.iter().map(|part| part.map.diagonals.count()).sum()
    }

    #[test]
    fn convolutions_and_products_are_right_on_slots() {
        let dense = |rows, columns| Linear::Dense { lead: 1, rows, columns, trail: 1, transposed: false, weights: 0 };
        let map = check(vec![convolution([3, 4], 1, 8)], [&[1, 3, 8, 8], &[1, 4, 8, 8]], numbers(108), 1024);
        assert_eq!(diagonals(&map), 4 * 9);
        check(vec![convolution([3, 8], 2, 8)], [&[3, 8, 8], &[8, 4, 4]], numbers(216), 1024);
        check(vec![convolution([2, 3], 2, 7)], [&[1, 2, 7, 7], &[1, 3, 4, 4]], numbers(54), 1024);
        let map = check(vec![dense(10, 100)], [&[1, 100], &[1, 10]], numbers(1000), 512);
        let Packed::Parts(parts) = &map else { panic!("a map") };
        let map = &parts.list[0].map;
        assert!(map.fold.count > 1 && map.diagonals.count() <= 32, "{:?}", map.fold);
        check(vec![dense(100, 10)], [&[10], &[100]], numbers(1000), 512);
    }

    /// What is pooled and flattened stays where the pool leaves it.
    #[test]
    fn flattened_images_keep_their_raster() {
        let pool = Window {
            channels: [16, 16],
            groups: 16,
            image: [8, 8],
            kernel: [2, 2],
            strides: [2, 2],
            pads: [0, 0],
            dilations: [1, 1],
            result: [4, 4],
        };
        let pool = || vec![Linear::Mean { window: pool.clone(), zeros_count: false }];
        let [flat, image] = [&[1, 256][..], &[1, 16, 4, 4]]
            .map(|shape| diagonals(&check(pool(), [&[1, 16, 8, 8], shape], Vec::new(), 2048)));
        assert_eq!(flat, image);
        assert!(flat <= 64, "{flat} diagonals");
    }

    #[test]
    fn large_values_take_several_ciphertexts() {
        let map = check(vec![convolution([4, 4], 1, 8)], [&[4, 8, 8], &[4, 8, 8]], numbers(144), 128);
        let Packed::Parts(parts) = &map else { panic!("a map") };
        assert_eq!(parts.list.len(), 4);
        let dense = Linear::Dense { lead: 1, rows: 7, columns: 256, trail: 1, transposed: true, weights: 0 };
        let map = check(vec![dense], [&[4, 8, 8], &[7]], numbers(1792), 64);
        let Packed::Parts(parts) = &map else { panic!("a map") };
        assert_eq!(parts.list.len(), 4);
    }
}
