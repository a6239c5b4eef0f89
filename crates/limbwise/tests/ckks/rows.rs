//! Functions along rows of slots: order, extremes, softmax, normal form; every row at once, whatever lies between.

use crate::{
    common::{Dev, Session, small},
    functions::{decrypted, encrypted, real, refreshed},
};
use limbwise::{
    Complex64, Error,
    ckks::{
        Ciphertext, LevelPolicy,
        functions::{
            Axis, Extreme, Function, Greatest, Keys, LayerNorm, Order, Rows, Smooth, Softmax, Sorted, Sorting,
        },
    },
    error::FunctionError,
};

const SLOTS: usize = 64;

/// Shape (2, 3, 6): the first axis in single slots, rows of six of eight places, three of four rows.
fn rows() -> Rows {
    let others = [Axis { stride: 1, extent: 2, length: 2 }, Axis { stride: 16, extent: 4, length: 3 }];
    Rows::new(Axis { stride: 2, extent: 8, length: 6 }, &others).unwrap()
}

/// The places of each row that holds values, in order.
fn places(rows: &Rows) -> Vec<Vec<usize>> {
    let firsts = (0..SLOTS).filter(|&place| rows.index(place) == Some(0));
    let Axis { stride, length, .. } = rows.axis();
    firsts.map(|first| (0..length).map(|i| first + i * stride).collect()).collect()
}

/// Slots with values in [−2, 1] where there are some, at least a sixteenth of 3 apart in each row.
fn slots(rows: &Rows) -> Vec<f64> {
    let mut slots = vec![0.0; SLOTS];
    for (number, row) in places(rows).iter().enumerate() {
        for (i, &place) in row.iter().enumerate() {
            slots[place] = -1.9 + 0.4 * ((i * 5 + number) % 7) as f64 + 0.02 * number as f64;
        }
    }
    slots
}

fn session(levels: usize) -> Session {
    let steps: Vec<i64> = (0..6).flat_map(|i| [1 << i, -(1 << i)]).collect();
    Session::new(&small(levels), &steps)
}

fn values(s: &Session, x: &Ciphertext<Dev>) -> Vec<Vec<f64>> {
    decrypted(s, x).iter().map(|row| row.iter().map(|z| z.re).collect()).collect()
}

#[test]
fn every_row_is_sorted_and_says_where_its_values_were() {
    let (s, rows) = (session(16), rows());
    let (auto, slots) = (s.auto(), slots(&rows));
    let x = encrypted(&s, &[real(slots.iter().copied())]).bounded_by(2.0);
    let ready = |x: &Ciphertext<Dev>, levels| refreshed(&s, x, levels);
    // Whoever has the secret key bootstraps by decrypting.
    let policy = LevelPolicy { floor: 0, top: 16, bootstraps: true };
    for (order, wanted) in [(Order::Ascending, Sorted::Places(6)), (Order::Descending, Sorted::Places(2))] {
        let keys = Keys { interval: [-2.0, 1.0], gap: 1.0 / 16.0, order };
        let sorting = Sorting::new(&rows, keys, wanted, policy).unwrap();
        // The first two are kept by halves: pairs, then two stages for each of two halvings.
        let stages = if wanted == Sorted::Places(6) { 6 } else { 5 };
        assert_eq!((sorting.network().ways, sorting.network().stages.len()), (2, stages));
        let got = values(&s, &sorting.apply(&auto, &x, &ready).unwrap());
        let first = if order == Order::Ascending { 6 } else { 2 };
        let mut left = [true; SLOTS];
        for row in places(&rows) {
            let mut order_of: Vec<usize> = (0..6).collect();
            order_of.sort_by(|&i, &j| slots[row[i]].total_cmp(&slots[row[j]]));
            if order == Order::Descending {
                order_of.reverse();
            }
            for (at, &from) in order_of.iter().take(first).enumerate() {
                let errors = [got[0][row[at]] - slots[row[from]], got[1][row[at]] - from as f64];
                assert!(errors[0].abs() < 0.05 && errors[1].abs() < 0.25, "{order:?} {at}: {errors:?}");
                left[row[at]] = false;
            }
        }
        let outside = |column: &Vec<f64>| (0..SLOTS).filter(|&p| left[p]).all(|p| column[p].abs() < 0.01);
        assert!(got.iter().all(outside), "places beyond the first are zero");
    }
    let keys = Keys { interval: [-2.0, 1.0], gap: 1.0 / 16.0, order: Order::Ascending };
    let median = Sorting::new(&rows, keys, Sorted::Median, policy).unwrap();
    let got = values(&s, &median.apply(&auto, &x, &ready).unwrap());
    for row in places(&rows) {
        let mut sorted: Vec<f64> = row.iter().map(|&p| slots[p]).collect();
        sorted.sort_by(f64::total_cmp);
        assert!((got[0][row[0]] - 0.5 * (sorted[2] + sorted[3])).abs() < 0.05);
    }
}

