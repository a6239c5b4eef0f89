//! Recorded counts against formulas, every field exactly: full size at ℓ = 23 and below it, where a digit is cut. What
//! was recorded is kept in `tests/golden/op_counts/linear_maps.toml`: `make bless` rewrites it.

use limbwise::{
    Complex64,
    ckks::{Diagonals, PlaintextForm, Strategy},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::KeyForm,
};
use limbwise_graph::Counts;
use limbwise_runtime::frontier::{LinearTask, Row, record_linear};
use std::{fmt::Write as _, path::Path};

/// A level: L limbs in digits, α special primes, one prime dropped by its rescale.
struct Level {
    log_n: u32,
    digits: Vec<u64>,
    special: u64,
}

impl Level {
    fn of(params: &Params, level: usize) -> Self {
        let digits = params.digits(level).iter().map(|d| d.len() as u64).collect();
        Self { log_n: params.log_n(), digits, special: params.special().len() as u64 }
    }

    /// The next level: one prime less, of the last digit.
    fn below(&self) -> Self {
        let mut digits = self.digits.clone();
        *digits.last_mut().unwrap() -= 1;
        digits.retain(|&digit| digit > 0);
        Self { digits, ..*self }
    }

    fn limbs(&self) -> u64 {
        self.digits.iter().sum()
    }

    fn wide(&self) -> u64 {
        self.limbs() + self.special
    }

    fn ntt(&self, limbs: u64) -> Counts {
        let ntt_products = (limbs << self.log_n) / 2 * u64::from(self.log_n);
        Counts { transformed_limbs: limbs, ntt_products, ..Counts::default() }
    }

    fn convert(&self, from: u64, to: u64) -> Counts {
        let (convert_scale_products, convert_sum_products) = (from << self.log_n, (from * to) << self.log_n);
        Counts { convert_scale_products, convert_sum_products, ..Counts::default() }
    }

    fn multiplied(&self, limbs: u64) -> Counts {
        Counts { elementwise_products: limbs << self.log_n, ..Counts::default() }
    }

    fn added(&self, limbs: u64) -> Counts {
        Counts { added_words: limbs << self.log_n, ..Counts::default() }
    }

    fn moved(&self, limbs: u64) -> Counts {
        Counts { permuted_words: limbs << self.log_n, ..Counts::default() }
    }

    fn mod_up(&self) -> Counts {
        let conversions = self.digits.iter().map(|&digit| (1, self.convert(digit, self.wide() - digit)));
        sum(conversions.chain([(1, self.ntt(self.digits.len() as u64 * self.wide()))]))
    }

    fn gadget_product(&self) -> Counts {
        self.multiplied(2 * self.digits.len() as u64 * self.wide())
    }

    /// One half, from `from` limbs more down to `to`.
    fn mod_down(&self, from: u64, to: u64) -> Counts {
        let division = [(1, self.added(to)), (1, self.multiplied(to))];
        sum(division.into_iter().chain([(1, self.ntt(from + to)), (1, self.convert(from, to))]))
    }

    fn rotation(&self) -> Counts {
        let moved = sum([(1, self.moved(2 * self.limbs())), (1, self.added(self.limbs()))]);
        sum([(1, moved), (1, self.mod_up()), (1, self.gadget_product()), (2, self.brought_down())])
    }

    fn brought_down(&self) -> Counts {
        self.mod_down(self.special, self.limbs())
    }

    /// A rotation whose digits are there: they move, and the first half.
    fn hoisted_product(&self) -> Counts {
        let digits = self.digits.len() as u64 * self.wide();
        sum([(1, self.moved(digits + self.limbs())), (1, self.gadget_product()), (1, self.added(self.limbs()))])
    }

    fn hoisted_rotation(&self) -> Counts {
        sum([(1, self.hoisted_product()), (2, self.brought_down())])
    }

    fn giant_step_over_qp(&self) -> Counts {
        let moved = sum([(1, self.moved(self.limbs() + self.wide())), (1, self.added(self.wide()))]);
        sum([(1, moved), (1, self.brought_down()), (1, self.mod_up()), (1, self.gadget_product())])
    }

    /// One prime dropped, both halves; it is lifted, not converted.
    fn rescale(&self) -> Counts {
        let left = self.limbs() - 1;
        sum([(2, self.ntt(self.limbs())), (2, self.added(2 * left)), (2, self.multiplied(left))])
    }

