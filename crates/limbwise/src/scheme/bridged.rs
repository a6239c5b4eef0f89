//! Two schemes in one program: messages of TFHE become slots of CKKS over the bridge. Inputs and results may be of
//! either scheme.

use super::{
    Ckks, Difference, Encoding, Encryption, Input, Keys, Messages, MessagesEstimate, Scheme, Setup, SlotsEstimate,
    SlotsInput, Tfhe,
};
#[cfg(feature = "client")]
use super::{Clear, ClientScheme, Encrypting, Secrets};
use crate::{
    bridge::{Bridge, BridgeParams, BridgePlan},
    ckks::{self, Auto, Encoder, Evaluator},
    error::Result,
    params::{Params, ParamsLiteral, SecurityReport},
    supply::Supply,
    tfhe::{self, TfheLiteral, TfheParams},
    wire::{FileKind, Origin, Source, WireError, container::PREAMBLE, write_params},
};
#[cfg(feature = "client")]
use crate::{
    ckks::{Expectation, Model as Knowledge},
    error::DecryptError,
    tfhe::{TfheExpectation, TfheReading},
};
use limbwise_device::{Device, HostRead, Wordless};
#[cfg(feature = "client")]
use limbwise_math::sampling::Seed;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// Exact decisions with TFHE, arithmetic with CKKS.
#[derive(Clone, Copy, Debug)]
pub enum Bridged {}

/// Unchecked parameters of both schemes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BridgedLiteral {
    /// The CKKS set.
    pub ckks: ParamsLiteral,
    /// The TFHE set.
    pub tfhe: TfheLiteral,
}

/// An input of either scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum BridgedInput {
    /// Messages of TFHE.
    Messages(Messages),
    /// Slots of CKKS.
    Slots(SlotsInput),
}

impl Input for BridgedInput {
    fn name(&self) -> &str {
        match self {
            Self::Messages(messages) => messages.name(),
            Self::Slots(slots) => slots.name(),
        }
    }
}

/// The clear values of one ciphertext.
#[derive(Clone, Debug, PartialEq)]
pub enum BridgedValues {
    /// Messages of TFHE.
    Messages(Vec<u64>),
    /// Slots of CKKS, one vector per batch entry.
    Slots(Vec<Vec<Complex64>>),
}

/// A ciphertext of either scheme.
#[expect(clippy::large_enum_variant, reason = "few live at once, beside the words that they stand for")]
pub enum BridgedCiphertext<D: Device> {
    /// Messages of TFHE.
    Messages(tfhe::Ciphertext<D>),
    /// Slots of CKKS.
    Slots(ckks::Ciphertext<D>),
}

impl<D: Device> Clone for BridgedCiphertext<D> {
    fn clone(&self) -> Self {
        match self {
            Self::Messages(messages) => Self::Messages(messages.clone()),
            Self::Slots(slots) => Self::Slots(slots.clone()),
        }
    }
}

/// The estimate of a ciphertext of either scheme.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "few live at once, beside the words that they stand for")]
pub enum BridgedEstimate {
    /// Estimate of TFHE messages.
    Messages(MessagesEstimate),
    /// Estimate of CKKS slots.
    Slots(SlotsEstimate),
}

/// The expectation of a result of either scheme.
#[cfg(feature = "client")]
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "few live at once, beside the words that they stand for")]
pub enum BridgedExpectation {
    /// Messages of TFHE.
    Messages(TfheExpectation),
    /// Slots of CKKS.
    Slots(Expectation),
}

/// The evaluators of a program of both schemes.
pub struct BridgedMeans<'a, D: Device> {
    /// Evaluates on TFHE messages.
    pub tfhe: tfhe::Evaluator<'a, D>,
    /// Evaluates on CKKS slots.
    pub auto: Auto<'a, D>,
    /// Converts messages to slots.
    pub bridge: &'a Bridge<D>,
}

/// The setup of the TFHE half, which has no tables.
fn tfhe_half<'a, D: Device>(setup: Setup<'a, Bridged, D>) -> Setup<'a, Tfhe, D> {
    Setup { dev: setup.dev, encoder: &(), params: setup.params.tfhe() }
}

