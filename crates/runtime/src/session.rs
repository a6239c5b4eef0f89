//! One session of client and server, on any device: keys, the server's model, encryption, the program, decryption.
//!
//! A run and a plan go through the same function, so what is planned is what runs, whatever the scheme.

use crate::{
    clock::{DECRYPT_STEP, ENCRYPT_STEP, KEY_STEP},
    journal::Identity,
    keys::{KeyHome, Making},
    server::Server,
    shadow::Onlooker,
};
use limbwise::{
    Result,
    rlwe::{KeyPlan, KeyStore},
    scheme::{Clear, ClientScheme, Encrypting, Encryption, Keys, NoKeys, Scheme, Secrets, Setup, Shadows},
    supply::Made,
    tfhe::ServerKey,
};
use limbwise_apps::{Client, Description, Journal, Observer, Program, program::Results};
use limbwise_device::Device;
use limbwise_math::sampling::SeedSource;

/// Both sides of a program, and where their randomness comes from.
pub struct Sides<'a, P, C> {
    /// What both know, and the server's model.
    pub program: &'a P,
    pub client: &'a C,
    /// Seeds of keys and encryptions.
    pub seeds: &'a SeedSource,
}

impl<P: Program<Scheme: ClientScheme>, C: Values<P::Scheme>> Sides<'_, P, C> {
    /// What a state of this session belongs to: its program, data and randomness.
    pub fn identity(&self, description: &Description) -> Result<Identity> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&description.to_bytes());
        for input in 0..self.program.inputs().len() {
            P::Scheme::hash_values(&self.client.of(input), &mut |bytes| {
                hasher.update(bytes);
            });
        }
        hasher.update(&self.seeds.seed("identity")?.0);
        Ok(Identity(*hasher.finalize().as_bytes()))
    }
}

/// What the client reads results with.
pub struct Reader<'a, S: Scheme, D: Device> {
    pub dev: &'a D,
    pub encoder: &'a S::Encoder,
    pub params: &'a S::Params,
    pub secrets: &'a Secrets,
}

impl<'a, S: Scheme, D: Device> Reader<'a, S, D> {
    pub fn setup(&self) -> Setup<'a, S, D> {
        Setup { dev: self.dev, encoder: self.encoder, params: self.params }
    }
}

/// A program's results, and its inputs where reading takes them.
type Evaluated<P, D> = (Results<P, D>, Results<P, D>);

/// Runs a program from key generation to the reading of its results, one after another.
pub fn session<D: Device, P: Program<Scheme: ClientScheme>, C: Values<P::Scheme>, R>(
    dev: &D,
    sides: &Sides<'_, P, C>,
    (plan, home): (&KeyPlan, &impl KeyHome<D>),
    (observer, journal): (&mut dyn Observer, &mut dyn Journal<D, P::Scheme>),
    onlooker: &impl Onlooker<P::Scheme, D>,
    read: impl FnOnce(&Reader<'_, P::Scheme, D>, Results<P, D>, Results<P, D>) -> Result<R>,
) -> Result<R> {
    let &Sides { program, seeds, .. } = sides;
    let params = program.params();
    let (rlwe, tfhe) = (P::Scheme::rlwe(params), P::Scheme::tfhe(params));
    let encoder = P::Scheme::encoder(params);
    observer.step(KEY_STEP, 0, plan.required.len() + usize::from(tfhe.is_some()));
    let secrets = Secrets::generate(rlwe, tfhe, seeds)?;
    let published = secrets.publish(dev, rlwe, seeds)?;
    let bootstrap = published.bootstrap.map(|keys| ServerKey::new(dev, &keys));
    let wanted = program.encryption() == Encryption::PublicKey;
    let public = published.generator.as_ref().filter(|_| wanted).map(|generator| generator.public_key());
    let reader = Reader { dev, encoder: &encoder, params, secrets: &secrets };
    let evaluate = |store: &dyn KeyStore<D>, observer: &mut dyn Observer| {
        let shadows = if onlooker.wants_shadows() { Shadows::Carried } else { Shadows::Absent };
        let (inputs, results) = onlooker.look(&reader, |watch| -> Result<Evaluated<P, D>> {
            let server = Server::new(dev, &Made, &encoder, program, observer)?;
            let server = if shadows == Shadows::Carried { server.with_shadows() } else { server };
            let with =
                Encrypting { key: program.encryption(), secrets: Some(&secrets), public: public.as_ref(), shadows };
            let inputs = encrypted(&reader, sides, &with, observer)?;
            drop(public);
            // A GPU works on what was queued: neither encryption nor evaluation ends before it is done.
            dev.sync()?;
            let keys = Keys { store, bootstrap: bootstrap.as_ref(), watch };
            let results = {
                let _evaluation = dev.evaluation();
                server.evaluate(keys, &inputs, observer, journal)?
            };
            Ok((if P::Scheme::READS_INPUTS { inputs } else { Vec::new() }, results))
        })?;
        dev.sync()?;
        observer.step(DECRYPT_STEP, 0, results.len());
        read(&reader, inputs, results)
    };
    match (published.generator, rlwe) {
        (Some(generator), Some(params)) => home.hold(Making { dev, params, generator, plan }, observer, evaluate),
        _ => evaluate(&NoKeys, observer),
    }
}

fn encrypted<D: Device, P: Program<Scheme: ClientScheme>, C: Values<P::Scheme>>(
    reader: &Reader<'_, P::Scheme, D>,
    sides: &Sides<'_, P, C>,
    with: &Encrypting<'_, D>,
    observer: &mut dyn Observer,
) -> Result<Results<P, D>> {
    let declared = sides.program.inputs();
    let mut inputs = Vec::new();
    for (index, input) in declared.iter().enumerate() {
        observer.step(ENCRYPT_STEP, index, declared.len());
        let (values, seed) = (sides.client.of(index), sides.seeds.seed(&format!("input {index}"))?);
        inputs.push(P::Scheme::encrypt(reader.setup(), with, Clear { input, values: &values }, &seed)?);
    }
    Ok(inputs)
}

/// Who has the values of a program's inputs.
pub trait Values<S: Scheme> {
    fn of(&self, input: usize) -> S::Values;
}

pub struct Of<'a, C>(pub &'a C);

impl<C: Client> Values<C::Scheme> for Of<'_, C> {
    fn of(&self, input: usize) -> <C::Scheme as Scheme>::Values {
        self.0.values(input)
    }
}

/// A client without data, for a session on a device without words.
pub(crate) struct NoData<S: Scheme>(Vec<S::Input>);

impl<S: Scheme> NoData<S> {
    pub(crate) fn of<P: Program<Scheme = S>>(program: &P) -> Self {
        Self(program.inputs())
    }
}

impl<S: ClientScheme> Values<S> for NoData<S> {
    fn of(&self, input: usize) -> S::Values {
        S::no_values(&self.0[input])
    }
}
