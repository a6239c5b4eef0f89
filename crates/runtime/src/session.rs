//! One session of client and server, on any device: keys, the server's model, encryption, the program, decryption.
//!
//! A run and a plan go through the same function, so what is planned is what runs.

use crate::{
    client::{Encryption, Shadows, encrypted},
    clock::{DECRYPT_STEP, ENCRYPT_STEP, KEY_STEP},
    journal::Identity,
    keys::KeyHome,
    server::Server,
    shadow::Onlooker,
};
use limbwise::{
    Complex64, Result,
    ckks::{Ciphertext, Encoder},
    rlwe::{KeyGenerator, KeyPlan, SecretKey},
};
use limbwise_apps::{Client, Conclusion, Description, Journal, Observer, Program};
use limbwise_device::Device;
use limbwise_math::sampling::SeedSource;

/// Both sides of a program, and where their randomness comes from.
pub struct Sides<'a, P, C> {
    /// What both know, and the server's model.
    pub program: &'a P,
    /// The client's data.
    pub client: &'a C,
    /// Seeds of keys and encryptions.
    pub seeds: &'a SeedSource,
}

impl<P: Program, C: Client> Sides<'_, P, C> {
    /// What a state of this session belongs to: its program, data and randomness.
    ///
    /// # Errors
    /// No randomness.
    pub fn identity(&self, description: &Description) -> Result<Identity> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&description.to_bytes());
        for input in 0..self.program.inputs().len() {
            for z in self.client.values(input).iter().flatten() {
                hasher.update(&z.re.to_le_bytes()).update(&z.im.to_le_bytes());
            }
        }
        hasher.update(&self.seeds.seed("identity")?.0);
        Ok(Identity(*hasher.finalize().as_bytes()))
    }
}

/// What the client reads results with.
pub struct Reader<'a, D: Device> {
    /// The device.
    pub dev: &'a D,
    /// The encoder.
    pub encoder: &'a Encoder,
    /// The secret key.
    pub secret: &'a SecretKey,
}

/// Runs a program from key generation to the reading of its results, one after another.
///
/// # Errors
/// What the schemes refuse, or a device fault.
pub fn session<D: Device, P: Program, C: Client, R>(
    dev: &D,
    sides: &Sides<'_, P, C>,
    (plan, home): (&KeyPlan, &impl KeyHome<D>),
    (observer, journal): (&mut dyn Observer, &mut dyn Journal<D>),
    onlooker: &impl Onlooker<D>,
    read: impl Fn(&Reader<'_, D>, &Ciphertext<D>) -> Result<R>,
) -> Result<Vec<R>> {
    let &Sides { program, client, seeds } = sides;
    let params = program.params();
    let encoder = Encoder::new(params);
    observer.step(KEY_STEP, 0, plan.required.len());
    let secret = SecretKey::generate(params, &seeds.seed("secret key")?);
    let generator = KeyGenerator::from_seed(dev, params, &secret, seeds.seed("keys")?);
    let public = generator.public_key();
    home.hold((dev, params), generator, plan, observer, |keys, observer| {
        let reader = Reader { dev, encoder: &encoder, secret: &secret };
        let shadows = if onlooker.wants_shadows() { Shadows::Carried } else { Shadows::Absent };
        let results = onlooker.look(&reader, |watch| {
            let server = Server::new(dev, &encoder, program, observer)?;
            let server = if shadows == Shadows::Carried { server.with_shadows() } else { server };
            let mut inputs = Vec::new();
            let count = program.inputs().len();
            for input in 0..count {
                observer.step(ENCRYPT_STEP, input, count);
                let with = Encryption { public: &public, secret: &secret, seeds, shadows };
                inputs.push(encrypted((dev, &encoder), program, client, input, &with)?);
            }
            drop(public);
            // A GPU may still be busy with what it was asked for: neither this nor the evaluation ends before it is done.
            dev.sync()?;
            server.evaluate((keys, watch), &inputs, observer, journal)
        })?;
        dev.sync()?;
        observer.step(DECRYPT_STEP, 0, results.len());
        results.iter().map(|result| read(&reader, result)).collect()
    })
}

/// A client without data, for a session on a device without words: vectors of no values, which zeros fill up.
pub(crate) struct NoData(Vec<usize>);

impl NoData {
    pub(crate) fn of<P: Program>(program: &P) -> Self {
        Self(program.inputs().iter().map(|input| input.batch).collect())
    }
}

impl Client for NoData {
    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        vec![Vec::new(); self.0[input]]
    }

    fn conclude(&self, _results: &[Vec<Vec<Complex64>>]) -> Conclusion {
        unreachable!("a session without data has no results")
    }
}
