//! BGV: exact integers modulo t.

#[cfg(feature = "client")]
use super::{Clear, ClientScheme, Encrypting, Secrets};
use super::{Difference, Encoding, Encryption, Input, Keys, Scheme, Setup};
use crate::{
    bgv::{Auto, BgvLiteral, BgvParams, BgvReading, Ciphertext, CiphertextShape, Encoder, Evaluator},
    error::Result,
    params::{Params, SecurityReport},
    supply::Supply,
    tfhe::TfheParams,
    wire::{Origin, Source, read_bgv_ciphertext, write_bgv_ciphertext, write_bgv_params},
};
#[cfg(feature = "client")]
use crate::{
    bgv::{BgvExpectation, FreshCiphertext, encrypt_from, encrypt_seeded_from},
    ckks::Model as Knowledge,
    wire::write_fresh_bgv_ciphertext,
};
use limbwise_device::{Device, Domain, HostRead, Wordless};
#[cfg(feature = "client")]
use limbwise_math::sampling::Seed;
use std::io::Write;

/// Exact arithmetic on integers modulo t.
#[derive(Clone, Copy, Debug)]
pub enum Bgv {}

/// One input ciphertext: a batch of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers {
    /// Name for people.
    pub name: String,
    /// Messages in the batch.
    pub batch: usize,
    /// Level of the ciphertext.
    pub level: usize,
    /// The domain in which the program takes its polynomials: coefficient domain only if the program transforms them
    /// itself. Files always hold evaluation domain.
    pub domain: Domain,
    /// Index of the plaintext modulus that its values are residues of: 0 unless the parameters have several.
    pub modulus: usize,
}

/// Level and noise budget of a ciphertext.
#[derive(Clone, Copy, Debug)]
pub struct IntegersEstimate {
    /// Level of the ciphertext.
    pub level: usize,
    /// Noise budget in bits by the noise bound; negative if the bound forbids decryption.
    pub budget_bits: f64,
}

impl Input for Integers {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Scheme for Bgv {
    const NAME: &'static str = "bgv";

    type Literal = BgvLiteral;
    type Params = BgvParams;
    type Input = Integers;
    /// The slots of each message.
    type Values = Vec<Vec<i64>>;
    type Model<'m> = ();
    type Encoder = Encoder;
    type Encoded<D: Device> = ();
    type Means<'a, D: Device + 'a> = Auto<'a, D>;
    type Ciphertext<D: Device> = Ciphertext<D>;
    type Estimate = IntegersEstimate;
    type Reading = BgvReading;

    fn params(literal: &BgvLiteral) -> Result<BgvParams> {
        Ok(BgvParams::new(literal)?)
    }

    fn literal(params: &BgvParams) -> BgvLiteral {
        params.literal().clone()
    }

    fn security(params: &BgvParams) -> &SecurityReport {
        params.security()
    }

    fn rlwe(params: &BgvParams) -> Option<&Params> {
        Some(params.rlwe())
    }

    fn tfhe(_: &BgvParams) -> Option<&TfheParams> {
        None
    }

    fn encoder(params: &BgvParams) -> Encoder {
        Encoder::new(params)
    }

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

    fn means<'a, D: Device>(setup: Setup<'a, Self, D>, _encoded: &'a (), keys: Keys<'a, D>) -> Auto<'a, D> {
        let Setup { dev, encoder, params } = setup;
        Auto::new(Evaluator::new(dev, params, keys.store), encoder)
    }

    fn declare_input<D: Wordless>(
        setup: Setup<'_, Self, D>,
        input: &Integers,
        key: Encryption,
    ) -> Result<Ciphertext<D>> {
        let Setup { dev, params, .. } = setup;
        let Integers { batch, level, domain, modulus, .. } = *input;
        Ok(Ciphertext::declared(dev, &params.at(modulus), CiphertextShape { batch, level, domain }, key.into()))
    }

    fn in_input_domain<D: Device>(dev: &D, input: &Integers, ciphertext: Ciphertext<D>) -> Ciphertext<D> {
        ciphertext.in_domain(dev, input.domain)
    }

    fn input_bytes(params: &BgvParams, input: &Integers) -> u64 {
        (input.batch as u64).saturating_mul(super::slots_bytes(params.rlwe(), input.level))
    }

    fn bytes<D: Device>(ciphertext: &Ciphertext<D>) -> u64 {
        ciphertext.bytes()
    }

    fn estimate<D: Device>(params: &BgvParams, ciphertext: &Ciphertext<D>) -> IntegersEstimate {
        IntegersEstimate { level: ciphertext.level, budget_bits: ciphertext.budget_bits(params) }
    }

    fn difference<D: Device>(input: &Integers, got: &Ciphertext<D>) -> Option<Difference> {
        Difference::first([
            ("its batch", got.batch().to_string(), input.batch.to_string(), got.batch() == input.batch),
            ("its level", got.level.to_string(), input.level.to_string(), got.level == input.level),
            ("its number of polynomials", got.parts.len().to_string(), "2".into(), got.parts.len() == 2),
            ("its plaintext modulus", got.modulus.to_string(), input.modulus.to_string(), got.modulus == input.modulus),
            ("its factor", got.factor.to_string(), "1".into(), got.factor == 1),
        ])
    }

    fn write<W: Write, D: HostRead>(
        out: W,
        dev: &D,
        params: &BgvParams,
        ciphertext: &Ciphertext<D>,
        origin: &Origin,
    ) -> Result<W> {
        let in_slots = ciphertext.clone().in_domain(dev, Domain::Eval);
        write_bgv_ciphertext(out, dev, params, &in_slots, origin)
    }

    fn read<S: Source, D: Device>(source: S, dev: &D, params: &BgvParams) -> Result<Ciphertext<D>> {
        read_bgv_ciphertext(source, dev, params)
    }

    fn write_params<W: Write>(out: W, params: &BgvParams) -> Result<W> {
        write_bgv_params(out, params)
    }
}

