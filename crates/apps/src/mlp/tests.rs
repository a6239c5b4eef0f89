use super::{
    client::MlpClient,
    encrypted::Mlp,
    network::{MlpError, Network, Shape, label},
};
use crate::{client::Client as _, data::idx::load_range, data_dir, lola::client::Digits, program::Program as _};
use limbwise::params::presets::preset;

/// The 2,000 images that were not learned; the file of weights says how many are right.
#[test]
fn shipped_weights_read_digits_they_have_not_learned() {
    let network = Network::shipped();
    let Some(images) = data_dir("t10k-images-idx3-ubyte.gz") else { return };
    let held = load_range(&images, None, 8000..10_000).unwrap();
    let right =
        held.pixels.iter().zip(&held.labels).filter(|(x, digit)| label(&network.scores(x)) == usize::from(**digit));
    let right = right.count();
    assert!(right >= 1940, "{right} of 2000: wanted 97 %");
}

/// Values lie feature after feature, groups within, and read back as images.
#[test]
fn an_image_is_a_slot_of_its_group() {
    let params = preset("n12-l2-s27").unwrap();
    let program = Mlp::new(&params, Network::shipped(), 2050).unwrap();
    assert_eq!((program.slots(), program.groups(), program.inputs()[0].batch), (2048, 2, 970));
    let digits = Digits::generated(28, 2050, 3);
    let client = MlpClient::new(&program, digits.clone()).unwrap();
    let values = client.values(0);
    assert_eq!((values.len(), values[0].len(), values[1].len()), (970, 2048, 2));
    let (row, column) = (3 + 100 / 22, 3 + 100 % 22);
    assert_eq!(values[2 * 100 + 1][1], digits.pixels[2049][row * 28 + column].into());
    assert!(values[968..].iter().flatten().all(|z| *z == 1.0.into()));
}

#[test]
fn bad_images_and_networks_are_refused() {
    let params = preset("n12-l2-s27").unwrap();
    let program = Mlp::new(&params, Network::shipped(), 1).unwrap();
    let refused = |pixels: Vec<f64>| MlpClient::new(&program, Digits { pixels: vec![pixels], labels: Vec::new() });
    assert!(matches!(refused(vec![0.0; 783]), Err(MlpError::Image { at: 1, got: 783, .. })));
    let mut pixels = vec![0.5; 784];
    pixels[700] = 255.0;
    assert!(matches!(refused(pixels.clone()), Err(MlpError::Pixel { pixel: 701, .. })));
    pixels[700] = f64::NAN;
    assert!(matches!(refused(pixels), Err(MlpError::Pixel { .. })));
    assert!(matches!(Network::new(Shape::MNIST, &[0.0; 9]), Err(MlpError::Weights { got: 9, .. })));
    let mut weights = vec![0.1; 128 * 485 + 1280];
    weights[5] = f64::INFINITY;
    assert!(matches!(Network::new(Shape::MNIST, &weights), Err(MlpError::Weight { at: 6, .. })));
}