#[test]
fn short_rows_take_one_sorter_and_no_bootstrapping() {
    let s = session(16);
    let auto = s.auto();
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    let policy = LevelPolicy::of(&s.params);
    let keys = Keys { interval: [0.0, 1.0], gap: 1.0 / 8.0, order: Order::Ascending };
    for (length, ways) in [(2, 2), (3, 3), (4, 4), (5, 5)] {
        let extent = usize::next_power_of_two(length);
        let rows = Rows::new(Axis { stride: 1, extent, length }, &[]).unwrap();
        let sorting = Sorting::new(&rows, keys, Sorted::Values(length), policy).unwrap();
        assert_eq!((sorting.network().ways, sorting.network().stages.len()), (ways, 1));
        let filled: Vec<f64> = (0..SLOTS)
            .map(|p| rows.index(p).map_or(0.0, |i| ((length - 1 - i + p / extent) % length) as f64 / 5.0))
            .collect();
        let x = encrypted(&s, &[real(filled.iter().copied())]).bounded_by(1.0);
        let y = sorting.apply(&auto, &x, &ready).unwrap();
        assert_eq!(y.level, s.params.top_level() - sorting.levels());
        let got = &values(&s, &y)[0];
        for (place, got) in got.iter().enumerate() {
            let wanted = rows.index(place).map_or(0.0, |i| i as f64 / 5.0);
            assert!((got - wanted).abs() < 0.02, "{length} values, place {place}: {got}, {wanted}");
        }
    }
}

#[test]
fn the_first_values_and_medians_take_fewer_levels_than_a_sort() {
    let s = session(16);
    let auto = s.auto();
    let keys = Keys { interval: [0.0, 1.0], gap: 1.0 / 18.0, order: Order::Ascending };
    let policy = LevelPolicy { floor: 0, top: 16, bootstraps: true };
    let rows = Rows::new(Axis { stride: 1, extent: 16, length: 16 }, &[]).unwrap();
    let filled: Vec<f64> = (0..SLOTS).map(|p| ((p * 7 + p / 16 * 3) % 16) as f64 / 15.0).collect();
    let x = encrypted(&s, &[real(filled.iter().copied())]).bounded_by(1.0);
    let refreshed_by = |wanted| {
        let (count, sorting) = (std::cell::Cell::new(0), Sorting::new(&rows, keys, wanted, policy).unwrap());
        let ready = |x: &Ciphertext<Dev>, levels| {
            count.set(count.get() + if x.level < levels { x.batch() } else { 0 });
            refreshed(&s, x, levels)
        };
        let got = values(&s, &sorting.apply(&auto, &x, &ready).unwrap()).remove(0);
        let network = sorting.network();
        (got, [network.ways, network.stages.len(), network.comparisons(), sorting.levels(), count.get()])
    };
    let (sorted, whole) = refreshed_by(Sorted::Values(16));
    for first in [1, 2, 4] {
        let (got, counts) = refreshed_by(Sorted::Values(first));
        assert!((2..5).all(|i| counts[i] < whole[i]), "{first}: {counts:?}, {whole:?}");
        for (place, got) in got.iter().enumerate() {
            let wanted = if place % 16 < first { (place % 16) as f64 / 15.0 } else { 0.0 };
            assert!((got - wanted).abs() < 0.02, "first {first}, place {place}: {got}, {wanted}");
        }
    }
    let (got, counts) = refreshed_by(Sorted::Median);
    assert!((2..5).all(|i| counts[i] < whole[i]), "{counts:?}, {whole:?}");
    assert!((0..SLOTS).step_by(16).all(|p| (got[p] - 0.5).abs() < 0.02));
    assert!((0..SLOTS).all(|p| (sorted[p] - (p % 16) as f64 / 15.0).abs() < 0.02));
}

