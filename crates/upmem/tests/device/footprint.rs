//! What the footprint says is the MRAM that values take.

use super::open;
use limbwise_device::{
    Device,
    conformance::footprint::{Call, Metered, Peak, Sizes, peak},
};
use limbwise_upmem::{Mode, Options, footprint};

fn peak_of(dpus: usize, call: Call, sizes: &Sizes) -> Peak {
    let dev = open(Options { dpus, mode: Mode::ClosedForm, ..Options::default() }).unwrap();
    let peak = peak(&dev, call, sizes, &footprint(limbwise_cpu::footprint()), Metered::Rows, |dev| {
        [dev.memory().live_bytes, dev.memory().peak_bytes]
    });
    assert_eq!(dev.sync(), Ok(()));
    peak
}

fn sizes(limbs: [usize; 2], digit: usize, batch: usize) -> Sizes {
    Sizes { log_n: 10, bits: 32, limbs, digit, batch }
}

/// On one DPU, and wherever all operands of a row are on one.
#[test]
fn calls_take_what_the_footprint_says() {
    for call in Call::ALL {
        for sizes in [sizes([6, 2], 3, 1), sizes([6, 2], 3, 2), sizes([25, 5], 5, 1)] {
            let peak = peak_of(1, call, &sizes);
            assert_eq!(peak.real, peak.predicted, "{call:?} {sizes:?}");
        }
    }
    for call in [Call::KeySwitch, Call::Merged, Call::Hoisted, Call::Rescale, Call::WeightedSums, Call::Combination] {
        let peak = peak_of(64, call, &sizes([25, 5], 5, 1));
        assert_eq!(peak.real, peak.predicted, "{call:?}");
    }
}

/// A batch on several DPUs, or a bootstrapping key whose steps are: what lies on another DPU is copied for a launch, at most
/// all rows of an operand.
#[test]
fn copies_between_dpus_are_few() {
    for call in Call::ALL {
        let peak = peak_of(64, call, &sizes([6, 2], 3, 2));
        assert!(peak.real >= peak.predicted && 10 * peak.real <= 11 * peak.predicted, "{call:?}: {peak:?}");
    }
}
