//! What is planned is what runs: keys and polynomial memory to the byte, levels, precision.

use crate::some_rates;
use limbwise::{
    ckks::decrypt,
    params::{Insecure, Params, ParamsLiteral},
    rlwe::{KeyForm, SecretKey, key_bytes},
    scheme::Ckks,
};
use limbwise_apps::{
    data::breast_cancer,
    logreg::{
        client::{LogregClient, Options},
        data::{PrepareOptions, prepare},
        encrypted::{Logreg, levels_needed},
    },
};
use limbwise_device::{Device, Handle as _};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    Event, Host, RunOptions,
    keys::{InMemory, OnDisk},
    open, plan, record, run,
    scheme::{SchemePlan, SchemeRun},
    session::{Of, Reader, Sides, session},
};

fn sides() -> (Logreg, LogregClient) {
    let levels = levels_needed(3, 3);
    let mut literal = ParamsLiteral::chain(11, 50, 45, levels, (55, 3), 5);
    literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
    let prepared = prepare(&breast_cancer(), &PrepareOptions::default()).unwrap();
    let params = Params::new(&literal).unwrap();
    let options = Options { batch_rows: 64, iterations: 3, degree: 3, interval: 8.0 };
    LogregClient::sides(&params, prepared, options).unwrap()
}

fn secret<'a, D: Device>(reader: &Reader<'a, Ckks, D>) -> &'a SecretKey {
    reader.secrets.rlwe.as_ref().unwrap()
}

#[test]
fn polynomial_memory_is_predicted_to_the_byte() {
    let (program, client) = sides();
    for (threads, form) in [(1, KeyForm::Stored), (2, KeyForm::Stored), (2, KeyForm::Seeded)] {
        let recording = record(&program, form, &limbwise_cpu::footprint()).unwrap();
        let dev = open(&Host { device: None, isa: None, threads: Some(threads) }).unwrap();
        let row = (64 * limbwise_cpu::layout::lines(11)) as u64;
        let sides = Sides { program: &program, client: &Of(&client), seeds: &SeedSource::System };
        session(
            &dev,
            &sides,
            (&recording.keys, &InMemory::default()),
            (&mut (), &mut ()),
            &(),
            |reader, _, results| {
                for result in &results {
                    decrypt(reader.dev, reader.encoder, reader.params, secret(reader), result)?;
                    assert!(result.parts.iter().all(|p| p.shape().batch == result.batch()));
                }
                Ok(())
            },
        )
        .unwrap();
        let memory = dev.cpu().unwrap().memory();
        assert_eq!(memory.peak_bytes, recording.session_peak_bytes / (8 << 11) * row);
        assert_eq!(memory.live_bytes, 0);
        let params = limbwise_apps::Program::params(&program);
        let top = recording.keys.required.values().max().unwrap();
        let scratch = limbwise_cpu::footprint().scratch_rows(threads, params.digits(*top).len());
        // Sums of rotations take a share for each thread; a key switch has five limbs of each digit for all threads.
        let held = dev.cpu().unwrap().scratch().peak_bytes / row;
        assert!(held > 0 && held <= scratch as u64, "{held} of {scratch} rows");
        // Buffers come back: no more were ever taken than were alive at once.
        assert_eq!(memory.allocations * row, memory.peak_bytes);
    }
}

