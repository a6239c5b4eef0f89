//! Operations on secrets, each with its secrets marked for valgrind's memcheck, which reports every branch and every
//! address that depends on one. `scripts/secrets_under_valgrind.py` builds and runs it (ADR 186).
//!
//! Arguments: an instruction set (`scalar`), or `leak`, which branches on a secret and has to be found.

use limbwise::{
    Complex64, Error,
    bgv::{self, BgvLiteral, BgvParams},
    ckks::{self, Encoder, Packing, Promise},
    params::{Insecure, Params, ParamsLiteral, PrimeChoice, Secret},
    rlwe::{KeyForm, KeyGenerator, KeyName, SecretKey},
    tfhe::{ClientKey, GadgetLiteral, TfheLiteral, TfheParams, TfheReading},
    wire::{
        Lock, Origin, read_secret_key, read_tfhe_secret_key, write_bgv_ciphertext, write_ciphertext, write_secret_key,
        write_tfhe_secret_key,
    },
};
use limbwise_cpu::Cpu;
use limbwise_math::{
    galois::GaloisElement,
    sampling::{Gaussian, GaussianTable, Seed, Stream},
};
use limbwise_taint::{declassify_in_place, errors, is_checked, poison};
use std::{
    hint::black_box,
    io::{Write as _, stdout},
    process::ExitCode,
};

type Any = Result<(), Box<dyn std::error::Error>>;

/// What was found, an operation at a time.
struct Report {
    found: u64,
}

impl Report {
    /// Runs an operation and prints how many errors the checker has counted in it.
    fn of<T>(&mut self, name: &str, operation: impl FnOnce() -> T) -> T {
        let before = errors();
        let result = black_box(operation());
        let found = errors() - before;
        self.found += found;
        let _ = writeln!(stdout(), "{name}: {found}");
        result
    }
}

/// A seed whose bytes are secret.
fn secret_seed(number: u8) -> Seed {
    let mut seed = Seed([number; 32]);
    poison(&mut seed.0);
    seed
}

/// Values that are secret.
fn secret_values<T>(mut values: Vec<T>) -> Vec<T> {
    poison(&mut values[..]);
    values
}

fn test_only() -> Option<Insecure> {
    Some(Insecure { reason: "a small ring under a checker of memory".into() })
}

fn main() -> ExitCode {
    let isa = std::env::args().nth(1).unwrap_or_else(|| "scalar".into());
    if !is_checked() {
        let _ = writeln!(stdout(), "not under valgrind: scripts/secrets_under_valgrind.py runs this");
        return ExitCode::from(2);
    }
    let mut report = Report { found: 0 };
    if isa == "leak" {
        report
            .of("a branch on a secret", || {
                let bit = secret_seed(1).0[0] & 1;
                // Two calls that cannot become one without a branch.
                if bit == 1 { writeln!(stdout(), "one") } else { writeln!(stdout(), "none") }
            })
            .ok();
        return ExitCode::from(u8::from(report.found > 0));
    }
    let run = |report: &mut Report| -> Any {
        let dev = Cpu::builder().isa(&isa).threads(1).open()?;
        sampling(report);
        for secret in [Secret::Ternary, Secret::FixedWeight(64)] {
            ckks(report, &dev, secret)?;
        }
        bgv(report, &dev)?;
        tfhe(report, &dev)
    };
    if let Err(e) = run(&mut report) {
        let _ = writeln!(stdout(), "failed: {e}");
        return ExitCode::from(3);
    }
    ExitCode::from(u8::from(report.found > 0))
}

/// The distributions of keys and errors.
fn sampling(report: &mut Report) {
    let mut out = vec![0; 256];
    let stream = || Stream::new(&secret_seed(1), b"a check of sampling");
    report.of("sampling: ternary", || stream().ternary(&mut out));
    report.of("sampling: binary", || stream().binary(&mut out));
    report.of("sampling: fixed weight", || stream().fixed_weight(32, &mut out));
    report.of("sampling: Gaussian", || stream().gaussian(&GaussianTable::new(3.2), &mut out));
    report.of("sampling: wide Gaussian", || stream().wide_gaussian(&Gaussian::new(1e6), &mut out));
}

