//! Programs that HEIR compiled (`tests/heir`), encrypted, beside the values that their definitions give.

use limbwise::{
    params::{Insecure, Params, ParamsLiteral},
    rlwe::KeyForm,
};
use limbwise_apps::{
    Program,
    client::Client,
    heir::{Heir, HeirClient, Source, source::Kind},
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    Host,
    keys::InMemory,
    open, record,
    session::{Of, Sides, session},
};
use serde::Deserialize;
use std::{path::PathBuf, sync::Arc};

#[derive(Deserialize)]
struct Values {
    arguments: Vec<Vec<f64>>,
    expected: Vec<Vec<f64>>,
    tolerance: f64,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/heir")
}

fn small(source: &Source) -> Params {
    let header = &source.header;
    let depth = header.bits.len() - 1;
    let mut literal =
        ParamsLiteral::chain(11, header.bits[0], header.log_scale, depth, (header.log_scale + 10, 1), depth + 1);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    Params::new(&literal).unwrap()
}

/// Runs a program and compares its results with the expected values.
fn compare(name: &str, params: Option<fn(&Source) -> Params>) {
    let text = std::fs::read_to_string(folder().join(format!("{name}.mlir"))).unwrap();
    let values: Values =
        serde_json::from_slice(&std::fs::read(folder().join(format!("{name}.json"))).unwrap()).unwrap();
    let arguments = Source::arguments_of(&text, None).unwrap();
    let asked = arguments.iter().filter(|argument| argument.kind != Kind::Zero).zip(&values.arguments);
    let of = |kind: Kind| -> Vec<Vec<f64>> {
        asked.clone().filter(|(a, _)| a.kind == kind).map(|(_, numbers)| numbers.clone()).collect()
    };
    let source = Arc::new(Source::new(text.into(), None, &of(Kind::Clear)).unwrap());
    let program = match params {
        Some(params) => Heir::new(&params(&source), source, 1.0),
        None => Heir::choose(source, 1.0),
    };
    let program = program.unwrap_or_else(|e| panic!("{name}: {e}"));
    let client = HeirClient::new(&program, &of(Kind::Secret)).unwrap();
    let client = client.expecting(values.expected, values.tolerance).unwrap();
    let recording = record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
    let dev = open(&Host { device: None, isa: None, threads: Some(2) }).unwrap();
    let sides = Sides { program: &program, client: &Of(&client), seeds: &SeedSource::System };
    let keys = (&recording.keys, &InMemory::default());
    let decrypted = session(&dev, &sides, keys, (&mut (), &mut ()), &(), |reader, _, results| {
        let secret = reader.secrets.rlwe.as_ref().unwrap();
        let open = |result| limbwise::ckks::decrypt(reader.dev, reader.encoder, reader.params, secret, result);
        results.iter().map(open).collect::<limbwise::Result<Vec<_>>>()
    })
    .unwrap_or_else(|e| panic!("{name}: {e}"));
    let conclusion = client.conclude(&decrypted);
    assert!(conclusion.warnings.is_empty(), "{name}: {:?}", conclusion.warnings);
    let off = conclusion.details["largest_error"].as_f64().unwrap();
    let n = program.params().log_n();
    assert!(off < 1e-5, "{name}: {off} off its twin, N = 2^{n}");
}

/// A product with rotations, two results, a clear argument, encrypted zeros with loops and branches, levels dropped at the
/// scale of a product, and a transform that is left whole.
#[test]
fn programs_of_heir_give_their_values_on_small_rings() {
    for name in
        ["dot_product_8", "complex_product", "clear_argument", "conv2d_stride", "mult_dep", "matvec_lattigo", "cmux"]
    {
        compare(name, Some(small));
    }
}

#[test]

fn all_programs_of_heir_give_their_values_at_128_bits() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".mlir")?.to_owned()))
        .collect();
    names.sort();
    names.iter().for_each(|name| compare(name, None));
}
