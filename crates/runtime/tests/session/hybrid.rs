//! Programs divided between two devices: the same residues as on the CPU alone, at real parameters, in every scheme.

use limbwise::{
    bgv,
    params::presets::preset,
    rlwe::KeyForm,
    scheme::{ClientScheme, Scheme},
    tfhe::{self, TfheParams},
    wire::Origin,
};
use limbwise_apps::{
    Client, Program,
    bgv_mul::{BgvMul, Step},
    data::breast_cancer,
    family::{Exact, integer_samples, message_samples},
    logreg::{
        client::{LogregClient, Options},
        data::{PrepareOptions, prepare},
    },
    pbs::{Pbs, Tables},
};
use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    HostRead, Hybrid,
    hybrid::{Assignment, Half, Shares},
};
use limbwise_graph::{Graph, Op};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice, Error, Host, RunOptions, calibrate,
    keys::InMemory,
    offload, open, plan, record, run,
    session::{Of, Sides, session},
};
use limbwise_upmem::Upmem;

fn cpu() -> Cpu {
    Cpu::new(Isa::Scalar, 1).unwrap()
}

/// The results of a session as files, under one seed.
fn results<P, C, D>(dev: &D, program: &P, client: &C) -> Vec<Vec<u8>>
where
    P: Program<Scheme: ClientScheme>,
    C: Client<Scheme = P::Scheme>,
    D: HostRead,
{
    let recording = record(program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
    let sides = Sides { program, client: &Of(client), seeds: &SeedSource::Repeating(3) };
    let keys = (&recording.keys, &InMemory::default());
    session(dev, &sides, keys, (&mut (), &mut ()), &(), |reader, _, results| {
        let on = (reader.dev, reader.params);
        results.iter().map(|result| P::Scheme::write(Vec::new(), on, result, &Origin::NONE)).collect()
    })
    .unwrap()
}

/// Every operation of the recording on the device after the one before's.
fn in_turn(graph: &Graph) -> Assignment {
    let works = |op: Op| !op.is_view() && !op.is_input();
    let ops = graph.ids().map(|id| graph.node(id).op()).filter(|&op| works(op));
    let half = |at: usize| if at % 3 == 0 { Half::Home } else { Half::Away };
    Assignment::Each(ops.enumerate().map(|(at, op)| (op.name(), half(at))).collect())
}

/// Divides a program in three ways and compares each with the CPU alone.
fn divided<P, C, D>(away: &dyn Fn() -> D, program: &P, client: &C)
where
    P: Program<Scheme: ClientScheme>,
    C: Client<Scheme = P::Scheme>,
    D: HostRead,
{
    let graph = record(program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap().graph;
    let wanted = results(&cpu(), program, client);
    for assignment in [Assignment::Whole(Half::Away), Assignment::Turns, in_turn(&graph)] {
        let dev = Hybrid::new(cpu(), away());
        let is_whole = matches!(assignment, Assignment::Whole(_));
        dev.assign(assignment);
        assert!(results(&dev, program, client) == wanted, "other residues");
        let Shares { operations, strayed, moved_bytes } = dev.shares();
        assert_eq!(strayed, 0, "the run is what was recorded");
        assert!(moved_bytes.iter().all(|&bytes| bytes > 0), "{moved_bytes:?}");
        assert!(is_whole || operations.iter().all(|&count| count > 0), "{operations:?}");
    }
}

#[test]
fn ckks_divided_is_bit_for_bit_the_cpus() {
    let prepared = prepare(&breast_cancer(), &PrepareOptions::default()).unwrap();
    let options = Options { batch_rows: 256, iterations: 1, degree: 3, interval: 8.0 };
    let (program, client) = LogregClient::sides(&preset("n15-l16-s40").unwrap(), prepared, options).unwrap();
    divided(&cpu, &program, &client);
}

fn bgv_mul() -> (BgvMul, Exact<BgvMul>) {
    let params = bgv::preset("bgv-n12-w32").unwrap();
    let program = BgvMul::new(&params, 2, params.top_level(), Step::All);
    let make = |program: &BgvMul, seed| integer_samples(&program.inputs(), program.params(), seed);
    (program.clone(), Exact::seeded(program, 1, make))
}

fn dpus() -> Upmem<Cpu> {
    Upmem::open(cpu(), "dpus=4,dpus_per_rank=2,mode=closed-form".parse().unwrap()).unwrap()
}

#[test]
fn bgv_divided_with_dpus_is_bit_for_bit_the_cpus() {
    let (program, client) = bgv_mul();
    divided(&dpus, &program, &client);
}

#[test]
fn tfhe_divided_is_bit_for_bit_the_cpus() {
    let params = TfheParams::new(&tfhe::preset("strix-I-32").unwrap()).unwrap();
    let program = Pbs::new(&params, 1, Tables::Each);
    let client = Exact::new(program.clone(), message_samples(&program.inputs(), 1));
    divided(&cpu, &program, &client);
    divided(&dpus, &program, &client);
}

#[test]
fn a_run_on_a_hybrid_says_what_dividing_brings() {
    let (program, client) = bgv_mul();
    let dev = open(&Host { device: Some("hybrid:cpu+upmem:dpus=64".into()), ..Host::default() }).unwrap();
    assert_eq!(open(&dev.host()).unwrap().host(), dev.host(), "what a device says of itself opens it again");
    let footprint = dev.footprint();
    let recording = record(&program, KeyForm::Stored, &footprint).unwrap();
    let calibration = calibrate(&dev, 12).unwrap();
    let plan = plan(&program, "bgv-n12-w32", &recording, &calibration).unwrap();
    let sides = Sides { program: &program, client: &Of(&client), seeds: &SeedSource::Repeating(3) };
    let tell = &mut |_| ();
    let report = run(&dev, &sides, (&recording, &plan), &RunOptions::default(), &mut (), tell).unwrap();
    let said = report.warnings.iter().find(|said| said.starts_with("offload: ")).unwrap();
    println!("{said}");
    let division = offload::arrange(&dev, &recording.graph).unwrap().unwrap();
    assert_eq!(division.devices, ["cpu", "upmem"]);
    assert!(division.divided_seconds.is_some() && division.alone_seconds[0].is_some());
    assert!(division.seconds() <= division.alone_seconds[0].unwrap());
    assert_eq!(offload::shares(&dev).map(|shares| shares.strayed), Some(0));
    assert_eq!(offload::arrange(&AnyDevice::from(cpu()), &recording.graph).unwrap(), None);
}

#[test]
fn a_hybrid_with_a_gpu_opens_or_says_what_cuda_says() {
    let named = |name: &str| Host { device: Some(name.into()), ..Host::default() };
    match (open(&named("cuda")), open(&named("hybrid:cpu+cuda"))) {
        (Ok(_), Ok(both)) => assert_eq!(both.kind(), "hybrid:cpu+cuda"),
        (Err(alone), Err(both)) => assert_eq!(alone.to_string(), both.to_string()),
        (alone, both) => panic!("{:?} and {:?}", alone.err(), both.err()),
    }
    for unknown in ["hybrid", "hybrid:cpu+ark", "hybrid:cuda+cpu", "hybrid:cpu+cuda:dpus=2"] {
        assert!(matches!(open(&named(unknown)), Err(Error::UnknownDevice(_))), "{unknown}");
    }
}
