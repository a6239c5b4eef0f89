//! Tables, batches, keys: decrypt(f(encrypt x)) = f(x).

use crate::common::{Session, checked, cpu, small};
use limbwise::tfhe::{ClientKey, Table, TfheParams, preset};
use limbwise_device::Domain;

#[test]
fn every_message_goes_through_its_table() {
    for (message_bits, masks) in [(1, 1), (3, 1), (2, 2)] {
        let s = Session::on(checked(), &small(message_bits, masks), 1);
        let params = s.client.params();
        let all: Vec<u64> = (0..params.space()).collect();
        let ct = s.encrypt(&all);
        assert_eq!(s.decrypt(&ct), all);
        let f = |m: u64| (3 * m + 1) % params.space();
        let once = s.eval().bootstrap(&ct, &[Table::of(params, f).unwrap()]).unwrap();
        let wanted: Vec<u64> = all.iter().map(|&m| f(m)).collect();
        assert_eq!(s.decrypt(&once), wanted, "{message_bits} bits, {masks} masks");
        let again = s.eval().bootstrap(&once, &[Table::of(params, f).unwrap()]).unwrap();
        assert_eq!(s.decrypt(&again), wanted.iter().map(|&m| f(m)).collect::<Vec<u64>>());
    }
}

#[test]
fn each_of_a_batch_has_a_table_of_its_own() {
    let s = Session::on(cpu(), &small(3, 1), 2);
    let params = s.client.params();
    let messages: Vec<u64> = (0..11).map(|i| i * 5 % 8).collect();
    let tables: Vec<Table> = (0..11).map(|i| Table::of(params, |m| (m + i) % 8).unwrap()).collect();
    let got = s.decrypt(&s.eval().bootstrap(&s.encrypt(&messages), &tables).unwrap());
    let wanted: Vec<u64> = messages.iter().zip(0..).map(|(m, i)| (m + i) % 8).collect();
    assert_eq!(got, wanted);
}

#[test]
fn several_tables_share_a_rotation() {
    let s = Session::on(checked(), &small(2, 1), 3);
    let params = s.client.params();
    let messages = [0, 1, 2, 3];
    let fs: [fn(u64) -> u64; 4] = [|m| m, |m| 3 - m, |m| m * m % 4, |m| u64::from(m > 1)];
    let tables: Vec<Table> = fs.iter().map(|f| Table::of(params, f).unwrap()).collect();
    let got = s.eval().bootstrap_many(&s.encrypt(&messages), &tables).unwrap();
    assert_eq!(got.len(), 4);
    for (got, f) in got.iter().zip(fs) {
        assert_eq!(s.decrypt(got), messages.map(f));
    }
}

#[test]
fn sums_between_bootstrappings() {
    let s = Session::on(cpu(), &small(4, 1), 4);
    let (a, b) = (s.encrypt(&[1, 2, 3]).at_most(3).unwrap(), s.encrypt(&[3, 0, 2]).at_most(3).unwrap());
    let eval = s.eval();
    let sum = eval.add_clear(&eval.sub(&eval.add(&eval.scale(&a, 2), &a).unwrap(), &b).unwrap(), 3);
    assert_eq!((sum.range(), sum.norm_squared()), ((0, 12), 6.0));
    let table = Table::of(s.client.params(), |m| m / 2).unwrap();
    assert_eq!(s.decrypt(&sum), [3, 9, 10]);
    assert_eq!(s.decrypt(&eval.bootstrap(&sum, &[table]).unwrap()), [1, 4, 5]);
    assert_eq!(s.decrypt(&eval.split(&eval.stack(&[&a, &b]).unwrap(), 2, 4)), [3, 3]);
}

#[test]
fn anyone_encrypts_under_the_public_key() {
    for masks in [1, 2] {
        let s = Session::on(checked(), &small(3, masks), 5);
        let public = s.client.public_key(&s.dev).unwrap();
        let messages = [7, 0, 3, 5];
        let ct = public.encrypt(&s.dev, &messages).unwrap();
        assert_eq!(s.decrypt(&ct), messages);
        let table = Table::of(s.client.params(), |m| 7 - m).unwrap();
        assert_eq!(s.decrypt(&s.eval().bootstrap(&ct, &[table]).unwrap()), [0, 7, 4, 2]);
    }
}

