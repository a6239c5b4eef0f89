//! `limbwise reproduce`: the golden tables, and that they hang on the models' numbers and on nothing else.

#![expect(clippy::unwrap_used, reason = "a test binary")]

use limbwise_machines::Spec;
use limbwise_runtime::reproduce::{Reproduction, Row, Verdict, ZOO, ark, dramatic, fab, fhex, flexmem, mad, zoo};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Forty searches: made once.
static FHEX: LazyLock<Reproduction> =
    LazyLock::new(|| fhex(&Spec::load("fhex").unwrap(), &Spec::load("fhex-in-bank").unwrap()).unwrap());

/// Networks of 20 layers and a ResNet-20, recorded once.
static FLEXMEM: LazyLock<Reproduction> = LazyLock::new(|| flexmem(&Spec::load("flexmem").unwrap()).unwrap());

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn reproduced(changes: &[(&str, &str)]) -> Reproduction {
    let spec = |name: &str| {
        let spec = Spec::load(name).unwrap();
        let known: Vec<_> = changes.iter().filter(|(path, _)| spec.has(path)).collect();
        let known: Vec<(&str, &str)> = known.into_iter().copied().collect();
        spec.with_overrides(&known).unwrap()
    };
    ark(&spec("ark"), &spec("f1-scaled")).unwrap()
}

/// Compares a table with its golden file, or rewrites the file under `LIMBWISE_BLESS=1`.
fn golden(name: &str, text: &str) {
    let path = repository(&format!("tests/golden/reproduce/{name}.txt"));
    if std::env::var_os("LIMBWISE_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{} differs: read the change, then run make bless", path.display());
}

#[test]
fn the_papers_numbers_beside_ours() {
    golden("ark", &reproduced(&[]).to_string());
}

#[test]
fn fabs_numbers_beside_ours() {
    golden("fab", &fab(&Spec::load("fab").unwrap()).unwrap().to_string());
}

#[test]
fn mads_numbers_beside_ours() {
    golden("mad", &mad(&Spec::load("fab").unwrap()).unwrap().to_string());
}

#[test]
fn dramatics_numbers_beside_ours() {
    golden("dramatic", &dramatic(&Spec::load("upmem").unwrap(), None).unwrap().to_string());
}

#[test]
#[ignore = "forty searches: a minute and a half on two cores"]
fn fhexs_numbers_beside_ours() {
    golden("fhex", &FHEX.to_string());
}

#[test]
#[ignore = "records a ResNet-20 and schedules fifty programs: two minutes on two cores"]
fn flexmems_numbers_beside_ours() {
    golden("flexmem", &FLEXMEM.to_string());
}

#[test]
#[ignore = "forty schedules of bootstrappings: a minute and a half on two cores"]
fn the_zoos_numbers_beside_ours() {
    let zoo = zoo(&ZOO.map(|name| Spec::load(name).unwrap())).unwrap();
    golden("zoo", &zoo.to_string());
    verdicts_hold(zoo.rows.clone());
    let off = zoo.rows.iter().filter(|row| row.verdict == Verdict::Off);
    assert!(off.clone().count() <= 10 && off.clone().all(|row| !row.why.is_empty()), "each miss has a cause");
}

/// The table moves with the programs, and pages that count its rows have to move with it.
#[test]
fn pages_count_the_misses_of_the_zoo() {
    let read = |path: &str| fs::read_to_string(repository(path)).unwrap();
    let table = read("tests/golden/reproduce/zoo.txt");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('Z')).collect();
    let (all, off) = (rows.len(), rows.iter().filter(|row| row.contains(" %  off ")).count());
    let (guide, status) = (read("docs/guide/bring-your-machine.md"), read("docs/status.md"));
    assert!(guide.contains(&format!("{} of {all} are within 25 %", all - off)), "{off} of {all} are off");
    assert!(status.contains(&format!("{off} of {all} published results are missed")), "{off} of {all} are off");
}

/// Exact claims are exact, each network makes programs faster, and more chips never make them slower.
#[test]
#[ignore = "records a ResNet-20 and schedules fifty programs: two minutes on two cores"]
fn flexmems_experiments_hang_together() {
    let exact =
        FLEXMEM.rows.iter().filter(|row| ["4s", "A"].contains(&row.id.as_str()) || row.what.starts_with("register"));
    assert!(exact.clone().count() == 11 && exact.into_iter().all(|row| row.verdict == Verdict::Equal));
    let table = |name: &str| FLEXMEM.experiments.iter().find(|e| e.name.starts_with(name)).unwrap();
    // Keys without room on every chip stand on one (ADR 185), and operations go where they end first without looking ahead:
    // a network or chips more may cost a little.
    for (name, slower) in [("networks", 1.02), ("chips", 1.1)] {
        let times: Vec<f64> = table(name).rows.iter().map(|row| row.values[0]).collect();
        assert!(times.windows(2).all(|pair| pair[1] <= slower * pair[0]), "{name}: {times:?}");
        assert!(times.last() < times.first(), "{name}: {times:?}");
    }
    assert_eq!(table("chips").rows.len(), 4, "one chip has no room for a bootstrapping's keys");
    assert!(table("chips").about.contains("1 chip in 1 DIMM: more chips"));
    verdicts_hold(FLEXMEM.rows.clone());
    assert_one_row_a_claim(FLEXMEM.clone());
}