fn ckks(report: &mut Report, dev: &Cpu, secret: Secret) -> Any {
    let mut literal = ParamsLiteral::chain(10, 50, 40, 2, (48, 2), 2);
    (literal.secret, literal.insecure) = (secret, test_only());
    let params = Params::new(&literal)?;
    let top = params.top_level();
    let named = |operation: &str| format!("CKKS, {secret:?}: {operation}");
    let key = SecretKey::generate(&params, &secret_seed(2));
    // The first device that asks draws it.
    let generator = report.of(&named("key"), || KeyGenerator::from_seed(dev, &params, &key, secret_seed(3)));
    let identity = report.of(&named("identity"), || key.identity(&params));
    let public = report.of(&named("public key"), || generator.public_key());
    for name in [KeyName::Relinearization, KeyName::Galois(GaloisElement::rotation(1, params.log_n()))] {
        report.of(&named(&name.to_string()), || generator.evaluation_key(name, top, KeyForm::Stored))?;
    }
    report.of(&named("end of key generation"), || drop(generator));

    let origin = Origin { keys: identity, ..Origin::NONE };
    let written =
        report.of(&named("writing the key"), || write_secret_key(Vec::new(), &params, &key, Lock::None, &origin))?;
    report.of(&named("reading the key"), || read_secret_key(&written[..], &params, Lock::None))?;

    let encoder = Encoder::new(&params);
    let packing = Packing { slots: params.max_slots(), level: top, scale: 2f64.powi(40) };
    // Tables are made of public numbers; what is encoded is secret.
    encoder.encode_real(dev, &[vec![0.5]], packing)?;
    let numbers = || vec![secret_values((0..512).map(|i| Complex64::new(f64::from(i) * 0.01 - 2.0, 0.25)).collect())];
    let plain = report.of(&named("encoding"), || encoder.encode(dev, &numbers(), packing))?;
    let sent = report
        .of(&named("encryption, public key"), || ckks::encrypt_from(dev, &params, &public, &plain, &secret_seed(4)));
    let fresh = report.of(&named("encryption, secret key"), || {
        ckks::encrypt_seeded_from(dev, &params, &key, &plain, &secret_seed(5))
    });
    let told = sent.clone().with_promise(Promise { magnitude: 4.0, peak: 4.0, real: false })?;
    report.of(&named("writing a ciphertext"), || write_ciphertext(Vec::new(), dev, &params, &told, &origin))?;
    for (name, ciphertext) in [("of the public key", &sent), ("of the secret key", &fresh.ciphertext)] {
        let opened = report
            .of(&named(&format!("decryption {name}")), || ckks::decrypt(dev, &encoder, &params, &key, ciphertext));
        right(name, opened, |mut slots| {
            declassify_in_place(&mut slots[0][..]);
            (slots[0][100] - Complex64::new(-1.0, 0.25)).norm() < 1e-4
        })?;
    }
    Ok(())
}

