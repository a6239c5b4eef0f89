//! Measures for the claims of \[ARK\].

use super::{
    circuits::{self, Direction, Products, With},
    claims::{Measures, Reproduction, compare},
};
use crate::error::Result;
use limbwise::{ckks::bootstrap::HalvesAt, params::Params};
use limbwise_graph::{Counts, Graph, Op, Region};
use limbwise_machines::{Spec, time};

const CLAIMS: &str = include_str!("../../claims/ark.toml");
const SYSTEMS: &str = include_str!("../../claims/systems.toml");

/// Every claim of \[ARK\] beside recordings, schedules on a model of the machine, and the roofline of F1.
pub fn ark(machine: &Spec, f1: &Spec) -> Result<Reproduction> {
    let params = circuits::params()?;
    let mut measures = Measures::new();
    shares(&mut measures, &params)?;
    for (name, direction) in [("H-IDFT", Direction::Inverse), ("H-DFT", Direction::Forward)] {
        let graphs = With::ALL.map(|with| circuits::transform(&params, direction, with));
        let [base, hops, both] = graphs;
        let graphs = [base?, hops?, both?];
        let mut put = |what: &str, value: f64| {
            measures.insert(format!("{name}.{what}"), value);
        };
        counted(&graphs, &mut put);
        speeds(&graphs, machine, &mut put)?;
        roofline(&graphs[0], f1, "", &mut put)?;
        roofline(&graphs[0], &f1.with_overrides(&[("assumed.binary_units", "true")])?, "_binary", &mut put)?;
    }
    let params = circuits::bootstrapping_params()?;
    let bootstrapping = With::ALL.map(|with| circuits::bootstrapping(&params, with, HalvesAt::Turns, Products::None));
    let [base, hops, both] = bootstrapping;
    let mut put = |what: &str, value: f64| {
        measures.insert(format!("bootstrap.{what}"), value);
    };
    speeds(&[base?, hops?, both?], machine, &mut put)?;
    let levels = params.bootstrapping().map_or(0, |b| b.levels);
    let overlapped = overlapped(machine)?;
    for (reading, halves, machine) in [
        ("t_as_us", HalvesAt::Turns, machine),
        ("t_as_us_overlapped", HalvesAt::Turns, &overlapped),
        ("t_as_us_batch", HalvesAt::Once, machine),
    ] {
        let whole = time(&circuits::bootstrapping(&params, With::Both, halves, Products::EachLevel)?, machine)?;
        put(reading, whole.seconds * 1e6 / to_f64((levels * params.max_slots()) as u64));
    }
    Ok(compare(CLAIMS, Some(SYSTEMS), &measures))
}

/// Shares of a rotation's products, and sizes of a polynomial and a key (claim A1).
fn shares(measures: &mut Measures, params: &Params) -> Result<()> {
    let graph = circuits::rotation(params)?;
    let many = circuits::rotation(&circuits::many_digits()?)?.counts();
    let counts @ Counts { ntt_products, convert_scale_products, convert_sum_products, .. } = graph.counts();
    let conversions = convert_scale_products + convert_sum_products;
    let ciphertext = params.top_level() + 1;
    let mut put = |what: &str, value: f64| {
        measures.insert(format!("HRot.{what}"), value);
    };
    put("ntt_share", percent(ntt_products, counts.products()));
    put("conversion_share", percent(conversions, counts.products()));
    put("sum_share", percent(convert_sum_products, conversions));
    put("ntt_share_many_digits", percent(many.ntt_products, many.products()));
    put("polynomial_mib", mib((ciphertext * params.ring().n() * 8) as u64));
    put("key_mib", mib(graph.traffic().evaluation_keys.widest));
    Ok(())
}

