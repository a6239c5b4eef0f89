//! What the footprint says is the MRAM that values take.

use super::{cpu, open};
use limbwise_device::conformance::footprint::{Call, Metered, Peak, Sizes, peak};
use limbwise_upmem::{Mode, Options, footprint};

fn peak_of(dpus: usize, call: Call, sizes: &Sizes) -> Peak {
    let dev = open(Options { dpus, mode: Mode::ClosedForm, ..Options::default() }).unwrap();
    let peak = peak(&dev, (call, sizes), (&footprint(limbwise_cpu::footprint()), Metered::Rows), |dev| {
        [dev.memory().live_bytes, dev.memory().peak_bytes]
    });
    println!("{dpus} DPUs, {call:?} {sizes:?}: {peak:?}");
    assert_eq!(limbwise_device::Device::sync(&dev), Ok(()));
    peak
}

#[test]
fn calls_take_what_the_footprint_says() {
    let sizes = |limbs, digit, batch| Sizes { log_n: 10, bits: 32, limbs, digit, batch };
    let _ = cpu();
    for call in Call::ALL {
        // One ciphertext: every operand of a row is on its DPU. On one DPU everything is.
        for (dpus, sizes) in [(64, sizes([25, 5], 5, 1)), (5, sizes([6, 2], 3, 1)), (1, sizes([6, 2], 3, 2))] {
            let peak = peak_of(dpus, call, &sizes);
            assert_eq!(peak.real, peak.predicted, "{call:?} {sizes:?}");
        }
        // A batch on many DPUs: what has no batch is copied to those of the others for a launch.
        let spread = peak_of(64, call, &sizes([6, 2], 3, 2));
        assert!(spread.real >= spread.predicted && 4 * spread.real <= 5 * spread.predicted, "{call:?}: {spread:?}");
    }
}
