//! The file format: what is written is read back, and what is wrong is named.

use crate::common;

use limbwise_device::{Basis, Null};
use limbwise_graph::{Graph, Recorder};

fn sample() -> Graph {
    let dev = Recorder::new(Null::default());
    let ring = common::ring(&dev, 10, 6);
    let key = common::key(&dev, &ring, 2, 5);
    let ct = common::ciphertext(&dev, &ring, Basis::range(0, 4));
    let _result = common::rotate(&dev, &ct, &key);
    dev.graph()
}

fn text(graph: &Graph) -> String {
    let mut out = Vec::new();
    graph.write_jsonl(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn round_trip() {
    let graph = sample();
    let read = Graph::read_jsonl(text(&graph).as_bytes()).unwrap();
    assert_eq!(read, graph);
    assert_eq!(text(&read), text(&graph));
    assert_eq!(read.peak_live_bytes(), graph.peak_live_bytes());
    assert_eq!(read.traffic(), graph.traffic());
}

#[test]
fn errors_name_line_and_field() {
    let good = text(&sample());
    let line_of = |part: &str| good.lines().position(|l| l.contains(part)).unwrap() + 1;
    let (ring, shape, region) = (line_of("log_n"), line_of("batch"), line_of("mod_up"));
    let (automorphism, ntt) = (line_of("automorphism"), line_of("\"ntt\""));
    let key = line_of("\"key\":5");
    let cases = [
        ("limbwise-graph", "other", 1, "format"),
        ("\"version\":1", "\"version\":2", 1, "version"),
        ("\"nodes\":", "\"nodes\":-", 1, "nodes"),
        ("\"log_n\":10", "\"log_n\":9", ring, "primes"),
        ("\"log_n\":10", "\"log_n\":10,\"odd\":1", ring, "odd"),
        ("\"batch\":1", "\"batch\":0", shape, "batch"),
        ("\"domain\":\"eval\"", "\"domain\":3", shape, "domain"),
        ("\"basis\":\"0x", "\"basis\":\"0xf0", shape, "basis"),
        ("\"parent\":", "\"parent\":99", region, "parent"),
        ("\"op\":\"automorphism\"", "\"op\":\"rotate\"", automorphism, "op"),
        ("\"args\":[", "\"args\":[999", automorphism, "args"),
        ("\"galois\":5", "\"galois\":\"five\"", automorphism, "galois"),
        ("\"op\":\"ntt\"", "\"op\":\"neg\"", ntt, "shape"),
        ("\"key\":5", "\"keys\":5", key, "key"),
        ("evaluation_key", "secret_key", key, "role"),
        ("\"freed\":", "\"freed\":0,\"was\":", ntt, "freed"),
    ];
    for (from, to, line, field) in cases {
        let bad: Vec<String> = good
            .lines()
            .enumerate()
            .map(|(i, l)| if i + 1 == line { l.replacen(from, to, 1) } else { l.into() })
            .collect();
        let bad = bad.join("\n");
        assert_ne!(bad.trim_end(), good.trim_end(), "{from} is in line {line}");
        let error = Graph::read_jsonl(bad.as_bytes()).unwrap_err().to_string();
        let wanted = format!("line {line}, field \"{field}\"");
        assert!(error.contains(&wanted), "{from} → {to}: \"{error}\" should say {wanted}");
    }
}

#[test]
fn lines_missing_or_too_many_are_errors() {
    let good = text(&sample());
    let lines = good.lines().count();
    let short: String = good.lines().take(lines - 1).map(|l| format!("{l}\n")).collect();
    let cases = [
        (short, format!("line {lines}: the file ends early")),
        (format!("{good}{{}}"), format!("line {}: the header announces fewer", lines + 1)),
        ("[]".into(), "line 1: a JSON object is wanted".into()),
        (String::new(), "line 1: the file ends early".into()),
        ("x".repeat(2 << 20), "line 1: a line has at most".into()),
    ];
    for (bad, wanted) in cases {
        let error = Graph::read_jsonl(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&wanted), "\"{error}\" should say {wanted}");
    }
}

#[test]
fn a_value_cannot_be_used_after_it_was_freed() {
    let good = text(&sample());
    let second = good.lines().filter(|l| l.contains("\"galois\"")).nth(1).unwrap();
    let early = second.replace("\"freed\":38", "\"freed\":10"); // two of its limbs are read by node 17
    assert_ne!(early, second);
    let bad: Vec<&str> = good.lines().map(|l| if l == second { early.as_str() } else { l }).collect();
    let error = Graph::read_jsonl(bad.join("\n").as_bytes()).unwrap_err().to_string();
    assert!(error.contains("\"args\": value") && error.contains("was freed"), "{error}");
}

#[test]
fn cut_and_flipped_files_never_panic() {
    let good = text(&sample()).into_bytes();
    for at in (0..good.len()).step_by(7) {
        let _ = Graph::read_jsonl(&good[..at]);
        let mut flipped = good.clone();
        flipped[at] ^= [1, 2, 4, 8, 16][at % 5];
        if let Ok(graph) = Graph::read_jsonl(flipped.as_slice()) {
            let _ = graph.counts();
            let _ = graph.traffic();
            let _ = graph.peak_live_bytes();
        }
    }
}

#[test]
fn the_documented_example_is_read() {
    let page = include_str!("../../../../docs/graph-format.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let graph = Graph::read_jsonl(example.as_bytes()).unwrap();
    assert_eq!(text(&graph), example);
    assert_eq!(graph.region_paths(), ["", "double"]);
}
