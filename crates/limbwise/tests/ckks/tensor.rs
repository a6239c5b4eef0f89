//! Packed tensors: every operation against its clear twin, in the clear for many shapes, encrypted for some, with every
//! strategy.

use crate::common::{Session, small, uniform};
use limbwise::{
    Complex64, Error, Result,
    ckks::{
        Auto, Ciphertext, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing, PlaintextForm, Strategy,
        tensor::{
            Convolution, Filters, Image, ImageLayout, Matrix, MatrixLayout, MatrixProduct, PackedMap, Padding, Spread,
            SquareProduct,
            row_product::{RowForm, RowGrid, RowProduct},
        },
    },
    params::Params,
    rlwe::{DeclaredKeys, Requirements},
};
use limbwise_device::{Device, Null};

const SLOTS: usize = 1024;

fn numbers(count: usize, label: &str) -> Vec<f64> {
    uniform(count, label).into_iter().map(|z| z.re).collect()
}

fn matrix(rows: usize, columns: usize, label: &str) -> Matrix {
    Matrix::new(rows, columns, numbers(rows * columns, label)).unwrap()
}

fn image(shape: [usize; 3]) -> Image {
    Image::new(shape, numbers(shape.iter().product(), &format!("image {shape:?}"))).unwrap()
}

fn filters(shape: [usize; 4], stride: usize, padding: Padding) -> Filters {
    let weights = numbers(shape.iter().product(), &format!("filters {shape:?}"));
    Filters::new(shape, weights, numbers(shape[0], "bias"), stride, padding).unwrap()
}

fn close(got: &[f64], wanted: &[f64], most: f64, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    let error = got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < most, "{what}: off by {error}");
}

/// Junk wherever a layout promises nothing.
fn with_junk(mut slots: Vec<Complex64>, from: usize) -> Vec<Complex64> {
    let count = slots.len() - from;
    slots[from..].copy_from_slice(&uniform(count, "junk"));
    slots
}

#[test]
fn products_in_the_clear() {
    let shapes = [
        (1, 1, 1),
        (1, 7, 1),
        (9, 1, 1),
        (3, 5, 1),
        (5, 3, 2),
        (17, 9, 1),
        (16, 16, 4),
        (10, 64, 3),
        (64, 10, 3),
        (1, 100, 10),
        (100, 1, 10),
        (33, 31, 1),
        (33, 31, 7),
        (128, 128, 1),
        (1024, 1024, 1),
        (1000, 3, 1),
        (3, 1000, 5),
        (513, 2, 3),
    ]; // rows, columns, columns of the encrypted matrix
    for (m, n, c) in shapes {
        let (a, x) = (matrix(m, n, "A"), matrix(n, c, "X"));
        let bias = numbers(m, "bias");
        let product = MatrixProduct::new(&a, &bias, c, SLOTS).unwrap();
        let y: Vec<Vec<Complex64>> = product
            .pack(&x)
            .unwrap()
            .into_iter()
            .map(|slots| product.map.apply_clear(&with_junk(slots, product.input.rows.slots())))
            .collect();
        let wanted: Vec<f64> =
            a.product(&x).unwrap().values().iter().enumerate().map(|(at, y)| y + bias[at / c]).collect();
        let what = format!("{m}×{n} times {n}×{c}");
        close(product.output.unpack(&y).unwrap().values(), &wanted, 1e-9, &what);
        let diagonals = product.map.diagonals.count();
        assert!(diagonals < m + n, "{what}: {diagonals} diagonals");
        // Where there is room for repetition, the shorter side decides, or less.
        let most = m.min(n).next_power_of_two();
        assert!(diagonals <= most || 2 * m.max(n) * c > SLOTS, "{what}: {diagonals} diagonals");
    }
}

