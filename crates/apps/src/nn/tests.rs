use super::{
    Digits, Network, Nn, NnClient, NnError,
    network::{CLASSES, KERNEL, KERNELS, Neuron, PARTS, PLACES, WIDTH, class},
};
use crate::{Evaluation, client::Client as _, family::Twin as _, program::Program as _};
use limbwise::tfhe::{ClientKey, Evaluator, ServerKey, TfheParams, TfheReading, preset};
use limbwise_cpu::Cpu;
use limbwise_math::sampling::Seed;

/// A neuron with patterned inputs and weights.
fn neuron(seed: usize, inputs: usize) -> Neuron {
    let weight = |i: usize| if (seed + i).is_multiple_of(3) { -1 } else { 1 };
    let inputs = (0..9).map(|i| ((seed * 31 + i * 17) % inputs, weight(i))).collect();
    Neuron { bias: i32::try_from(seed % 5).unwrap() - 3, inputs }
}

fn network(layers: usize) -> Network {
    let hidden = |layer: usize| {
        let inputs = if layer == 0 { KERNELS * PLACES[0] * PLACES[1] } else { WIDTH };
        (0..WIDTH).map(|i| neuron(layer * WIDTH + i, inputs)).collect()
    };
    Network {
        kernels: (0..KERNELS).map(|i| neuron(i, KERNEL[0] * KERNEL[1])).collect(),
        hidden: (0..layers - 2).map(hidden).collect(),
        parts: (0..PARTS * CLASSES).map(|i| Neuron { bias: 0, ..neuron(7 * i, WIDTH) }).collect(),
        judged: (0, 0),
    }
}

/// Runs a program; returns its sums, compared with the twin's, and the classes.
fn checked(program: &Nn, digits: Digits) -> (Vec<u64>, Vec<u64>) {
    let (dev, params) = (Cpu::builder().threads(2).open().unwrap(), program.params().clone());
    let key = ClientKey::from_seed(&params, Seed([3; 32]));
    let server = ServerKey::new(&dev, &key.bootstrap_keys(&dev));
    let client = NnClient::new(program, digits).unwrap();
    let messages = client.values(0);
    let input = key.encrypt(&dev, &messages).unwrap().at_most(1).unwrap();
    let results = program
        .evaluate(Evaluation {
            means: &Evaluator::new(&dev, &server),
            inputs: &[input],
            observer: &mut (),
            journal: &mut (),
        })
        .unwrap();
    let found = TfheReading::of(&dev, &key, &results[0]).unwrap();
    assert_eq!(found.messages, program.clear(&[messages])[0]);
    let concluded = client.conclude(&vec![found.clone()]);
    assert_eq!(concluded.found.wrong, 0);
    let classes = concluded.details["classes"].as_array().unwrap().iter().map(|class| class.as_u64().unwrap());
    (found.messages, classes.collect())
}

#[test]
fn encrypted_sums_are_the_twins() {
    let program = Nn::new(&crate::small_tfhe(), network(4), 2).unwrap();
    let (sums, classes) = checked(&program, Digits::shipped(2).unwrap());
    assert!(sums.iter().any(|&m| m > 15) && sums.iter().any(|&m| m < 15), "sums of both signs occur");
    assert_eq!(classes.len(), 2);
}

/// A whole image through the shipped network of 20 layers, at 128 bits and 2^−128.
#[test]
#[ignore = "2496 bootstrappings at full size: half a minute of both cores"]
fn a_digit_at_full_size() {
    let params = TfheParams::new(&preset("2-2-p128").unwrap()).unwrap();
    let digits = Digits::shipped(1).unwrap();
    let label = u64::from(digits.labels[0]);
    let program = Nn::new(&params, Network::shipped(20).unwrap(), 1).unwrap();
    assert_eq!(checked(&program, digits).1, [label]);
}

#[test]
fn shipped_networks_know_the_shipped_digits() {
    for (layers, least) in [(20, 17), (50, 16), (100, 14)] {
        let digits = Digits::shipped(20).unwrap();
        let network = Network::shipped(layers).unwrap();
        assert_eq!((network.hidden.len() + 2, network.neurons()), (layers, 840 + 92 * (layers - 2)));
        let right = digits.images.iter().zip(&digits.labels).filter(|(i, l)| class(&network.sums(i)) == **l).count();
        assert!(right >= least, "{layers} layers: {right} of 20");
        let (of, right) = network.judged;
        assert!(f64::from(right) > 0.85 * f64::from(of), "{layers} layers: {right} of {of} after training");
    }
}

/// At least half of the neurons of the 20-layer network do more than copy an input.
#[test]
fn the_layers_of_nn20_compute() {
    let network = Network::shipped(20).unwrap();
    for (i, layer) in network.hidden.iter().enumerate().take(16) {
        let computing = layer.iter().filter(|neuron| neuron.inputs.len() > 1).count();
        assert!(computing > 8, "layer {i}: {computing} neurons of {WIDTH}");
    }
}

#[test]
fn parameters_that_do_not_hold_the_sums_are_refused() {
    let with = |name: &str| {
        let params = TfheParams::new(&preset(name).unwrap()).unwrap();
        Nn::new(&params, Network::shipped(20).unwrap(), 1).map(drop)
    };
    for name in ["2-2-p64", "2-2-p128", "strix-III", "strix-III-32", "strix-IV", "fhex-II", "fhex-II-32"] {
        assert_eq!(with(name), Ok(()), "{name}");
    }
    for (name, bits) in [("bool-p128", 2), ("strix-I", 1), ("strix-II", 2), ("strix-IV-32", 2), ("fhex-I", 1)] {
        assert_eq!(with(name), Err(NnError::Space(bits)), "{name}");
    }
    assert_eq!(Digits::shipped(21).unwrap_err(), NnError::Shipped { got: 21, shipped: 20 });
}

#[test]
fn files_that_are_no_networks_are_refused() {
    let mut bytes = include_bytes!("../../data/nn20_mnist.nn").to_vec();
    let says = |bytes: &[u8], wanted: &str| {
        let got = Network::read(bytes).unwrap_err().to_string();
        assert!(got.contains(wanted), "{got:?} should say {wanted:?}");
    };
    says(&bytes[..bytes.len() - 1], "ends too early");
    says(&[&bytes[..], &[0]].concat(), "1 bytes after its end");
    says(b"LWNN\x02", "does not start with");
    bytes[5] = 101;
    says(&bytes, "101 layers");
    bytes[5] = 20;
    bytes[12..14].copy_from_slice(&0x3ffu16.to_le_bytes());
    says(&bytes, "input 1023 with weight 0");
    // The first kernel's bias moves its sums.
    let mut bytes = include_bytes!("../../data/nn20_mnist.nn").to_vec();
    bytes[10] = 100;
    says(&bytes, "neuron 0 of layer 0 sums to");
}
