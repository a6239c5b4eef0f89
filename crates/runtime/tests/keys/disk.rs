//! Keys on disk: the same words as with keys in memory, within a budget; errors of the file are errors of the operation.

use limbwise::{
    Complex64, Result,
    ckks::{
        Auto, Ciphertext, Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing, PlaintextForm, Strategy,
        encrypt,
    },
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, KeySet, KeyStore, Request, SecretKey, key_bytes},
    wire::{Origin, key_file_bytes, write_keys},
};
use limbwise_cpu::{Cpu, CpuPoly};
use limbwise_device::{Device, HostRead as _, Null};
use limbwise_math::sampling::Seed;
use limbwise_runtime::keys::{DiskKeys, FileKeys, ReadPlan, Shelf, Traffic};
use std::{fs, path::PathBuf, thread::scope};

const SLOTS: usize = 64;

/// A client with keys in memory and the same in a file.
struct Both {
    dev: Cpu,
    params: Params,
    encoder: Encoder,
    keys: KeySet<Cpu>,
    input: Ciphertext<Cpu>,
    requests: Vec<Request>,
    file: PathBuf,
}

impl Drop for Both {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn values(seed: usize) -> Vec<Complex64> {
    (0..SLOTS).map(|i| Complex64::new(((i * 7 + seed) % 11) as f64 / 11.0, 0.25)).collect()
}

/// A map, squares, sums and a conjugation: keys at falling levels, some again and again.
fn program<D: Device>(auto: &Auto<'_, D>, map: &LinearTransform<D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
    let mapped = auto.linear_transform(a, map)?;
    let sum = auto.inner_sum(&auto.square(&mapped)?, 1, 8)?;
    let other = auto.rotate(&auto.conjugate(&sum)?, -3)?;
    auto.settle(&auto.mul(&auto.rotate(&sum, 1)?, &other)?)
}

fn map<D: Device>(
    params: &Params,
    make: impl Fn(&Diagonals, LinearPlan) -> Result<LinearTransform<D>>,
) -> LinearTransform<D> {
    let diagonals = Diagonals::new(SLOTS, (-3..=3).map(|d| (d, values(usize::try_from(d + 3).unwrap())))).unwrap();
    make(&diagonals, LinearPlan::new(params, Strategy::Bsgs { babies: 2 }, PlaintextForm::Full, params.top_level()))
        .unwrap()
}

impl Both {
    fn new(name: &str) -> Self {
        let mut literal = ParamsLiteral::chain(11, 50, 40, 6, (48, 2), 4);
        literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
        let params = Params::new(&literal).unwrap();
        let (dev, encoder) = (Cpu::builder().threads(2).open().unwrap(), Encoder::new(&params));
        let packing = Packing { slots: SLOTS, level: 6, scale: params.scale(6) };
        let (requests, required) = {
            let null = Null::default();
            let declared = DeclaredKeys::all(&null, &params);
            let auto = Auto::new(Evaluator::new(&null, &params, &declared), &encoder);
            let map = map(&params, |d, plan| LinearTransform::declare(&null, &encoder, d, plan));
            program(&auto, &map, &encoder.declare(&null, &[values(1)], packing).unwrap()).unwrap();
            (declared.requests(), declared.requirements())
        };
        let secret = SecretKey::generate(&params, &Seed::from_os().unwrap());
        let generator = KeyGenerator::new(&dev, &params, &secret).unwrap();
        let public = generator.public_key();
        let keys = generator.key_set(&KeyPlan { required, form: KeyForm::Stored }, |_| ()).unwrap();
        drop(generator);
        let plain = encoder.encode(&dev, &[values(1)], packing).unwrap();
        let input = encrypt(&dev, &params, &public, &plain).unwrap();
        let file = std::env::temp_dir().join(format!("limbwise-test-{}-{name}.keys", std::process::id()));
        write_keys(fs::File::create(&file).unwrap(), &dev, &params, &keys, &Origin::NONE).unwrap();
        Self { dev, params, encoder, keys, input, requests, file }
    }

    fn evaluate(&self, keys: &dyn KeyStore<Cpu>) -> Result<Vec<u64>> {
        let map = map(&self.params, |d, plan| LinearTransform::encode(&self.dev, &self.encoder, d, plan));
        self.evaluate_with(keys, &map)
    }

    fn evaluate_with(&self, keys: &dyn KeyStore<Cpu>, map: &LinearTransform<Cpu>) -> Result<Vec<u64>> {
        let auto = Auto::new(Evaluator::new(&self.dev, &self.params, keys), &self.encoder);
        let result = program(&auto, map, &self.input)?;
        let download = |part: &CpuPoly| self.dev.download(part);
        Ok(result.parts.iter().map(download).collect::<std::result::Result<Vec<_>, _>>()?.concat())
    }

    fn shelf(&self, budget_bytes: u64) -> Shelf {
        Shelf::new(&self.params, self.requests.clone().into(), budget_bytes)
    }

    fn least(&self) -> u64 {
        ReadPlan::least(&self.params, self.requests.clone()).budget_bytes
    }

