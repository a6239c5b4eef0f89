//! Results from outside: what is not as the client expects is refused before it is opened, and what was made up tells
//! nothing when it is.

use crate::{
    bgv, bridge,
    common::{Dev, device},
    hostile::{opened, sealed},
    schemes::{blocks, file, integers, lied, messages, read, secrets, slots},
    tfhe,
};
use limbwise::{
    Error,
    bgv::{BgvError, BgvReading, noise::NoiseBound},
    ckks::Model,
    error::DecryptError,
    scheme::{Bgv, Bridged, BridgedInput, BridgedValues, Clear, ClientScheme, Encryption, Scheme, Setup, Tfhe},
    tfhe::{TfheError, TfheParams, TfheReading},
    wire::tfhe_fingerprint,
};
use limbwise_device::{Domain, Null};
use limbwise_math::sampling::{Seed, Stream};

/// What a client expects of an input that nothing was done to.
fn expected<S: ClientScheme>(params: &S::Params, input: &S::Input) -> S::Expectation {
    let (null, encoder) = (Null::default(), S::encoder(params));
    let recorded =
        S::declare_input(Setup { dev: &null, encoder: &encoder, params }, input, Encryption::SecretKey).unwrap();
    S::expectation(params, &recorded, Model::Known)
}

/// The property that is refused; nothing where none is.
fn refused<S: ClientScheme>(expected: &S::Expectation, params: &S::Params, got: S::Ciphertext<Dev>) -> &'static str {
    match S::admit(expected, params, got) {
        Ok(_) => "nothing",
        Err(Error::Decrypt(DecryptError::Unexpected { field, .. })) => field,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn messages_that_say_something_else_are_refused() {
    let (dev, params) = (device(), tfhe::params());
    let values = |batch: usize| vec![1; batch];
    let bytes = file::<Tfhe>(&dev, &params, Clear { input: &messages(3), values: &values(3) });
    let wanted = expected::<Tfhe>(&params, &messages(3));
    let says = |bytes: &[u8]| refused::<Tfhe>(&wanted, &params, Tfhe::read(bytes, &dev, &params).unwrap());
    assert_eq!(says(&bytes), "nothing");
    assert_eq!(says(&file::<Tfhe>(&dev, &params, Clear { input: &messages(2), values: &values(2) })), "batch");
    for range in [[0, 0], [0, 2], [-1, 1]] {
        assert_eq!(says(&lied(&bytes, "/range", range.into())), "range of messages", "{range:?}");
    }
    for norm in [0.5, 1.001, 4.0, 1e300] {
        assert_eq!(says(&lied(&bytes, "/norm_squared", norm.into())), "squared norm", "{norm}");
    }
    // Another set altogether, with its own key.
    let mut literal = tfhe::literal();
    literal.glwe_sigma = 3.1;
    let other = TfheParams::new(&literal).unwrap();
    assert_ne!(tfhe_fingerprint(&other), tfhe_fingerprint(&params));
    let theirs =
        read::<Tfhe>(&dev, &other, &file::<Tfhe>(&dev, &other, Clear { input: &messages(3), values: &values(3) }));
    assert_eq!(refused::<Tfhe>(&wanted, &params, theirs), "set of parameters");
    // What may differ by rounding is the client's own afterwards.
    let near = lied(&bytes, "/norm_squared", (1.0 + 1e-12).into());
    let near = Tfhe::read(&near, &dev, &params).unwrap();
    assert!(near.norm_squared() > 1.0);
    let admitted = Tfhe::admit(&wanted, &params, near).unwrap();
    assert_eq!((admitted.norm_squared(), admitted.range()), (1.0, (0, 1)));
}

#[test]
fn integers_that_say_something_else_are_refused() {
    let (dev, params, input) = (device(), bgv::params(), integers(2, Domain::Eval));
    let values = vec![vec![7], vec![8]];
    let honest = read::<Bgv>(&dev, &params, &file::<Bgv>(&dev, &params, Clear { input: &input, values: &values }));
    let wanted = expected::<Bgv>(&params, &input);
    let says = |change: &dyn Fn(&mut limbwise::bgv::Ciphertext<Dev>)| {
        let mut got = honest.clone();
        change(&mut got);
        refused::<Bgv>(&wanted, &params, got)
    };
    assert_eq!(says(&|_| ()), "nothing");
    assert_eq!(refused::<Bgv>(&expected::<Bgv>(&params, &integers(1, Domain::Eval)), &params, honest.clone()), "batch");
    assert_eq!(says(&|c| c.level = 0), "level");
    assert_eq!(says(&|c| c.parts.push(c.parts[0].clone())), "number of polynomials");
    assert_eq!(says(&|c| c.factor = 3), "factor");
    let bits = honest.noise.bits();
    for other in [bits - 1.0, bits + 1e-3, bits + 40.0, 0.0, f64::NAN, f64::INFINITY] {
        assert_eq!(says(&|c| c.noise = NoiseBound::of_bits(other)), "bound on the noise", "{other}");
    }
    let mut near = honest.clone();
    near.noise = NoiseBound::of_bits(bits * (1.0 + 1e-12));
    let admitted = Bgv::admit(&wanted, &params, near).unwrap();
    assert_eq!(admitted.noise.bits().to_bits(), bits.to_bits(), "the client's own bound");
}

#[test]
fn results_of_the_other_scheme_are_refused() {
    let (dev, params) = (device(), bridge::params());
    let (slots, vectors) = slots();
    let inputs = [BridgedInput::Messages(messages(2)), BridgedInput::Slots(slots)];
    let values = [BridgedValues::Messages(vec![1, 0]), BridgedValues::Slots(vectors)];
    let both = || {
        [0, 1].map(|i| {
            read::<Bridged>(
                &dev,
                &params,
                &file::<Bridged>(&dev, &params, Clear { input: &inputs[i], values: &values[i] }),
            )
        })
    };
    let [first, second] = inputs.each_ref().map(|input| expected::<Bridged>(&params, input));
    let [messages, slots] = both();
    assert_eq!(refused::<Bridged>(&first, &params, messages), "nothing");
    assert_eq!(refused::<Bridged>(&second, &params, slots), "nothing");
    let [messages, slots] = both();
    assert_eq!(refused::<Bridged>(&first, &params, slots), "scheme");
    assert_eq!(refused::<Bridged>(&second, &params, messages), "scheme");
}

#[test]
fn made_up_messages_tell_nothing() {
    let (dev, params) = (device(), tfhe::params());
    let (secrets, batch) = (secrets::<Tfhe>(&params), 64);
    let client = secrets.tfhe.as_ref().unwrap();
    let bytes = file::<Tfhe>(&dev, &params, Clear { input: &messages(batch), values: &vec![1; batch] });
    let wanted = expected::<Tfhe>(&params, &messages(batch));
    let (kind, names, _, _) = opened(&bytes, &[]);
    let header = crate::hostile::header(&bytes);
    let opens = |bytes: &[u8]| {
        let admitted = Tfhe::admit(&wanted, &params, Tfhe::read(bytes, &dev, &params).unwrap()).unwrap();
        TfheReading::of(&dev, client, &admitted)
    };
    assert_eq!(opens(&bytes).unwrap().messages, vec![1; batch]);
    let mut texts = Vec::new();
    for seed in 0..8 {
        let mut blocks = blocks(&bytes);
        let bodies = blocks.last_mut().unwrap();
        // Bodies of nothing: each below the prime.
        let mut stream = Stream::new(&Seed([seed; 32]), b"made up");
        for body in bodies.chunks_exact_mut(8) {
            body.copy_from_slice(&(stream.next_word() >> 17).to_le_bytes());
        }
        let error = opens(&sealed(kind, &names, header, &blocks)).unwrap_err();
        assert!(matches!(error, Error::Tfhe(TfheError::Implausible)), "{error}");
        texts.push(error.to_string());
    }
    // One body that is wrong by half a message says the same, and so does a message that the program cannot have.
    for (entry, off) in [(0, params.modulus().value() / 8), (63, params.modulus().value() / 4)] {
        let mut blocks = blocks(&bytes);
        let body: &mut [u8] = &mut blocks.last_mut().unwrap()[8 * entry..8 * entry + 8];
        let honest = u64::from_le_bytes((&*body).try_into().unwrap());
        body.copy_from_slice(&params.modulus().add(honest, off).to_le_bytes());
        texts.push(opens(&sealed(kind, &names, header, &blocks)).unwrap_err().to_string());
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    assert!(!texts[0].contains(|c: char| c.is_ascii_digit()), "{}", texts[0]);
}

#[test]
fn more_noise_than_the_bound_is_no_integer() {
    let (dev, params, input) = (device(), bgv::params(), integers(1, Domain::Eval));
    let (secrets, encoder) = (secrets::<Bgv>(&params), Bgv::encoder(&params));
    let honest =
        read::<Bgv>(&dev, &params, &file::<Bgv>(&dev, &params, Clear { input: &input, values: &vec![vec![7]] }));
    let opens = |c| BgvReading::of(&dev, &encoder, &params, secrets.rlwe.as_ref().unwrap(), &[], &[c]);
    assert!(opens(honest.clone()).is_ok());
    let mut quiet = honest;
    quiet.noise = NoiseBound::of_bits(2.0);
    let error = opens(quiet).unwrap_err();
    assert!(matches!(error, Error::Bgv(BgvError::Decrypted)), "{error}");
    assert!(!error.to_string().contains(|c: char| c.is_ascii_digit()), "{error}");
}
