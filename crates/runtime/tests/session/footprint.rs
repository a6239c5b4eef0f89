//! What is planned for a device is what it takes: whole sessions on the CPU and on DPUs, and single calls as each device
//! says. Sessions on CUDA need a GPU: its own crate compares the same calls on the host build of its kernels.

use crate::some_rates;
use limbwise::{
    ckks::decrypt::phase,
    params::{Insecure, Params, ParamsLiteral},
    rlwe::KeyForm,
};
use limbwise_apps::{
    Program as _,
    data::breast_cancer,
    logreg::{
        client::{LogregClient, Options},
        data::{PrepareOptions, prepare},
        encrypted::{Logreg, levels_needed},
    },
};
use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    Handle as _, Null, SharedFootprint,
    conformance::footprint::{Call, Metered, Sizes, predicted},
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice, Calibration,
    keys::InMemory,
    plan, record,
    session::{Of, Sides, session},
};
use limbwise_upmem::{Mode, Upmem};
use std::sync::Arc;

const ROW: u64 = 8 << 16;

fn footprints() -> [SharedFootprint; 3] {
    [limbwise_cpu::footprint(), limbwise_cuda::footprint("sm_90"), limbwise_upmem::footprint(limbwise_cpu::footprint())]
}

fn sides(chain: impl Fn(usize) -> ParamsLiteral) -> (Logreg, LogregClient) {
    let mut literal = chain(levels_needed(1, 3));
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let prepared = prepare(&breast_cancer(), &PrepareOptions::default()).unwrap();
    let options = Options { batch_rows: 64, iterations: 1, degree: 3, interval: 8.0 };
    LogregClient::sides(&Params::new(&literal).unwrap(), prepared, options).unwrap()
}

/// A whole session on a device; results are not decoded.
fn run(dev: &AnyDevice, (program, client): &(Logreg, LogregClient), footprint: SharedFootprint) -> u64 {
    let recording = record(program, KeyForm::Stored, &footprint).unwrap();
    let sides = Sides { program, client: &Of(client), seeds: &SeedSource::System };
    let keys = (&recording.keys, &InMemory::default());
    session(dev, &sides, keys, (&mut (), &mut ()), &(), |reader, _, results| {
        let secret = reader.secrets.rlwe.as_ref().unwrap();
        Ok(results.iter().map(|result| phase(reader.dev, reader.params, secret, result).shape().bytes()).sum::<u64>())
    })
    .unwrap();
    footprint.stored_bytes(program.params().log_n(), recording.session_peak_bytes)
}

#[test]
fn sessions_take_what_their_device_says() {
    let sides = sides(|levels| ParamsLiteral::chain(11, 31, 26, levels, (32, 3), 3));
    let cpu = || Cpu::new(Isa::best(), 2).unwrap();
    let dev = AnyDevice::from(cpu());
    let on_the_cpu = run(&dev, &sides, dev.footprint());
    assert_eq!(on_the_cpu, dev.cpu().unwrap().memory().peak_bytes);
    let options = limbwise_upmem::Options { dpus: 1, mode: Mode::ClosedForm, ..Default::default() };
    let dev = AnyDevice::from(Upmem::open(cpu(), options).unwrap());
    let on_dpus = run(&dev, &sides, dev.footprint());
    let AnyDevice::Upmem(dpus) = &dev else { panic!("DPUs") };
    assert_eq!(on_dpus, dpus.memory().peak_bytes);
}

/// A recording is for the device that was calibrated, and its plan says what that device takes.
#[test]
fn plans_are_for_the_device_that_runs() {
    let sides = sides(|levels| ParamsLiteral::chain(11, 50, 45, levels, (55, 3), 3));
    // What a server computes on: keys and encryption are no part of it.
    let program = &sides.0;
    let recorded =
        |footprint: &SharedFootprint| record(program, KeyForm::Stored, footprint).unwrap().of_server(program).unwrap();
    let cpu = recorded(&limbwise_cpu::footprint());
    let host = some_rates(&AnyDevice::from(Cpu::new(Isa::best(), 1).unwrap()));
    let planned = |host: &Calibration| plan(program, "test", &recorded(&host.footprint()), host).unwrap();
    assert_eq!(planned(&host).device_memory, None);
    let gpu =
        Calibration { device: "cuda".into(), isa: "sm_90".into(), device_memory_bytes: Some(80 << 30), ..host.clone() };
    let cuda = recorded(&limbwise_cuda::footprint("sm_90"));
    let tables = limbwise_cuda::footprint("sm_90").table_bytes(program.params().ring());
    let needed = planned(&gpu).device_memory.unwrap().needed_bytes;
    assert_eq!(needed, cuda.session_peak_bytes + tables);
    assert!(
        cuda.session_peak_bytes != cpu.session_peak_bytes,
        "{}: each device holds its own rows",
        cpu.session_peak_bytes
    );
    let [on_the_cpu, on_a_gpu] = [&host, &gpu].map(|host| planned(host).peak_memory_bytes.predicted);
    assert!(on_a_gpu != on_the_cpu);
}

/// A key switch at 25 limbs, 5 special primes and 5 digits of N = 2^16: its rows beside the operand and the key.
#[test]
fn a_key_switch_at_full_size() {
    let at = |log_n| Sizes { log_n, bits: 50, limbs: [25, 5], digit: 5, batch: 1 };
    let rows = |footprint: &SharedFootprint, log_n| {
        let bytes = predicted(Call::KeySwitch, &at(log_n), footprint, Metered::Rows);
        bytes / footprint.row_bytes(log_n) - 25 - 5 * 2 * 30
    };
    let [cpu, cuda, upmem] = footprints().map(|footprint| {
        assert_eq!(rows(&footprint, 16), rows(&footprint, 10), "rows do not depend on the ring");
        rows(&footprint, 16)
    });
    assert_eq!([cpu, cuda, upmem], [92, 112, 185]);
    let default: SharedFootprint = Arc::clone(Null::default().footprint());
    assert_eq!(rows(&default, 16), 185);
    assert_eq!(limbwise_cpu::footprint().row_bytes(16), ROW / 512 * 513);
}
