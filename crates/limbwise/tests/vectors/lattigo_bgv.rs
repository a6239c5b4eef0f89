//! BGV ciphertexts of another library (Lattigo 6.2.0, data only) decrypt right.

use super::lattigo::{npy, vectors};
use limbwise::{
    bgv::{BgvLiteral, BgvParams, Ciphertext, Encoder, Encryption, decrypt, noise::NoiseBound},
    params::PrimeChoice,
    rlwe::SecretKey,
};
use limbwise_cpu::Cpu;
use limbwise_device::{Device, Role, Shape};
use limbwise_math::modulus::Modulus;

#[test]
fn bgv_of_another_library() {
    let Some(folder) = vectors() else {
        eprintln!("SKIPPED: no vectors in LIMBWISE_VECTORS or ../shared/vectors");
        return;
    };
    let moduli = npy(&folder, "bgv_moduli");
    let mut literal = BgvLiteral::chain(13, 65537, &[], &[], 1);
    literal.levels = moduli.iter().map(|&q| vec![PrimeChoice::Exact(q)]).collect();
    let params = BgvParams::new(&literal).unwrap();
    let (dev, encoder) = (Cpu::builder().open().unwrap(), Encoder::new(&params));
    let (n, t, q0) = (params.slots(), params.t(), Modulus::new(moduli[0]));
    let coefficients: Vec<i64> = npy(&folder, "bgv_secret_q")[..n].iter().map(|&x| q0.centered(x)).collect();
    let secret = SecretKey::from_coefficients(params.rlwe(), coefficients.into()).unwrap();
    let x: Vec<i64> = npy(&folder, "bgv_x").into_iter().map(|x| t.centered(t.reduce(x))).collect();
    assert_eq!(x.len(), n, "both rows are full");
    let shape = Shape::eval(params.rlwe().ring(), params.rlwe().basis(params.top_level()));
    let factors: Vec<u64> = moduli.iter().map(|&q| Modulus::new(q).reduce(t.value())).collect();
    let part = |name: &str| {
        let words = npy(&folder, name);
        let coefficients = shape.with_domain(limbwise_device::Domain::Coeff);
        let poly =
            dev.upload(&coefficients, Role::Ciphertext, &|at, row| row.copy_from_slice(&words[at.prime * n..][..n]));
        // Their phase is t⁻¹ times ours.
        dev.scale_limbs(dev.ntt(poly), &factors)
    };
    let parts = vec![part("bgv_x_c0"), part("bgv_x_c1")];
    let noise = NoiseBound::fresh(&params, Encryption::Public);
    let ciphertext = Ciphertext { parts, level: params.top_level(), factor: 1, noise, modulus: 0 };
    assert_eq!(decrypt(&dev, &encoder, &secret, &ciphertext).unwrap().concat(), x);
    // Their encoding is ours times t⁻¹, as a polynomial.
    let encoded = encoder.encode(&dev, &[x], params.top_level()).unwrap();
    let ours = limbwise_device::HostRead::download(&dev, &dev.intt(encoded.poly)).unwrap();
    for (i, (&x, theirs)) in ours.iter().zip(npy(&folder, "bgv_encoded_x")).enumerate() {
        let q = Modulus::new(moduli[i / n]);
        assert_eq!(
            t.from_i64(q.centered(x)),
            t.from_i64(q.centered(q.mul(theirs, q.reduce(t.value())))),
            "coefficient {i}"
        );
    }
}
