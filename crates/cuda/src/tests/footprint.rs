//! What the footprint says is what the pool has seen, to the byte.

use super::{MEMORY, host};
use crate::Cuda;
use limbwise_device::{
    Device, RingSpec,
    conformance::{
        footprint::{Call, Metered, Sizes, peak},
        with_device,
    },
};
use limbwise_math::prime::ntt_primes_below;

fn seen(dev: &Cuda) -> [u64; 2] {
    [dev.memory().live_bytes, dev.memory().peak_bytes]
}

#[test]
fn calls_take_what_the_footprint_says() {
    let sizes = |limbs, digit, batch| Sizes { log_n: 10, bits: 49, limbs, digit, batch };
    let all = [sizes([25, 5], 5, 1), sizes([25, 5], 5, 2), sizes([5, 1], 1, 30), sizes([6, 2], 3, 1)];
    for sizes in all {
        for call in Call::ALL {
            with_device(
                "c++",
                || host(MEMORY),
                |dev| {
                    let footprint = dev.footprint();
                    let peak = peak(&dev, call, &sizes, &footprint, Metered::All, seen);
                    assert_eq!(dev.sync(), Ok(()));
                    // A kernel of bootstrapping reads the places of its samples from a row of 16 bytes. Weights and addresses
                    // of a matrix product are a table that stays from call to call, so it may be there before the call.
                    let small = match call {
                        Call::Bootstrapping => 16,
                        Call::Combination => 4096,
                        _ => 0,
                    };
                    let near = peak.predicted.abs_diff(peak.real) <= small;
                    assert!(
                        near && (peak.real >= peak.predicted || call == Call::Combination),
                        "{call:?} {sizes:?}: {peak:?}"
                    );
                },
            );
        }
    }
}

#[test]
fn tables_take_what_the_footprint_says() {
    for log_n in [10, 12, 13, 16] {
        with_device(
            "c++",
            || host(MEMORY),
            |dev| {
                let primes = ntt_primes_below(log_n, 50, 3, &[]).unwrap();
                let ring = dev.ring(&RingSpec { log_n, primes }).unwrap();
                assert_eq!(dev.memory().live_bytes, dev.footprint().table_bytes(&ring));
            },
        );
    }
}

/// What is said of an architecture is what a GPU of it says of itself.
#[test]
fn a_footprint_by_architecture() {
    let sizes = Sizes { log_n: 11, bits: 49, limbs: [25, 5], digit: 5, batch: 2 };
    let said = |footprint| {
        limbwise_device::conformance::footprint::predicted(Call::Bootstrapping, &sizes, &footprint, Metered::All)
    };
    with_device("c++", || host(MEMORY), |dev| assert_eq!(said(dev.footprint()), said(crate::footprint("sm_90"))));
}
