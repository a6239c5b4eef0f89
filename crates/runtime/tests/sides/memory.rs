//! Memory of the polynomials of every scheme, as it is planned and as it is.

use crate::{
    both::{Case, device},
    cases, some_rates,
};
use limbwise::{
    rlwe::KeyForm,
    scheme::{ClientScheme as _, Scheme},
    tfhe::TfheParams,
};
use limbwise_apps::{Client, Program, bgv_table::Encrypted};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    Calibration, RunOptions,
    keys::InMemory,
    plan, record, run,
    scheme::Piped,
    session::{Of, Sides, session},
};

/// Bytes of a whole session in the device's pool and of its LWE key, and those that were planned without the tables of the transforms.
fn peaks<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(
    case: &Case<P, C>,
    form: KeyForm,
    host: &Calibration,
) -> (u64, u64) {
    let (dev, params) = (device(), case.program.params());
    let recording = record(&case.program, form, &limbwise_cpu::footprint()).unwrap();
    let (client, seeds) = (Of(&case.client), SeedSource::System);
    let sides = Sides { program: &case.program, client: &client, seeds: &seeds };
    let keys = (&recording.keys, &InMemory::default());
    session(&dev, &sides, keys, (&mut (), &mut ()), &(), |reader, inputs, results| {
        P::Scheme::open(reader.setup(), reader.secrets, &inputs, &results).map(drop)
    })
    .unwrap();
    let memory = dev.cpu().unwrap().memory();
    assert_eq!(memory.live_bytes, 0);
    let planned = plan(&case.program, "small", &recording, host).unwrap();
    let tables = |ring| recording.footprint.table_bytes(ring);
    let tables: u64 = P::Scheme::rings(params).into_iter().map(tables).sum();
    let needed = planned.device_memory.unwrap().needed_bytes;
    assert!(planned.peak_memory_bytes.predicted >= needed + host.resident_bytes);
    // The pool counts rows of polynomials; the key switch of LWE is beside it.
    let beside = P::Scheme::tfhe(params).map_or(0, key_switch_bytes);
    (memory.peak_bytes + beside, needed - tables)
}

fn key_switch_bytes(params: &TfheParams) -> u64 {
    let l = params.literal();
    8 * l.big_dimension() as u64 * u64::from(l.key_switch.levels) * (l.lwe_dimension as u64 + 1)
}

/// Plans say what a device of its own memory needs only where there is one, which this one is said to have.
fn host() -> Calibration {
    Calibration { device_memory_bytes: Some(1 << 40), ..some_rates(&device()) }
}

/// Never more than was planned, and not much less: with messages, what is missing are the LWE ciphertexts themselves.
fn within<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(name: &str, case: &Case<P, C>, percent: u64) {
    let host = host();
    for form in [KeyForm::Stored, KeyForm::Seeded] {
        let (measured, planned) = peaks(case, form, &host);
        assert!(
            measured <= planned && measured * 100 >= planned * percent,
            "{name}, keys {form:?}: {measured} of {planned} bytes"
        );
    }
}

#[test]
fn of_messages() {
    within("pbs", &cases::pbs(12), 80);
    within("gates", &cases::gates(6, 2), 65);
}

#[test]
fn of_integers() {
    within("bgv-mul", &cases::bgv_mul(5), 99);
    within("bgv-table", &cases::bgv_table(Encrypted::No), 99);
    within("bgv-table, matrix encrypted", &cases::bgv_table(Encrypted::Yes), 99);
}

#[test]
fn of_both_kinds() {
    within("query", &cases::query(), 95);
    within("query, ends in public groups", &cases::ends(), 95);
}

/// A run reports what its plan says, of each scheme.
#[test]
fn runs_report_their_plans() {
    fn ran<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(case: &Case<P, C>) -> Option<[usize; 2]> {
        let dev = device();
        let recording = record(&case.program, KeyForm::Stored, &dev.footprint()).unwrap();
        let host = some_rates(&dev);
        let planned = plan(&case.program, "small", &recording, &host).unwrap();
        let (client, seeds) = (Of(&case.client), SeedSource::System);
        let sides = Sides { program: &case.program, client: &client, seeds: &seeds };
        let report = run(&dev, &sides, (&recording, &planned), &RunOptions::default(), &mut (), &mut |_| ()).unwrap();
        assert_eq!(report.peak_memory_bytes.predicted, planned.peak_memory_bytes.predicted);
        assert_eq!(report.key_bytes, planned.key_bytes);
        let keys = recording.graph.traffic();
        assert_eq!(keys.evaluation_keys.declared + keys.bootstrap_keys.declared, planned.key_bytes);
        report.scheme.wrong()
    }
    assert_eq!(ran(&cases::pbs(4)), Some([0, 4]));
    assert_eq!(ran(&cases::gates(2, 3)).unwrap()[0], 0);
    assert_eq!(ran(&cases::bgv_mul(2)), Some([0, 2 * 1024]));
    assert_eq!(ran(&cases::bgv_table(Encrypted::No)).unwrap()[0], 0);
    assert_eq!(ran(&cases::query()), Some([0, 8]));
}
