//! The server's side: the program's maps encoded, and its evaluation on ciphertexts with public keys only.

use crate::clock::{BOOTSTRAP_STEP, ENCODE_STEP};
use limbwise::{
    Result,
    ckks::{Auto, Bootstrapper, Ciphertext, Encoder, Evaluator, LinearTransform, Watch},
    rlwe::KeyStore,
};
use limbwise_apps::{Encryption, Journal, Observer, Program};
use limbwise_device::{Device, Wordless};

/// What a server has before inputs come: the program's maps and those of bootstrapping, encoded.
pub struct Server<'a, D: Device, P> {
    dev: &'a D,
    encoder: &'a Encoder,
    program: &'a P,
    maps: Vec<LinearTransform<D>>,
    bootstrapper: Option<Bootstrapper<D>>,
}

impl<'a, D: Device, P: Program> Server<'a, D, P> {
    /// Encodes what the program multiplies with.
    ///
    /// # Errors
    /// Values that cannot be encoded.
    pub fn new(dev: &'a D, encoder: &'a Encoder, program: &'a P, observer: &mut dyn Observer) -> Result<Self> {
        let mut maps = Vec::new();
        let clear = program.maps();
        for (done, (map, plan)) in clear.iter().enumerate() {
            observer.step(ENCODE_STEP, done, clear.len());
            maps.push(LinearTransform::encode(dev, encoder, map, *plan)?);
        }
        if program.bootstrapping().is_some() {
            observer.step(BOOTSTRAP_STEP, 0, 1);
        }
        let bootstrapper = program.bootstrapping().map(|plan| Bootstrapper::encode(dev, encoder, plan)).transpose()?;
        Ok(Self { dev, encoder, program, maps, bootstrapper })
    }

    /// The same with the clear values of its maps beside them, for shadow mode.
    #[must_use]
    pub fn with_shadows(mut self) -> Self {
        let clear = self.program.maps();
        self.maps = self.maps.into_iter().zip(clear).map(|(map, (shadow, _))| map.with_shadow(shadow)).collect();
        self
    }

    /// The same by declaration, without words.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn declared(dev: &'a D, encoder: &'a Encoder, program: &'a P) -> Result<Self>
    where
        D: Wordless,
    {
        let maps = program.maps().into_iter().map(|(map, plan)| LinearTransform::declare(dev, encoder, map, plan));
        let maps = maps.collect::<Result<_>>()?;
        let bootstrapper = program.bootstrapping().map(|plan| Bootstrapper::declare(dev, encoder, plan)).transpose()?;
        Ok(Self { dev, encoder, program, maps, bootstrapper })
    }

    /// The encrypted inputs by declaration, in their order, encrypted under this key.
    ///
    /// # Errors
    /// Levels or scales that cannot be.
    pub fn declared_inputs(&self, key: Encryption) -> Result<Vec<Ciphertext<D>>>
    where
        D: Wordless,
    {
        let noise = key.into();
        let declare =
            |i: limbwise_apps::Input| self.encoder.declare_bounded(self.dev, (i.batch, i.bounds), i.packing, noise);
        self.program.inputs().into_iter().map(declare).collect()
    }

    /// Bytes that the host takes for clear maps of bootstrapping.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        self.bootstrapper.as_ref().map_or(0, Bootstrapper::host_bytes)
    }

    /// Evaluates the program; somebody may watch every result.
    ///
    /// # Errors
    /// What the schemes or the journal refuse.
    pub fn evaluate(
        &self,
        (keys, watch): (&dyn KeyStore<D>, Option<&dyn Watch<D>>),
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
        journal: &mut dyn Journal<D>,
    ) -> Result<Vec<Ciphertext<D>>> {
        let eval = Evaluator::new(self.dev, self.program.params(), keys).watched(watch);
        let auto = Auto::new(eval, self.encoder).with_bootstrapper(self.bootstrapper.as_ref());
        self.program.evaluate(&auto, &self.maps, inputs, observer, journal)
    }
}
