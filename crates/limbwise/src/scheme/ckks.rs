//! CKKS as a scheme of programs: slots of complex numbers at levels.

#[cfg(feature = "client")]
use super::{Clear, ClientScheme, Encrypting, Secrets, Shadows};
use super::{Difference, Encoding, Encryption, Input, Keys, NoKeys, Scheme, Setup};
#[cfg(feature = "client")]
use crate::{
    ckks::{
        Audit, Expectation, FreshCiphertext, Model as Knowledge, Probe, ShadowBound, decrypt::phase, decrypt_wide,
        encrypt::encrypt_in_pieces, encrypt_from, encrypt_seeded_from,
    },
    wire::FreshWriter,
};
use crate::{
    ckks::{
        Auto, BootstrapPlan, Bootstrapper, Ciphertext, Diagonals, Encoder, Estimate, Evaluator, LinearPlan,
        LinearTransform, Packing, PlaintextForm, Promise,
    },
    error::{Result, ScaleError},
    params::{Params, ParamsLiteral, SecurityReport},
    supply::Supply,
    tfhe::TfheParams,
    wire::{Origin, Source, read_ciphertext, write_ciphertext, write_params},
};
#[cfg(feature = "client")]
use limbwise_device::Handle as _;
use limbwise_device::{Device, HostRead, Wordless};
#[cfg(feature = "client")]
use limbwise_math::sampling::Seed;
use num_complex::Complex64;
use std::io::Write;

/// Approximate numbers in slots.
#[derive(Clone, Copy, Debug)]
pub enum Ckks {}

/// One input ciphertext: a batch of vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotsInput {
    /// Name for people.
    pub name: String,
    /// Vectors in the batch.
    pub batch: usize,
    /// Level, scale and slot count.
    pub packing: Packing,
    /// Promise about the values.
    pub bounds: Promise,
}

impl Input for SlotsInput {
    fn name(&self) -> &str {
        &self.name
    }
}

/// Level, size and error of slots.
#[derive(Clone, Copy, Debug)]
pub struct SlotsEstimate {
    /// Level of the ciphertext.
    pub level: usize,
    /// Expected size and error.
    pub estimate: Estimate,
}

/// The clear linear maps of a program, and its bootstrapping plan.
#[derive(Clone, Debug, Default)]
pub struct Maps<'m> {
    /// The maps, each with its evaluation plan.
    pub maps: Vec<(&'m Diagonals, LinearPlan)>,
    /// The bootstrapping plan; `None` for a program that does not bootstrap.
    pub bootstrapping: Option<BootstrapPlan>,
}

/// [`Maps`], encoded on a device.
pub struct Encoded<D: Device> {
    /// The encoded maps of the program.
    pub maps: Vec<LinearTransform<D>>,
    /// The bootstrapper with its encoded maps.
    pub bootstrapper: Option<Bootstrapper<D>>,
}

/// The evaluator and encoded maps of a program on slots.
pub struct Slots<'a, D: Device> {
    /// The evaluator with automatic levels and scales.
    pub auto: Auto<'a, D>,
    /// The encoded maps of the program.
    pub maps: &'a [LinearTransform<D>],
}

/// Size in bytes of a ciphertext at a level.
#[must_use]
pub fn slots_bytes(params: &Params, level: usize) -> u64 {
    2 * limb_bytes(params) * params.limbs(level.min(params.top_level())) as u64
}

/// Smallest size in bytes of an encoded diagonal in a storage form.
#[must_use]
pub fn plaintext_bytes(params: &Params, form: PlaintextForm, level: usize) -> u64 {
    let limbs = match form {
        PlaintextForm::Full => params.limbs(level.min(params.top_level())),
        PlaintextForm::OnTheFly => 1,
        PlaintextForm::AtUse => 0,
    };
    limb_bytes(params) * limbs as u64
}

fn limb_bytes(params: &Params) -> u64 {
    8 * params.ring().n() as u64
}

impl Scheme for Ckks {
    const NAME: &'static str = "ckks";