    /// Products with diagonals over so many limbs; the one limb of [`PlaintextForm::OnTheFly`] is among them.
    fn products(&self, diagonals: u64, limbs: u64, form: PlaintextForm) -> Counts {
        let extended = match form {
            PlaintextForm::Full => Counts::default(),
            PlaintextForm::OnTheFly => sum([(1, self.ntt(limbs)), (1, self.added(limbs - 1))]),
            PlaintextForm::AtUse => self.ntt(limbs),
        };
        sum([(diagonals, self.multiplied(2 * limbs)), (diagonals, extended)])
    }

    /// The whole of a strategy, rescaled.
    fn linear(&self, map: &Map, strategy: Strategy, form: PlaintextForm) -> Counts {
        let &Map { diagonals, baby_rotations: babies, giant_rotations: giants, groups, offset, .. } = map;
        let (limbs, wide) = (self.limbs(), self.wide());
        let products = (1, self.products(diagonals, limbs, form));
        let rescale = (1, self.rescale());
        match strategy {
            Strategy::Direct => sum([(map.rotations, self.rotation()), products, rescale]),
            Strategy::Hoisted => sum([(1, self.mod_up()), (map.rotations, self.hoisted_rotation()), products, rescale]),
            Strategy::Bsgs { .. } => {
                let steps = [(babies, self.hoisted_rotation()), (giants, self.rotation())];
                let sums = [(groups - 1, self.added(2 * limbs)), products, rescale];
                sum([(1, self.mod_up())].into_iter().chain(steps).chain(sums))
            }
            Strategy::MultiHop { .. } | Strategy::Whole { .. } => {
                let steps = babies + groups - 1 + offset;
                sum([(steps, self.rotation()), (groups - 1, self.added(2 * limbs)), products, rescale])
            }
            // Baby steps in runs of four: each run but the first begins with a whole rotation.
            Strategy::Chained { .. } => {
                let runs = (babies + 1).div_ceil(4);
                let hoisted = babies - (runs - 1);
                let steps = [(runs - 1, self.rotation()), (hoisted, self.hoisted_product())];
                // The division that ends the sums has dropped a level before the offset.
                let giants = [(groups - 1, self.giant_step_over_qp()), (offset, self.below().rotation())];
                let lifted = [(runs, self.multiplied(2 * limbs)), (runs, self.mod_up())];
                // Every group has a term of each run.
                let added = groups - 1 + (runs - 1) * groups;
                let sums = [(added, self.added(2 * wide)), (1, self.products(diagonals, wide, form))];
                let last = [(2, self.mod_down(self.special + 1, limbs - 1))];
                sum(steps.into_iter().chain(giants).chain(lifted).chain(sums).chain(last))
            }
            Strategy::DoubleHoisted { .. } => {
                let steps = [(babies, self.hoisted_product()), (giants, self.giant_step_over_qp())];
                let lifted = [(1, self.multiplied(2 * limbs))]; // P·x, both halves: the identity is a baby step
                let sums = [(groups - 1, self.added(2 * wide)), (1, self.products(diagonals, wide, form))];
                let last = [(1, self.mod_up()), (2, self.mod_down(self.special + 1, limbs - 1))];
                sum(steps.into_iter().chain(lifted).chain(sums).chain(last))
            }
            other => panic!("no formula for {other}"),
        }
    }
}

fn sum(terms: impl IntoIterator<Item = (u64, Counts)>) -> Counts {
    let mut sum = Counts::default();
    for (times, counts) in terms {
        (0..times).for_each(|_| sum += counts);
    }
    sum
}

/// What 8 baby steps make of a map, worked out by hand.
struct Map {
    first: i64,
    diagonals: u64,
    /// Diagonals other than 0.
    rotations: u64,
    baby_rotations: u64,
    giant_rotations: u64,
    groups: u64,
    /// One where a progression does not start at 0.
    offset: u64,
}

/// −31 … 31: giant steps at −32, −24, … 24; in hops 8 sums from −31 on.
const TWO_SIDED: Map =
    Map { first: -31, diagonals: 63, rotations: 62, baby_rotations: 7, giant_rotations: 7, groups: 8, offset: 1 };

/// 0 … 31.
const ONE_SIDED: Map =
    Map { first: 0, diagonals: 32, rotations: 31, baby_rotations: 7, giant_rotations: 3, groups: 4, offset: 0 };

