//! A small parameter set and one of each thing that has a file.

use limbwise::{
    Complex64,
    ckks::{Ciphertext, Encoder, FreshCiphertext, Packing, Plaintext, Promise, encrypt, encrypt_seeded},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan, KeySet, PublicKey, Requirements, SecretKey},
};
use limbwise_cpu::Cpu;
use limbwise_device::Checked;
use limbwise_math::{galois::GaloisElement, sampling::Seed};

/// Every contract of the seam is checked in every test.
pub(crate) type Dev = Checked<Cpu>;

pub(crate) fn device() -> Dev {
    Checked(Cpu::builder().open().unwrap())
}

/// The smallest ring, with levels of one and of two primes and so many digits.
pub(crate) fn literal(log_n: u32, levels: usize, dnum: usize) -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(log_n, 25, 21, levels, (24, 2), dnum);
    literal.insecure = Some(Insecure { reason: "test of files".into() });
    literal
}

pub(crate) struct Things {
    pub(crate) dev: Dev,
    pub(crate) params: Params,
    pub(crate) encoder: Encoder,
    pub(crate) secret: SecretKey,
    pub(crate) public: PublicKey<Dev>,
    pub(crate) keys: KeySet<Dev>,
}

impl Things {
    pub(crate) fn new(literal: &ParamsLiteral, form: KeyForm) -> Self {
        let params = Params::new(literal).unwrap();
        let dev = device();
        let secret = SecretKey::generate(&params, &Seed::from_os().unwrap());
        let generator = KeyGenerator::new(&dev, &params, &secret).unwrap();
        let public = generator.public_key();
        let (top, log_n) = (params.top_level(), params.log_n());
        let rotation = |steps| KeyName::Galois(GaloisElement::rotation(steps, log_n));
        let required: Requirements =
            [(KeyName::Relinearization, top), (rotation(1), top), (rotation(-3), top / 2)].into();
        let keys = generator.key_set(&KeyPlan { required, form }, |_| ()).unwrap();
        drop(generator);
        Self { encoder: Encoder::new(&params), dev, params, secret, public, keys }
    }

    pub(crate) fn plaintext(&self, batch: usize, slots: usize, level: usize) -> Plaintext<Dev> {
        let values = plain_values(batch, slots);
        self.encoder.encode(&self.dev, &values, Packing { slots, level, scale: self.params.scale(level) }).unwrap()
    }

    pub(crate) fn ciphertext(&self, plain: &Plaintext<Dev>) -> Ciphertext<Dev> {
        encrypt(&self.dev, &self.params, &self.public, plain).unwrap().with_promise(promise()).unwrap()
    }

    pub(crate) fn fresh(&self, plain: &Plaintext<Dev>) -> FreshCiphertext<Dev> {
        let FreshCiphertext { ciphertext, seed } =
            encrypt_seeded(&self.dev, &self.params, &self.secret, plain).unwrap();
        FreshCiphertext { ciphertext: ciphertext.with_promise(promise()).unwrap(), seed }
    }
}

/// Values of messages: real, of size at most one.
pub(crate) fn plain_values(batch: usize, slots: usize) -> Vec<Vec<Complex64>> {
    let value = |b: usize, i: usize| Complex64::new((0.1 * f64::from(u32::try_from(b + i).unwrap())).sin(), 0.0);
    (0..batch).map(|b| (0..slots).map(|i| value(b, i)).collect()).collect()
}

pub(crate) fn promise() -> Promise {
    Promise { magnitude: 1.0, peak: 1.0, real: true }
}