    type Literal = ParamsLiteral;
    type Params = Params;
    type Input = SlotsInput;
    type Values = Vec<Vec<Complex64>>;
    type Model<'m> = Maps<'m>;
    type Encoder = Encoder;
    type Encoded<D: Device> = Encoded<D>;
    type Means<'a, D: Device + 'a> = Slots<'a, D>;
    type Ciphertext<D: Device> = Ciphertext<D>;
    type Estimate = SlotsEstimate;
    /// The slots of each result, one vector per batch entry; of a wide set's scale as many more, with what f64 leaves of
    /// them.
    type Reading = Vec<Vec<Vec<Complex64>>>;

    fn params(literal: &ParamsLiteral) -> Result<Params> {
        Ok(Params::new(literal)?)
    }

    fn literal(params: &Params) -> ParamsLiteral {
        params.literal().clone()
    }

    fn security(params: &Params) -> &SecurityReport {
        params.security()
    }

    fn rlwe(params: &Params) -> Option<&Params> {
        Some(params)
    }

    fn tfhe(_: &Params) -> Option<&TfheParams> {
        None
    }

    fn encoder(params: &Params) -> Encoder {
        Encoder::new(params)
    }

    fn encode<D: Device>(
        setup: Setup<'_, Self, D>,
        supply: &dyn Supply<D>,
        model: &Maps<'_>,
        tell: &mut dyn FnMut(Encoding, usize, usize),
    ) -> Result<Encoded<D>> {
        let Setup { dev, encoder, .. } = setup;
        let mut maps = Vec::new();
        for (done, (map, plan)) in model.maps.iter().enumerate() {
            tell(Encoding::Maps, done, model.maps.len());
            maps.push(LinearTransform::encode_from(dev, supply, encoder, map, *plan)?);
            map.forget();
        }
        let encode = |plan| {
            tell(Encoding::Bootstrapper, 0, 1);
            Bootstrapper::encode_from(dev, supply, encoder, plan)
        };
        Ok(Encoded { maps, bootstrapper: model.bootstrapping.map(encode).transpose()? })
    }

    fn declare<D: Wordless>(setup: Setup<'_, Self, D>, model: &Maps<'_>) -> Result<Encoded<D>> {
        let Setup { dev, encoder, .. } = setup;
        let declare = |(map, plan): &(&Diagonals, LinearPlan)| LinearTransform::declare(dev, encoder, map, *plan);
        let maps = model.maps.iter().map(declare).collect::<Result<_>>()?;
        let bootstrapper = model.bootstrapping.map(|plan| Bootstrapper::declare(dev, encoder, plan)).transpose()?;
        Ok(Encoded { maps, bootstrapper })
    }

    fn with_shadows<D: Device>(mut encoded: Encoded<D>, model: &Maps<'_>) -> Encoded<D> {
        let clear = model.maps.iter().map(|(map, _)| *map);
        encoded.maps = encoded.maps.into_iter().zip(clear).map(|(map, shadow)| map.with_shadow(shadow)).collect();
        encoded
    }

    fn host_bytes<D: Device>(encoded: &Encoded<D>) -> u64 {
        encoded.bootstrapper.as_ref().map_or(0, Bootstrapper::host_bytes)
    }