#[test]
fn what_cannot_be_sorted_is_refused_before() {
    let s = session(6);
    let auto = s.auto();
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    let (rows, policy) = (rows(), LevelPolicy::of(&s.params));
    let keys = Keys { interval: [-2.0, 1.0], gap: 1.0 / 16.0, order: Order::Ascending };
    let sorting = Sorting::new(&rows, keys, Sorted::Values(6), policy).unwrap();
    let x = encrypted(&s, &[real(slots(&rows))]);
    let narrow = Sorting::new(&rows, Keys { interval: [-1.0, 1.0], ..keys }, Sorted::Values(6), policy).unwrap();
    let refused = narrow.apply(&auto, &x, &ready).err().unwrap();
    assert!(matches!(refused, Error::Function(FunctionError::Domain { function: "sort", .. })), "{refused}");
    let refused = sorting.apply(&auto, &x.clone().bounded_by(2.0), &ready).err().unwrap().to_string();
    assert!(refused.starts_with(&format!("sort needs level {}", sorting.levels())), "{refused}");
    for gap in [0.0, 1e-6, 1.0, f64::NAN] {
        assert!(Sorting::new(&rows, Keys { gap, ..keys }, Sorted::Median, policy).is_err(), "{gap}");
    }
    let backwards = Keys { interval: [1.0, -2.0], ..keys };
    assert!(Sorting::new(&rows, backwards, Sorted::Median, policy).is_err());
    // Values that are wrong by more than an eighth of the gap.
    let blurred = Ciphertext { estimate: x.estimate.with_error(0.05), ..x }.bounded_by(2.0);
    let everything = LevelPolicy { bootstraps: true, top: 16, ..policy };
    let sorting = Sorting::new(&rows, keys, Sorted::Values(6), everything).unwrap();
    let refused = sorting.apply(&auto, &blurred, &ready).err().unwrap();
    assert!(matches!(refused, Error::Function(FunctionError::Precision { .. })), "{refused}");
    let long = Rows::new(Axis { stride: 2, extent: 64, length: 40 }, &[]).unwrap();
    let softmax = Softmax::new(&long, 2.0, 0.1).unwrap();
    assert!(matches!(
        softmax.apply(&auto, &blurred, &ready).err().unwrap(),
        Error::Function(FunctionError::Axis { length: 40, .. })
    ));
}

#[test]
fn rows_are_normal_and_add_up_to_one() {
    let (s, rows) = (session(16), rows());
    let (auto, slots) = (s.auto(), slots(&rows));
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    let half: Vec<f64> = slots.iter().map(|x| 0.5 * x).collect();
    let x = encrypted(&s, &[real(half.iter().copied())]).bounded_by(1.0);
    let softmax = Softmax::new(&rows, 1.0, 1e-3).unwrap();
    let norm = LayerNorm::new(&rows, [0.05, 0.3], 1e-5, 1e-3).unwrap();
    let (shares, normal) = (softmax.apply(&auto, &x, &ready).unwrap(), norm.apply(&auto, &x, &ready).unwrap());
    let top = s.params.top_level();
    assert_eq!([shares.level, normal.level], [top - softmax.levels(SLOTS), top - norm.levels(SLOTS)]);
    let (shares, normal) = (&values(&s, &shares)[0], &values(&s, &normal)[0]);
    let mut inside = [false; SLOTS];
    for row in places(&rows) {
        let total: f64 = row.iter().map(|&p| half[p].exp()).sum();
        let mean = row.iter().map(|&p| half[p]).sum::<f64>() / 6.0;
        let variance = row.iter().map(|&p| (half[p] - mean).powi(2)).sum::<f64>() / 6.0;
        for p in row {
            inside[p] = true;
            assert!((shares[p] - half[p].exp() / total).abs() < 1e-3, "place {p}: {}", shares[p]);
            let wanted = (half[p] - mean) / (variance + 1e-5).sqrt();
            assert!((normal[p] - wanted).abs() < 2e-3, "place {p}: {}, {wanted}", normal[p]);
        }
    }
    assert!((0..SLOTS).filter(|&p| !inside[p]).all(|p| shares[p].abs() < 1e-3 && normal[p].abs() < 1e-3));
    assert!(Softmax::new(&rows, 1e5, 1e-3).unwrap_err().to_string().contains("subtract a mean"));
}