fn bgv(report: &mut Report, dev: &Cpu) -> Any {
    let mut literal = BgvLiteral::chain(10, 12289, &[30, 30, 30, 30], &[32], 4);
    literal.insecure = test_only();
    let params = BgvParams::new(&literal)?;
    let (rlwe, top) = (params.rlwe(), params.top_level());
    let key = SecretKey::generate(rlwe, &secret_seed(6));
    let generator = report.of("BGV: key", || KeyGenerator::from_seed(dev, rlwe, &key, secret_seed(7)));
    let public = report.of("BGV: public key", || generator.public_key());
    report.of("BGV: the relinearization key", || {
        generator.evaluation_key(KeyName::Relinearization, top, KeyForm::Seeded)
    })?;
    drop(generator);
    let encoder = bgv::Encoder::new(&params);
    encoder.encode(dev, &[vec![1]], top)?;
    let numbers = || vec![secret_values((0..1024).map(|i| i * 7 % 6000 - 3000).collect::<Vec<i64>>())];
    let plain = report.of("BGV: encoding", || encoder.encode(dev, &numbers(), top))?;
    let sent =
        report.of("BGV: encryption, public key", || bgv::encrypt_from(dev, &params, &public, &plain, &secret_seed(8)));
    let fresh = report
        .of("BGV: encryption, secret key", || bgv::encrypt_seeded_from(dev, &params, &key, &plain, &secret_seed(9)));
    report.of("BGV: writing a ciphertext", || write_bgv_ciphertext(Vec::new(), dev, &params, &sent, &Origin::NONE))?;
    for (name, ciphertext) in [("of the public key", &sent), ("of the secret key", &fresh.ciphertext)] {
        let opened = report.of(&format!("BGV: decryption {name}"), || bgv::decrypt(dev, &encoder, &key, ciphertext));
        right(name, opened, |mut slots| {
            declassify_in_place(&mut slots[0][..]);
            slots[0][100] == 700 - 3000
        })?;
    }
    Ok(())
}

fn tfhe(report: &mut Report, dev: &Cpu) -> Any {
    let params = TfheParams::new(&TfheLiteral {
        log_n: 10,
        masks: 1,
        prime: PrimeChoice::Bits(48),
        glwe_sigma: 3.2,
        lwe_dimension: 40,
        log_lwe_modulus: 32,
        lwe_sigma: 3.2,
        bootstrap: GadgetLiteral { base_log: 16, levels: 2 },
        key_switch: GadgetLiteral { base_log: 4, levels: 5 },
        message_bits: 2,
        norm: 5.0,
        log2_failure: -40.0,
        insecure: test_only(),
    })?;
    let client = report.of("TFHE: client key", || ClientKey::from_seed(&params, secret_seed(10)));
    let identity = report.of("TFHE: identity", || client.identity());
    report.of("TFHE: bootstrapping keys", || client.bootstrap_keys(dev));
    let public = report.of("TFHE: public key", || client.public_key(dev))?;
    let origin = Origin { keys: identity, ..Origin::NONE };
    let written =
        report.of("TFHE: writing the key", || write_tfhe_secret_key(Vec::new(), &client, Lock::None, &origin))?;
    report.of("TFHE: reading the key", || read_tfhe_secret_key(&written[..], &params, Lock::None))?;
    let messages = || secret_values(vec![0u64, 1, 2, 3]);
    let own = report.of("TFHE: encryption, client key", || client.encrypt_from(dev, &messages(), &secret_seed(11)))?;
    let sent = report.of("TFHE: encryption, public key", || public.encrypt(dev, &messages()))?;
    for (name, ciphertext) in [("of the client key", &own), ("of the public key", &sent)] {
        let opened = report.of(&format!("TFHE: decryption {name}"), || client.decrypt(dev, ciphertext));
        right(name, opened, |mut messages| {
            declassify_in_place(&mut messages[..]);
            messages == [0, 1, 2, 3]
        })?;
        let read = report.of(&format!("TFHE: reading {name}"), || TfheReading::of(dev, &client, ciphertext));
        right(name, read, |mut reading| {
            declassify_in_place(&mut reading.messages[..]);
            reading.messages == [0, 1, 2, 3]
        })?;
    }
    Ok(())
}

/// Fails unless a decryption gave what was encrypted: an operation that does nothing has no errors either.
fn right<T>(name: &str, opened: Result<T, Error>, is_right: impl FnOnce(T) -> bool) -> Any {
    if is_right(opened?) { Ok(()) } else { Err(format!("decryption {name}: other values").into()) }
}