    fn on_disk(&self, budget_bytes: u64) -> Result<(Vec<u64>, Traffic)> {
        let source = FileKeys::open(&self.file, &self.params)?;
        DiskKeys::serve(&self.dev, &self.params, &source, self.shelf(budget_bytes), |keys| self.evaluate(keys))
    }
}

#[test]
fn words_are_those_of_keys_in_memory_whatever_the_budget() {
    let both = Both::new("budgets");
    let wanted = both.evaluate(&both.keys).unwrap();
    let all: u64 = both.keys.names().iter().map(|(&k, &l)| key_bytes(&both.params, k, l, KeyForm::Disk)).sum();
    let mut reads = Vec::new();
    for budget in [0, both.least(), u64::midpoint(both.least(), all), all] {
        let (got, traffic) = both.on_disk(budget).unwrap();
        assert!(got == wanted, "{budget} bytes");
        let rehearsal = both.shelf(budget).rehearse();
        assert_eq!(traffic.reads, rehearsal.reads.len(), "a run reads what is rehearsed");
        assert!(budget == 0 || traffic.late == 1, "{traffic:?}");
        assert!(budget == 0 || rehearsal.peak_bytes <= budget);
        reads.push(traffic.reads);
    }
    assert!(reads.is_sorted_by(|a, b| a >= b) && reads[1] > reads[3], "more memory, fewer reads: {reads:?}");
    assert_eq!(reads[3], both.keys.names().len(), "with room for all, each is read once");
}

#[test]
fn who_departs_from_what_was_recorded_gets_the_keys_later() {
    let both = Both::new("departs");
    let wanted = both.evaluate(&both.keys).unwrap();
    let source = FileKeys::open(&both.file, &both.params).unwrap();
    let shelf = Shelf::new(&both.params, both.requests[3..].into(), both.least());
    let (got, traffic) = DiskKeys::serve(&both.dev, &both.params, &source, shelf, |keys| both.evaluate(keys)).unwrap();
    assert!(got == wanted && traffic.late > 1);
}

#[test]
fn threads_share_a_store() {
    let both = Both::new("threads");
    let wanted = both.evaluate(&both.keys).unwrap();
    let source = FileKeys::open(&both.file, &both.params).unwrap();
    let map = map(&both.params, |d, plan| LinearTransform::encode(&both.dev, &both.encoder, d, plan));
    DiskKeys::serve(&both.dev, &both.params, &source, both.shelf(both.least()), |keys| {
        scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert!((0..3).all(|_| both.evaluate_with(keys, &map).unwrap() == wanted)));
            }
        });
        Ok(())
    })
    .unwrap();
    assert!(both.dev.memory().live_bytes > 0, "the input lives");
}

#[test]
fn memory_stays_within_the_budget_and_is_not_new_the_second_time() {
    let both = Both::new("steady");
    let Both { dev, params, .. } = &both;
    let source = FileKeys::open(&both.file, params).unwrap();
    let map = map(params, |d, plan| LinearTransform::encode(dev, &both.encoder, d, plan));
    let before = dev.memory().live_bytes;
    let again: Vec<Request> = (0..13).flat_map(|_| both.requests.clone()).collect();
    let shelf = Shelf::new(params, again.into(), both.least());
    DiskKeys::serve(dev, params, &source, shelf, |keys| {
        both.evaluate_with(keys, &map)?;
        both.evaluate_with(keys, &map)?;
        // The reader is ahead by more on a busy machine: how soon all buffers are there is its business, not that they come back.
        let new = || {
            let before = dev.memory().allocations;
            both.evaluate_with(keys, &map).map(|_| dev.memory().allocations - before)
        };
        let passes = (0..10).map(|_| new()).collect::<Result<Vec<_>, _>>()?;
        assert!(passes.contains(&0), "buffers come back: {passes:?} new ones");
        let held = dev.memory().live_bytes - before;
        // One line of padding more than 8·N bytes a limb where a ring has blocks; 2^11 has none.
        assert!(held <= both.least(), "{held} of {}", both.least());
        both.evaluate_with(keys, &map)
    })
    .unwrap();
    assert_eq!(dev.memory().live_bytes, before, "all keys have left");
}

#[test]
fn what_is_wrong_with_the_file_is_told_by_the_operation_that_needs_the_key() {
    let both = Both::new("damaged");
    let whole = fs::read(&both.file).unwrap();
    let file = both.file.display().to_string();
    let cut = whole.len() - whole.len() / 4;
    let (name, level) = both.keys.names().pop_last().unwrap();
    let last = usize::try_from(key_file_bytes(&both.params, name, level)).unwrap();
    // A byte of the last key's first limb, which is read at every level; its seeds stand before it.
    let mut flipped = whole.clone();
    let at = flipped.len() - last + 500;
    flipped[at] ^= 4;
    fs::write(&both.file, &flipped).unwrap();
    let error = both.on_disk(both.least()).unwrap_err().to_string();
    let wanted = name.describe(11);
    assert!(error.contains(&file) && error.contains(&wanted) && error.contains("checksum"), "{error}");
    // A file that gets shorter while it is in use.
    fs::write(&both.file, &whole).unwrap();
    let source = FileKeys::open(&both.file, &both.params).unwrap();
    fs::OpenOptions::new().write(true).open(&both.file).unwrap().set_len(cut as u64).unwrap();
    let served =
        DiskKeys::serve(&both.dev, &both.params, &source, both.shelf(both.least()), |keys| both.evaluate(keys));
    let error = served.unwrap_err().to_string();
    assert!(error.contains(&file) && error.contains("needs"), "{error}");
    // Once it is whole again, the same store goes on.
    let wanted = both.evaluate(&both.keys).unwrap();
    let shelf = both.shelf(both.least());
    let (got, _) = DiskKeys::serve(&both.dev, &both.params, &source, shelf, |keys| {
        both.evaluate(keys).unwrap_err();
        fs::write(&both.file, &whole).unwrap();
        both.evaluate(keys)
    })
    .unwrap();
    assert!(got == wanted);
}
