//! Both sets of kernels keep every promise of the device crate, alone, on two threads, and in lockstep.

use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{Checked, Lockstep, conformance_suite};

fn open(isa: Isa, threads: usize) -> Option<Cpu> {
    isa.is_available().then(|| Cpu::new(isa, threads).expect("available"))
}

conformance_suite!(scalar, "scalar", || open(Isa::Scalar, 1));
conformance_suite!(ifma, "ifma", || open(Isa::Ifma, 1));
conformance_suite!(ifma_two_threads, "ifma", || open(Isa::Ifma, 2).map(Checked));
conformance_suite!(lockstep, "ifma", || Some(Lockstep { trusted: open(Isa::Scalar, 1)?, tested: open(Isa::Ifma, 2)? }));