#[test]
fn a_chain_of_products_needs_no_repacking() {
    let (a, b, x) = (matrix(12, 7, "A"), matrix(5, 12, "B"), matrix(7, 3, "X"));
    // The second wants its rows repeated, so the first makes them so.
    let second = MatrixProduct::new(&b, &[], 3, SLOTS).unwrap();
    assert!(second.input.rows.extent > 12);
    let input = MatrixLayout { rows: Spread { extent: 40, ..Spread::once(7, 3) }, columns: 3 };
    let first = MatrixProduct::between(&a, &[], input, second.input, SLOTS).unwrap();
    let hidden = first.map.apply_clear(&first.pack(&x).unwrap()[0]);
    let result = second.output.unpack(&[second.map.apply_clear(&hidden)]).unwrap();
    close(result.values(), b.product(&a.product(&x).unwrap()).unwrap().values(), 1e-9, "B·A·X");
    // And from rows that are there once: as many diagonals as a matrix has.
    let once = MatrixLayout::new(12, 3, 12, SLOTS).unwrap();
    let plain = MatrixProduct::between(&b, &[], once, MatrixLayout::new(5, 3, 12, SLOTS).unwrap(), SLOTS).unwrap();
    assert_eq!(plain.map.diagonals.count(), 12 + 5 - 1);
    assert!(second.map.diagonals.count() <= 6);
}

#[test]
fn convolutions_in_the_clear() {
    let cases = [
        ([1, 1, 1], [1, 1, 1, 1], 1, Padding::Same),
        ([1, 8, 8], [1, 1, 3, 3], 1, Padding::Same),
        ([3, 7, 5], [4, 3, 3, 3], 1, Padding::Same),
        ([3, 7, 5], [4, 3, 3, 3], 2, Padding::Same),
        ([2, 9, 11], [5, 2, 5, 5], 2, Padding::Valid),
        ([1, 13, 13], [2, 1, 7, 7], 1, Padding::Valid),
        ([1, 13, 13], [2, 1, 7, 7], 2, Padding::Same),
        ([4, 16, 16], [4, 4, 3, 3], 1, Padding::Same),
        ([5, 6, 6], [2, 5, 1, 1], 1, Padding::Same),
        ([2, 6, 9], [3, 2, 2, 4], 1, Padding::Same),
        ([8, 4, 4], [3, 8, 4, 4], 1, Padding::Valid),
        ([2, 8, 8], [2, 2, 3, 3], 3, Padding::Same),
    ];
    for (shape, weights, stride, padding) in cases {
        let (x, filters) = (image(shape), filters(weights, stride, padding));
        let convolution = Convolution::new(&filters, shape, SLOTS).unwrap();
        let slots = with_junk(convolution.pack(&x).unwrap(), convolution.input.slots());
        let y = convolution.output.unpack(&convolution.map.apply_clear(&slots)).unwrap();
        let wanted = filters.apply(&x).unwrap();
        assert_eq!(y.shape(), wanted.shape());
        let what = format!("{weights:?} on {shape:?}, stride {stride}, {padding:?}");
        close(y.values(), wanted.values(), 1e-9, &what);
        let most = weights[2] * weights[3] * (shape[0] + weights[0] - 1);
        assert!(convolution.map.diagonals.count() <= most, "{what}");
    }
}

/// The twin's own definition, from the outside: a correlation with zeros around, written index by index.
#[test]
fn the_clear_twin_is_a_correlation() {
    let (x, f) = (image([2, 5, 4]), filters([1, 2, 3, 3], 2, Padding::Same));
    let weights = numbers(18, "filters [1, 2, 3, 3]");
    let y = f.apply(&x).unwrap();
    assert_eq!(y.shape(), [1, 3, 2]);
    let at = |c: usize, y: i64, x_: i64| {
        if (0..5).contains(&y) && (0..4).contains(&x_) {
            x.values()[c * 20 + usize::try_from(y * 4 + x_).unwrap()]
        } else {
            0.0
        }
    };
    for (row, column) in (0..3i64).flat_map(|r| (0..2i64).map(move |c| (r, c))) {
        let mut sum = numbers(1, "bias")[0];
        for (tap, weight) in weights.iter().enumerate() {
            let (c, dy, dx) = (tap / 9, (tap / 3 % 3) as i64, (tap % 3) as i64);
            sum += weight * at(c, 2 * row + dy - 1, 2 * column + dx - 1);
        }
        assert!((y.at(0, usize::try_from(row).unwrap(), usize::try_from(column).unwrap()) - sum).abs() < 1e-12);
    }
}