/// Stated numbers are no results, bandwidth in the stack's place is never faster where it is less, and no policy is faster
/// than the search.
#[test]
#[ignore = "forty searches: a minute and a half on two cores"]
fn fhexs_experiments_hang_together() {
    let stated: Vec<_> = FHEX.rows.iter().filter(|row| row.verdict == Verdict::Calibrated).collect();
    assert!(stated.len() == 2 && stated.iter().all(|row| row.id == "X8" && row.error == Some(0.0)), "{stated:?}");
    let table = |name: &str| FHEX.experiments.iter().find(|e| e.name == name).unwrap();
    let policies = &table("mapping and offloading").rows;
    assert_eq!(policies.len(), 10);
    for mapping in policies.chunks(5) {
        let least = mapping.iter().map(|row| row.values[0]).fold(f64::INFINITY, f64::min);
        assert_eq!(mapping[0].values[0].to_bits(), least.to_bits(), "{}", mapping[0].setting);
    }
    let memories = &table("memory inside the unit").rows;
    let all_in_unit: Vec<f64> =
        memories.iter().filter(|row| row.setting.ends_with("heu")).map(|row| row.values[0]).collect();
    let [stack, sedram, hbm3, two] = all_in_unit[..] else { panic!("{all_in_unit:?}") };
    assert!(stack < two && two < sedram && sedram < hbm3, "{all_in_unit:?}");
}

/// What was calibrated says so, and nothing else hangs on the calibrated numbers but transfers.
#[test]
fn calibration_is_no_prediction() {
    let spec = Spec::load("upmem").unwrap();
    let reproduced = |changes: &[(&str, &str)]| dramatic(&spec.with_overrides(changes).unwrap(), None).unwrap();
    let (usual, faster) = (reproduced(&[]), reproduced(&[("to_gb_s", "2.5"), ("from_gb_s", "1.2")]));
    let calibrated: Vec<&str> =
        usual.rows.iter().filter(|r| r.verdict == Verdict::Calibrated).map(|r| r.id.as_str()).collect();
    assert_eq!(calibrated, ["D4", "D4"]);
    let row = |r: &Reproduction, what: &str| r.rows.iter().find(|row| row.what.contains(what)).unwrap().clone();
    let moved = |what: &str| row(&usual, what).model != row(&faster, what).model;
    assert!(moved("NTT, sending over compute") && moved("2 to 8 ranks") && moved("the same, transfers"));
    assert!(!moved("NTT of one ciphertext, compute") && !moved("sub-polynomials"));
    let prim = |r: &Reproduction| row(r, "NTT, sending over compute").readings;
    assert_eq!((prim(&usual).len(), prim(&usual)), (1, prim(&faster)), "the other preset is a prediction");
    let cheap = reproduced(&[("mul32_cycles", "1"), ("mul64_cycles", "1"), ("inline_mul", "true")]);
    let compute = |r: &Reproduction| r.rows.iter().find(|row| row.what.contains("one ciphertext")).unwrap().model;
    assert!(compute(&cheap) < compute(&usual));
}

/// A fifth more of a number that the paper does not vary changes what is reported.
#[test]
fn the_report_hangs_on_the_machines_numbers() {
    let usual = reproduced(&[]);
    let moved = |change: (&str, &str)| {
        let rows = reproduced(&[change]).rows;
        let differ = |(a, b): (&Row, &Row)| a.model != b.model;
        rows.iter().zip(&usual.rows).filter(|pair| differ(*pair)).map(|(row, _)| row.id.clone()).collect::<Vec<_>>()
    };
    let speeds = moved(("memory.hbm.bandwidth_gb_s", "1200"));
    assert!(speeds.contains(&"A11".into()) && speeds.contains(&"A7".into()), "{speeds:?}");
    assert!(!speeds.contains(&"A1".into()) && !speeds.contains(&"A5".into()), "counts hang on no machine: {speeds:?}");
    assert_eq!(moved(("chip.multipliers", "49152")), ["A6"; 2], "the busy shares of both transforms");
}

