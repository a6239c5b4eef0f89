//! TFHE as a scheme of programs: batches of small integers.

#[cfg(feature = "client")]
use super::{Clear, ClientScheme, Encrypting, Secrets};
use super::{Difference, Encoding, Encryption, Input, Keys, Scheme, Setup};
#[cfg(feature = "client")]
use crate::{ckks::Model as Knowledge, tfhe::TfheExpectation};
use crate::{
    error::Result,
    params::{Params, SecurityReport},
    supply::Supply,
    tfhe::{Ciphertext, Evaluator, TfheLiteral, TfheParams, TfheReading},
    wire::{Origin, Source, read_tfhe_ciphertext, write_tfhe_ciphertext, write_tfhe_params},
};
use limbwise_device::{Device, HostRead, LweHandle as _, Wordless};
#[cfg(feature = "client")]
use limbwise_math::sampling::Seed;
use std::io::Write;

/// Exact functions of small integers by programmable bootstrapping.
#[derive(Clone, Copy, Debug)]
pub enum Tfhe {}

/// One input ciphertext: a batch of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Name for people.
    pub name: String,
    /// Messages in the batch.
    pub batch: usize,
    /// Largest message.
    pub most: u64,
}

/// Noise of a batch.
#[derive(Clone, Copy, Debug)]
pub struct MessagesEstimate {
    /// Squared norm of the coefficients that combine bootstrapped ciphertexts.
    pub norm_squared: f64,
}

impl Input for Messages {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Scheme for Tfhe {
    const NAME: &'static str = "tfhe";

    type Literal = TfheLiteral;
    type Params = TfheParams;
    type Input = Messages;
    type Values = Vec<u64>;
    type Model<'m> = ();
    type Encoder = ();
    type Encoded<D: Device> = ();
    type Means<'a, D: Device + 'a> = Evaluator<'a, D>;
    type Ciphertext<D: Device> = Ciphertext<D>;
    type Estimate = MessagesEstimate;
    /// Phase and message of each entry of each result.
    type Reading = Vec<TfheReading>;

    fn params(literal: &TfheLiteral) -> Result<TfheParams> {
        Ok(TfheParams::new(literal)?)
    }

    fn literal(params: &TfheParams) -> TfheLiteral {
        params.literal().clone()
    }

    fn security(params: &TfheParams) -> &SecurityReport {
        params.security()
    }

    fn rlwe(_: &TfheParams) -> Option<&Params> {
        None
    }

    fn tfhe(params: &TfheParams) -> Option<&TfheParams> {
        Some(params)
    }

    fn encoder(_: &TfheParams) {}

    fn encode<D: Device>(
        _: Setup<'_, Self, D>,
        _: &dyn Supply<D>,
        _model: &(),
        _: &mut dyn FnMut(Encoding, usize, usize),
    ) -> Result<()> {
        Ok(())
    }

    fn declare<D: Wordless>(_: Setup<'_, Self, D>, _model: &()) -> Result<()> {
        Ok(())
    }

    fn means<'a, D: Device>(setup: Setup<'a, Self, D>, _encoded: &'a (), keys: Keys<'a, D>) -> Evaluator<'a, D> {
        Evaluator::new(setup.dev, keys.server_key())
    }

    fn declare_input<D: Wordless>(setup: Setup<'_, Self, D>, input: &Messages, _: Encryption) -> Result<Ciphertext<D>> {
        Ciphertext::declared(setup.dev, setup.params, input.batch).at_most(input.most)
    }

    fn input_bytes(params: &TfheParams, input: &Messages) -> u64 {
        (input.batch as u64).saturating_mul(8 * (params.literal().big_dimension() as u64 + 1))
    }

    fn bytes<D: Device>(ciphertext: &Ciphertext<D>) -> u64 {
        ciphertext.lwe().lwe_shape().bytes()
    }

    fn estimate<D: Device>(_: &TfheParams, ciphertext: &Ciphertext<D>) -> MessagesEstimate {
        MessagesEstimate { norm_squared: ciphertext.norm_squared() }
    }

    fn difference<D: Device>(input: &Messages, got: &Ciphertext<D>) -> Option<Difference> {
        let (low, high) = got.range();
        let within = low >= 0 && u64::try_from(high).is_ok_and(|high| high <= input.most);
        Difference::first([
            ("its batch", got.batch().to_string(), input.batch.to_string(), got.batch() == input.batch),
            ("its range of messages", format!("{low} to {high}"), format!("0 to {}", input.most), within),
            ("its squared norm", got.norm_squared().to_string(), "1".into(), got.norm_squared() <= 1.0),
        ])
    }

    fn write<W: Write, D: HostRead>(
        out: W,
        dev: &D,
        _: &TfheParams,
        ciphertext: &Ciphertext<D>,
        origin: &Origin,
    ) -> Result<W> {
        write_tfhe_ciphertext(out, dev, ciphertext, origin)
    }

    fn read<S: Source, D: Device>(source: S, dev: &D, params: &TfheParams) -> Result<Ciphertext<D>> {
        read_tfhe_ciphertext(source, dev, params)
    }

    fn write_params<W: Write>(out: W, params: &TfheParams) -> Result<W> {
        write_tfhe_params(out, params)
    }
}

#[cfg(feature = "client")]
impl ClientScheme for Tfhe {
    type Expectation = TfheExpectation;

    fn hash_values(values: &Vec<u64>, feed: &mut dyn FnMut(&[u8])) {
        feed(&(values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| feed(&value.to_le_bytes()));
    }

    /// TFHE's public key would add noise that no preset accounts for.
    fn takes_secrets(_: Encryption) -> bool {
        true
    }

    fn encrypt<D: Device>(
        setup: Setup<'_, Self, D>,
        with: &Encrypting<'_, D>,
        clear: Clear<'_, Self>,
        seed: &Seed,
    ) -> Result<Ciphertext<D>> {
        let client = with.secrets.expect("messages are encrypted under the secret key").tfhe();
        client.encrypt_from(setup.dev, clear.values, seed)?.at_most(clear.input.most)
    }

    fn no_values(input: &Messages) -> Vec<u64> {
        vec![0; input.batch]
    }

    fn rehearse_reading<D: Device>(_: &D, _: &TfheParams, _: &Secrets, result: &Ciphertext<D>) -> u64 {
        Self::bytes(result)
    }

    fn open<D: HostRead>(
        setup: Setup<'_, Self, D>,
        secrets: &Secrets,
        _inputs: &[Ciphertext<D>],
        results: &[Ciphertext<D>],
    ) -> Result<Vec<TfheReading>> {
        results.iter().map(|result| TfheReading::of(setup.dev, secrets.tfhe(), result)).collect()
    }

    fn expectation<D: Device>(_: &TfheParams, recorded: &Ciphertext<D>, _: Knowledge) -> TfheExpectation {
        TfheExpectation::of(recorded)
    }

    fn admit<D: Device>(expectation: &TfheExpectation, _: &TfheParams, got: Ciphertext<D>) -> Result<Ciphertext<D>> {
        Ok(expectation.admit(got)?)
    }
}