fn params(log_n: u32) -> Params {
    let mut literal = ParamsLiteral::chain(log_n, 50, 45, 23, (48, 6), 4);
    literal.insecure = (log_n < 16).then(|| Insecure { reason: "counting on a small ring".into() });
    Params::new(&literal).unwrap()
}

/// A line of the golden file.
fn golden(row: &Row, strategy: Strategy, form: PlaintextForm) -> String {
    let Row { keys, key_bytes, plaintext_bytes, peak_bytes, counts, .. } = row;
    let counts = serde_json::to_value(counts).unwrap();
    let counts: Vec<String> = counts.as_object().unwrap().iter().map(|(k, v)| format!("{k} = {v}")).collect();
    let bytes = format!("key_bytes = {key_bytes}, plaintext_bytes = {plaintext_bytes}, peak_bytes = {peak_bytes}");
    format!("\"{strategy}, {}\" = {{ keys = {keys}, {bytes}, {} }}\n", form.name(), counts.join(", "))
}

/// Compares with the golden file, or rewrites it under `LIMBWISE_BLESS=1`.
fn compare(text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/op_counts/linear_maps.toml");
    if std::env::var_os("LIMBWISE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{} differs: read the change, then run make bless", path.display());
}

#[test]
fn recorded_counts_equal_the_formulas() {
    let mut text = String::from(
        "# Generated by `make bless`: linear maps with stored keys, applied and rescaled. Equal to the formulas in\n# crates/runtime/tests/frontier/formulas.rs; bytes are bytes, peak is of all polynomials alive at once.\n",
    );
    for (log_n, level) in [(16, 23), (12, 13), (12, 4)] {
        let params = params(log_n);
        let of = Level::of(&params, level);
        for map in [TWO_SIDED, ONE_SIDED] {
            let one = |k: i64| (16 * (map.first + k), vec![Complex64::new(1.0, 0.0)]);
            let count = i64::try_from(map.diagonals).unwrap();
            let diagonals = Diagonals::new(params.max_slots(), (0..count).map(one)).unwrap();
            let task = LinearTask { params: &params, diagonals: &diagonals, level, keys: KeyForm::Stored };
            let _ = write!(text, "\n[\"N = 2^{log_n}, level {level}, {count} diagonals\"]\n");
            let babies = 8;
            for strategy in [
                Strategy::Direct,
                Strategy::Hoisted,
                Strategy::Bsgs { babies },
                Strategy::Whole { babies },
                Strategy::DoubleHoisted { babies },
                Strategy::Chained { babies },
                Strategy::MultiHop { babies },
            ] {
                let (_, row) = record_linear(task, strategy, PlaintextForm::AtUse).unwrap();
                assert_eq!(row.counts, of.linear(&map, strategy, PlaintextForm::AtUse), "{strategy}, encoded at use");
                for form in PlaintextForm::ALL {
                    let (_, row) = record_linear(task, strategy, form).unwrap();
                    text += &golden(&row, strategy, form);
                    let what = format!("{strategy}, {}, N = 2^{log_n}, level {level}", form.name());
                    assert_eq!(row.counts, of.linear(&map, strategy, form), "{what}");
                    let wide = matches!(strategy, Strategy::DoubleHoisted { .. } | Strategy::Chained { .. });
                    let limbs = match form {
                        PlaintextForm::AtUse => 0,
                        PlaintextForm::OnTheFly => 1,
                        PlaintextForm::Full if wide => of.wide(),
                        PlaintextForm::Full => of.limbs(),
                    };
                    assert_eq!(row.plaintext_bytes, (8 * map.diagonals * limbs) << log_n, "{what}");
                    let key = (16 * of.digits.len() as u64 * of.wide()) << log_n;
                    let keys = match strategy {
                        Strategy::Direct | Strategy::Hoisted => map.rotations,
                        Strategy::Chained { .. } => 5 + map.offset,
                        Strategy::MultiHop { .. } => 2 + map.offset,
                        Strategy::Whole { .. } => map.baby_rotations + map.groups - 1 + map.offset,
                        _ => map.baby_rotations + map.giant_rotations,
                    };
                    assert_eq!((row.keys as u64, row.key_bytes), (keys, keys * key), "{what}");
                    let held = row.key_bytes + row.plaintext_bytes;
                    assert!(row.peak_bytes > held, "{what}");
                }
            }
        }
    }
    compare(&text);
}