/// Published results stand where no model can read them.
#[test]
fn no_model_contains_a_published_result() {
    let claims = ["ark", "fab", "mad", "dramatic", "fhex", "flexmem", "zoo"].map(|name| -> toml::Table {
        let path = repository(&format!("crates/runtime/claims/{name}.toml"));
        toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    });
    let printed = |claim: &toml::Value| {
        let digits = usize::try_from(claim["digits"].as_integer().unwrap()).unwrap();
        let number = |x: &toml::Value| x.as_float().or_else(|| Some(f64::from(i32::try_from(x.as_integer()?).ok()?)));
        let all = claim["paper"].as_table().unwrap().values();
        all.map(|x| format!("{:.digits$}", number(x).unwrap())).collect::<Vec<_>>()
    };
    // What is stated and taken over is no result, and says so in its verdict.
    let is_result = |claim: &&toml::Value| claim.get("origin").and_then(toml::Value::as_str) != Some("calibrated");
    // Numbers of one or two digits and whole ones are everywhere; from three digits on, one that is equal was copied.
    let has_fraction = |p: &str| p.split_once('.').is_some_and(|(_, fraction)| fraction.contains(|c| c != '0'));
    let tells = |p: &String| has_fraction(p) && p.trim_start_matches(['0', '.']).len() > 3;
    let telling = |claims: &toml::Table| -> Vec<String> {
        let results = claims["claim"].as_array().unwrap().iter().filter(is_result);
        results.flat_map(printed).filter(tells).collect()
    };
    let telling: Vec<(&str, Vec<String>)> =
        ["ark", "fab", "fab", "upmem", "fhex", "flexmem", "zoo"].into_iter().zip(claims.iter().map(telling)).collect();
    assert!(telling.iter().map(|(_, all)| all.len()).sum::<usize>() > 10, "{telling:?}");
    let mut files = Vec::new();
    let mut folders = ["specs", "src", "zoo"].map(|folder| repository(&format!("crates/machines/{folder}"))).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() { folders.push(entry) } else { files.push(entry) }
        }
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("claims/"), "{} reads claims", file.display());
        // The area of one system may be the speed-up of another: a specification is compared with results of its own.
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let is_spec = file.extension().is_some_and(|e| e == "toml");
        let folder = file.parent().unwrap().file_name().unwrap().to_string_lossy();
        let of_it = telling.iter().filter(|(machine, _)| !is_spec || name.starts_with(machine) || folder == *machine);
        let results: Vec<&String> = of_it.flat_map(|(_, all)| all).collect();
        for number in text.split(|c: char| !c.is_ascii_digit() && c != '.') {
            assert!(!results.iter().any(|t| *t == number), "{} contains {number}", file.display());
        }
    }
}

/// A verdict never overstates, and what was not derived has none of the verdicts of what was.
#[test]
fn verdicts_are_what_they_say() {
    let fab = fab(&Spec::load("fab").unwrap()).unwrap();
    verdicts_hold(reproduced(&[]).rows.into_iter().chain(fab.rows));
}

#[test]
#[ignore = "forty searches: a minute and a half on two cores"]
fn verdicts_of_fhex_are_what_they_say() {
    verdicts_hold(FHEX.rows.clone());
    assert_one_row_a_claim(FHEX.clone());
}

fn verdicts_hold(rows: impl IntoIterator<Item = Row>) {
    for row in rows {
        let off = row.error.map(f64::abs);
        match row.verdict {
            Verdict::Equal | Verdict::Within1 => assert!(off <= Some(0.01), "{row:?}"),
            Verdict::Within10 => assert!(off > Some(0.01) && off <= Some(0.1), "{row:?}"),
            Verdict::Within25 => assert!(off > Some(0.1) && off <= Some(0.25), "{row:?}"),
            Verdict::Off => assert!(off > Some(0.25), "{row:?}"),
            Verdict::Calibrated => assert!(off.is_some() && !row.why.is_empty(), "{row:?}"),
            Verdict::Context | Verdict::NotDerivable => assert!(off.is_none() && !row.why.is_empty(), "{row:?}"),
        }
        assert_eq!(row.fixed.is_some(), row.model.is_some(), "when a reading was fixed: {row:?}");
    }
}

/// A claim is one row, whatever its words may mean besides.
#[test]
fn a_claim_has_one_row() {
    assert_one_row_a_claim(reproduced(&[]));
    assert_one_row_a_claim(fab(&Spec::load("fab").unwrap()).unwrap());
}

fn assert_one_row_a_claim(Reproduction { source, rows, .. }: Reproduction) {
    let claims: BTreeSet<_> = rows.iter().map(|row| (&row.id, &row.what, &row.circuit)).collect();
    assert_eq!(claims.len(), rows.len(), "{source}");
    let of = |row: &Row| (row.id.clone(), row.circuit.clone(), row.paper.to_bits());
    // Two claims of [ARK] have the same number: rotations and the keys that they load.
    let twice = |rows: &[Row]| rows.iter().map(of).collect::<BTreeSet<_>>().len();
    let same = if source == "ARK" { 2 } else { 0 };
    assert_eq!(twice(&rows), rows.len() - same, "{source}: one published number in two rows");
}
