//! What the footprint says is what the pool has seen, to the byte.

use limbwise_cpu::{Cpu, Isa, footprint};
use limbwise_device::conformance::footprint::{Call, Metered, Sizes, peak};

#[test]
fn calls_take_what_the_footprint_says() {
    let sizes = |limbs, digit, batch| Sizes { log_n: 13, bits: 49, limbs, digit, batch };
    for sizes in [sizes([25, 5], 5, 1), sizes([25, 5], 5, 2), sizes([5, 1], 1, 3), sizes([6, 2], 3, 1)] {
        for call in Call::ALL {
            for threads in [1, 2] {
                let dev = Cpu::new(Isa::best(), threads).expect("a CPU");
                // LWE ciphertexts are not rows of the pool.
                let peak = peak(&dev, call, &sizes, &footprint(), Metered::Rows, |dev| {
                    [dev.memory().live_bytes, dev.memory().peak_bytes]
                });
                assert_eq!(peak.real, peak.predicted, "{call:?} {sizes:?}");
            }
        }
    }
}