/// What a network does: a stride whose gaps are kept, filled with channels, or closed; then the next layer on that.
#[test]
fn layers_follow_one_another_in_every_layout() {
    let x = image([4, 8, 8]);
    let (first, second) = (filters([8, 4, 3, 3], 2, Padding::Same), filters([4, 8, 3, 3], 1, Padding::Same));
    let hidden = first.apply(&x).unwrap();
    let wanted = second.apply(&hidden).unwrap();
    let input = ImageLayout::dense([4, 8, 8]).repeated(4, 16).unwrap();
    let kept = input.strided(2, [8, 4, 4]).unwrap();
    let multiplexed = kept.multiplexed().unwrap();
    assert_eq!((kept.blocks.items, multiplexed.blocks.items, multiplexed.slot(3, 0, 0)), (8, 2, 9));
    let layouts = [
        ("kept", kept),
        ("kept and repeated", kept.repeated(8, 16).unwrap()),
        ("multiplexed", multiplexed),
        ("closed", ImageLayout::dense([8, 4, 4])),
    ];
    for (what, between) in layouts {
        let a = Convolution::between(&first, input, between, SLOTS).unwrap();
        let middle = a.map.apply_clear(&a.pack(&x).unwrap());
        close(between.unpack(&middle).unwrap().values(), hidden.values(), 1e-9, what);
        let channels = |c| {
            if between.per_block > 1 {
                between.strided(1, [c, 4, 4]).unwrap().multiplexed()
            } else {
                between.strided(1, [c, 4, 4])
            }
        };
        let b = Convolution::between(&second, between, channels(4).unwrap(), SLOTS).unwrap();
        let y = b.output.unpack(&b.map.apply_clear(&middle)).unwrap();
        close(y.values(), wanted.values(), 1e-9, what);
    }
    // An odd size has no room for channels in its last gap, unless the raster is larger.
    let odd = ImageLayout::dense([4, 5, 5]);
    assert!(odd.strided(2, [8, 3, 3]).unwrap().multiplexed().is_err());
    let roomy = odd.in_raster(6, 6).unwrap();
    let x = image([4, 5, 5]);
    let output = roomy.strided(2, [8, 3, 3]).unwrap().multiplexed().unwrap();
    let convolution = Convolution::between(&first, roomy, output, SLOTS).unwrap();
    let y = output.unpack(&convolution.map.apply_clear(&convolution.pack(&x).unwrap())).unwrap();
    close(y.values(), first.apply(&x).unwrap().values(), 1e-9, "odd");
}