    fn means<'a, D: Device>(setup: Setup<'a, Self, D>, encoded: &'a Encoded<D>, keys: Keys<'a, D>) -> Slots<'a, D> {
        let Setup { dev, encoder, params } = setup;
        let eval = Evaluator::new(dev, params, keys.store).with_watch(keys.watch);
        let auto = Auto::new(eval, encoder).with_bootstrapper(encoded.bootstrapper.as_ref());
        Slots { auto, maps: &encoded.maps }
    }

    fn declare_input<D: Wordless>(
        setup: Setup<'_, Self, D>,
        input: &SlotsInput,
        key: Encryption,
    ) -> Result<Ciphertext<D>> {
        setup.encoder.declare_bounded(setup.dev, input.batch, input.bounds, input.packing, key.into())
    }

    fn input_bytes(params: &Params, input: &SlotsInput) -> u64 {
        (input.batch as u64).saturating_mul(slots_bytes(params, input.packing.level))
    }

    fn least_model_bytes(params: &Params, model: &Maps<'_>) -> u64 {
        let encoded = model.maps.iter().map(|(diagonals, LinearPlan { form, level, .. })| {
            (diagonals.count() as u64).saturating_mul(plaintext_bytes(params, *form, *level))
        });
        encoded.fold(Self::clear_model_bytes(model), u64::saturating_add)
    }

    /// Maps with shared diagonals count once.
    fn clear_model_bytes(model: &Maps<'_>) -> u64 {
        let maps: Vec<&Diagonals> = model.maps.iter().map(|(diagonals, _)| *diagonals).collect();
        let apart = |&(at, map): &(usize, &&Diagonals)| !maps[..at].iter().any(|before| before.shares(map));
        let bytes = |(_, map): (usize, &&Diagonals)| map.bytes();
        maps.iter().enumerate().filter(apart).map(bytes).sum()
    }

    fn sum<D: Device>(setup: Setup<'_, Self, D>, [a, b]: [&Ciphertext<D>; 2]) -> Option<Result<Ciphertext<D>>> {
        let Setup { dev, params, .. } = setup;
        Some(Evaluator::new(dev, params, &NoKeys).add(a, b).and_then(|sum| {
            // A message that overflows the modulus decrypts to a plausible wrong number.
            let room = params.log_modulus(sum.level) - 1.0;
            let wanted = (sum.estimate.peak * sum.scale).log2();
            let fits = wanted < room;
            if fits { Ok(sum) } else { Err(ScaleError::NoRoom { level: sum.level, wanted, room }.into()) }
        }))
    }

    fn bytes<D: Device>(ciphertext: &Ciphertext<D>) -> u64 {
        ciphertext.bytes()
    }

    fn estimate<D: Device>(_: &Params, ciphertext: &Ciphertext<D>) -> SlotsEstimate {
        SlotsEstimate { level: ciphertext.level, estimate: ciphertext.estimate }
    }

    fn difference<D: Device>(input: &SlotsInput, got: &Ciphertext<D>) -> Option<Difference> {
        let (packing, promise) = (input.packing, got.estimate);
        let least = promise.peak <= input.bounds.peak && promise.magnitude <= input.bounds.magnitude;
        Difference::first([
            ("its batch", got.batch().to_string(), input.batch.to_string(), got.batch() == input.batch),
            ("its number of slots", got.slots.to_string(), packing.slots.to_string(), got.slots == packing.slots),
            ("its level", got.level.to_string(), packing.level.to_string(), got.level == packing.level),
            ("its number of polynomials", got.parts.len().to_string(), "2".into(), got.parts.len() == 2),
            (
                "log2 of its scale",
                got.scale.log2().to_string(),
                packing.scale.log2().to_string(),
                got.scale.to_bits() == packing.scale.to_bits(),
            ),
            (
                "what it promises of its values",
                format!("up to {}", promise.peak),
                format!("up to {}", input.bounds.peak),
                least,
            ),
        ])
    }

    fn write<W: Write, D: HostRead>(
        out: W,
        dev: &D,
        params: &Params,
        ciphertext: &Ciphertext<D>,
        origin: &Origin,
    ) -> Result<W> {
        write_ciphertext(out, dev, params, ciphertext, origin)
    }

    fn read<S: Source, D: Device>(source: S, dev: &D, params: &Params) -> Result<Ciphertext<D>> {
        read_ciphertext(source, dev, params)
    }

    fn write_params<W: Write>(out: W, params: &Params) -> Result<W> {
        write_params(out, params)
    }
}

/// Encrypts under the secret key, so that a file holds one half and a seed.
#[cfg(feature = "client")]
fn fresh<D: Device>(
    setup: Setup<'_, Ckks, D>,
    with: &Encrypting<'_, D>,
    clear: Clear<'_, Ckks>,
    seed: &Seed,
) -> Result<FreshCiphertext<D>> {
    let plain = plain(setup, with, clear)?;
    let secret = with.secrets.expect("encryption under the secret key has it").rlwe();
    let mut fresh = encrypt_seeded_from(setup.dev, setup.params, secret, &plain, seed);
    fresh.ciphertext = fresh.ciphertext.with_promise(clear.input.bounds)?;
    Ok(fresh)
}

