//! What a header claims costs no memory before the file has the bytes for it. Alone in its program, because it counts
//! all that the program allocates.

use limbwise::{
    bgv::BgvParams,
    bridge::BridgeParams,
    params::Params,
    rlwe::KeyForm,
    tfhe::TfheParams,
    wire::{self, KeyFile, Lock},
};
use limbwise_cpu::Cpu;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Beyond what was there before: for a file of so many bytes.
fn most(file: &[u8]) -> usize {
    // Packed residues of 20 bits and more become words, and a seeded half is grown beside its twin: less than eight bytes
    // a byte. An empty list in a header takes three bytes, and 24 as a value in a list, which grows by being copied to one
    // of twice its size. The constant is what a thread of the pool and the tables of the device may ask for.
    let header = file.get(12..16).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    8 * file.len() + 24 * header + (1 << 20)
}

fn sealed(kind: u16, fingerprint: &[u8], header: &str, body: &[u8]) -> Vec<u8> {
    let mut file = b"LIMBWISE\x01\x00".to_vec();
    file.extend(kind.to_le_bytes());
    file.extend(u32::try_from(header.len()).expect("short").to_le_bytes());
    file.extend(fingerprint);
    let digest = *blake3::hash(&[&file[..], header.as_bytes()].concat()).as_bytes();
    [&file[..], &digest, header.as_bytes(), body].concat()
}

/// The parameters of the fixtures.
struct Sets<'a> {
    ckks: &'a Params,
    tfhe: &'a TfheParams,
    bgv: &'a BgvParams,
    bridge: &'a BridgeParams,
}

fn load(kind: u16, bytes: &[u8], dev: &Cpu, sets: &Sets<'_>) -> bool {
    let &Sets { ckks: params, tfhe, bgv, bridge } = sets;
    match kind {
        1 => wire::read_params(bytes).is_ok(),
        2 => wire::read_public_key(bytes, dev, params).is_ok(),
        3 => KeyFile::open(bytes, params).and_then(|file| file.read_all(dev, KeyForm::Stored)).is_ok(),
        4 => wire::read_secret_key(bytes, params, Lock::None).is_ok(),
        5 => wire::read_ciphertext(bytes, dev, params).is_ok(),
        6 => wire::read_plaintext(bytes, dev, params).is_ok(),
        9 => wire::read_tfhe_params(bytes).is_ok(),
        10 => wire::read_tfhe_keys(bytes, dev, tfhe).is_ok(),
        12 => wire::read_tfhe_ciphertext(bytes, dev, tfhe).is_ok(),
        13 => wire::read_bgv_params(bytes).is_ok(),
        14 => wire::read_bgv_ciphertext(bytes, dev, bgv).is_ok(),
        15 => wire::read_to_lwe_key(bytes, bridge).is_ok(),
        16 => wire::PreparedFile::open(bytes, params).and_then(|file| file.check(dev)).is_ok(),
        _ => wire::read_text(bytes, wire::FileKind::Graph).is_ok(),
    }
}

const SHAPE: &str = r#""batch":1,"evaluation_domain":true"#;

