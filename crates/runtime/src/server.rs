//! The server's side: the program's clear numbers encoded, and its evaluation on ciphertexts with public keys only.

use crate::clock::{BOOTSTRAP_STEP, ENCODE_STEP};
use limbwise::{
    Result,
    scheme::{Encoding, Encryption, Keys, Scheme, Setup},
    supply::Supply,
};
use limbwise_apps::{Evaluation, Journal, Observer, Program, program::Results};
use limbwise_device::{Device, Wordless};

/// What a server has before inputs come: the program's clear numbers and the maps of bootstrapping, encoded.
pub struct Server<'a, D: Device, P: Program> {
    dev: &'a D,
    encoder: &'a <P::Scheme as Scheme>::Encoder,
    program: &'a P,
    encoded: <P::Scheme as Scheme>::Encoded<D>,
}

impl<'a, D: Device, P: Program> Server<'a, D, P> {
    /// Encodes what the program multiplies with, or takes it encoded from a supply.
    pub fn new(
        dev: &'a D,
        supply: &dyn Supply<D>,
        encoder: &'a <P::Scheme as Scheme>::Encoder,
        program: &'a P,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut tell = |encoding, done, total| {
            let step = match encoding {
                Encoding::Maps => ENCODE_STEP,
                Encoding::Bootstrapper => BOOTSTRAP_STEP,
            };
            observer.step(step, done, total);
        };
        let setup = Setup { dev, encoder, params: program.params() };
        let encoded = P::Scheme::encode(setup, supply, &program.model(), &mut tell)?;
        Ok(Self { dev, encoder, program, encoded })
    }

    /// The same with the clear values of its maps beside them, for shadow mode.
    #[must_use]
    pub fn with_shadows(mut self) -> Self {
        self.encoded = P::Scheme::with_shadows(self.encoded, &self.program.model());
        self
    }

    /// Bytes that the host takes for clear maps of bootstrapping.
    pub fn host_bytes(&self) -> u64 {
        P::Scheme::host_bytes(&self.encoded)
    }

    pub(crate) fn device(&self) -> &'a D {
        self.dev
    }

    /// The sum of two results of the program; `None` where results of its scheme are not summed.
    pub fn sum(
        &self,
        pair: [&<P::Scheme as Scheme>::Ciphertext<D>; 2],
    ) -> Option<Result<<P::Scheme as Scheme>::Ciphertext<D>>> {
        P::Scheme::sum(self.setup(), pair)
    }

    fn setup(&self) -> Setup<'_, P::Scheme, D> {
        Setup { dev: self.dev, encoder: self.encoder, params: self.program.params() }
    }

    /// Evaluates the program.
    pub fn evaluate(
        &self,
        keys: Keys<'_, D>,
        inputs: &[<P::Scheme as Scheme>::Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D, P::Scheme>,
    ) -> Result<Results<P, D>> {
        let means = P::Scheme::means(self.setup(), &self.encoded, keys);
        self.program.evaluate(Evaluation { means: &means, inputs, observer, journal })
    }
}

impl<'a, D: Wordless, P: Program> Server<'a, D, P> {
    /// The same by declaration, for devices without words.
    pub fn declared(dev: &'a D, encoder: &'a <P::Scheme as Scheme>::Encoder, program: &'a P) -> Result<Self> {
        let encoded = P::Scheme::declare(Setup { dev, encoder, params: program.params() }, &program.model())?;
        Ok(Self { dev, encoder, program, encoded })
    }

    /// The encrypted inputs by declaration, in their order, encrypted under this key.
    pub fn declared_inputs(&self, key: Encryption) -> Result<Results<P, D>> {
        self.program.inputs().iter().map(|input| P::Scheme::declare_input(self.setup(), input, key)).collect()
    }

    /// Evaluates the program on declared inputs with declared keys: those of a store, and of TFHE.
    pub fn rehearse(&self, store: &dyn limbwise::rlwe::KeyStore<D>, key: Encryption) -> Result<Results<P, D>> {
        self.rehearse_before(store, key, &mut ())
    }

    /// The same before an observer.
    pub fn rehearse_before(
        &self,
        store: &dyn limbwise::rlwe::KeyStore<D>,
        key: Encryption,
        observer: &mut dyn Observer,
    ) -> Result<Results<P, D>> {
        let tfhe = P::Scheme::tfhe(self.program.params());
        let bootstrap = tfhe.map(|params| limbwise::tfhe::ServerKey::declared(self.dev, params));
        let keys = Keys { store, bootstrap: bootstrap.as_ref(), watch: None };
        self.evaluate(keys, &self.declared_inputs(key)?, observer, &mut ())
    }
}