/// The setup of the CKKS half.
fn ckks_half<'a, D: Device>(setup: Setup<'a, Bridged, D>) -> Setup<'a, Ckks, D> {
    Setup { dev: setup.dev, encoder: setup.encoder, params: setup.params.ckks() }
}

/// The difference reported for a file or value of the wrong scheme.
fn other(got: &'static str, wanted: &'static str) -> Option<Difference> {
    Some(Difference { field: "its scheme", got: got.into(), wanted: wanted.into() })
}

impl Scheme for Bridged {
    const NAME: &'static str = "tfhe+ckks";

    type Literal = BridgedLiteral;
    type Params = BridgeParams;
    type Input = BridgedInput;
    type Values = BridgedValues;
    type Model<'m> = BridgePlan;
    type Encoder = Encoder;
    type Encoded<D: Device> = Bridge<D>;
    type Means<'a, D: Device + 'a> = BridgedMeans<'a, D>;
    type Ciphertext<D: Device> = BridgedCiphertext<D>;
    type Estimate = BridgedEstimate;
    /// The values of each result.
    type Reading = Vec<BridgedValues>;

    fn params(literal: &BridgedLiteral) -> Result<BridgeParams> {
        BridgeParams::new(&Params::new(&literal.ckks)?, &TfheParams::new(&literal.tfhe)?)
    }

    fn literal(params: &BridgeParams) -> BridgedLiteral {
        BridgedLiteral { ckks: params.ckks().literal().clone(), tfhe: params.tfhe().literal().clone() }
    }

    fn security(params: &BridgeParams) -> &SecurityReport {
        params.security()
    }

    fn rlwe(params: &BridgeParams) -> Option<&Params> {
        Some(params.ckks())
    }

    fn tfhe(params: &BridgeParams) -> Option<&TfheParams> {
        Some(params.tfhe())
    }

    fn encoder(params: &BridgeParams) -> Encoder {
        Encoder::new(params.ckks())
    }

    fn encode<D: Device>(
        setup: Setup<'_, Self, D>,
        supply: &dyn Supply<D>,
        plan: &BridgePlan,
        tell: &mut dyn FnMut(Encoding, usize, usize),
    ) -> Result<Bridge<D>> {
        tell(Encoding::Bootstrapper, 0, 1);
        Bridge::encode_from(setup.dev, supply, (setup.encoder, setup.params), *plan)
    }

    fn declare<D: Wordless>(setup: Setup<'_, Self, D>, plan: &BridgePlan) -> Result<Bridge<D>> {
        Bridge::declare(setup.dev, setup.encoder, setup.params, *plan)
    }

    fn host_bytes<D: Device>(bridge: &Bridge<D>) -> u64 {
        bridge.host_bytes()
    }