/// Claims A2 to A5, which follow from the recordings alone.
fn counted(graphs: &[Graph; 3], put: &mut impl FnMut(&str, f64)) {
    let [base, hops, both] = graphs;
    let traffic = graphs.each_ref().map(Graph::traffic);
    // The base line loads a key for each rotation; with multi-hop rotations the few keys stay on the chip.
    let keys = [traffic[0].evaluation_keys.read, traffic[1].evaluation_keys.widest, traffic[2].evaluation_keys.widest];
    let bytes = [0, 1, 2].map(|i| keys[i] + traffic[i].plaintexts.widest);
    let products = graphs.each_ref().map(|graph| graph.counts().products());
    let intensity = [0, 1, 2].map(|i| ratio(products[i], bytes[i]));
    put("rotations", to_f64(base.calls(Region::Rotate)));
    put("rotations_hops", to_f64(hops.calls(Region::Rotate)));
    put("diagonal_products", diagonal_products(base));
    put("key_uses", to_f64(base.calls(Region::GadgetProduct)));
    put("keys", to_f64(traffic[0].keys.len() as u64));
    put("keys_hops", to_f64(traffic[1].keys.len() as u64));
    put("data_gib", mib(bytes[0]) / 1024.0);
    put("plaintext_share", percent(traffic[0].plaintexts.widest, bytes[0]));
    put("bytes_hops_gain", ratio(bytes[0], bytes[1]));
    put("intensity_hops_gain", intensity[1] / intensity[0]);
    put("intensity_limb_gain", intensity[2] / intensity[1]);
    put("intensity", intensity[2]);
    put("traffic_removed", 100.0 - percent(bytes[2], bytes[0]));
    let added = both.counts().products() - products[1];
    put("added", percent(added, products[1]));
    put("added_share", percent(added, products[2]));
}

/// Claim A6: the base line on the roofline of F1.
fn roofline(base: &Graph, f1: &Spec, reading: &str, put: &mut impl FnMut(&str, f64)) -> Result<()> {
    let report = time(base, f1)?;
    put(&format!("f1_load_ms{reading}"), report.roofline.map_or(0.0, |r| r.memory_s) * 1e3);
    put(&format!("f1_utilization{reading}"), 100.0 * report.utilization["multipliers"]);
    Ok(())
}

/// Claim A11: speed-ups with the machine's phases, and with overlapped ones (ADR 63).
fn speeds(graphs: &[Graph; 3], machine: &Spec, put: &mut impl FnMut(&str, f64)) -> Result<()> {
    speed(graphs, machine, "", put)?;
    speed(graphs, &overlapped(machine)?, "_overlapped", put)
}

/// The machine with overlapped functions of a key switch.
fn overlapped(machine: &Spec) -> Result<Spec> {
    Ok(machine.with_overrides(&[("phases", "overlapped")])?)
}

fn speed(graphs: &[Graph; 3], machine: &Spec, reading: &str, put: &mut impl FnMut(&str, f64)) -> Result<()> {
    let seconds = |graph: &Graph| -> Result<f64> { Ok(time(graph, machine)?.seconds) };
    let [base, hops, both] = [seconds(&graphs[0])?, seconds(&graphs[1])?, seconds(&graphs[2])?];
    put(&format!("speed_hops{reading}"), base / hops);
    put(&format!("speed_limb{reading}"), hops / both);
    put(&format!("speed_both{reading}"), base / both);
    Ok(())
}

/// Products of a ciphertext with a diagonal.
fn diagonal_products(graph: &Graph) -> f64 {
    let is_product = |id: &_| {
        let node = graph.node(*id);
        matches!(node.op(), Op::Mul | Op::MulAcc) && graph.regions()[node.region().index()].is(Region::WeightedSums)
    };
    to_f64(graph.ids().filter(is_product).count() as u64)
}

fn mib(bytes: u64) -> f64 {
    to_f64(bytes) / f64::from(1 << 20)
}

fn ratio(a: u64, b: u64) -> f64 {
    to_f64(a) / to_f64(b)
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * ratio(part, whole)
}

fn to_f64(x: u64) -> f64 {
    limbwise_math::rns::to_f64(x)
}