/// A convolution whose result repeats, a product on that repetition, and one on what that leaves: every repetition that a
/// layout promises is there, and each map has fewer diagonals for it.
#[test]
fn results_repeat_for_the_next_map() {
    for (stride, shape, count) in [(2, [1, 9, 9], 5), (2, [1, 9, 9], 4), (1, [2, 6, 7], 3), (2, [2, 8, 8], 7)] {
        let what = format!("{count} filters, stride {stride}, on {shape:?}");
        let weights = filters([count, shape[0], 3, 3], stride, Padding::Valid);
        let x = image(shape);
        let (phased, phases) = weights.in_phases(shape).unwrap();
        let convolution = Convolution::repeating(&phased, phases, SLOTS).unwrap();
        let packed = convolution.pack(&x.in_phases(stride, phases).unwrap()).unwrap();
        let y = convolution.map.apply_clear(&with_junk(packed, convolution.input.slots()));
        let wanted = weights.apply(&x).unwrap();
        let Spread { unit, period, extent, .. } = convolution.output.blocks;
        let places = |channel: usize| (channel..extent).step_by(period);
        for (at, &value) in wanted.values().iter().enumerate() {
            let [_, height, width] = wanted.shape();
            let (channel, row, column) = (at / width / height, at / width % height, at % width);
            let within = convolution.output.slot(channel, row, column) - channel * unit;
            assert!(places(channel).count() > 0, "{what}");
            for place in places(channel) {
                assert!((y[place * unit + within].re - value).abs() < 1e-9, "{what}: {at} at place {place}");
            }
        }
        // A product of everything until it repeats; gaps have weights of zero.
        let columns = period * unit;
        let a = matrix(11, columns, "A");
        let mut kept = vec![0.0; 11 * columns];
        let mut flat = vec![0.0; columns];
        for (at, &value) in wanted.values().iter().enumerate() {
            let [_, height, width] = wanted.shape();
            let slot = convolution.output.slot(at / width / height, at / width % height, at % width);
            flat[slot] = value;
            (0..11).for_each(|row| kept[row * columns + slot] = a.at(row, slot));
        }
        let a = Matrix::new(11, columns, kept).unwrap();
        let input = Spread { items: columns, unit: 1, period: columns, extent: extent * unit };
        let rows = input.of_result(11, 1, SLOTS);
        let layout = |rows| MatrixLayout { rows, columns: 1 };
        let product = MatrixProduct::between(&a, &[], layout(input), layout(rows), SLOTS).unwrap();
        let z = product.map.apply_clear(&y);
        let flat = Matrix::new(columns, 1, flat).unwrap();
        let wanted = a.product(&flat).unwrap();
        for place in (0..rows.extent).filter(|place| place % rows.period < 11) {
            let error = (z[place].re - wanted.values()[place % rows.period]).abs();
            assert!(error < 1e-9, "{what}: row at place {place}");
        }
        assert!(product.map.diagonals.count() < columns, "{what}");
    }
}

/// An encrypted operation, on any device.
enum Operation<'a> {
    Map(&'a PackedMap),
    Square(&'a SquareProduct),
    /// `(A·Bᵀ)·C`: of rows, and of the diagonals that come of them.
    Rows([RowProduct; 2]),
}

impl Operation<'_> {
    fn maps(
        &self,
        params: &Params,
        strategy: Strategy,
        form: PlaintextForm,
        level: usize,
    ) -> Vec<(&Diagonals, LinearPlan)> {
        match self {
            Self::Map(map) => vec![(&map.diagonals, LinearPlan::new(params, strategy, form, level))],
            Self::Square(square) => square.plans(params, strategy, form, level),
            Self::Rows(_) => Vec::new(),
        }
    }

    fn levels(&self) -> usize {
        if let Self::Rows(_) = self { 4 } else { 3 }
    }

    fn run<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        encoder: &Encoder,
        strategy: Strategy,
        form: PlaintextForm,
        inputs: &[Ciphertext<D>],
    ) -> Result<Ciphertext<D>> {
        let maps = self.maps(auto.eval.params(), strategy, form, inputs[0].level);
        let encode =
            |(map, plan): (&Diagonals, LinearPlan)| LinearTransform::encode(auto.eval.device(), encoder, map, plan);
        let maps = maps.into_iter().map(encode).collect::<Result<Vec<_>>>()?;
        match self {
            Self::Map(map) => map.apply(auto, &maps[0], &inputs[0]),
            Self::Square(square) => auto.settle(&square.multiply(auto, &maps, &inputs[0], &inputs[1])?),
            Self::Rows([first, second]) => {
                let [left, right, mixed] = [0, 1, 2].map(|at: usize| inputs[at].clone().with_slots(first.slots()[1]));
                let scores = first.multiply(auto, strategy, (&[left], &right), 2)?;
                Ok(second.multiply(auto, strategy, (&scores, &mixed), 0)?.remove(0))
            }
        }
    }

    /// The keys that it takes.
    fn requirements(
        &self,
        params: &Params,
        strategy: Strategy,
        form: PlaintextForm,
        inputs: &[Vec<Vec<Complex64>>],
    ) -> Requirements {
        let (null, encoder, top) = (Null::default(), Encoder::new(params), params.top_level());
        let keys = DeclaredKeys::all(&null, params);
        let packing = Packing { slots: SLOTS, level: top, scale: params.scale(top) };
        let inputs: Vec<_> = inputs.iter().map(|x| encoder.declare(&null, x, packing).unwrap()).collect();
        let auto = Auto::new(Evaluator::new(&null, params, &keys), &encoder);
        self.run(&auto, &encoder, strategy, form, &inputs).unwrap();
        keys.requirements()
    }
}

