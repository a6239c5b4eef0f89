//! Ciphertexts of each scheme through its files: what comes back is what was written, and what differs from an input is
//! named.

use crate::{
    bgv, bridge,
    common::{Dev, device, promise},
    hostile::{header, opened, sealed},
    tfhe,
};
use limbwise::{
    Complex64,
    bgv::BgvReading,
    ckks::Packing,
    rlwe::KeyGenerator,
    scheme::{
        Bgv, Bridged, BridgedCiphertext, BridgedInput, BridgedValues, Clear, ClientScheme, Difference, Encrypting,
        Encryption, Integers, Messages, Scheme, Secrets, Setup, Shadows, SlotsInput, Tfhe,
    },
    wire::{self, Origin, Source},
};
use limbwise_device::Domain;
use limbwise_math::sampling::{Seed, SeedSource};
use serde_json::Value;

/// The secret keys of a set.
pub(crate) fn secrets<S: Scheme>(params: &S::Params) -> Secrets {
    Secrets::generate(S::rlwe(params), S::tfhe(params), &SeedSource::Repeating(5)).unwrap()
}

/// Encrypts into a file under the secret key.
pub(crate) fn file<S: ClientScheme>(dev: &Dev, params: &S::Params, clear: Clear<'_, S>) -> Vec<u8> {
    let (secrets, encoder) = (secrets::<S>(params), S::encoder(params));
    let (key, shadows) = (Encryption::SecretKey, Shadows::Absent);
    let with = Encrypting { key, secrets: Some(&secrets), public: None, shadows };
    let setup = Setup { dev, encoder: &encoder, params };
    S::encrypt_to(Vec::new(), setup, &with, clear, &Seed([6; 32]), &Origin::NONE).unwrap()
}

/// Reads a file, and finds that it is written again as it was read.
pub(crate) fn read<S: Scheme>(dev: &Dev, params: &S::Params, file: impl Source) -> S::Ciphertext<Dev> {
    let ciphertext = S::read(file, dev, params).unwrap();
    let once = S::write(Vec::new(), dev, params, &ciphertext, &Origin::NONE).unwrap();
    let back = S::read(&once, dev, params).unwrap();
    assert!(S::write(Vec::new(), dev, params, &back, &Origin::NONE).unwrap() == once, "the same bytes");
    back
}

/// A file whose header has another value in one field.
pub(crate) fn lied(bytes: &[u8], field: &str, value: Value) -> Vec<u8> {
    let (kind, names, mut parsed, _) = opened(bytes, &[]);
    *parsed.pointer_mut(field).unwrap() = value;
    let payloads = blocks(bytes);
    sealed(kind, &names, &serde_json::to_vec(&parsed).unwrap(), &payloads)
}

/// The blocks of a file of TFHE of these fixtures: a row a ciphertext, and the bodies.
pub(crate) fn blocks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let row = 1024 / 8 * 48;
    let left = bytes.len() - wire::container::PREAMBLE - header(bytes).len();
    let batch = (left - 16) / (row + 16 + 8);
    opened(bytes, &[vec![row; batch], vec![8 * batch]].concat()).3
}

pub(crate) fn messages(batch: usize) -> Messages {
    Messages { name: "bits".into(), batch, most: 1 }
}

pub(crate) fn integers(batch: usize, domain: Domain) -> Integers {
    Integers { name: "counts".into(), batch, level: 1, domain, modulus: 0 }
}

/// Two vectors of slots.
pub(crate) fn slots() -> (SlotsInput, Vec<Vec<Complex64>>) {
    let params = bridge::params();
    let ckks = params.ckks();
    let level = ckks.top_level();
    let packing = Packing { slots: 8, level, scale: ckks.scale(level) };
    let values = [0.5, -0.25].map(|x| vec![Complex64::from(x); 8]);
    (SlotsInput { name: "shares".into(), batch: 2, packing, bounds: promise() }, values.into())
}

fn field(difference: Option<Difference>) -> &'static str {
    difference.map_or("nothing", |difference| difference.field)
}

#[test]
fn messages_come_back() {
    let (dev, params, input) = (device(), tfhe::params(), messages(4));
    let values = vec![1, 0, 0, 1];
    let bytes = file::<Tfhe>(&dev, &params, Clear { input: &input, values: &values });
    let back = read::<Tfhe>(&dev, &params, &bytes);
    assert_eq!(Tfhe::difference(&input, &back), None);
    let opened =
        Tfhe::open(Setup { dev: &dev, encoder: &(), params: &params }, &secrets::<Tfhe>(&params), &[], &[back])
            .unwrap();
    assert_eq!(opened[0].messages, values);
}

