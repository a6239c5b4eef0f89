//! What the tests of BGV share: a small ring, its keys, and the clear arithmetic modulo t.

use limbwise::{
    Result,
    bgv::{
        Auto, BgvLiteral, BgvParams, Ciphertext, Encoder, Evaluator, Reading, decrypt, encrypt_from,
        encrypt_seeded_from, read,
    },
    params::Insecure,
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan, KeySet, PublicKey, Requirements, SecretKey},
};
use limbwise_cpu::Cpu;
use limbwise_math::{
    galois::GaloisElement,
    modulus::Modulus,
    sampling::{Seed, Stream},
};

pub(crate) struct Bench {
    pub(crate) dev: Cpu,
    pub(crate) params: BgvParams,
    pub(crate) encoder: Encoder,
    pub(crate) secret: SecretKey,
    pub(crate) public: PublicKey<Cpu>,
    pub(crate) keys: KeySet<Cpu>,
}

pub(crate) fn small() -> BgvParams {
    let mut literal = BgvLiteral::chain(10, 12289, &[30, 30, 30, 30], &[32], 4);
    literal.insecure = Some(Insecure { reason: "a test".into() });
    BgvParams::new(&literal).unwrap()
}

impl Bench {
    pub(crate) fn new(params: &BgvParams, rotations: &[i64]) -> Self {
        let dev = Cpu::builder().threads(1).open().unwrap();
        let rlwe = params.rlwe();
        let secret = SecretKey::generate(rlwe, &Seed([7; 32]));
        let generator = KeyGenerator::from_seed(&dev, rlwe, &secret, Seed([8; 32]));
        let public = generator.public_key();
        let (log_n, top) = (rlwe.log_n(), rlwe.top_level());
        let galois = rotations.iter().map(|&steps| KeyName::Galois(GaloisElement::rotation(steps, log_n)));
        let names = [KeyName::Relinearization, KeyName::Galois(GaloisElement::conjugation(log_n))];
        let make = |name| generator.evaluation_key(name, top, KeyForm::Stored).unwrap();
        let keys =
            if params.switches_keys() { names.into_iter().chain(galois).map(make).collect() } else { Vec::new() };
        let keys = KeySet::new(rlwe, keys);
        drop(generator);
        Self { dev, params: params.clone(), encoder: Encoder::new(params), secret, public, keys }
    }

    /// Only these keys from now on.
    pub(crate) fn with_only(&mut self, required: &Requirements) {
        let generator = KeyGenerator::from_seed(&self.dev, self.params.rlwe(), &self.secret, Seed([8; 32]));
        self.keys = generator.key_set(&KeyPlan { required: required.clone(), form: KeyForm::Stored }, |_| ()).unwrap();
    }

    pub(crate) fn eval(&self) -> Evaluator<'_, Cpu> {
        Evaluator::new(&self.dev, &self.params, &self.keys)
    }

    pub(crate) fn auto(&self) -> Auto<'_, Cpu> {
        Auto::new(self.eval(), &self.encoder)
    }

    pub(crate) fn encrypt(&self, values: &[i64], seed: u8) -> Ciphertext<Cpu> {
        let plain = self.encoder.encode(&self.dev, &[values.to_vec()], self.params.top_level()).unwrap();
        encrypt_from(&self.dev, &self.params, &self.public, &plain, &Seed([seed; 32]))
    }

    pub(crate) fn encrypt_secret(&self, values: &[i64], seed: u8) -> Ciphertext<Cpu> {
        let plain = self.encoder.encode(&self.dev, &[values.to_vec()], self.params.top_level()).unwrap();
        encrypt_seeded_from(&self.dev, &self.params, &self.secret, &plain, &Seed([seed; 32])).ciphertext
    }

    pub(crate) fn decrypt(&self, a: &Ciphertext<Cpu>) -> Vec<i64> {
        self.try_decrypt(a).unwrap().concat()
    }

    pub(crate) fn try_decrypt(&self, a: &Ciphertext<Cpu>) -> Result<Vec<Vec<i64>>> {
        decrypt(&self.dev, &self.encoder, &self.secret, a)
    }

    pub(crate) fn read(&self, a: &Ciphertext<Cpu>) -> Reading {
        read(&self.dev, &self.encoder, &self.secret, a).unwrap()
    }

    /// Integers in all slots, uniform.
    pub(crate) fn values(&self, seed: u8) -> Vec<i64> {
        let t = self.params.t();
        let mut words = vec![0; self.params.slots()];
        Stream::new(&Seed([seed; 32]), b"values").uniform(t, &mut words);
        words.into_iter().map(|x| t.centered(x)).collect()
    }
}

/// Slot by slot, modulo t.
pub(crate) fn zip(t: Modulus, a: &[i64], b: &[i64], f: impl Fn(i128, i128) -> i128) -> Vec<i64> {
    a.iter().zip(b).map(|(&x, &y)| t.centered(t.from_i128(f(x.into(), y.into())))).collect()
}

/// Both rows rotated to the left.
pub(crate) fn rotated(a: &[i64], steps: usize) -> Vec<i64> {
    let mut a = a.to_vec();
    let row = a.len() / 2;
    a.chunks_exact_mut(row).for_each(|half| half.rotate_left(steps));
    a
}