const ALL: [Strategy; 5] = [
    Strategy::Direct,
    Strategy::Hoisted,
    Strategy::Bsgs { babies: 4 },
    Strategy::DoubleHoisted { babies: 4 },
    Strategy::MultiHop { babies: 4 },
];

/// Runs an operation encrypted with each strategy, and hands out the slots.
fn encrypted(
    operation: &Operation<'_>,
    inputs: &[Vec<Vec<Complex64>>],
    strategies: &[Strategy],
    look: impl Fn(&str, Vec<Vec<Complex64>>),
) {
    let params = Params::new(&small(operation.levels())).unwrap();
    for (i, &strategy) in strategies.iter().enumerate() {
        let form = PlaintextForm::ALL[i % 2];
        let s = Session::with_keys(params.clone(), &operation.requirements(&params, strategy, form, inputs));
        let packing = s.packing();
        let encrypt = |x: &Vec<Vec<Complex64>>| {
            let plain = s.encoder.encode(&s.dev, x, packing).unwrap();
            limbwise::ckks::encrypt(&s.dev, &s.params, &s.public, &plain).unwrap()
        };
        let inputs: Vec<_> = inputs.iter().map(encrypt).collect();
        let result = operation.run(&s.auto(), &s.encoder, strategy, form, &inputs).unwrap();
        let slots = limbwise::ckks::decrypt(&s.dev, &s.encoder, &s.params, &s.secret, &result).unwrap();
        look(&format!("{strategy}, {}", form.name()), slots);
    }
}

#[test]
fn encrypted_products_decrypt_to_their_twins() {
    for (m, n, c, strategies) in
        [(10, 24, 50, &ALL[..]), (1, 300, 1, &ALL[1..2]), (70, 1, 20, &ALL[3..4]), (40, 40, 3, &ALL[2..3])]
    {
        let (a, x, bias) = (matrix(m, n, "A"), matrix(n, c, "X"), numbers(m, "bias"));
        let product = MatrixProduct::new(&a, &bias, c, SLOTS).unwrap();
        let wanted: Vec<f64> =
            a.product(&x).unwrap().values().iter().enumerate().map(|(at, y)| y + bias[at / c]).collect();
        encrypted(&Operation::Map(&product.map), &[product.pack(&x).unwrap()], strategies, |how, slots| {
            let what = format!("{m}×{n} times {n}×{c}, {how}");
            close(product.output.unpack(&slots).unwrap().values(), &wanted, 2f64.powi(-12), &what);
        });
    }
}

#[test]
fn encrypted_convolutions_decrypt_to_their_twins() {
    let cases: [(_, _, _, _, &[Strategy]); 3] = [
        ([3, 7, 9], [4, 3, 3, 3], 1, Padding::Same, &ALL[..4]),
        (
            [2, 9, 7],
            [3, 2, 3, 3],
            2,
            Padding::Same,
            &[Strategy::Bsgs { babies: 64 }, Strategy::MultiHop { babies: 16 }],
        ),
        ([1, 11, 10], [2, 1, 5, 4], 2, Padding::Valid, &ALL[3..4]),
    ];
    for (shape, weights, stride, padding, strategies) in cases {
        let (x, filters) = (image(shape), filters(weights, stride, padding));
        let convolution = Convolution::new(&filters, shape, SLOTS).unwrap();
        let wanted = filters.apply(&x).unwrap();
        encrypted(
            &Operation::Map(&convolution.map),
            &[vec![convolution.pack(&x).unwrap()]],
            strategies,
            |how, slots| {
                let y = convolution.output.unpack(&slots[0]).unwrap();
                let what = format!("{weights:?} on {shape:?}, stride {stride}, {padding:?}, {how}");
                close(y.values(), wanted.values(), 2f64.powi(-12), &what);
            },
        );
    }
}

