//! Programs divided between two devices: the same residues as on the CPU alone, at real parameters, in every scheme.

use limbwise::{
    bgv,
    ckks::{BootstrapPlan, Promise},
    params::presets::preset,
    rlwe::KeyForm,
    scheme::{ClientScheme, Scheme},
    tfhe::{self, TfheParams},
    wire::Origin,
};
use limbwise_apps::{
    Client, Program,
    bgv_mul::{BgvMul, Step},
    bootstrap::Bootstrap,
    data::breast_cancer,
    family::{Exact, integer_samples, message_samples},
    logreg::{
        client::{LogregClient, Options},
        data::{PrepareOptions, prepare},
    },
    nn::{Network, Nn},
    pbs::{Pbs, Tables},
};
use limbwise_cpu::{Cpu, Isa};
use limbwise_device::{
    HostRead, Hybrid, Lockstep,
    hybrid::{Assignment, Half, Shares},
};
use limbwise_graph::{Entries, Graph, LimbOrder, NodeId, Op, Region, Role};
use limbwise_machines::offload::{
    Duplex, Genetic, Grouping, Heft, Link, Patterns, Policy as _, Recorded, Side, SideId, SideModel, Timetable, check,
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice, Error, Host, RunOptions, calibrate,
    keys::InMemory,
    offload, open, plan, record, run,
    session::{Of, Sides, session},
};
use limbwise_upmem::Upmem;
use std::time::Instant;

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
        let file = |result| P::Scheme::write(Vec::new(), reader.dev, reader.params, result, &Origin::NONE);
        results.iter().map(file).collect()
    })
    .unwrap()
}

/// Every operation of the recording on the device after the one before's.
fn in_turn(graph: &Graph) -> Assignment {
    let works = |op: Op| !op.is_view() && !op.is_input();
    let ops = graph.ids().map(|id| graph.node(id).op()).filter(|&op| works(op));
    let half = |at: usize| if at.is_multiple_of(3) { Half::Home } else { Half::Away };
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
        let (is_whole, name) = (matches!(assignment, Assignment::Whole(_)), format!("{assignment:.20?}"));
        dev.assign(assignment);
        assert!(results(&dev, program, client) == wanted, "other residues by {name:.60}");
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
    let (program, client) = LogregClient::sides(&preset("n14-l7-s40").unwrap(), prepared, options).unwrap();
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

/// Keys of TFHE do not repeat under a seed, so both run side by side, and each result is compared.
#[test]
fn tfhe_in_turn_is_bit_for_bit_the_cpus() {
    let params = TfheParams::new(&tfhe::preset("strix-I-32").unwrap()).unwrap();
    let program = Pbs::new(&params, 1, Tables::Each);
    let client = Exact::new(program.clone(), message_samples(&program.inputs(), 1));
    beside(cpu(), &program, &client);
    beside(dpus(), &program, &client);
}

/// A session in which operations take turns, in lockstep with the CPU.
fn beside<P, C, D>(away: D, program: &P, client: &C)
where
    P: Program<Scheme: ClientScheme>,
    C: Client<Scheme = P::Scheme>,
    D: HostRead,
{
    let tested = Hybrid::new(cpu(), away);
    tested.assign(Assignment::Turns);
    tested.begin();
    let dev = Lockstep { trusted: cpu(), tested };
    assert!(!results(&dev, program, client).is_empty());
    let Shares { operations, moved_bytes, .. } = dev.tested.shares();
    assert!(operations.iter().all(|&count| count > 1000) && moved_bytes.iter().all(|&bytes| bytes > 0));
}

#[test]
#[expect(clippy::print_stdout, reason = "what a user reads")]
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
    let division = report.offload.unwrap();
    assert_eq!((division.sentence(), division.seconds()), (said.clone(), report.seconds_predicted));
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

/// A side that does so many products and bytes a second.
struct Rates(Side, f64, f64);

impl SideModel for Rates {
    fn side(&self) -> Side {
        self.0
    }

    fn seconds(&self, graph: &Graph, nodes: &[NodeId]) -> Option<f64> {
        let one = |&id: &NodeId| {
            let read = graph.operands(id).iter().map(|&o| graph.value_bytes(o).min(graph.value_bytes(id)));
            let bytes = read.sum::<u64>() + graph.value_bytes(id);
            (graph.work(id).products() as f64 / self.1).max(bytes as f64 / self.2)
        };
        Some(nodes.iter().map(one).sum())
    }

    fn holds(&self, graph: &Graph, input: NodeId) -> bool {
        matches!(graph.node(input).role(), Role::BootstrapKey(_))
    }
}

/// Searches a program on a chip with much arithmetic and a unit with much bandwidth.
#[expect(clippy::print_stdout, reason = "times for whoever asks")]
fn searched(name: &str, graph: &Graph, grouping: Grouping<'_>, copies: u32) {
    let begin = Instant::now();
    let sides = [Side { name: "chip", streams: 1, balance: 0.34 }, Side { name: "unit", streams: 1, balance: 0.24 }];
    let (chip, unit) = (Rates(sides[0], 3.5e11, 1e12), Rates(sides[1], 1e12, 4.3e12));
    let links = [(SideId(0), SideId(1), Link::new(385.0, 1e-7, Duplex::Full))];
    let problem = Recorded { grouping, copies, ..Recorded::new(graph, &[&chip, &unit], &links) }.problem().unwrap();
    let built = begin.elapsed();
    let begin = Instant::now();
    let heft = Timetable::of(&problem, &Heft.place(&problem).unwrap());
    let heft_took = begin.elapsed();
    let begin = Instant::now();
    let found = Timetable::of(&problem, &Genetic::default().place(&problem).unwrap());
    let took = begin.elapsed();
    let (patterns, nodes) = (Patterns::of(&problem), graph.nodes().len());
    println!(
        "{name}: {nodes} nodes, {} operations, {} stretches of {} classes; built in {built:.1?}, heft {:.4e} s in {heft_took:.1?}, genetic {:.4e} s in {took:.1?}",
        problem.len(),
        patterns.segments.len(),
        patterns.classes,
        heft.seconds(),
        found.seconds()
    );
    check(&problem, &heft).unwrap();
    check(&problem, &found).unwrap();
    assert!(found.makespan <= heft.makespan);
}

#[test]
#[ignore = "a search of a million operations; its time is printed"]
fn a_network_and_a_bootstrapping_are_searched() {
    let footprint = limbwise_cpu::footprint();
    let params = TfheParams::new(&tfhe::preset("fhex-II-32").unwrap()).unwrap();
    let program = Nn::new(&params, Network::shipped(20).unwrap(), 1).unwrap();
    let graph = record(&program, KeyForm::Stored, &footprint).unwrap().graph;
    let operators = [Region::Decomposition, Region::Ntt, Region::Products, Region::Intt, Region::Steps];
    searched("nn20 at batch 16", &graph, Grouping::Regions(&operators), 16);
    searched("nn20 node by node", &graph, Grouping::Nodes, 1);
    let params = preset("boot").unwrap();
    let bounds = Promise { magnitude: 1.0, peak: 1.0, real: false };
    let program =
        Bootstrap::new((&params, "boot"), BootstrapPlan::fastest(params.max_slots()), Some(1), bounds).unwrap();
    let graph = record(&program, KeyForm::Stored, &footprint).unwrap().graph;
    searched("bootstrapping", &graph, Grouping::Nodes, 1);
    let limbs = graph.limb_by_limb(LimbOrder::Operations, Entries::Apart);
    searched("bootstrapping limb by limb", &limbs, Grouping::Nodes, 1);
}
