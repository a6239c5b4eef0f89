//! Named BGV sets. They are frozen: a name never changes its primes (`tests/golden/presets_bgv.toml` holds them).

use super::params::{BgvLiteral, BgvParams};
use crate::{
    params::{ParamsError, Standard},
    preset_names::of_other_scheme,
};
use limbwise_math::prime::ntt_primes_below;

/// A frozen parameter set.
#[derive(Clone, Debug)]
pub struct BgvPreset {
    /// Name in options and files.
    pub name: &'static str,
    /// Its use, in one line.
    pub purpose: &'static str,
    /// Consecutive products that fresh ciphertexts support with automatic switching.
    pub depth: usize,
    /// Whether `depth` holds for ciphertexts under the secret key only: those under the public key may have too much
    /// noise.
    pub secret: bool,
    /// The parameter literal.
    pub literal: BgvLiteral,
}

/// All presets: sets with the widest primes, sets for integers of 64 bits, sets with primes below 2^32, then the sets of
/// \[DRA\]; each group smallest first.
#[must_use]
pub fn presets() -> Vec<BgvPreset> {
    let dramatic = [
        dramatic("dramatic-1024", 10, 12289, &[27], 0),
        dramatic("dramatic-2048", 11, 12289, &[27, 27], 1),
        dramatic("dramatic-4096", 12, 65537, &[28, 27, 27, 27], 1),
        dramatic("dramatic-8192", 13, 65537, &[32, 31, 31, 31, 31, 31, 31], 1),
        // The 2018 standard has no row for this ring; the guidelines of 2024 allow 1747 bits.
        preset_of(
            "dramatic-65536",
            1,
            "the largest set of DRAMatic; by the guidelines of 2024",
            BgvLiteral::chain(16, 786_433, &[[32; 32].as_slice(), &[31; 7]].concat(), &[], 1),
        ),
    ];
    [&wide()[..], &words(), &narrow(), &dramatic].concat()
}

fn preset_of(name: &'static str, depth: usize, purpose: &'static str, literal: BgvLiteral) -> BgvPreset {
    BgvPreset { name, purpose, depth, secret: literal.special.is_empty(), literal }
}

/// The bit lengths of a first prime and of `count` equal ones.
fn primes(first: u32, bits: u32, count: usize) -> Vec<u32> {
    [vec![first], vec![bits; count]].concat()
}

fn wide() -> Vec<BgvPreset> {
    let chain = BgvLiteral::chain;
    vec![
        preset_of("bgv-n10", 0, "sums of 1024 small integers; no keys", chain(10, 12289, &[26], &[], 1)),
        preset_of("bgv-n11", 1, "one product of 2048 small integers; no keys", chain(11, 12289, &[27, 26], &[], 1)),
        preset_of("bgv-n12", 1, "one product, rotations; 4096 integers", chain(12, 65537, &[35, 35], &[36], 2)),
        preset_of("bgv-n13", 4, "products of depth 4 on 8192 integers", chain(13, 65537, &primes(34, 36, 4), &[36], 5)),
        preset_of("bgv-n13-t30", 1, "totals below 2^29, one product; 8192 integers", totals()),
        preset_of("bgv-n14", 8, "depth 8 on 16384 integers", chain(14, 65537, &primes(38, 39, 8), &[40; 2], 5)),
        preset_of("bgv-n15", 17, "depth 17 on 32768 integers", chain(15, 65537, &primes(38, 38, 17), &[41; 4], 5)),
    ]
}

fn totals() -> BgvLiteral {
    BgvLiteral::chain(13, 1_073_479_681, &[44; 3], &[45], 3)
}

/// Sets for integers of 64 bits: residues modulo several plaintext moduli. Few large moduli are best: a product takes
/// twice their bits and 26 more, whatever they are. They encrypt under the secret key.
fn words() -> Vec<BgvPreset> {
    let moduli =
        |log_n, bits, count| ntt_primes_below(log_n, bits, count, &[]).expect("there are hundreds of such primes");
    let of = |all: &[u64], set: BgvLiteral| BgvLiteral { more_moduli: all[1..].to_vec(), ..set };
    let secret = |name, depth, purpose, literal| BgvPreset { secret: true, ..preset_of(name, depth, purpose, literal) };
    let (four, eight) = (moduli(12, 34, 4), moduli(13, 33, 8));
    let chain = BgvLiteral::chain;
    let [n12, n13] = [chain(12, four[0], &[50; 2], &[], 1), chain(13, eight[0], &[50; 3], &[50], 3)];
    vec![
        secret("zn64-n12", 1, "one product of 64-bit integers, sums of 64; 4096 integers", of(&four, n12)),
        secret("zn64-n13", 2, "products of four 64-bit integers; 8192 integers", of(&eight, n13)),
    ]
}

/// Sets for GPUs and DPUs, whose words have 32 bits.
fn narrow() -> Vec<BgvPreset> {
    let chain = BgvLiteral::chain;
    let n13 = [31, 31, 30, 30, 30, 30];
    let n14 = [[31; 8].as_slice(), &[30; 4]].concat();
    vec![
        preset_of("bgv-n12-w32", 1, "bgv-n12 with primes below 2^32", chain(12, 65537, &primes(27, 26, 2), &[27], 3)),
        preset_of("bgv-n13-w32", 3, "depth 3, primes below 2^32", chain(13, 65537, &n13, &[32], 6)),
        preset_of("bgv-n14-w32", 8, "bgv-n14 with primes below 2^32", chain(14, 65537, &n14, &[31; 2], 6)),
        preset_of("bgv-n15-w32", 17, "bgv-n15 with primes below 2^32", chain(15, 65537, &[31; 24], &[31; 4], 6)),
    ]
}

/// The sets of \[DRA\]: moduli as the 2018 standard allows them, no special prime, every prime below 2^32. They encrypt
/// under the secret key.
fn dramatic(name: &'static str, log_n: u32, t: u64, bits: &[u32], depth: usize) -> BgvPreset {
    let literal =
        BgvLiteral { standard: Standard::HomomorphicEncryption2018, ..BgvLiteral::chain(log_n, t, bits, &[], 1) };
    preset_of(name, depth, "the set of DRAMatic: products, no keys; by the 2018 standard", literal)
}

/// The preset of a name.
///
/// # Errors
/// [`ParamsError::UnknownPreset`] with the nearest name; [`ParamsError::OtherScheme`].
pub fn preset(name: &str) -> Result<BgvParams, ParamsError> {
    let all = presets();
    match all.iter().find(|p| p.name == name) {
        Some(preset) => BgvParams::new(&preset.literal),
        None => Err(of_other_scheme(name, "BGV")
            .unwrap_or_else(|| ParamsError::unknown_preset(name, all.iter().map(|p| p.name)))),
    }
}