#[test]
fn products_of_encrypted_matrices_decrypt_to_their_twins() {
    let all = [(1, &ALL[1..2]), (3, &ALL[1..3]), (4, &ALL[..]), (5, &ALL[3..4]), (16, &ALL[2..3])];
    for (side, strategies) in all {
        let square = SquareProduct::new(side, SLOTS).unwrap();
        let count = square.pairs().min(7);
        assert_eq!(square.pairs(), SLOTS / side / side);
        let draw =
            |name: &str| -> Vec<Matrix> { (0..count).map(|i| matrix(side, side, &format!("{name} {i}"))).collect() };
        let (left, right) = (draw("left"), draw("right"));
        let inputs = [vec![square.pack(&left).unwrap()], vec![square.pack(&right).unwrap()]];
        encrypted(&Operation::Square(&square), &inputs, strategies, |how, slots| {
            let products = square.unpack(&slots[0], count).unwrap();
            for ((a, b), product) in left.iter().zip(&right).zip(&products) {
                let what = format!("{side}×{side}, {how}");
                close(product.values(), a.product(b).unwrap().values(), 2f64.powi(-12), &what);
            }
        });
    }
}

/// Attention without a softmax: nothing is transposed, and masks leave out what a rotation takes from another pair.
#[test]
fn products_of_rows_and_of_diagonals_decrypt_to_theirs() {
    for ([rows, pairs, inner, columns], strategies) in
        [([8, 2, 4, 3], &ALL[..]), ([5, 3, 4, 4], &ALL[3..4]), ([3, 1, 16, 9], &ALL[1..2])]
    {
        let grid = RowGrid::of([rows, pairs, inner.max(columns)]);
        let first = RowProduct::new(grid, RowForm::OfRows, [pairs, rows, inner], 1).unwrap().times(0.25);
        let second = RowProduct::new(grid, RowForm::OfDiagonals, [pairs, rows, columns], 1).unwrap();
        let draw = |columns: usize, name: &str| -> Vec<Matrix> {
            (0..pairs).map(|pair| matrix(rows, columns, &format!("{name} {pair}"))).collect()
        };
        let (a, b, c) = (draw(inner, "a"), draw(inner, "b"), draw(columns, "c"));
        let packed = |matrices: &[Matrix], place: &dyn Fn(usize, [usize; 2]) -> usize| {
            let mut slots = vec![Complex64::default(); grid.slots()];
            for (pair, matrix) in matrices.iter().enumerate() {
                for (at, x) in matrix.values().iter().enumerate() {
                    slots[place(pair, [at / matrix.columns(), at % matrix.columns()])] = (*x).into();
                }
            }
            vec![slots.repeat(SLOTS / grid.slots())]
        };
        let skewed = |pair, entry| grid.skewed(pair, entry);
        let inputs = [packed(&a, &|pair, entry| grid.by_rows(pair, entry)), packed(&b, &skewed), packed(&c, &skewed)];
        encrypted(&Operation::Rows([first, second]), &inputs, strategies, |how, slots| {
            for pair in 0..pairs {
                let turned = Matrix::new(inner, rows, {
                    let entry = |at: usize| b[pair].at(at % rows, at / rows);
                    (0..inner * rows).map(entry).collect()
                });
                let wanted = a[pair].product(&turned.unwrap()).unwrap().product(&c[pair]).unwrap();
                let got = |at: usize| 4.0 * slots[0][grid.by_rows(pair, [at / columns, at % columns])].re;
                let got: Vec<f64> = (0..rows * columns).map(got).collect();
                close(&got, wanted.values(), 2f64.powi(-10), &format!("{rows} rows, {pairs} pairs, {how}"));
            }
        });
    }
}

fn said<T>(result: Result<T>) -> String {
    result.err().map_or_else(String::new, |e: Error| e.to_string())
}

