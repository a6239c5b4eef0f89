//! Ciphertexts of another library (Lattigo 6.2.0, data only) decrypt and decode right.

use limbwise::{
    Complex64,
    ckks::{Ciphertext, Encoder, Estimate, Packing, Precision, decrypt},
    params::{Params, ParamsLiteral, PrimeChoice},
    rlwe::SecretKey,
};
use limbwise_cpu::Cpu;
use limbwise_device::{Device, Domain, Role, Shape};
use limbwise_math::{modulus::Modulus, rns::to_f64};
use std::path::{Path, PathBuf};

/// Where the vectors are, if they are here.
pub(crate) fn vectors() -> Option<PathBuf> {
    let named = std::env::var_os("LIMBWISE_VECTORS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    [named, Some(beside)].into_iter().flatten().find(|p| p.join("ckks_moduli.npy").exists())
}

/// The words after the header of a version 1 `.npy` file of 8-byte little-endian numbers.
pub(crate) fn npy(folder: &Path, name: &str) -> Vec<u64> {
    let bytes = std::fs::read(folder.join(format!("{name}.npy"))).unwrap();
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    bytes[header..].chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect()
}

fn slots(folder: &Path, name: &str) -> Vec<Complex64> {
    let parts: Vec<f64> = npy(folder, name).into_iter().map(f64::from_bits).collect();
    parts.chunks_exact(2).map(|p| Complex64::new(p[0], p[1])).collect()
}

fn params(moduli: &[u64]) -> Params {
    let mut literal = ParamsLiteral::chain(13, 50, 40, 0, (50, 1), 3);
    literal.levels = moduli.iter().map(|&q| vec![PrimeChoice::Exact(q)]).collect();
    Params::new(&literal).unwrap()
}

#[test]
fn ckks_of_another_library() {
    let Some(folder) = vectors() else {
        eprintln!("SKIPPED: no vectors in LIMBWISE_VECTORS or ../shared/vectors");
        return;
    };
    let moduli = npy(&folder, "ckks_moduli");
    let params = params(&moduli);
    let (dev, encoder) = (Cpu::builder().open().unwrap(), Encoder::new(&params));
    let q0 = Modulus::new(moduli[0]);
    let coefficients: Vec<i64> = npy(&folder, "ckks_secret_q")[..8192].iter().map(|&x| q0.centered(x)).collect();
    let secret = SecretKey::from_coefficients(&params, coefficients.into()).unwrap();
    let (a, b) = (slots(&folder, "ckks_a"), slots(&folder, "ckks_b"));
    let product: Vec<Complex64> = a.iter().zip(&b).map(|(x, y)| x * y).collect();
    let rotated: Vec<Complex64> = (0..a.len()).map(|i| a[(i + 3) % a.len()]).collect();
    let conjugated: Vec<Complex64> = a.iter().map(|z| z.conj()).collect();
    let rescaled = 2f64.powi(80) / to_f64(moduli[2]);
    assert!((rescaled.log2() - 39.999_999_613_0).abs() < 1e-9);
    let cases = [
        ("ckks_a", 2, 2f64.powi(40), &a),
        ("ckks_b", 2, 2f64.powi(40), &b),
        ("ckks_ab_relin_rescaled", 1, rescaled, &product),
        ("ckks_a_rotated_left_3", 2, 2f64.powi(40), &rotated),
        ("ckks_a_conjugated", 2, 2f64.powi(40), &conjugated),
    ];
    for (name, level, scale, wanted) in cases {
        let shape = Shape::eval(params.ring(), params.basis(level)).with_domain(Domain::Coeff);
        let part = |suffix: &str| {
            let words = npy(&folder, &format!("{name}_{suffix}"));
            dev.ntt(
                dev.upload(&shape, Role::Ciphertext, &|at, row| row.copy_from_slice(&words[at.prime * 8192..][..8192])),
            )
        };
        let parts = vec![part("c0"), part("c1")];
        let ciphertext = Ciphertext { parts, level, scale, slots: 4096, estimate: Estimate::exact(4.0), shadow: None };
        let got = decrypt(&dev, &encoder, &params, &secret, &ciphertext).unwrap().concat();
        let precision = Precision::of(&got, wanted);
        assert!(precision.min > 24.2, "{name}: largest error 2^-{:.1}, wanted below 5e-8", precision.min);
    }
    let packing = Packing { slots: 4096, level: 2, scale: 2f64.powi(40) };
    let encoded = encoder.encode(&dev, std::slice::from_ref(&a), packing).unwrap();
    let ours = limbwise_device::HostRead::download(&dev, &dev.intt(encoded.poly)).unwrap();
    for (i, (x, y)) in ours.iter().zip(npy(&folder, "ckks_encoded_a")).enumerate() {
        let q = Modulus::new(moduli[i / 8192]);
        assert!(q.centered(q.sub(*x, y)).abs() <= 1, "coefficient {i}: {x} for {y}");
    }
}
