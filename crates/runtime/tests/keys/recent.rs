//! Keys of which those used last are in memory: of a file, and of a client who makes them.

use limbwise::{
    Complex64, Result,
    ckks::{Ciphertext, Encoder, Evaluator, Packing, decrypt, encrypt_secret},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan, KeyStore, LazyKeys, MadeKeys, Requirements, SecretKey, key_bytes},
    wire::{Origin, write_keys},
};
use limbwise_cpu::Cpu;
use limbwise_device::HostRead as _;
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use limbwise_runtime::keys::{FileKeys, KeyDirectory, RecentKeys};
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

const SLOTS: usize = 16;
const TOP: usize = 3;

struct Client {
    dev: Arc<Cpu>,
    params: Params,
    encoder: Encoder,
    secret: SecretKey,
    input: Ciphertext<Cpu>,
}

fn rotation(steps: i64) -> KeyName {
    KeyName::Galois(GaloisElement::rotation(steps, 10))
}

fn client() -> Client {
    let mut literal = ParamsLiteral::chain(10, 50, 40, TOP, (48, 2), 2);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let (dev, params) = (Arc::new(Cpu::builder().threads(1).open().unwrap()), Params::new(&literal).unwrap());
    let (encoder, secret) = (Encoder::new(&params), SecretKey::generate(&params, &Seed([5; 32])));
    let packing = Packing { slots: SLOTS, level: TOP, scale: params.scale(TOP) };
    let values: Vec<Complex64> = (0..SLOTS).map(|i| Complex64::from(i as f64 / 16.0)).collect();
    let input = encrypt_secret(&*dev, &params, &secret, &encoder.encode(&*dev, &[values], packing).unwrap()).unwrap();
    Client { dev, params, encoder, secret, input }
}

impl Client {
    fn rotated(&self, keys: &dyn KeyStore<Cpu>, steps: i64) -> Result<Ciphertext<Cpu>> {
        Evaluator::new(&*self.dev, &self.params, keys).rotate(&self.input, steps)
    }

    /// What is in the first slot: sixteenths.
    fn first(&self, ciphertext: &Ciphertext<Cpu>) -> String {
        let values = decrypt(&*self.dev, &self.encoder, &self.params, &self.secret, ciphertext).unwrap();
        format!("{:.0}", values[0][0].re * 16.0)
    }

    fn room_for(&self, keys: u64) -> u64 {
        keys * key_bytes(&self.params, rotation(1), TOP, KeyForm::Disk)
    }
}

fn text(refused: Result<Ciphertext<Cpu>>) -> String {
    refused.err().map(|e| e.to_string()).unwrap_or_default()
}

struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn keys_used_last_stay_and_the_others_are_read_again() {
    let client = client();
    let Client { dev, params, .. } = &client;
    let required: Requirements = [1, 2, 3].map(|steps| (rotation(steps), TOP)).into();
    let generator = KeyGenerator::new(&**dev, params, &client.secret).unwrap();
    let keys = generator.key_set(&KeyPlan { required, form: KeyForm::Stored }, |_| ()).unwrap();
    drop(generator);
    let file = Passing(std::env::temp_dir().join(format!("limbwise-test-{}-recent.keys", std::process::id())));
    // As Python's files are: something else comes first.
    let mut bytes = b"a header".to_vec();
    bytes.extend(write_keys(Vec::new(), &**dev, params, &keys, &Origin::NONE).unwrap());
    fs::write(&file.0, &bytes).unwrap();
    let source = FileKeys::open_after(&file.0, 8, params).unwrap();
    let store = RecentKeys::new(dev.clone(), params, Box::new(source), client.room_for(2));
    let words = |c: &Ciphertext<Cpu>| c.parts.iter().map(|p| dev.download(p).unwrap()).collect::<Vec<_>>();
    for (steps, held) in [(1, vec![1]), (2, vec![1, 2]), (3, vec![2, 3]), (2, vec![3, 2]), (1, vec![2, 1])] {
        let [got, wanted] = [client.rotated(&store, steps).unwrap(), client.rotated(&keys, steps).unwrap()];
        assert!(words(&got) == words(&wanted), "rotation by {steps}");
        assert_eq!(store.held(), held.into_iter().map(|s| (rotation(s), TOP)).collect::<Vec<_>>());
    }
    let error = text(client.rotated(&store, 7));
    assert!(error.contains("rotation by 7"), "{error}");
    fs::write(&file.0, &bytes[..bytes.len() / 2]).unwrap();
    let error = text(client.rotated(&store, 3));
    assert!(error.contains("cannot be read from") && error.contains(&file.0.display().to_string()), "{error}");
    assert_eq!(client.first(&client.rotated(&store, 1).unwrap()), "1", "those in memory still serve");
}

#[test]
fn made_keys_are_on_disk_once_and_gone_at_the_end() {
    let client = client();
    let Client { dev, params, secret, .. } = &client;
    let inside = std::env::temp_dir().join(format!("limbwise-test-{}-made", std::process::id()));
    let directory = KeyDirectory::new(dev.clone(), params, &inside, client.room_for(1)).unwrap();
    let (made, told) = (MadeKeys::with_home(KeyForm::Disk, Box::new(directory)), AtomicUsize::new(0));
    let files = || fs::read_dir(&inside).unwrap().flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap()).count();
    let tell = |_| {
        told.fetch_add(1, Ordering::Relaxed);
    };
    let levels = Requirements::new();
    let keys = LazyKeys { dev: &**dev, params, secret, made: &made, levels: &levels, tell: &tell };
    for steps in [1_i32, 2, 3, 1, 2, 3] {
        assert_eq!(client.first(&client.rotated(&keys, steps.into()).unwrap()), steps.to_string());
    }
    assert_eq!((told.load(Ordering::Relaxed), files(), made.names().len()), (3, 3, 3));
    let all = made.key_set(params).unwrap();
    assert_eq!(client.first(&client.rotated(&all, 2).unwrap()), "2");
    drop(made);
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 0, "the files went with their owner");
    fs::remove_dir(&inside).unwrap();
}
