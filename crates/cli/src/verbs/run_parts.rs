//! `limbwise run --on ray`: a batch in parts on a Ray cluster, both sides by files.
//!
//! The secret key is made here and stays here. The cluster is the Python package's (ADR 157).

use crate::{
    dividing::{Dividing, PartArgs},
    failure::{Mistake, WrongMessages},
    half::Half,
    output::Output,
    progress::{Points, Progress, note},
    readings::Planned,
    text::{table::line, units},
    workload::{Whole, Workload},
};
use limbwise::wire::Lock;
use limbwise_apps::{
    AnyPrepared, Prepared,
    family::{Compared, DecryptedTable, NULL},
    on_scheme,
    query::table::Decimal,
    workload::Part,
};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    AnyDevice,
    client_side::{ClientSide, Opened, ToDecrypt, ToEncrypt, ToMake, make_keys},
    journal::CheckpointDir,
    keygen::Sides,
    places::{Existing, PROGRAM, put_bytes, read_up_to},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    fs,
    path::{Path, PathBuf},
    str::FromStr,
    time::Instant,
};

/// Where the parts of a batch are evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Here,
    /// A Ray cluster at an address; without one that of RAY_ADDRESS, or one that is started for the run.
    Ray(Option<String>),
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("here", _) => Ok(Self::Here),
            ("ray", _) => Ok(Self::Ray(None)),
            (_, Some(("ray", address))) if !address.is_empty() => Ok(Self::Ray(Some(address.into()))),
            _ => Err("wanted here, ray, or ray:ADDRESS such as ray:10.0.0.7:6379".into()),
        }
    }
}

/// How a batch is divided over a cluster.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Where to evaluate: here, or in parts on a Ray cluster: "ray" (at RAY_ADDRESS, or a local one) or "ray:ADDRESS"; pip
    /// install 'limbwise[ray]'
    #[arg(long, value_name = "WHERE", default_value = "here", global = true, help_heading = "Cluster")]
    pub(crate) on: On,

    #[command(flatten)]
    parts: PartArgs,

    /// Nodes to plan for: there are at least as many parts
    #[arg(long, value_name = "COUNT", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=4096), global = true, help_heading = "Cluster")]
    nodes: u32,
}

/// Report of a run in parts.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PartsReport {
    workload: String,
    scheme: &'static str,
    /// Rows, messages or images of the whole.
    batch: usize,
    /// Of a part.
    part: usize,
    parts: usize,
    /// Parts that were there when the run began.
    known: usize,
    /// Results that were compared with the clear twin's.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<u64>,
    /// Results that are not the clear twin's.
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<u64>,
    /// Of CKKS: bits of precision against the clear twin, of the part that has fewest.
    #[serde(skip_serializing_if = "Option::is_none")]
    precision_bits: Option<f64>,
    /// The answer that was added under encryption.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Compared>,
    /// The same where it is more than one number. Each part of it was compared with its clear twin.
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<DecryptedTable>,
    /// Bytes of the server's keys, which each node gets once.
    key_bytes: u64,
    /// Of all encrypted inputs.
    input_bytes: u64,
    /// Time of the evaluation of all parts, added.
    seconds: f64,
    /// The same by plan on this host.
    seconds_predicted: f64,
    /// From the first part's beginning to the last one's end.
    seconds_elapsed: f64,
}

/// What the run's directory is about. It is written when the keys are there.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begun {
    workload: String,
    batch: usize,
    part: usize,
    data: Value,
    seconds_predicted: f64,
}

const BEGUN: &str = "run.json";
const MOST_BEGUN: usize = 1 << 20;

#[derive(Serialize)]
struct Work<'a> {
    program: PathBuf,
    server: PathBuf,
    inputs: &'a [PathBuf],
    out: PathBuf,
    address: Option<&'a str>,
    /// The server's own numbers, such as a network: each node gets them beside the keys.
    weights: Option<PathBuf>,
}

/// A line of the cluster.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Said {
    Note(String),
    Known(usize),
    Done { seconds: f64 },
    Refused { part: usize, why: String },
    Total(Option<PathBuf>),
}

/// A run in parts.
pub(super) struct InParts<'a> {
    pub(super) dev: &'a AnyDevice,
    pub(super) workload: &'a Workload,
    pub(super) args: &'a ClusterArgs,
    pub(super) address: Option<&'a str>,
    pub(super) memory: Option<u64>,
    /// The run's directory; without one, a temporary one.
    pub(super) dir: Option<&'a Path>,
}