/// Scores of which one exponential would have no precision at all; the first row has all of its scores at the lower end.
#[test]
fn steep_scores_are_halved_and_their_powers_squared() {
    let (s, rows) = (session(52), rows());
    let (auto, top) = (s.auto(), s.params.top_level());
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    for bound in [7.5, 15.0, 40.0] {
        let mut scores: Vec<f64> = slots(&rows).iter().map(|x| bound * 0.5 * x).collect();
        for (i, p) in places(&rows)[0].iter().enumerate() {
            scores[*p] = -bound + 0.5 * i as f64;
        }
        let x = encrypted(&s, &[real(scores.iter().copied())]).bounded_by(bound);
        let softmax = Softmax::new(&rows, bound, 1e-3).unwrap();
        let shares = softmax.apply(&auto, &x, &ready).unwrap();
        assert_eq!(shares.level, top - softmax.levels(SLOTS), "{bound}");
        let got = &values(&s, &shares)[0];
        for row in places(&rows) {
            let most = row.iter().map(|&p| scores[p]).fold(f64::MIN, f64::max);
            let total: f64 = row.iter().map(|&p| (scores[p] - most).exp()).sum();
            for p in row {
                let wanted = (scores[p] - most).exp() / total;
                assert!((got[p] - wanted).abs() < 2e-3, "up to {bound}, place {p}: {}, {wanted}", got[p]);
            }
        }
        let bits = shares.estimate.precision_bits();
        assert!((10.0..40.0).contains(&bits), "up to {bound}: {bits} bits");
    }
}

#[test]
fn the_greatest_of_each_row_is_found() {
    let (s, rows) = (session(16), rows());
    let (auto, slots) = (s.auto(), slots(&rows));
    let ready = |x: &Ciphertext<Dev>, levels| refreshed(&s, x, levels);
    let x = encrypted(&s, &[real(slots.iter().copied())]).bounded_by(2.0);
    let found = |wanted| {
        let extreme = Extreme::new(&rows, wanted, [4.0, 0.25], 1.0 / 64.0).unwrap();
        values(&s, &extreme.apply(&auto, &x, &ready).unwrap()).remove(0)
    };
    let [greatest, hot, index] = [Greatest::Value, Greatest::OneHot, Greatest::Index].map(found);
    for row in places(&rows) {
        let at = (0..6).max_by(|&i, &j| slots[row[i]].total_cmp(&slots[row[j]])).unwrap();
        assert!((greatest[row[0]] - slots[row[at]]).abs() < 0.2, "{} {}", greatest[row[0]], slots[row[at]]);
        assert!((index[row[0]] - at as f64).abs() < 0.2, "{} {at}", index[row[0]]);
        assert!(row.iter().enumerate().all(|(i, &p)| (hot[p] - f64::from(u8::from(i == at))).abs() < 0.03));
    }
    let narrow = Extreme::new(&rows, Greatest::Value, [3.0, 0.25], 0.1).unwrap();
    assert!(narrow.apply(&auto, &x, &ready).is_err(), "padding must not be further away than values");
}