    fn means<'a, D: Device>(
        setup: Setup<'a, Self, D>,
        bridge: &'a Bridge<D>,
        keys: Keys<'a, D>,
    ) -> BridgedMeans<'a, D> {
        let Setup { dev, encoder, params } = setup;
        let auto = Auto::new(Evaluator::new(dev, params.ckks(), keys.store), encoder);
        BridgedMeans { tfhe: tfhe::Evaluator::new(dev, keys.server_key()), auto, bridge }
    }

    fn declare_input<D: Wordless>(
        setup: Setup<'_, Self, D>,
        input: &BridgedInput,
        key: Encryption,
    ) -> Result<BridgedCiphertext<D>> {
        Ok(match input {
            BridgedInput::Messages(input) => {
                BridgedCiphertext::Messages(Tfhe::declare_input(tfhe_half(setup), input, key)?)
            }
            BridgedInput::Slots(input) => BridgedCiphertext::Slots(Ckks::declare_input(ckks_half(setup), input, key)?),
        })
    }

    fn input_bytes(params: &BridgeParams, input: &BridgedInput) -> u64 {
        match input {
            BridgedInput::Messages(messages) => Tfhe::input_bytes(params.tfhe(), messages),
            BridgedInput::Slots(slots) => Ckks::input_bytes(params.ckks(), slots),
        }
    }

    fn sum<D: Device>(
        setup: Setup<'_, Self, D>,
        pair: [&BridgedCiphertext<D>; 2],
    ) -> Option<Result<BridgedCiphertext<D>>> {
        let [BridgedCiphertext::Slots(a), BridgedCiphertext::Slots(b)] = pair else { return None };
        Ckks::sum(ckks_half(setup), [a, b]).map(|sum| Ok(BridgedCiphertext::Slots(sum?)))
    }

    fn bytes<D: Device>(ciphertext: &BridgedCiphertext<D>) -> u64 {
        match ciphertext {
            BridgedCiphertext::Messages(messages) => Tfhe::bytes(messages),
            BridgedCiphertext::Slots(slots) => Ckks::bytes(slots),
        }
    }

    fn estimate<D: Device>(params: &BridgeParams, ciphertext: &BridgedCiphertext<D>) -> BridgedEstimate {
        match ciphertext {
            BridgedCiphertext::Messages(messages) => BridgedEstimate::Messages(Tfhe::estimate(params.tfhe(), messages)),
            BridgedCiphertext::Slots(slots) => BridgedEstimate::Slots(Ckks::estimate(params.ckks(), slots)),
        }
    }

    fn difference<D: Device>(input: &BridgedInput, got: &BridgedCiphertext<D>) -> Option<Difference> {
        match (input, got) {
            (BridgedInput::Messages(input), BridgedCiphertext::Messages(got)) => Tfhe::difference(input, got),
            (BridgedInput::Slots(input), BridgedCiphertext::Slots(got)) => Ckks::difference(input, got),
            (BridgedInput::Messages(_), BridgedCiphertext::Slots(_)) => other("CKKS", "TFHE"),
            (BridgedInput::Slots(_), BridgedCiphertext::Messages(_)) => other("TFHE", "CKKS"),
        }
    }

    fn write<W: Write, D: HostRead>(
        out: W,
        dev: &D,
        params: &BridgeParams,
        ciphertext: &BridgedCiphertext<D>,
        origin: &Origin,
    ) -> Result<W> {
        match ciphertext {
            BridgedCiphertext::Messages(messages) => Tfhe::write(out, dev, params.tfhe(), messages, origin),
            BridgedCiphertext::Slots(slots) => Ckks::write(out, dev, params.ckks(), slots, origin),
        }
    }

    fn read<S: Source, D: Device>(source: S, dev: &D, params: &BridgeParams) -> Result<BridgedCiphertext<D>> {
        let length = source.length().map_err(|e| WireError::Io { doing: "asking for the length", source: e })?;
        let mut head = vec![0; PREAMBLE.min(usize::try_from(length).unwrap_or(PREAMBLE))];
        source.read_at(0, &mut head).map_err(|e| WireError::Io { doing: "reading", source: e })?;
        Ok(match FileKind::of(&head)? {
            FileKind::TfheCiphertext => BridgedCiphertext::Messages(Tfhe::read(source, dev, params.tfhe())?),
            _ => BridgedCiphertext::Slots(Ckks::read(source, dev, params.ckks())?),
        })
    }

    /// Writes the CKKS set: the description holds both.
    fn write_params<W: Write>(out: W, params: &BridgeParams) -> Result<W> {
        write_params(out, params.ckks())
    }
}

/// Panics: a value of the wrong scheme for its input is a bug in the program's layout.
#[cfg(feature = "client")]
fn mixed() -> ! {
    panic!("values of one scheme for an input of the other")
}

#[cfg(feature = "client")]
impl ClientScheme for Bridged {
    type Expectation = BridgedExpectation;

    fn hash_values(values: &BridgedValues, feed: &mut dyn FnMut(&[u8])) {
        match values {
            BridgedValues::Messages(messages) => Tfhe::hash_values(messages, feed),
            BridgedValues::Slots(slots) => Ckks::hash_values(slots, feed),
        }
    }

    fn takes_secrets(_: Encryption) -> bool {
        true
    }