/// Encrypts under the secret key, so that a file holds one half and a seed.
#[cfg(feature = "client")]
fn fresh<D: Device>(
    setup: Setup<'_, Bgv, D>,
    with: &Encrypting<'_, D>,
    clear: Clear<'_, Bgv>,
    seed: &Seed,
) -> Result<FreshCiphertext<D>> {
    let Setup { dev, encoder, params } = setup;
    let secret = with.secrets.expect("encryption under the secret key has it").rlwe();
    let plain = encoder.at(clear.input.modulus).encode(dev, clear.values, clear.input.level)?;
    Ok(encrypt_seeded_from(dev, params, secret, &plain, seed))
}

#[cfg(feature = "client")]
impl ClientScheme for Bgv {
    type Expectation = BgvExpectation;

    /// If the noise bound forbids decryption, the phases of inputs and results are compared.
    const READS_INPUTS: bool = true;

    fn hash_values(values: &Vec<Vec<i64>>, feed: &mut dyn FnMut(&[u8])) {
        for message in values {
            feed(&(message.len() as u64).to_le_bytes());
            message.iter().for_each(|value| feed(&value.to_le_bytes()));
        }
    }

    fn takes_secrets(key: Encryption) -> bool {
        key == Encryption::SecretKey
    }

    fn encrypt<D: Device>(
        setup: Setup<'_, Self, D>,
        with: &Encrypting<'_, D>,
        clear: Clear<'_, Self>,
        seed: &Seed,
    ) -> Result<Ciphertext<D>> {
        let (Setup { dev, encoder, params }, Clear { input, values }) = (setup, clear);
        match with.key {
            Encryption::SecretKey => Ok(fresh(setup, with, clear, seed)?.ciphertext.in_domain(dev, input.domain)),
            Encryption::PublicKey => {
                let public = with.public.expect("encryption under the public key has it");
                let plain = encoder.at(input.modulus).encode(dev, values, input.level)?;
                Ok(encrypt_from(dev, params, public, &plain, seed).in_domain(dev, input.domain))
            }
        }
    }

    fn encrypt_to<W: Write, D: HostRead>(
        out: W,
        setup: Setup<'_, Self, D>,
        with: &Encrypting<'_, D>,
        clear: Clear<'_, Self>,
        seed: &Seed,
        origin: &Origin,
    ) -> Result<W> {
        let Setup { dev, params, .. } = setup;
        match with.key {
            Encryption::SecretKey => {
                write_fresh_bgv_ciphertext(out, dev, params, &fresh(setup, with, clear, seed)?, origin)
            }
            Encryption::PublicKey => Self::write(out, dev, params, &Self::encrypt(setup, with, clear, seed)?, origin),
        }
    }

    /// Empty messages, which are padded with zeros.
    fn no_values(input: &Integers) -> Vec<Vec<i64>> {
        vec![Vec::new(); input.batch]
    }

    fn rehearse_reading<D: Device>(dev: &D, params: &BgvParams, secrets: &Secrets, result: &Ciphertext<D>) -> u64 {
        let (rlwe, result) = (params.rlwe(), result.clone().in_domain(dev, Domain::Eval));
        let phase = crate::rlwe::encrypt::phase(dev, rlwe, secrets.rlwe(), &result.parts, rlwe.basis(result.level));
        limbwise_device::Handle::shape(&phase).bytes()
    }

    fn open<D: HostRead>(
        setup: Setup<'_, Self, D>,
        secrets: &Secrets,
        inputs: &[Ciphertext<D>],
        results: &[Ciphertext<D>],
    ) -> Result<BgvReading> {
        let Setup { dev, encoder, params } = setup;
        BgvReading::of(dev, encoder, params, secrets.rlwe(), inputs, results)
    }

    fn expectation<D: Device>(params: &BgvParams, recorded: &Ciphertext<D>, _: Knowledge) -> BgvExpectation {
        BgvExpectation::of(params, recorded)
    }

    fn admit<D: Device>(expectation: &BgvExpectation, params: &BgvParams, got: Ciphertext<D>) -> Result<Ciphertext<D>> {
        Ok(expectation.admit(params, got)?)
    }
}