#[test]
fn functions_of_one_value_know_their_errors() {
    let s = session(8);
    let auto = s.auto();
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    let at: Vec<f64> = (0..512).map(|i| 0.1 + 0.9 * f64::from(i) / 511.0).collect();
    let x = encrypted(&s, &[real(at.iter().copied())]).bounded_by(1.0);
    for smooth in [Smooth::exp([0.0, 1.0], 1e-5).unwrap(), Smooth::log([0.1, 1.0], 1e-3).unwrap()] {
        let function = Function::Smooth(smooth);
        let y = function.apply(&auto, &x, &ready).unwrap();
        assert_eq!(y.level, s.params.top_level() - function.levels(512));
        let wanted: Vec<Complex64> = real(at.iter().map(|&x| function.evaluate(x).unwrap()));
        let got = limbwise::ckks::Precision::of(&decrypted(&s, &y)[0], &wanted).mean;
        let expected = y.estimate.precision_bits();
        assert!((expected - 1.0..expected + 4.0).contains(&got), "{}: {got}, expected {expected}", function.name());
    }
}

/// Rows that lie in several messages, and messages that hold all of their places: 150 values in three of four messages of
/// two rows, of which the last message is not there; and 3 values in three messages, 50 rows beside each other.
fn long() -> [(Rows, usize); 2] {
    let (along, above) = (Axis { stride: 1, extent: 256, length: 150 }, Axis { stride: 256, extent: 2, length: 2 });
    let (across, beside) = (Axis { stride: 64, extent: 4, length: 3 }, Axis { stride: 1, extent: 64, length: 50 });
    [(Rows::new(along, &[above]).unwrap(), 7), (Rows::new(across, &[beside]).unwrap(), 3)]
}

/// Values of each row in [−1, 0.6], and one of 1.
fn long_row(number: usize, length: usize) -> Vec<f64> {
    let value = |i: usize| -1.0 + 0.1 * ((i * 7 + number * 3) % 17) as f64;
    let greatest = (number * 11 + length / 2) % length;
    (0..length).map(|i| if i == greatest { 1.0 } else { value(i) }).collect()
}

/// Messages with rows, and the places and values of each row.
struct Laid {
    messages: Vec<Vec<Complex64>>,
    places: Vec<Vec<usize>>,
    rows: Vec<Vec<f64>>,
}

fn laid(rows: &Rows, batch: usize) -> Laid {
    let Axis { stride, length, .. } = rows.axis();
    let firsts = (0..batch * SLOTS).filter(|&place| rows.index(place) == Some(0));
    let places: Vec<Vec<usize>> = firsts.map(|first| (0..length).map(|i| first + i * stride).collect()).collect();
    let values: Vec<Vec<f64>> = (0..places.len()).map(|number| long_row(number, length)).collect();
    let mut slots = vec![0.0; batch * SLOTS];
    places.iter().flatten().zip(values.iter().flatten()).for_each(|(&place, &x)| slots[place] = x);
    Laid { messages: slots.chunks(SLOTS).map(|message| real(message.iter().copied())).collect(), places, rows: values }
}

#[test]
fn rows_in_several_messages_are_normal_and_add_up_to_one() {
    let s = session(16);
    let auto = s.auto();
    let ready = |x: &Ciphertext<Dev>, _| auto.settle(x);
    for (rows, batch) in long() {
        let Laid { messages, places, rows: values_of } = laid(&rows, batch);
        let x = encrypted(&s, &messages).bounded_by(1.0);
        let softmax = Softmax::new(&rows, 1.0, 1e-3).unwrap();
        let norm = LayerNorm::new(&rows, [0.1, 1.0], 1e-5, 1e-3).unwrap();
        let (shares, normal) = (softmax.apply(&auto, &x, &ready).unwrap(), norm.apply(&auto, &x, &ready).unwrap());
        let top = s.params.top_level();
        assert_eq!([shares.level, normal.level], [top - softmax.levels(SLOTS), top - norm.levels(SLOTS)]);
        assert_eq!([shares.batch(), normal.batch()], [batch; 2]);
        let results = [values(&s, &shares).concat(), values(&s, &normal).concat()];
        let mut left = vec![true; batch * SLOTS];
        let mut twins = [vec![0.0; left.len()], vec![0.0; left.len()]];
        for (row, x) in places.iter().zip(&values_of) {
            let (count, total) = (x.len() as f64, x.iter().map(|x| x.exp()).sum::<f64>());
            let mean = x.iter().sum::<f64>() / count;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            for (&place, x) in row.iter().zip(x) {
                left[place] = false;
                twins[0][place] = x.exp() / total;
                twins[1][place] = (x - mean) / (variance + 1e-5).sqrt();
                let errors = [0, 1].map(|i| (results[i][place] - twins[i][place]).abs());
                assert!(errors[0] < 1e-3 * twins[0][place] + 1e-5, "softmax, place {place}: {errors:?}");
                assert!(errors[1] < 3e-3, "layer_norm, place {place}: {errors:?}");
            }
        }
        assert!((0..left.len()).filter(|&p| left[p]).all(|p| results.iter().all(|r| r[p].abs() < 1e-3)));
    }
}