impl InParts<'_> {
    pub(super) fn execute(&self, output: &Output) -> anyhow::Result<()> {
        let batch = self.dividing().batch("--on ray")?;
        let kept = self.dir.map(Path::to_path_buf);
        let dir =
            kept.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("limbwise-run-{}", std::process::id())));
        let alone = CheckpointDir::open(&dir)?;
        let done = self.run(&dir, batch, output);
        drop(alone);
        // What a run leaves behind in a directory of its own goes; a kept one is what it is resumed from.
        if kept.is_none() {
            fs::remove_dir_all(&dir)?;
        }
        done
    }

    fn run(&self, dir: &Path, batch: usize, output: &Output) -> anyhow::Result<()> {
        let begun = self.begin(dir, batch)?;
        let count = batch.div_ceil(begun.part);
        let bytes =
            |dir: &Path| -> std::io::Result<u64> { fs::read_dir(dir)?.map(|entry| Ok(entry?.metadata()?.len())).sum() };
        let inputs = self.encrypt(dir, &begun)?;
        let key_bytes = bytes(&dir.join("server"))?;
        let input_bytes = inputs.iter().map(|dir| bytes(dir)).sum::<std::io::Result<u64>>()?;
        output.text(&format!(
            "cluster\n{}{}{}",
            line("parts", &format!("{count} of {} of {batch}", begun.part)),
            line("keys", &format!("{}, once to each node; no secret key", units::bytes(key_bytes))),
            line(
                "inputs",
                &format!(
                    "{}; about {} in all on a machine like this one",
                    units::bytes(input_bytes),
                    units::seconds(begun.seconds_predicted)
                )
            ),
        ))?;
        let start = Instant::now();
        let evaluated = self.evaluate(dir, &inputs)?;
        let seconds_elapsed = start.elapsed().as_secs_f64();
        let found = self.decrypt(dir, &begun, &inputs, &evaluated)?;
        let report = PartsReport {
            workload: begun.workload,
            scheme: self.workload.scheme(),
            batch,
            part: begun.part,
            parts: count,
            known: evaluated.known,
            compared: found.compared,
            wrong: found.wrong,
            precision_bits: found.precision_bits,
            answer: found.answer,
            table: found.table,
            key_bytes,
            input_bytes,
            seconds: evaluated.seconds,
            seconds_predicted: begun.seconds_predicted,
            seconds_elapsed,
        };
        output.report(&report, &render(&report))?;
        match (report.wrong, report.compared) {
            (Some(wrong), Some(all)) if wrong > 0 => {
                let size = |count| usize::try_from(count).unwrap_or(usize::MAX);
                Err(WrongMessages { wrong: size(wrong), all: size(all) }.into())
            }
            _ => Ok(()),
        }
    }

    /// The keys of the run, made now or before. What a kill left of them is made anew.
    fn begin(&self, dir: &Path, batch: usize) -> anyhow::Result<Begun> {
        let path = dir.join(BEGUN);
        let (workload, data) = (self.workload.name().to_owned(), serde_json::to_value(self.workload.data())?);
        if path.exists() {
            let begun: Result<Begun, _> = serde_json::from_slice(&read_up_to(&path, MOST_BEGUN)?);
            let begun =
                begun.map_err(|e| Mistake(format!("{}: {e}: delete the directory and start again", path.display())))?;
            let same = begun.workload == workload && begun.batch == batch && begun.data == data;
            return if same {
                Ok(begun)
            } else {
                Err(limbwise_runtime::Error::OtherRun { path: dir.display().to_string() }.into())
            };
        }
        for old in ["client", "server", "in", "out"].map(|name| dir.join(name)) {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        let (part, prepared) = self.dividing().sized(batch)?;
        let seconds = on_scheme!(AnyPrepared, &prepared, built => self.make(built, dir, part))?;
        let count = u32::try_from(batch.div_ceil(part)).unwrap_or(u32::MAX);
        let begun = Begun { workload, batch, part, data, seconds_predicted: seconds * f64::from(count) };
        put_bytes(&path, serde_json::to_string_pretty(&begun)?.as_bytes())?;
        Ok(begun)
    }

    fn dividing(&self) -> Dividing<'_> {
        let Self { dev, workload, memory, .. } = *self;
        Dividing { dev, workload, args: &self.args.parts, memory, nodes: self.args.nodes }
    }

    /// Makes the keys of the parts' program. Returns the time of a part, by plan.
    fn make<S: Whole>(&self, built: &Prepared<S>, dir: &Path, part: usize) -> anyhow::Result<f64> {
        let Planned { way, recording, plan } = self.dividing().plan(built)?;
        let (client, server) = (dir.join("client"), dir.join("server"));
        let data = self.part(Part { first: 0, count: part }).data();
        let seeds = &SeedSource::System;
        let existing = Existing::Kept;
        let order = ToMake { built, way, recording: &recording, data: &data, lock: Lock::None, seeds, existing };
        let mut progress = Progress::new(0.0);
        make_keys(self.dev, Sides { client: &client, server: &server }, &order, &mut progress)?;
        progress.finish();
        Ok(plan.seconds_predicted)
    }

    fn part(&self, part: Part) -> Workload {
        self.workload.part(part).expect("it has parts")
    }

    fn side(&self, dir: &Path, number: usize, count: usize) -> anyhow::Result<ClientSide> {
        let part = self.part(Part { first: number * count, count });
        Ok(ClientSide::open(&dir.join("client"))?.with_data(part.data()))
    }

    /// Encrypts the parts that are not there.
    fn encrypt(&self, dir: &Path, begun: &Begun) -> anyhow::Result<Vec<PathBuf>> {
        let place = dir.join("in");
        fs::create_dir_all(&place)?;
        let mut parts = Vec::new();
        for number in 0..begun.batch.div_ceil(begun.part) {
            let (part, temporary) = (place.join(format!("part-{number:05}")), place.join(format!(".part-{number:05}")));
            if !part.exists() {
                if temporary.exists() {
                    fs::remove_dir_all(&temporary)?;
                }
                let asked = ToEncrypt {
                    data: &[],
                    only: &[],
                    key: None,
                    out: &temporary,
                    existing: Existing::Kept,
                    lock: Lock::None,
                    seeds: &SeedSource::System,
                };
                self.side(dir, number, begun.part)?.encrypt(self.dev, &asked, &mut ())?;
                fs::rename(&temporary, &part)?;
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn evaluate(&self, dir: &Path, inputs: &[PathBuf]) -> anyhow::Result<Evaluated> {
        let whole = |name: &str| std::path::absolute(dir.join(name));
        let inputs = inputs.iter().map(std::path::absolute).collect::<std::io::Result<Vec<_>>>()?;
        let work = Work {
            program: whole("client")?.join(PROGRAM),
            server: whole("server")?,
            inputs: &inputs,
            out: whole("out")?,
            address: self.address,
            weights: self.workload.server_file().map(std::path::absolute).transpose()?,
        };
        let mut half = Half::begin(&["limbwise.cluster"], "ray", &work)?;
        let (mut points, mut evaluated) = (Points::of("parts", inputs.len()), Evaluated::default());
        let mut refused = Vec::new();
        while let Some(said) = half.hear()? {
            match said {
                Said::Note(text) => note(&text),
                Said::Known(count) => {
                    evaluated.known = count;
                    points.found(count);
                }
                Said::Done { seconds } => {
                    evaluated.seconds += seconds;
                    points.done();
                }
                Said::Refused { part, why } => refused.push(format!("part {part}: {why}")),
                Said::Total(total) => evaluated.total = total,
            }
        }
        points.finish();
        match refused.first() {
            None => Ok(evaluated),
            Some(first) => {
                let text =
                    format!("{} of {} parts were refused, the others are done: {first}", refused.len(), inputs.len());
                Err(Mistake(text).into())
            }
        }
    }

    /// Decrypts all parts, each compared with the clear twin on its rows, and the sum if there is one.
    fn decrypt(&self, dir: &Path, begun: &Begun, inputs: &[PathBuf], of: &Evaluated) -> anyhow::Result<Found> {
        let mut found = Found::default();
        for (number, inputs) in inputs.iter().enumerate() {
            let results = [dir.join("out").join(format!("part-{number:05}"))];
            let opened =
                self.open(&self.side(dir, number, begun.part)?, &results, (std::slice::from_ref(inputs), &[]))?;
            found.add(&opened.compared.unwrap_or_default());
        }
        if let Some(total) = &of.total {
            let side = ClientSide::open(&dir.join("client"))?;
            let opened = self.open(&side, std::slice::from_ref(total), (&[], inputs))?;
            if opened.table.is_some() {
                found.table = opened.table;
                return Ok(found);
            }
            let decrypted = opened.arrays.first().and_then(|array| array.values.first()).map(|z| z.re);
            let exact = found.exact.map(|exact| exact.to_string());
            let exact = exact.map(|text| text.parse().map(|near| (text, near))).transpose()?;
            found.answer = Some(Compared::of(decrypted.filter(|x| !x.is_nan()), exact));
        }
        Ok(found)
    }

    fn open(
        &self,
        side: &ClientSide,
        results: &[PathBuf],
        (inputs, parts): (&[PathBuf], &[PathBuf]),
    ) -> limbwise_runtime::Result<Opened> {
        let asked = ToDecrypt {
            results,
            inputs,
            parts,
            compare: parts.is_empty(),
            data: &[],
            key: None,
            gain: 1.0,
            share: false,
            lock: Lock::None,
        };
        side.decrypt(self.dev, &asked, &mut ())
    }
}

#[derive(Default)]
struct Evaluated {
    known: usize,
    seconds: f64,
    total: Option<PathBuf>,
}

/// What the parts have in common with their clear twins.
#[derive(Default)]
struct Found {
    compared: Option<u64>,
    wrong: Option<u64>,
    precision_bits: Option<f64>,
    exact: Option<Decimal>,
    answer: Option<Compared>,
    table: Option<DecryptedTable>,
}

impl Found {
    fn add(&mut self, part: &Map<String, Value>) {
        let add = |sum: &mut Option<u64>, name: &str| {
            if let Some(count) = part.get(name).and_then(Value::as_u64) {
                *sum = Some(sum.unwrap_or(0) + count);
            }
        };
        add(&mut self.compared, "compared");
        add(&mut self.wrong, "wrong");
        if let Some(bits) = part.get("precision_bits").and_then(|bits| bits.get("mean")).and_then(Value::as_f64) {
            self.precision_bits = Some(self.precision_bits.map_or(bits, |least| least.min(bits)));
        }
        let exact = part.get("answer").and_then(|answer| answer.get("exact")).and_then(Value::as_str);
        if let Some(exact) = exact.and_then(Decimal::read) {
            self.exact = Some(self.exact.map_or(exact, |sum| sum.plus(exact)));
        }
    }
}

fn render(report: &PartsReport) -> String {
    let mut text = String::from("result\n");
    if let Some(answer) = &report.answer {
        let error = format!(
            "{} added under encryption; exact {}, relative error {:.1e}",
            answer.shown(9),
            answer.exact,
            answer.relative_error
        );
        text += &line("answer", &error);
    }
    if let Some(table) = &report.table {
        text += &line("answer", &format!("{} rows, added under encryption", table.rows.len()));
        for row in &table.rows {
            let shown = |cell: &Value| match cell {
                Value::Number(number) => number.as_f64().map_or_else(String::new, |x| format!("{x:.4}")),
                Value::Null => NULL.into(),
                other => other.as_str().unwrap_or_default().to_owned(),
            };
            let cells = table.columns.iter().zip(row).map(|(name, cell)| format!("{name} {}", shown(cell)));
            text += &line("", &cells.collect::<Vec<_>>().join(", "));
        }
    }
    if let (Some(wrong), Some(compared)) = (report.wrong, report.compared) {
        text += &line("compared", &format!("{wrong} of {compared} differ from the clear twin"));
    }
    if let Some(bits) = report.precision_bits {
        text += &line("precision", &format!("{bits:.1} bits against the clear twin, of the part that has fewest"));
    }
    let known = if report.known > 0 { format!(", {} were there", report.known) } else { String::new() };
    text += &line("parts", &format!("{} of {}{known}", report.parts, report.part));
    let [own, elapsed, predicted] =
        [report.seconds, report.seconds_elapsed, report.seconds_predicted].map(units::seconds);
    text + &line(
        "seconds",
        &format!("{elapsed} elapsed; {own} of all parts together, {predicted} predicted on this machine"),
    )
}

#[cfg(test)]
mod tests {
    use super::On;

    #[test]
    fn a_place_is_here_or_a_cluster() {
        assert_eq!("here".parse(), Ok(On::Here));
        assert_eq!("ray".parse(), Ok(On::Ray(None)));
        assert_eq!("ray:10.0.0.7:6379".parse(), Ok(On::Ray(Some("10.0.0.7:6379".into()))));
        for wrong in ["", "ray:", "dask", "Ray"] {
            assert!(wrong.parse::<On>().is_err(), "{wrong}");
        }
    }
}