/// Two devices with other kernels give the same words for the same keys and ciphertexts.
#[test]
fn results_do_not_depend_on_the_kernels() {
    let words = |isa: &str| {
        let dev = limbwise_cpu::Cpu::builder().isa(isa).threads(1).open().ok()?;
        let s = Session::on(dev, &small(2, 1), 6);
        let params = s.client.params();
        let shape = limbwise_device::LweShape { dimension: 1024, modulus: params.modulus().value(), batch: 2 };
        let lwe =
            limbwise_device::Device::upload_lwe(&s.dev, shape, limbwise_device::Role::Ciphertext, &|entry, out| {
                out.iter_mut()
                    .zip(1u64..)
                    .for_each(|(x, i)| *x = (entry as u64 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17);
            });
        let narrow = limbwise_device::Device::lwe_mod_switch(&s.dev, &lwe, 2048, limbwise_device::Rounding::Nearest);
        let narrow = limbwise_device::Device::lwe_split(&s.dev, &narrow, 0, 1);
        let words = limbwise_device::HostRead::download_lwe(&s.dev, &narrow).unwrap();
        let exponents = limbwise_device::LweShape { dimension: 60, modulus: 2048, batch: 1 };
        let exponents =
            limbwise_device::Device::upload_lwe(&s.dev, exponents, limbwise_device::Role::Temporary, &|_, out| {
                out.copy_from_slice(&words[..61]);
            });
        let test = params.shape(1, Domain::Coeff);
        let test = limbwise_device::Device::upload(&s.dev, &test, limbwise_device::Role::Plaintext, &|_, row| {
            row.fill(1 << 40)
        });
        let acc = limbwise_device::Device::blind_rotate(&s.dev, &test, &exponents, &s.server.bootstrap);
        Some(acc.iter().map(|p| limbwise_device::HostRead::download(&s.dev, p).unwrap()).collect::<Vec<_>>())
    };
    let scalar = words("scalar").unwrap();
    for isa in ["avx2", "avx512", "ifma"] {
        if let Some(got) = words(isa) {
            assert_eq!(got, scalar, "{isa}");
        }
    }
}

/// Full size, at 128 bits of security.
#[test]
fn a_preset_bootstraps() {
    let s = Session::on(cpu(), &preset("bool-p128").unwrap(), 7);
    let table = Table::new(s.client.params(), &[2, 3, 1, 0]).unwrap();
    let got = s.eval().bootstrap(&s.encrypt(&[0, 1, 2, 3]), &[table]).unwrap();
    assert_eq!(s.decrypt(&got), [2, 3, 1, 0]);
    assert_eq!(s.client.params().security().bits, 128);
}

/// Every preset of up to N = 2^14 at full size.
#[test]
#[ignore = "keys of up to 1 GB"]
fn presets_up_to_2_14_bootstrap() {
    at_full_size(|log_n| log_n <= 14);
}

/// The others: four bits and four of carry.
#[test]
#[ignore = "keys of up to 4.4 GB, and half as much again while they are made"]
fn presets_of_eight_bits_bootstrap() {
    at_full_size(|log_n| log_n > 14);
}

fn at_full_size(these: impl Fn(u32) -> bool) {
    for preset in limbwise::tfhe::presets().into_iter().filter(|p| these(p.literal.log_n)) {
        let s = Session::on(cpu(), &preset.literal, 8);
        let params: TfheParams = s.client.params().clone();
        let messages = [0, 1, params.space() / 2, params.space() - 1];
        let table = Table::of(&params, |m| params.space() - 1 - m).unwrap();
        let got = s.eval().bootstrap(&s.encrypt(&messages), &[table]).unwrap();
        assert_eq!(s.decrypt(&got), messages.map(|m| params.space() - 1 - m), "{}", preset.name);
    }
}

#[test]
fn published_keys_are_half_seeds() {
    let s = Session::on(cpu(), &small(2, 1), 9);
    let keys = s.client.bootstrap_keys(&s.dev);
    // Four rows of 60 polynomials, 5·1024 bodies, a seed.
    assert_eq!(keys.bytes(), 4 * 60 * (8 << 10) + 8 * 5 * 1024 + 32);
    let fresh = ClientKey::generate(s.client.params()).unwrap();
    assert_ne!(fresh.tag(), s.client.tag());
}