#[test]
fn memory_with_keys_on_disk_is_predicted() {
    let (program, client) = sides();
    let sides = Sides { program: &program, client: &Of(&client), seeds: &SeedSource::System };
    let params = limbwise_apps::Program::params(&program);
    let recording = record(&program, KeyForm::Disk, &limbwise_cpu::footprint()).unwrap();
    let reads = recording.reads.clone().unwrap();
    let all: u64 = recording.keys.required.iter().map(|(&k, &l)| key_bytes(params, k, l, KeyForm::Disk)).sum();
    assert!(reads.budget_bytes < all / 2, "{reads:?}");
    let more =
        record(&program, KeyForm::Disk, &limbwise_cpu::footprint()).unwrap().with_key_memory(&program, all).unwrap();
    assert!(more.session_peak_bytes > recording.session_peak_bytes + all / 3, "memory for keys is counted");
    let mut words = Vec::new();
    for recording in [recording, more] {
        let dev = open(&Host { device: None, isa: None, threads: Some(2) }).unwrap();
        let row = (64 * limbwise_cpu::layout::lines(11)) as u64;
        let (dir, reads) = (std::env::temp_dir(), recording.reads.as_ref().unwrap());
        let home = OnDisk::new(reads, &dir);
        let results = session(&dev, &sides, (&recording.keys, &home), (&mut (), &mut ()), &(), |reader, _, results| {
            let opened = |result| decrypt(reader.dev, reader.encoder, params, secret(reader), result);
            results.iter().map(opened).collect::<limbwise::Result<Vec<_>>>()
        });
        words.push(results.unwrap().len());
        let (measured, predicted) =
            (dev.cpu().unwrap().memory().peak_bytes, recording.session_peak_bytes / (8 << 11) * row);
        // On a busy machine the key that is read ahead may come only after the peak.
        assert!(measured <= predicted && measured * 10 >= predicted * 7, "{measured} of {predicted}");
        assert_eq!(dev.cpu().unwrap().memory().live_bytes, 0);
        assert_eq!(home.traffic().reads, reads.shelf(params).rehearse().reads.len());
    }
    assert_eq!(words, [2, 2]);
}

#[test]
fn runs_report_their_predictions() {
    let (program, client) = sides();
    let recording = record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
    let dev = open(&Host { device: None, isa: None, threads: Some(2) }).unwrap();
    let plan = plan(&program, "test", &recording, &some_rates(&dev)).unwrap();
    let mut done = Vec::new();
    let sides = Sides { program: &program, client: &Of(&client), seeds: &SeedSource::System };
    let report = run(&dev, &sides, (&recording, &plan), &RunOptions::default(), &mut (), &mut |event| {
        if let Event::Done(step) = event {
            done.push(step.name);
        }
    })
    .unwrap();
    assert_eq!(
        done,
        ["memory", "keys", "encryption", "iteration 1", "iteration 2", "iteration 3", "inference", "decryption"]
    );
    let (SchemePlan::Ckks(planned), SchemeRun::Ckks(found)) = (&plan.scheme, &report.scheme) else { panic!("slots") };
    assert_eq!((found.levels_left, planned.levels.used), (0, levels_needed(3, 3)));
    assert_eq!(report.scheme.wrong(), None);
    assert_eq!(report.key_bytes, plan.keys.iter().map(|k| k.bytes).sum::<u64>());
    assert_eq!(recording.graph.traffic().evaluation_keys.declared, plan.key_bytes);
    assert_eq!(report.insecure_reason.as_deref(), Some("a small ring for a test"));
    let bits = found.precision_bits;
    assert!((bits.mean - bits.predicted).abs() < 4.0, "{bits:?}");
    let accuracy = found.accuracy.unwrap();
    assert!((accuracy.encrypted - accuracy.clear).abs() < 0.005);
}

#[test]
fn seeds_halve_the_keys() {
    let (program, _) = sides();
    let params = limbwise_apps::Program::params(&program);
    let (stored, seeded) = (
        record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap(),
        record(&program, KeyForm::Seeded, &limbwise_cpu::footprint()).unwrap(),
    );
    assert_eq!(stored.keys.required, seeded.keys.required);
    let keys = &stored.keys.required;
    let bytes = |form| -> u64 { keys.iter().map(|(&name, &level)| key_bytes(params, name, level, form)).sum() };
    let seeds: u64 = stored.keys.required.values().map(|&level| 32 * params.digits(level).len() as u64).sum();
    assert_eq!(bytes(KeyForm::Stored), 2 * (bytes(KeyForm::Seeded) - seeds));
    let saved = stored.session_peak_bytes - seeded.session_peak_bytes;
    assert!(saved * 10 > bytes(KeyForm::Stored) * 4, "{saved} of {}", bytes(KeyForm::Stored));
}

#[test]
fn recording_is_deterministic_and_small() {
    let (program, _) = sides();
    let (first, second) = (
        record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap(),
        record(&program, KeyForm::Stored, &limbwise_cpu::footprint()).unwrap(),
    );
    let lines = |r: &limbwise_runtime::Recording<Ckks>| {
        let mut text = Vec::new();
        r.graph.write_jsonl(&mut text).unwrap();
        text
    };
    assert_eq!(lines(&first), lines(&second));
    assert!(first.graph.node_bytes() <= 48 * first.graph.nodes().len());
}
