//! A client and a server in one process, for tests.

use limbwise::{
    Complex64,
    ckks::{Auto, Ciphertext, Encoder, Evaluator, Packing, Precision, decrypt, encrypt, encrypt_secret},
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyForm, KeyGenerator, KeyName, KeyPlan, KeySet, PublicKey, Requirements, SecretKey},
};
use limbwise_cpu::Cpu;
use limbwise_device::Checked;
use limbwise_math::{
    galois::GaloisElement,
    sampling::{Seed, Stream},
};

/// Every contract of the seam is checked in every test.
pub(crate) type Dev = Checked<Cpu>;

pub(crate) struct Session {
    pub(crate) dev: Dev,
    pub(crate) params: Params,
    pub(crate) encoder: Encoder,
    pub(crate) secret: SecretKey,
    pub(crate) public: PublicKey<Dev>,
    pub(crate) keys: KeySet<Dev>,
}

/// A small ring for speed; the reason says that it is a test.
pub(crate) fn small(levels: usize) -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(11, 50, 40, levels, (48, 2), levels.div_ceil(2) + 1);
    literal.insecure = Some(Insecure { reason: "unit test on a small ring".into() });
    literal
}

impl Session {
    pub(crate) fn new(literal: &ParamsLiteral, rotations: &[i64]) -> Self {
        let params = Params::new(literal).unwrap();
        let top = params.top_level();
        let log_n = params.log_n();
        let mut required: Requirements =
            rotations.iter().map(|&r| (KeyName::Galois(GaloisElement::rotation(r, log_n)), top)).collect();
        required.insert(KeyName::Relinearization, top);
        required.insert(KeyName::Galois(GaloisElement::conjugation(log_n)), top);
        Self::with_keys(params, &required)
    }

    pub(crate) fn with_keys(params: Params, required: &Requirements) -> Self {
        let dev = Checked(Cpu::builder().open().unwrap());
        let secret = SecretKey::generate(&params, &Seed::from_os().unwrap());
        let generator = KeyGenerator::new(&dev, &params, &secret).unwrap();
        let public = generator.public_key();
        let plan = KeyPlan { required: required.clone(), form: KeyForm::Stored };
        let keys = generator.key_set(&plan, |_| ()).unwrap();
        drop(generator);
        Self { encoder: Encoder::new(&params), dev, params, secret, public, keys }
    }

    pub(crate) fn eval(&self) -> Evaluator<'_, Dev> {
        Evaluator::new(&self.dev, &self.params, &self.keys)
    }

    pub(crate) fn auto(&self) -> Auto<'_, Dev> {
        Auto::new(self.eval(), &self.encoder)
    }

    pub(crate) fn packing(&self) -> Packing {
        let level = self.params.top_level();
        Packing { slots: self.params.max_slots(), level, scale: self.params.scale(level) }
    }

    pub(crate) fn encrypt(&self, values: &[Complex64]) -> Ciphertext<Dev> {
        let packing = Packing { slots: values.len(), ..self.packing() };
        let plain = self.encoder.encode(&self.dev, &[values.to_vec()], packing).unwrap();
        encrypt(&self.dev, &self.params, &self.public, &plain).unwrap()
    }

    pub(crate) fn decrypt(&self, ciphertext: &Ciphertext<Dev>) -> Vec<Complex64> {
        decrypt(&self.dev, &self.encoder, &self.params, &self.secret, ciphertext).unwrap().concat()
    }

    /// The deviation of a ciphertext's errors from its shadow, over what is expected.
    pub(crate) fn noise_ratio(&self, ciphertext: &Ciphertext<Dev>) -> f64 {
        let wanted = ciphertext.shadow.as_ref().unwrap().values().concat();
        let sum: f64 = self.decrypt(ciphertext).iter().zip(&wanted).map(|(a, b)| (a - b).norm_sqr()).sum();
        (sum / (2 * wanted.len()) as f64).sqrt() / ciphertext.estimate.error()
    }

    /// A batch of 32768 values in all slots under the secret key, with its shadow.
    pub(crate) fn with_shadow(&self, level: usize) -> Ciphertext<Dev> {
        let batch: Vec<_> = (0..16).map(|i| unit(1024, &format!("a {i}"))).collect();
        let packing = Packing { slots: 1024, level, scale: self.params.scale(level) };
        let plain = self.encoder.encode(&self.dev, &batch, packing).unwrap().with_shadow(&batch);
        encrypt_secret(&self.dev, &self.params, &self.secret, &plain).unwrap()
    }

    /// Decrypts and measures; fails if fewer than `bits` are right on average.
    pub(crate) fn expect(
        &self,
        what: &str,
        ciphertext: &Ciphertext<Dev>,
        wanted: &[Complex64],
        bits: f64,
    ) -> Precision {
        let precision = Precision::of(&self.decrypt(ciphertext), wanted);
        assert!(precision.mean > bits, "{what}: {:.1} bits, wanted {bits}", precision.mean);
        precision
    }
}

/// Uniform in [−1, 1]² by a fixed stream.
pub(crate) fn uniform(count: usize, label: &str) -> Vec<Complex64> {
    let mut stream = Stream::new(&Seed([1; 32]), label.as_bytes());
    let mut part = || (stream.next_word() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    (0..count).map(|_| Complex64::new(part(), part())).collect()
}

/// On the unit circle.
pub(crate) fn unit(count: usize, label: &str) -> Vec<Complex64> {
    uniform(count, label).into_iter().map(|z| Complex64::from_polar(1.0, z.re * std::f64::consts::PI)).collect()
}
