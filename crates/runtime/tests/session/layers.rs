//! A layer's memory is predicted in every strategy and form, and its run reports what its plan says.

use crate::some_rates;
use limbwise::{
    Complex64,
    ckks::{
        Ciphertext, PlaintextForm, Strategy, decrypt,
        tensor::{Filters, Image, Padding},
    },
    params::{Insecure, Params, ParamsLiteral},
    rlwe::KeyForm,
    scheme::{Ckks, Maps, SlotsInput},
};
use limbwise_apps::{
    Array, Details, Evaluation, Program,
    linear::{Linear, Task, client::LinearClient, data::generated},
};
use limbwise_device::Device;
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    Host, RunOptions,
    frontier::{Budget, Survey, Way, cheapest_within, strategies, survey},
    keys::InMemory,
    open, record, run,
    scheme::SchemeRun,
    session::{Of, Sides, session},
};

/// A layer that is said to need so many bytes at the least, and that must not be recorded where these are too many.
struct Claiming {
    layer: Linear,
    least: u64,
}

impl Program for Claiming {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        self.layer.name()
    }

    fn params(&self) -> &Params {
        self.layer.params()
    }

    fn inputs(&self) -> Vec<SlotsInput> {
        self.layer.inputs()
    }

    fn model(&self) -> Maps<'_> {
        self.layer.model()
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> limbwise::Result<Vec<Ciphertext<D>>> {
        self.layer.evaluate(on)
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        self.layer.arrays(results)
    }

    fn details(&self) -> Details {
        self.layer.details()
    }

    fn least_bytes(&self) -> u64 {
        self.least
    }
}

fn layer() -> (Linear, LinearClient) {
    let mut literal = ParamsLiteral::chain(11, 50, 40, 4, (48, 2), 3);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let filters = Filters::new([2, 3, 3, 3], generated(0, 0, 54, 0.2), vec![0.5, -0.5], 1, Padding::Same).unwrap();
    let image = Image::new([3, 8, 8], generated(0, 1, 192, 1.0)).unwrap();
    LinearClient::sides(&Params::new(&literal).unwrap(), 4, &Task::Convolution { filters, image }).unwrap()
}

#[test]
fn polynomial_memory_is_predicted_to_the_byte() {
    let (layer, client) = layer();
    let babies = 8;
    let all = [
        Strategy::Direct,
        Strategy::Hoisted,
        Strategy::Bsgs { babies },
        Strategy::Whole { babies },
        Strategy::DoubleHoisted { babies },
        Strategy::MultiHop { babies },
    ];
    for (i, strategy) in all.into_iter().enumerate() {
        for form in PlaintextForm::ALL {
            let program = layer.with(strategy, form);
            let keys = if i % 2 == 0 { KeyForm::Stored } else { KeyForm::Seeded };
            let recording = record(&program, keys, &limbwise_cpu::footprint()).unwrap();
            let dev = open(&Host { device: None, isa: None, threads: Some(2) }).unwrap();
            let row = (64 * limbwise_cpu::layout::lines(11)) as u64;
            let sides = Sides { program: &program, client: &Of(&client), seeds: &SeedSource::System };
            session(
                &dev,
                &sides,
                (&recording.keys, &InMemory::default()),
                (&mut (), &mut ()),
                &(),
                |reader, _, results| {
                    let secret = reader.secrets.rlwe.as_ref().unwrap();
                    Ok(decrypt(reader.dev, reader.encoder, reader.params, secret, &results[0])?.len())
                },
            )
            .unwrap();
            let what = format!("{strategy}, {}", form.name());
            assert_eq!(
                dev.cpu().unwrap().memory().peak_bytes,
                recording.session_peak_bytes / (8 << 11) * row,
                "{what}"
            );
            assert_eq!(dev.cpu().unwrap().memory().live_bytes, 0, "{what}");
            let top = *recording.keys.required.values().max().unwrap();
            let scratch = limbwise_cpu::footprint().scratch_rows(2, program.params().digits(top).len());
            assert!(
                dev.cpu().unwrap().scratch().peak_bytes <= scratch as u64 * row,
                "{what}: {} of {scratch} rows",
                dev.cpu().unwrap().scratch().peak_bytes / row
            );
        }
    }
}