    fn encrypt<D: Device>(
        setup: Setup<'_, Self, D>,
        with: &Encrypting<'_, D>,
        clear: Clear<'_, Self>,
        seed: &Seed,
    ) -> Result<BridgedCiphertext<D>> {
        Ok(match (clear.input, clear.values) {
            (BridgedInput::Messages(input), BridgedValues::Messages(values)) => {
                BridgedCiphertext::Messages(Tfhe::encrypt(tfhe_half(setup), with, Clear { input, values }, seed)?)
            }
            (BridgedInput::Slots(input), BridgedValues::Slots(values)) => {
                BridgedCiphertext::Slots(Ckks::encrypt(ckks_half(setup), with, Clear { input, values }, seed)?)
            }
            _ => mixed(),
        })
    }

    fn no_values(input: &BridgedInput) -> BridgedValues {
        match input {
            BridgedInput::Messages(input) => BridgedValues::Messages(Tfhe::no_values(input)),
            BridgedInput::Slots(input) => BridgedValues::Slots(Ckks::no_values(input)),
        }
    }

    fn rehearse_reading<D: Device>(
        dev: &D,
        params: &BridgeParams,
        secrets: &Secrets,
        result: &BridgedCiphertext<D>,
    ) -> u64 {
        match result {
            BridgedCiphertext::Messages(messages) => Tfhe::rehearse_reading(dev, params.tfhe(), secrets, messages),
            BridgedCiphertext::Slots(slots) => Ckks::rehearse_reading(dev, params.ckks(), secrets, slots),
        }
    }

    fn open<D: HostRead>(
        setup: Setup<'_, Self, D>,
        secrets: &Secrets,
        _inputs: &[BridgedCiphertext<D>],
        results: &[BridgedCiphertext<D>],
    ) -> Result<Vec<BridgedValues>> {
        let Setup { dev, encoder, params } = setup;
        let read = |result: &BridgedCiphertext<D>| {
            Ok(match result {
                BridgedCiphertext::Messages(messages) => {
                    BridgedValues::Messages(TfheReading::of(dev, secrets.tfhe(), messages)?.messages)
                }
                BridgedCiphertext::Slots(slots) => {
                    BridgedValues::Slots(ckks::decrypt(dev, encoder, params.ckks(), secrets.rlwe(), slots)?)
                }
            })
        };
        results.iter().map(read).collect()
    }

    fn of_others<D: Device>(recorded: &BridgedCiphertext<D>, number: u64) -> BridgedCiphertext<D> {
        match recorded {
            BridgedCiphertext::Messages(messages) => BridgedCiphertext::Messages(messages.clone()),
            BridgedCiphertext::Slots(slots) => BridgedCiphertext::Slots(Ckks::of_others(slots, number)),
        }
    }

    fn expectation<D: Device>(
        params: &BridgeParams,
        recorded: &BridgedCiphertext<D>,
        model: Knowledge,
    ) -> BridgedExpectation {
        match recorded {
            BridgedCiphertext::Messages(messages) => BridgedExpectation::Messages(TfheExpectation::of(messages)),
            BridgedCiphertext::Slots(slots) => BridgedExpectation::Slots(Expectation::of(params.ckks(), slots, model)),
        }
    }

    fn admit<D: Device>(
        expectation: &BridgedExpectation,
        params: &BridgeParams,
        got: BridgedCiphertext<D>,
    ) -> Result<BridgedCiphertext<D>> {
        let other = |got: &str, wanted: &str| {
            Err(DecryptError::Unexpected { field: "scheme", got: got.into(), wanted: wanted.into() }.into())
        };
        match (expectation, got) {
            (BridgedExpectation::Messages(expectation), BridgedCiphertext::Messages(got)) => {
                Ok(BridgedCiphertext::Messages(expectation.admit(got)?))
            }
            (BridgedExpectation::Slots(expectation), BridgedCiphertext::Slots(got)) => {
                Ok(BridgedCiphertext::Slots(expectation.admit(params.ckks(), got)?))
            }
            (BridgedExpectation::Messages(_), BridgedCiphertext::Slots(_)) => other("CKKS", "TFHE"),
            (BridgedExpectation::Slots(_), BridgedCiphertext::Messages(_)) => other("TFHE", "CKKS"),
        }
    }
}