#[cfg(feature = "client")]
fn plain<D: Device>(
    setup: Setup<'_, Ckks, D>,
    with: &Encrypting<'_, D>,
    clear: Clear<'_, Ckks>,
) -> Result<crate::ckks::Plaintext<D>> {
    let plain = setup.encoder.encode(setup.dev, clear.values, clear.input.packing)?;
    Ok(if with.shadows == Shadows::Carried { plain.with_shadow(clear.values) } else { plain })
}

#[cfg(feature = "client")]
impl ClientScheme for Ckks {
    type Expectation = Expectation;

    fn hash_values(values: &Vec<Vec<Complex64>>, feed: &mut dyn FnMut(&[u8])) {
        for z in values.iter().flatten() {
            feed(&z.re.to_le_bytes());
            feed(&z.im.to_le_bytes());
        }
    }

    fn audit<'a, D: HostRead>(
        setup: Setup<'a, Self, D>,
        secrets: &'a Secrets,
        bound: ShadowBound,
    ) -> Option<Audit<'a, D>> {
        let Setup { dev, encoder, params } = setup;
        Some(Audit::new(Probe { dev, encoder, params, secret: secrets.rlwe() }, bound))
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
        match with.key {
            Encryption::SecretKey => Ok(fresh(setup, with, clear, seed)?.ciphertext),
            Encryption::PublicKey => {
                let public = with.public.expect("encryption under the public key has it");
                let plain = plain(setup, with, clear)?;
                encrypt_from(setup.dev, setup.params, public, &plain, seed).with_promise(clear.input.bounds)
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
        let Setup { dev, encoder, params } = setup;
        match with.key {
            Encryption::SecretKey => {
                let secret = with.secrets.expect("encryption under the secret key has it").rlwe();
                let (values, input) = (clear.values, clear.input);
                let begin = |header: Ciphertext<D>, public: &Seed| {
                    let header = header.with_promise(input.bounds)?;
                    FreshWriter::begin(out, params, &header, values.len(), public, origin)
                };
                let each = |out: &mut FreshWriter<W>, poly: &D::Poly| out.push(dev, poly);
                encrypt_in_pieces((dev, encoder), secret, (values, input.packing), seed, begin, each)?.finish()
            }
            Encryption::PublicKey => {
                write_ciphertext(out, dev, params, &Self::encrypt(setup, with, clear, seed)?, origin)
            }
        }
    }

    /// Empty vectors, which are padded with zeros.
    fn no_values(input: &SlotsInput) -> Vec<Vec<Complex64>> {
        vec![Vec::new(); input.batch]
    }

    fn rehearse_reading<D: Device>(dev: &D, params: &Params, secrets: &Secrets, result: &Ciphertext<D>) -> u64 {
        phase(dev, params, secrets.rlwe(), result).shape().bytes()
    }

    fn open<D: HostRead>(
        setup: Setup<'_, Self, D>,
        secrets: &Secrets,
        _inputs: &[Ciphertext<D>],
        results: &[Ciphertext<D>],
    ) -> Result<Vec<Vec<Vec<Complex64>>>> {
        let Setup { dev, encoder, params } = setup;
        let open = |result| {
            let (messages, rest) = decrypt_wide(dev, encoder, params, secrets.rlwe(), result)?;
            Ok([messages, rest].concat())
        };
        results.iter().map(open).collect()
    }

    fn of_others<D: Device>(recorded: &Ciphertext<D>, number: u64) -> Ciphertext<D> {
        let estimate = recorded.estimate.of_others(number);
        Ciphertext { estimate, ..recorded.clone() }
    }

    fn expectation<D: Device>(params: &Params, recorded: &Ciphertext<D>, model: Knowledge) -> Expectation {
        Expectation::of(params, recorded, model)
    }

    fn admit<D: Device>(expectation: &Expectation, params: &Params, got: Ciphertext<D>) -> Result<Ciphertext<D>> {
        Ok(expectation.admit(params, got)?)
    }
}
