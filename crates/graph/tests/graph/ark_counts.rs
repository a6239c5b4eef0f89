//! The counting rule of \[ARK\], exactly: what one rotation costs, and how the cost divides.

use crate::common;

use limbwise_device::{Basis, Device as _, Null};
use limbwise_graph::{Counts, Graph, Recorder};

/// One rotation at N = 2^16, ℓ = 23.
fn rotation(alpha: usize) -> Graph {
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 16, 24 + alpha);
    let ct = common::ciphertext(&dev, &ring, Basis::range(0, 24));
    let key = common::key(&dev, &ring, alpha, 7);
    let result = common::rotate(&dev, &ct, &key);
    drop((ct, key));
    let graph = dev.finish();
    drop(result);
    graph
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole as f64)
}

#[test]
fn rotation_at_dnum_4_is_2628_n_products() {
    let counts = rotation(6).counts();
    let n = 1 << 16;
    assert_eq!(counts.transformed_limbs, 180);
    assert_eq!(counts.ntt_products, 180 * 8 * n);
    assert_eq!(counts.convert_scale_products, 36 * n);
    assert_eq!(counts.convert_sum_products, 864 * n);
    assert_eq!(counts.elementwise_products, 288 * n);
    assert_eq!(counts.products(), 2628 * n);
    assert_eq!(counts.permuted_words, 48 * n);
}

#[test]
fn shares_are_the_published_ones() {
    let counts = rotation(6).counts();
    let conversion = counts.convert_scale_products + counts.convert_sum_products;
    assert_eq!(percent(counts.ntt_products, counts.products()), "54.8");
    assert_eq!(percent(conversion, counts.products()), "34.2");
    assert_eq!(percent(counts.convert_sum_products, conversion), "96.0");
    let many_digits = rotation(1).counts();
    assert_eq!(percent(many_digits.ntt_products, many_digits.products()), "73.3");
}

#[test]
fn regions_hold_what_they_cost() {
    let graph = rotation(6);
    let by_region = graph.counts_by_region();
    let paths = graph.region_paths();
    let at = |path: &str| by_region[paths.iter().position(|p| p == path).unwrap_or_else(|| panic!("no region {path}"))];
    assert_eq!(at("rotate"), graph.counts());
    assert_eq!(at("rotate/key_switch/mod_up").transformed_limbs, 120);
    assert_eq!(at("rotate/key_switch/mod_up/digit[3]").transformed_limbs, 24);
    assert_eq!(at("rotate/key_switch/gadget_product").products(), 240 << 16);
    assert_eq!(at("rotate/key_switch/mod_down").transformed_limbs, 60);
    let key_switch = at("rotate/key_switch");
    assert_eq!(
        Counts { permuted_words: 48 << 16, added_words: key_switch.added_words + (24 << 16), ..key_switch },
        at("rotate")
    );
    let mod_down = graph.regions().iter().find(|r| r.name == "mod_down").unwrap();
    assert_eq!(mod_down.entered, 2);
}

#[test]
fn a_key_counts_once_at_its_widest_use() {
    let limb = 8u64 << 16;
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 16, 30);
    let key = common::key(&dev, &ring, 6, 7);
    for limbs in [12, 18, 12] {
        let q = Basis::range(0, limbs);
        let ct = common::ciphertext(&dev, &ring, q);
        drop(common::rotate(&dev, &ct, &cut(&dev, &key, q)));
    }
    let traffic = dev.graph().traffic();
    assert_eq!(traffic.evaluation_keys.declared, 8 * 30 * limb);
    assert_eq!(traffic.evaluation_keys.widest, (2 * 2 * 24 + 2 * 24) * limb); // digits 0 and 1, then 2, at 18 + 6
    assert_eq!(traffic.evaluation_keys.read, (2 * (2 * 2 * 18) + 2 * 3 * 24) * limb);
    assert_eq!(traffic.keys.len(), 1);
    assert_eq!((traffic.keys[0].key, traffic.keys[0].reads), (7, 4 + 6 + 4));
    assert_eq!(traffic.ciphertexts.declared, 2 * (12 + 18 + 12) * limb);
    assert_eq!(traffic.ciphertexts.read, traffic.ciphertexts.declared);
}

/// The key at a lower level: fewer digits, fewer limbs, views only.
fn cut<D: limbwise_device::Device>(
    dev: &D,
    key: &limbwise_device::GadgetKey<D::Poly>,
    q: Basis,
) -> limbwise_device::GadgetKey<D::Poly> {
    let digits: Vec<Basis> = key.digits.iter().map(|&d| d & q).filter(|d| !d.is_empty()).collect();
    let pairs = key.pairs[..digits.len()].iter().map(|pair| pair.each_ref().map(|p| dev.restrict(p, q | key.special)));
    limbwise_device::GadgetKey { pairs: pairs.collect(), special: key.special, digits }
}

/// What a key switch costs with its addition, at ℓ = 23 with 6 special primes, and with a rescale of one prime behind it.
fn added(rescaled: bool, merged: bool) -> Counts {
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 16, 30);
    let [c0, c1] = common::ciphertext(&dev, &ring, Basis::range(0, 24));
    let key = common::key(&dev, &ring, 6, 7);
    let to = Basis::range(0, if rescaled { 23 } else { 24 });
    if merged {
        drop(dev.key_switch_onto(&c1, &key, [Some(&c0), Some(&c1)], to));
    } else {
        let [b, a] = dev.key_switch(&c1, &key);
        for sum in [dev.add(&b, &c0), dev.add(&a, &c1)] {
            drop(if rescaled { dev.rescale(&sum, to) } else { sum });
        }
    }
    dev.finish().counts()
}

#[test]
fn a_merged_rescale_saves_two_transforms_a_limb() {
    assert_eq!(added(false, true), added(false, false));
    let (merged, apart) = (added(true, true), added(true, false));
    assert_eq!(apart.transformed_limbs, 180 + 2 * 24);
    assert_eq!(apart.transformed_limbs - merged.transformed_limbs, 2 * 24);
    const N: u64 = 1 << 16;
    // Seven limbs converted to 23 at once, for six to 24; P·onto is a product more, and one division is spared.
    let conversions = |c: Counts| c.convert_scale_products + c.convert_sum_products;
    assert_eq!(conversions(merged) + 2 * 6 * 25 * N, conversions(apart) + 2 * 7 * 24 * N);
    assert_eq!(merged.elementwise_products, apart.elementwise_products);
}