#[test]
fn what_cannot_fit_has_no_row_unless_it_is_the_first() {
    let (layer, _) = layer();
    let dev = open(&Host { device: None, isa: None, threads: Some(1) }).unwrap();
    let host = some_rates(&dev);
    let maps = strategies(layer.largest_map()).into_iter().map(|s| (s, PlaintextForm::Full));
    let ways: Vec<Way> = maps.map(|m| Way { maps: Some(m), ..Way::of_keys(KeyForm::Seeded) }).collect();
    assert!(ways.len() > 2);
    let budget = Budget::Asked(1 << 40);
    // All say that they need too much, but the last.
    let program = |way: Way| Claiming {
        layer: way.maps.map_or_else(|| layer.clone(), |(s, f)| layer.with(s, f)),
        least: if Some(&way) == ways.last() { budget.most() } else { budget.most() + 1 },
    };
    let found = survey(&ways, program, "test", &host, budget).unwrap();
    let mut kept: Vec<Way> = found.rows.iter().map(|row| row.way).collect();
    kept.sort_by_key(|way| ways.iter().position(|other| other == way));
    assert_eq!(kept, [ways[0], ways[ways.len() - 1]]);
}

#[test]
fn a_survey_takes_what_its_budget_prefers_and_runs_it() {
    let (layer, client) = layer();
    let dev = open(&Host { device: None, isa: None, threads: Some(1) }).unwrap();
    let host = some_rates(&dev);
    let forms = [KeyForm::Stored, KeyForm::Seeded];
    let maps = strategies(layer.largest_map()).into_iter().map(|s| (s, PlaintextForm::Full));
    let ways: Vec<Way> = maps.flat_map(|m| forms.map(|keys| Way { maps: Some(m), ..Way::of_keys(keys) })).collect();
    let program = |way: Way| way.maps.map_or_else(|| layer.clone(), |(s, f)| layer.with(s, f));
    let free = survey(&ways, program, "test", &host, Budget::Free(u64::MAX)).unwrap();
    assert_eq!(free.rows.len(), ways.len());
    let taken = free.rows.iter().find(|row| row.way == free.chosen.as_ref().unwrap().0).unwrap();
    let hardly_slower = free.rows.iter().filter(|row| row.cost <= 1.1 * free.rows[0].cost);
    assert_eq!(Some(taken.peak_bytes), hardly_slower.map(|row| row.peak_bytes).min(), "{:#?}", free.rows);
    let (least, most) = (free.rows.iter().map(|r| r.peak_bytes).min().unwrap(), free.rows[0].peak_bytes);
    let budget = Budget::Asked(u64::midpoint(least, most) / 50 * 51); // a part of it stays spare
    let Survey { rows, chosen } = survey(&ways, program, "test", &host, budget).unwrap();
    let (way, recording, plan) = chosen.unwrap();
    assert_eq!(Some(way), cheapest_within(&rows, budget.most()).map(|row| row.way));
    let taken: Vec<_> = plan.choices.iter().filter(|c| c.chosen).collect();
    assert_eq!(
        (taken.len(), taken[0].peak_memory_bytes, taken[0].keys),
        (1, plan.peak_memory_bytes.predicted, plan.keys.len())
    );
    assert!(survey(&ways, program, "test", &host, Budget::Asked(least)).unwrap().chosen.is_none());
    let sides = Sides { program: &program(way), client: &Of(&client), seeds: &SeedSource::System };
    let report = run(&dev, &sides, (&recording, &plan), &RunOptions::default(), &mut (), &mut |_| ()).unwrap();
    let steps: Vec<&str> = report.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(steps, ["memory", "keys", "encoding", "encryption", "layer", "decryption"]);
    let layer_seconds = report.steps.iter().find(|step| step.name == "layer").unwrap().seconds;
    assert!((report.seconds - layer_seconds).abs() < 1e-12, "encoding is no part of the evaluation");
    let SchemeRun::Ckks(found) = &report.scheme else { panic!("slots") };
    let bits = found.precision_bits;
    assert!((bits.mean - bits.predicted).abs() < 4.0, "{bits:?}");
    assert_eq!(recording.graph.traffic().plaintexts.declared, report.plaintext_bytes);
}
