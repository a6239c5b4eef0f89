//! Files that were changed on the way: whatever changed is found, or changes nothing.

use crate::{
    common::device,
    fixtures::{NAMES, VERSIONS, fixture, fixture_of, fixture_params, rewritten},
};
use limbwise::wire::container::PREAMBLE;
use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Flips bits of a file one at a time; counts those that are found. A change that is not found must change nothing.
fn campaign(version: u16, name: &str, bits: impl Fn(usize) -> Range<u32>) {
    let (dev, params, original) = (device(), fixture_params(), fixture_of(version, name));
    let (mut found, mut flipped) = (0, 0);
    let mut damaged = original.clone();
    for at in 0..original.len() {
        for bit in bits(at) {
            damaged[at] ^= 1 << bit;
            flipped += 1;
            match rewritten(name, &damaged, &dev, &params) {
                Err(_) => found += 1,
                Ok(back) => {
                    assert!(back == original, "{name}: bit {bit} of byte {at} is not found and changes the value")
                }
            }
            damaged[at] = original[at];
        }
    }
    // The checksums leave no bit uncovered.
    assert_eq!(found, flipped, "{name}");
}

/// A campaign on every fixture, as many at once as there are processors.
fn campaigns(bits: impl Fn(usize) -> Range<u32> + Sync) {
    let all: Vec<_> = VERSIONS.into_iter().flat_map(|version| NAMES.map(|name| (version, name))).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(&(version, name)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            campaign(version, name, &bits);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

#[test]
fn flipped_bytes_are_found() {
    // All of preamble and header; of the rows, which one checksum each covers, one byte in five.
    campaigns(|at| {
        let bit = u32::try_from(at % 8).unwrap();
        if at < 2048 || at % 5 == 0 { bit..bit + 1 } else { 0..0 }
    });
}

#[test]
#[ignore = "every bit of every fixture: a minute"]
fn every_flipped_bit_is_found() {
    campaigns(|_| 0..8);
}

#[test]
fn every_shorter_file_is_refused_and_every_longer_one() {
    let (dev, params) = (device(), fixture_params());
    for name in NAMES {
        let original = fixture(name);
        // All that end in the header, in the rows one in seven, and those that end just before the end.
        let looked_at = |&length: &usize| length < 4096 || length % 7 == 0 || length + 64 > original.len();
        for length in (0..original.len()).filter(looked_at) {
            assert!(rewritten(name, &original[..length], &dev, &params).is_err(), "{name} cut to {length}");
        }
        for more in [1, 16, 1000] {
            let longer = [&original[..], &vec![0; more]].concat();
            assert!(rewritten(name, &longer, &dev, &params).is_err(), "{name} with {more} bytes more");
        }
    }
}

#[test]
fn blocks_that_changed_places_are_found() {
    let (dev, params) = (device(), fixture_params());
    // Two rows of the prime q₀, of the same length: the first of each half of the ciphertext.
    let original = fixture("ciphertext");
    let header = u32::from_le_bytes(original[12..16].try_into().unwrap()) as usize;
    let [q0, q1] = [0, 1].map(|i| 128 * params.ring().moduli()[i].bits() as usize + 16);
    let (first, second) = (PREAMBLE + header, PREAMBLE + header + q0 + q1);
    let mut swapped = original.clone();
    swapped[first..first + q0].copy_from_slice(&original[second..second + q0]);
    swapped[second..second + q0].copy_from_slice(&original[first..first + q0]);
    let refused = rewritten("ciphertext", &swapped, &dev, &params).unwrap_err().to_string();
    assert!(refused.contains("checksum differs"), "{refused}");
}