/// Headers that claim more than their files hold, each with its kind.
fn claims() -> Vec<(u16, String)> {
    let estimate = r#""estimate":{"magnitude":1.0,"peak":1.0,"real":true,"independent":0.0,"sources":[]}"#;
    let ciphertext = |batch: u64, parts: u64, seeded: bool| {
        format!(r#"{{"level":1,"scale":1e6,"slots":512,"batch":{batch},"parts":{parts},"seeded":{seeded},{estimate}}}"#)
    };
    let key = |g: u64| format!(r#"{{"key":{{"galois":{g}}},"level":1}}"#);
    let all_keys = (0..1024).map(|i| key(2 * i + 1)).collect::<Vec<_>>().join(",");
    let primes = "20,".repeat(100_000);
    vec![
        (1, format!(r#"{{"literal":{{"log_n":17,"levels":[[{primes}20]]}}}}"#)),
        (3, format!(r#"{{"keys":[{all_keys}]}}"#)),
        (4, r#"{"lock":null}"#.into()),
        (5, ciphertext(1 << 20, 2, false)),
        (5, ciphertext(1 << 20, 2, true)),
        (5, ciphertext(u64::MAX, u64::MAX, false)),
        (6, format!(r#"{{"level":1,"scale":1e6,"slots":512,"batch":1048576,{estimate}}}"#)),
        (7, r#"{"bytes":18446744073709551615}"#.into()),
        (7, r#"{"bytes":1099511627776}"#.into()),
        (10, r#"{"tag":1}"#.into()),
        (15, r#"{"tag":1}"#.into()),
        (16, format!(r#"{{"encoding":1,"model":"","runs":[{{"count":1048576,"limbs":[0],{SHAPE}}}]}}"#)),
        (16, format!(r#"{{"encoding":1,"model":"","runs":[{{"count":18446744073709551615,"limbs":[0],{SHAPE}}}]}}"#)),
        (12, r#"{"tag":1,"batch":1048576,"range":[0,1],"norm_squared":1.0}"#.into()),
        (12, r#"{"tag":1,"batch":18446744073709551615,"range":[0,1],"norm_squared":1.0}"#.into()),
        (13, format!(r#"{{"literal":{{"log_n":17,"plaintext_modulus":786433,"levels":[[{primes}20]]}}}}"#)),
        (14, r#"{"level":1,"batch":1048576,"parts":2,"seeded":false,"factor":1,"noise_bits":30.0}"#.into()),
        (14, r#"{"level":1,"batch":1048576,"parts":2,"seeded":true,"factor":1,"noise_bits":30.0}"#.into()),
    ]
}

#[test]
fn memory_is_bounded_by_the_file() {
    let fixture = |name: &str| std::fs::read(format!("{}/tests/wire/v1/{name}.lw", env!("CARGO_MANIFEST_DIR")));
    let params = wire::read_params(fixture("params").expect("there")).expect("good");
    let name = wire::params::fingerprint(&params).0;
    let tfhe = wire::read_tfhe_params(fixture("tfhe-params").expect("there")).expect("good");
    let tfhe_name = wire::tfhe_fingerprint(&tfhe).0;
    let bgv = wire::read_bgv_params(fixture("bgv-params").expect("there")).expect("good");
    let bgv_name = wire::bgv_fingerprint(&bgv).0;
    let ckks = wire::read_params(fixture("bridge-params").expect("there")).expect("good");
    let bridge = BridgeParams::new(&ckks, &tfhe).expect("a pair");
    let bridge_name = wire::bridge_fingerprint(&bridge).0;
    let sets = Sets { ckks: &params, tfhe: &tfhe, bgv: &bgv, bridge: &bridge };
    let dev = Cpu::builder().open().expect("a device");
    // Opens the ring, whose tables are not the file's.
    let good = fixture("ciphertext").expect("there");
    assert!(load(5, &good, &dev, &sets));
    let [keys, integers] = ["tfhe-keys", "bgv-ciphertext"].map(|name| fixture(name).expect("there"));
    assert!(load(10, &keys, &dev, &sets) && load(14, &integers, &dev, &sets));
    let fingerprint = |kind: u16| match kind {
        7 => &[0; 32],
        10 | 12 => &tfhe_name,
        14 => &bgv_name,
        15 => &bridge_name,
        _ => &name,
    };
    for (kind, header) in claims() {
        for body in [&[][..], &[0; 100_000]] {
            let bytes = sealed(kind, fingerprint(kind), &header, body);
            MEMORY.reset_peak_usage();
            let before = MEMORY.current_usage();
            assert!(!load(kind, &bytes, &dev, &sets), "{header:.80} with {} bytes behind it", body.len());
            let taken = MEMORY.peak_usage() - before;
            assert!(taken <= most(&bytes), "{taken} bytes for a file of {}: {header:.80}", bytes.len());
        }
    }
    for (kind, good) in [(5, &good), (10, &keys), (14, &integers)] {
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        assert!(load(kind, good, &dev, &sets));
        assert!(MEMORY.peak_usage() - before <= most(good), "kind {kind}");
    }
}