#[test]
fn the_greatest_of_rows_in_several_messages_is_found() {
    let s = session(16);
    let auto = s.auto();
    for (rows, batch) in long() {
        let Laid { messages, places, rows: values_of } = laid(&rows, batch);
        let x = encrypted(&s, &messages).bounded_by(1.0);
        let refreshes = std::cell::Cell::new(0);
        let ready = |x: &Ciphertext<Dev>, levels| {
            refreshes.set(refreshes.get() + if x.level < levels { x.batch() } else { 0 });
            refreshed(&s, x, levels)
        };
        let found = |wanted| {
            let extreme = Extreme::new(&rows, wanted, [2.0, 0.35], 1.0 / 64.0).unwrap();
            extreme.apply(&auto, &x, &ready).unwrap()
        };
        let [greatest, hot, index] = [Greatest::Value, Greatest::OneHot, Greatest::Index].map(found);
        let of_rows = if rows.axis().stride == 1 { 2 } else { 1 };
        assert_eq!([greatest.batch(), hot.batch(), index.batch()], [of_rows, batch, of_rows]);
        let [greatest, hot, index] = [greatest, hot, index].map(|x| values(&s, &x).concat());
        for (number, (row, x)) in places.iter().zip(&values_of).enumerate() {
            let at = x.iter().position(|&x| x >= 1.0).unwrap();
            // Place 0 of the row, in the batch that has a message for each.
            let first = if of_rows == 2 { number * SLOTS } else { number };
            assert!((greatest[first] - 1.0).abs() < 0.05, "row {number}: {}", greatest[first]);
            assert!((index[first] - at as f64).abs() < 0.3, "row {number}: {} {at}", index[first]);
            let wrong = row.iter().enumerate().map(|(i, &p)| (hot[p] - f64::from(u8::from(i == at))).abs());
            assert!(wrong.fold(0.0, f64::max) < 0.03, "row {number}");
        }
        assert!(refreshes.get() > 0, "a tree of comparisons takes more than 16 levels");
    }
    // Two rounds for three messages, and six for the 64 places of each.
    let rounds = long().map(|(rows, batch)| {
        let extreme = Extreme::new(&rows, Greatest::Value, [2.0, 0.35], 1.0 / 64.0).unwrap();
        let (x, steps) = (laid(&rows, batch).messages, std::cell::Cell::new(0));
        let ready = |x: &Ciphertext<Dev>, levels| {
            steps.set(steps.get() + 1);
            refreshed(&s, x, levels)
        };
        extreme.apply(&auto, &encrypted(&s, &x).bounded_by(1.0), &ready).unwrap();
        [extreme.levels(SLOTS), steps.get()]
    });
    assert_eq!(rounds[0], rounds[1].map(|of_two| 4 * of_two));
    let (rows, batch) = &long()[0];
    let x = encrypted(&s, &laid(rows, *batch).messages[..batch - 1]).bounded_by(1.0);
    let refused =
        Extreme::new(rows, Greatest::Value, [2.0, 0.35], 1.0 / 64.0).unwrap().apply(&auto, &x, &|x, _| auto.settle(x));
    assert!(matches!(refused, Err(Error::Function(FunctionError::Axis { length: 150, .. }))), "a message is missing");
}
