//! One session of client and server, on any device: keys, the server's model, encryption, the program, decryption.
//!
//! A run and a plan go through the same function, so what is planned is what runs.

use crate::{keys::KeyHome, shadow::Onlooker};
use limbwise::{
    Result,
    ckks::{Auto, Bootstrapper, Ciphertext, Encoder, Evaluator, LinearTransform, Watch, encrypt, encrypt_secret},
    rlwe::{KeyGenerator, KeyPlan, KeyStore, PublicKey, SecretKey},
};
use limbwise_apps::{Encryption, Observer, Program};
use limbwise_device::Device;
use limbwise_math::sampling::Seed;

/// What the client reads results with.
pub struct Reader<'a, D: Device> {
    /// The device.
    pub dev: &'a D,
    /// The encoder.
    pub encoder: &'a Encoder,
    /// The secret key.
    pub secret: &'a SecretKey,
}

/// Names of the steps around the program's own.
pub const KEY_STEP: &str = "keys";
/// Encoding of the program's linear maps, where it has any.
pub const ENCODE_STEP: &str = "encoding";
/// Encoding of the maps of bootstrapping, where there is any.
pub const BOOTSTRAP_STEP: &str = "bootstrapper";
/// Encryption of the inputs.
pub const ENCRYPT_STEP: &str = "encryption";
/// Decryption of the results.
pub const DECRYPT_STEP: &str = "decryption";

/// Runs a program from key generation to the reading of its results, one after another.
///
/// # Errors
/// What the schemes refuse, or a device fault.
pub fn session<D: Device, P: Program, R>(
    dev: &D,
    program: &P,
    (plan, home): (&KeyPlan, &impl KeyHome<D>),
    observer: &mut dyn Observer,
    onlooker: &impl Onlooker<D>,
    read: impl Fn(&Reader<'_, D>, &Ciphertext<D>) -> Result<R>,
) -> Result<Vec<R>> {
    let params = program.params();
    let encoder = Encoder::new(params);
    observer.step(KEY_STEP, 0, plan.required.len());
    let secret = SecretKey::generate(params, &Seed::from_os()?);
    let generator = KeyGenerator::new(dev, params, &secret)?;
    let public = generator.public_key();
    let shadows = onlooker.wants_shadows();
    let client = Client { program, encoder: &encoder, secret: &secret, public, shadows };
    home.hold((dev, params), generator, plan, observer, |keys, observer| {
        let reader = Reader { dev, encoder: &encoder, secret: &secret };
        let results = onlooker.look(&reader, |watch| client.evaluated(dev, (keys, watch), observer))?;
        dev.sync()?;
        observer.step(DECRYPT_STEP, 0, results.len());
        results.iter().map(|result| read(&reader, result)).collect()
    })
}

/// What a session has once its keys are made.
struct Client<'a, D: Device, P> {
    program: &'a P,
    encoder: &'a Encoder,
    secret: &'a SecretKey,
    public: PublicKey<D>,
    /// Whether inputs and maps carry their clear values.
    shadows: bool,
}

impl<D: Device, P: Program> Client<'_, D, P> {
    /// The encrypted results: maps are encoded, inputs encrypted, and the program evaluated.
    fn evaluated(
        self,
        dev: &D,
        (keys, watch): (&dyn KeyStore<D>, Option<&dyn Watch<D>>),
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        let Self { program, encoder, secret, public, shadows } = self;
        let params = program.params();
        let mut maps = Vec::new();
        let clear = program.maps();
        for (done, (map, plan)) in clear.iter().enumerate() {
            observer.step(ENCODE_STEP, done, clear.len());
            let encoded = LinearTransform::encode(dev, encoder, map, *plan)?;
            maps.push(if shadows { encoded.with_shadow(map) } else { encoded });
        }
        if program.bootstrapping().is_some() {
            observer.step(BOOTSTRAP_STEP, 0, 1);
        }
        let bootstrapper = program.bootstrapping().map(|plan| Bootstrapper::encode(dev, encoder, plan)).transpose()?;
        let mut inputs = Vec::new();
        {
            let clear = program.inputs();
            for (done, input) in clear.iter().enumerate() {
                observer.step(ENCRYPT_STEP, done, clear.len());
                let plain = encoder.encode(dev, &input.values, input.packing)?;
                let plain = if shadows { plain.with_shadow(&input.values) } else { plain };
                inputs.push(match program.encryption() {
                    Encryption::PublicKey => encrypt(dev, params, &public, &plain)?,
                    Encryption::SecretKey => encrypt_secret(dev, params, secret, &plain)?,
                });
            }
        }
        drop(public);
        let eval = Evaluator::new(dev, params, keys).watched(watch);
        let auto = Auto::new(eval, encoder).with_bootstrapper(bootstrapper.as_ref());
        program.evaluate(&auto, &maps, &inputs, observer)
    }
}
