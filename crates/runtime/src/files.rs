//! Files of the crates that do not know each other: recorded programs and machine reports in the container of
//! `limbwise::wire`.

use crate::error::{Error, Result};
use limbwise::wire::{FileKind, Source, read_text, write_text};
use limbwise_graph::Graph;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::Write;

pub fn write_graph<W: Write>(out: W, graph: &Graph) -> Result<W> {
    let mut text = Vec::new();
    graph.write_jsonl(&mut text).map_err(limbwise_graph::GraphError::Io)?;
    Ok(write_text(out, FileKind::Graph, &text)?)
}

/// Reads a recorded program.
///
/// # Errors
/// [`WireError`](limbwise::wire::WireError), or the defect of the program in it.
pub fn read_graph<S: Source>(source: S) -> Result<Graph> {
    let text = read_text(source, FileKind::Graph)?;
    Ok(Graph::read_jsonl(&text[..])?)
}

/// Writes a machine's report: any value that is a JSON object, with sorted fields.
pub fn write_report<W: Write>(out: W, report: &impl Serialize) -> Result<W> {
    let value = serde_json::to_value(report).map_err(|e| Error::Report(e.to_string()))?;
    Ok(write_text(out, FileKind::MachineReport, value.to_string().as_bytes())?)
}

/// Reads a machine's report: the written object, with the machine's name and the program's time.
///
/// # Errors
/// [`WireError`](limbwise::wire::WireError), or [`Error::Report`].
pub fn read_report<S: Source>(source: S) -> Result<Map<String, Value>> {
    let text = read_text(source, FileKind::MachineReport)?;
    let report: Map<String, Value> = serde_json::from_slice(&text).map_err(|e| Error::Report(e.to_string()))?;
    let named = report.get("machine").is_some_and(Value::is_string);
    let timed = report.get("seconds").and_then(Value::as_f64).is_some_and(|s| s >= 0.0);
    if named && timed { Ok(report) } else { Err(Error::Report("\"machine\" or \"seconds\" is missing".into())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_device::{Basis, Device, Handle as _, Null, Ring, RingSpec, Role, Shape};
    use limbwise_graph::Recorder;
    use std::{fs::File, io, path::Path};

    fn graph() -> Graph {
        let recorder = Recorder::new(Null::default());
        let primes = limbwise_math::prime::ntt_primes_below(10, 30, 2, &[]).unwrap();
        let ring = Ring::new(&RingSpec { log_n: 10, primes }).unwrap();
        let a = recorder.zeros(&Shape::eval(&ring, Basis::range(0, 2)));
        drop(
            recorder
                .add(&a, &recorder.expand_seed(a.shape(), Role::Ciphertext, &limbwise_math::sampling::Seed([0; 32]))),
        );
        drop(a);
        recorder.finish()
    }

    #[test]
    fn a_program_comes_back() {
        let graph = graph();
        let bytes = write_graph(Vec::new(), &graph).unwrap();
        let back = read_graph(&bytes).unwrap();
        assert_eq!(write_graph(Vec::new(), &back).unwrap(), bytes);
        assert_eq!(back.counts(), graph.counts());
        let no_graph = write_text(Vec::new(), FileKind::Graph, b"{}").unwrap();
        assert!(matches!(read_graph(&no_graph), Err(Error::Graph(_))));
    }

    #[test]
    fn a_report_comes_back() {
        let report = limbwise_machines::time(&graph(), &limbwise_machines::Spec::load("ark").unwrap()).unwrap();
        let bytes = write_report(Vec::new(), &report).unwrap();
        let back = read_report(&bytes).unwrap();
        assert_eq!(Value::from(back), serde_json::to_value(&report).unwrap());
        for (text, why) in [(&b"[]"[..], "expected a map"), (b"{\"machine\":\"ark\"}", "seconds")] {
            let bytes = write_text(Vec::new(), FileKind::MachineReport, text).unwrap();
            assert!(read_report(&bytes).unwrap_err().to_string().contains(why));
        }
    }

    /// Files of a version, as first written.
    fn fixture(version: u16, name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/wire_v{version}")).join(name)
    }

    #[test]
    #[ignore = "writes the fixtures that are missing"]
    fn write_those_that_are_missing() {
        for (name, rewrite) in FIXTURES {
            let bytes = rewrite(&std::fs::read(fixture(1, name)).unwrap()).unwrap();
            std::fs::create_dir_all(fixture(2, name).parent().unwrap()).unwrap();
            match File::create_new(fixture(2, name)) {
                Ok(mut file) => file.write_all(&bytes).unwrap(),
                Err(e) => assert_eq!(e.kind(), io::ErrorKind::AlreadyExists),
            }
        }
    }

    type Rewrite = fn(&[u8]) -> Result<Vec<u8>>;
    const FIXTURES: [(&str, Rewrite); 2] = [
        ("graph.lw", |bytes| write_graph(Vec::new(), &read_graph(bytes)?)),
        ("machine-report.lw", |bytes| write_report(Vec::new(), &read_report(bytes)?)),
    ];

    #[test]
    fn files_of_all_versions_load_and_are_written_the_same() {
        for (name, rewrite) in FIXTURES {
            let bytes = std::fs::read(fixture(2, name)).unwrap();
            for version in [1, 2] {
                let read = std::fs::read(fixture(version, name)).unwrap();
                assert!(rewrite(&read).unwrap() == bytes, "{name} of version {version}");
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_found_and_every_cut() {
        for (version, (name, rewrite)) in [1, 2].into_iter().flat_map(|version| FIXTURES.map(|one| (version, one))) {
            let original = std::fs::read(fixture(version, name)).unwrap();
            let mut damaged = original.clone();
            for at in 0..original.len() {
                for bit in 0..8 {
                    damaged[at] ^= 1 << bit;
                    assert!(rewrite(&damaged).is_err(), "{name}: bit {bit} of byte {at}");
                    damaged[at] = original[at];
                }
                assert!(rewrite(&original[..at]).is_err(), "{name} cut to {at}");
            }
        }
    }
}