#[test]
fn integers_come_back_in_the_domain_of_their_input() {
    let (dev, params) = (device(), bgv::params());
    let (encoder, secrets) = (Bgv::encoder(&params), secrets::<Bgv>(&params));
    let values = vec![vec![3, -4, 5], vec![-6]];
    for domain in [Domain::Eval, Domain::Coeff] {
        let input = integers(2, domain);
        let generator = KeyGenerator::from_seed(&dev, params.rlwe(), secrets.rlwe.as_ref().unwrap(), Seed([2; 32]));
        let public = generator.public_key();
        for key in [Encryption::SecretKey, Encryption::PublicKey] {
            let (public, shadows) = (Some(&public), Shadows::Absent);
            let with = Encrypting { key, secrets: Some(&secrets), public, shadows };
            let setup = Setup { dev: &dev, encoder: &encoder, params: &params };
            let clear = Clear { input: &input, values: &values };
            let bytes = Bgv::encrypt_to(Vec::new(), setup, &with, clear, &Seed([6; 32]), &Origin::NONE).unwrap();
            let back = read::<Bgv>(&dev, &params, &bytes);
            assert_eq!(Bgv::difference(&input, &back), None);
            let placed = Bgv::in_input_domain(&dev, &input, back);
            assert_eq!(limbwise_device::Handle::shape(&placed.parts[0]).domain, domain);
            // Written from any domain, and read from any.
            let placed =
                read::<Bgv>(&dev, &params, &Bgv::write(Vec::new(), &dev, &params, &placed, &Origin::NONE).unwrap());
            let BgvReading::Integers { messages, budget_bits } = Bgv::open(setup, &secrets, &[], &[placed]).unwrap()
            else {
                panic!("a fresh ciphertext is read")
            };
            assert_eq!((messages[0][0][..4].to_vec(), messages[0][1][..2].to_vec()), (vec![3, -4, 5, 0], vec![-6, 0]));
            assert!(budget_bits > 0.0);
        }
    }
}

#[test]
fn both_kinds_of_a_bridge_come_back() {
    let (dev, params) = (device(), bridge::params());
    let (slots, vectors) = slots();
    let cases = [
        (BridgedInput::Messages(messages(3)), BridgedValues::Messages(vec![1, 1, 0])),
        (BridgedInput::Slots(slots), BridgedValues::Slots(vectors.clone())),
    ];
    let read = cases.each_ref().map(|(input, values)| {
        let back = read::<Bridged>(&dev, &params, &file::<Bridged>(&dev, &params, Clear { input, values }));
        assert_eq!(Bridged::difference(input, &back), None, "{input:?}");
        back
    });
    assert!(matches!(read, [BridgedCiphertext::Messages(_), BridgedCiphertext::Slots(_)]));
    for (input, got) in [(&cases[0].0, &read[1]), (&cases[1].0, &read[0])] {
        assert_eq!(field(Bridged::difference(input, got)), "its scheme");
    }
    let encoder = Bridged::encoder(&params);
    let opened = Bridged::open(
        Setup { dev: &dev, encoder: &encoder, params: &params },
        &secrets::<Bridged>(&params),
        &[],
        &read,
    )
    .unwrap();
    assert_eq!(opened[0], cases[0].1);
    let BridgedValues::Slots(found) = &opened[1] else { panic!("slots") };
    let worst = found.iter().flatten().zip(vectors.iter().flatten()).map(|(a, b)| (a - b).norm());
    assert!(worst.fold(0.0, f64::max) < 1e-2);
}

#[test]
fn differences_are_named() {
    let dev = device();
    let params = tfhe::params();
    let bytes = file::<Tfhe>(&dev, &params, Clear { input: &messages(3), values: &vec![1, 0, 1] });
    let tfhe =
        |bytes: &[u8], input: &Messages| field(Tfhe::difference(input, &Tfhe::read(bytes, &dev, &params).unwrap()));
    assert_eq!(tfhe(&bytes, &messages(3)), "nothing");
    assert_eq!(tfhe(&bytes, &messages(2)), "its batch");
    assert_eq!(tfhe(&bytes, &Messages { most: 0, ..messages(3) }), "its range of messages");
    assert_eq!(tfhe(&lied(&bytes, "/range", [-1, 1].into()), &messages(3)), "its range of messages");
    assert_eq!(tfhe(&lied(&bytes, "/norm_squared", 4.0.into()), &messages(3)), "its squared norm");

    let params = bgv::params();
    let input = integers(1, Domain::Eval);
    let honest =
        read::<Bgv>(&dev, &params, &file::<Bgv>(&dev, &params, Clear { input: &input, values: &vec![vec![1]] }));
    let changed = |change: &dyn Fn(&mut limbwise::bgv::Ciphertext<Dev>)| {
        let mut got = honest.clone();
        change(&mut got);
        field(Bgv::difference(&input, &got))
    };
    assert_eq!(changed(&|_| ()), "nothing");
    assert_eq!(changed(&|c| c.level = 0), "its level");
    assert_eq!(changed(&|c| c.parts.push(c.parts[0].clone())), "its number of polynomials");
    assert_eq!(changed(&|c| c.factor = 2), "its factor");
    assert_eq!(field(Bgv::difference(&integers(2, Domain::Eval), &honest)), "its batch");
}