#[test]
fn mistakes_teach() {
    let ok = Matrix::new(2, 3, vec![1.0; 6]).unwrap();
    let square = SquareProduct::new(5, 64).unwrap();
    let conv = |shape, image| Convolution::new(&filters(shape, 1, Padding::Valid), image, 64).map(|_| ());
    let layout = |rows, unit| MatrixLayout { rows: Spread::once(rows, unit), columns: 1 };
    let dense = ImageLayout::dense([1, 4, 4]);
    let cases = [
        (said(Matrix::new(2, 3, vec![1.0; 5])), "5 values, wanted 2×3 of them"),
        (said(Matrix::new(0, 3, vec![])), "0 values"),
        (said(Matrix::new(1, 2, vec![1.0, f64::NAN])), "value 1 is NaN: only finite numbers"),
        (said(Image::new([1, 2, 2], vec![f64::INFINITY; 4])), "value 0 is inf"),
        (said(ok.product(&ok)), "2×3 and 2×3, wanted as many rows"),
        (
            said(MatrixProduct::new(&matrix(65, 2, "A"), &[], 1, 64)),
            "a column of 65 values takes 65 slots, a ciphertext has 64: choose a larger ring",
        ),
        (said(MatrixProduct::new(&ok, &[1.0], 1, 64)), "a bias: got 1 values, wanted 2 of them"),
        (said(MatrixProduct::new(&ok, &[], 0, 64)), "at least one row and column"),
        (said(MatrixProduct::new(&ok, &[], 1, 48)), "48 slots: choose a power of two"),
        (said(MatrixProduct::between(&ok, &[], layout(3, 1), layout(3, 1), 64)), "3×c → 2×c"),
        (
            said(MatrixProduct::between(&ok, &[], layout(3, 64), layout(2, 64), 64)),
            "the input of a product takes 192 slots",
        ),
        (said(MatrixLayout::new(3, 2, 3, 64).unwrap().pack(&ok, 64)), "got 2×3, wanted 3×2"),
        (said(MatrixLayout::new(3, 2, 3, 64).unwrap().unpack(&[])), "0 vectors, wanted 1"),
        (said(SquareProduct::new(9, 64)), "a matrix of 9×9 takes 81 slots, a ciphertext has 64"),
        (said(SquareProduct::new(0, 64)), "wanted at least 1×1"),
        (said(square.pack(std::slice::from_ref(&ok))), "fill up with zeros"),
        (said(RowProduct::new(RowGrid::of([4, 1, 4]), RowForm::OfRows, [1, 5, 4], 1)), "sizes within a grid"),
        (said(RowProduct::new(RowGrid::of([8, 1, 2]), RowForm::OfDiagonals, [1, 8, 2], 3)), "in blocks of 3"),
        (said(square.pack(&vec![matrix(5, 5, "A"); 3])), "3 matrices, wanted at most 2"),
        (said(square.unpack(&[], 1)), "1 products in 0 slots"),
        (said(Filters::new([1, 1, 1, 1], vec![1.0], vec![], 0, Padding::Same)), "a stride of 0"),
        (said(Filters::new([2, 1, 1, 1], vec![1.0; 2], vec![1.0], 1, Padding::Same)), "wanted 2 of them"),
        (said(conv([1, 2, 3, 3], [1, 5, 5])), "wanted equally many channels"),
        (said(conv([1, 1, 7, 7], [1, 5, 5])), "filters no larger than the image"),
        (said(conv([1, 2, 3, 3], [2, 8, 8])), "an image of 2 channels of 8×8 takes 128 slots"),
        (said(dense.in_raster(3, 8)), "in a raster of [3, 8]"),
        (said(dense.repeated(0, 4)), "a period no shorter"),
        (said(dense.pack(&image([1, 4, 5]), 64)), "[1, 4, 5], wanted [1, 4, 4]"),
        (said(dense.unpack(&[])), "0 slots, wanted 16"),
    ];
    for (text, expected) in cases {
        assert!(text.contains(expected), "{text:?} should say {expected:?}");
    }
}
