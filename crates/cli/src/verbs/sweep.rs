//! `limbwise sweep`: a program on machines at many points of both.

use crate::{
    failure::Mistake,
    files::{Target, apart},
    output::{JsonArgs, print},
    progress::Points,
    specs::{assignment, changed},
    sweeping::{
        fields::{grid, objectives},
        outside::{Cluster, Search, Strategy},
        program::{Template, programs},
    },
    text,
};
use limbwise_machines::{
    Spec,
    html::{
        Page,
        chart::{self, Plotted},
        page::{Column, number},
    },
};
use limbwise_runtime::sweep::{Engine, Grid, Identity, Journal, Metric, Outcome, Point, Row, evaluate, front, table};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::BufRead as _,
    num::NonZeroUsize,
    path::PathBuf,
    thread::available_parallelism,
};

/// Sweep program and machine parameters and report the Pareto-optimal points
///
/// A point is one value of each varied field. Each program is recorded once and scheduled on the machine of each
/// of its points, on all cores. Rows go to --out as they come; repeat the command to resume after a kill.
///
/// FIELD is an option of the workload (strategy, plaintexts, keys, preset, slots, ...), a field of CKKS parameters (dnum,
/// levels, coeff-to-slot, slot-to-coeff, degree, double-angles, log-n), or a number of the machine ("limbwise machines
/// show ark --explain"). VALUES are a,b,c or ranges of numbers: 2..8, 2..8:2, 500..4000*2. Options you leave unset use
/// the default configuration.
///
/// Examples:
///   limbwise sweep --machine ark --vary clusters=2,4,8 --vary hbm_gb_s=500..4000*2 bootstrap --preset ark-24
///   limbwise sweep --vary dnum=3..6 --vary insecure=study --vary strategy=double-hoisted,multi-hop bootstrap
///   limbwise sweep --vary clusters=1..16 --vary scratchpad_mb=128..1024*2 --csv points.csv --html points.html logreg
///   limbwise sweep --search nsga2 --evaluations 400 --vary clusters=1..16 --vary hbm_gb_s=250..4000:50 bootstrap
///   limbwise sweep --on ray --vary clusters=1..16 --vary hbm_gb_s=250..4000:50 bootstrap
///
/// What the numbers mean:
///   seconds, energy_j, area_mm2, edap   as in "limbwise time"
///   slots_bits_s    slots x bits of precision / time of the bootstrapping; higher is better
///   t_as_us         workload bootstrap: time per slot and level gained, with a product at each level
///   log2_failure    TFHE: log2 of the probability that any bootstrapping fails
///   budget_bits     BGV: noise budget of the results, in bits; higher is better
///   front           Pareto-optimal points
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Sweep {
    /// Field to vary; may be repeated
    #[arg(long = "vary", value_name = "FIELD=VALUES", value_parser = assignment, required = true)]
    varied: Vec<(String, String)>,

    /// Machines, comma-separated: names or TOML files; several count as a varied field
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "ark")]
    machine: Vec<String>,

    /// Change a number at every point, on the machines that have it; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment)]
    changes: Vec<(String, String)>,

    /// Objectives of the Pareto front [default: seconds, and area_mm2 if all machines have an area]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    objectives: Vec<String>,

    /// Search the front with a genetic algorithm instead of visiting every point (pip install 'limbwise[search]')
    #[arg(long, value_name = "HOW", value_enum)]
    search: Option<Strategy>,

    /// Maximum number of points that a search visits
    #[arg(long, value_name = "COUNT", default_value = "400", requires = "search")]
    evaluations: NonZeroUsize,

    /// Seed of a search
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "search")]
    seed: u64,

    /// Where points are evaluated: here, or on a Ray cluster (pip install 'limbwise[ray]')
    #[arg(long, value_name = "WHERE", value_enum, default_value = "here")]
    on: Cluster,

    /// Threads [default: as many as the system offers]
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,

    /// Write rows as JSON lines as they come, and resume from those already there (docs/schemas/sweep-row.schema.json)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Write all rows as CSV at the end, atomically
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,

    /// Write the points and their Pareto front as one self-contained HTML file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,

    #[command(flatten)]
    output: JsonArgs,

    /// Evaluate the points whose numbers come on standard input, one a line; rows go to standard output
    #[arg(long, hide = true)]
    serve: bool,

    /// The workload and its options, as for "limbwise time"
    #[arg(value_name = "WORKLOAD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    workload: Vec<String>,
}

/// What a sweep found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Found {
    /// Points that were looked at.
    pub(crate) points: usize,
    /// Those that were timed.
    pub(crate) timed: usize,
    /// Reasons why others were not, with how many points each has.
    pub(crate) refused: BTreeMap<String, usize>,
    /// What they are compared by.
    pub(crate) objectives: Vec<&'static str>,
    /// The points that no other beats, by the first objective.
    pub(crate) front: Vec<Best>,
}

/// A point of the front.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Best {
    #[serde(flatten)]
    pub(crate) row: Row,
    pub(crate) command: String,
}

/// The machine that is this host is measured anew each time.
const THIS_HOST: &str = "cpu";

impl Sweep {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let machines = self.machines()?;
        let specs: Vec<Spec> = machines.iter().map(|(_, spec)| spec.clone()).collect();
        let template = Template::new(&self.workload, &specs).unwrap_or_else(|e| e.exit());
        let grid = grid(&self.varied, &template, &machines)?;
        let objectives = objectives(&self.objectives, &machines)?;
        let record = |fields: &[(String, String)]| template.record(fields);
        let engine = Engine::new(&record, machines.clone());
        if self.serve {
            return self.serve(&engine, &grid);
        }
        let outputs = [("--out", &self.out), ("--csv", &self.csv), ("--html", &self.html)];
        apart(&outputs.map(|(option, path)| (option, path.as_deref())))?;
        let csv = self.csv.as_deref().map(Target::new).transpose()?;
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let fields = grid.axes().map(|axis| axis.name.clone()).collect();
        let identity = Identity::new(&self.workload, fields, &machines);
        let opened = self.out.as_deref().map(|path| Journal::open(path, &identity)).transpose()?;
        let (journal, rows) = opened.map_or((None, Vec::new()), |(journal, rows)| (Some(journal), rows));
        let mut done = Done { known: known(rows), journal, points: Points::new(self.looked_at(&grid)) };
        let visited = match self.search {
            None => self.visit(&engine, &grid, &mut done)?,
            Some(how) => self.look(how, &engine, &grid, &objectives, &mut done)?,
        };
        done.points.finish();
        let rows: Vec<Row> = visited.iter().filter_map(|point| done.known.get(&point.fields()).cloned()).collect();
        if let Some(csv) = csv {
            csv.write(&table::csv(&rows))?;
        }
        let found = self.found(&rows, &visited, &objectives, &template);
        let heading = text::sweep::heading(&template.words, programs(&grid, &template), grid.len());
        if let Some(html) = html {
            html.write(page(&heading, &rows, &found, &objectives).render().as_bytes())?;
        }
        self.output.open().report(&found, &(heading + &text::sweep::render(&found, &grid)))
    }

    fn machines(&self) -> anyhow::Result<Vec<(String, Spec)>> {
        if self.machine.iter().any(|name| name == THIS_HOST) {
            let text = "--machine cpu: this host is measured anew each time, so its points could not be compared; give a TOML file that extends \"cpu\" and has its rates";
            return Err(Mistake(text.into()).into());
        }
        let specs = changed(&self.machine, &self.changes)?;
        let machines: Vec<(String, Spec)> = self.machine.iter().cloned().zip(specs).collect();
        match machines.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len() == machines.len() {
            true => Ok(machines),
            false => Err(Mistake("--machine: a machine is named twice".into()).into()),
        }
    }

    fn threads(&self) -> usize {
        self.threads.or(available_parallelism().ok()).map_or(1, NonZeroUsize::get)
    }

    fn looked_at(&self, grid: &Grid) -> usize {
        if self.search.is_some() { self.evaluations.get().min(grid.len()) } else { grid.len() }
    }

    fn visit(&self, engine: &Engine, grid: &Grid, done: &mut Done) -> anyhow::Result<Vec<Point>> {
        let visited: Vec<Point> = grid.points().collect();
        self.evaluate(engine, grid, (0..visited.len()).collect(), done)?;
        Ok(visited)
    }

    /// The points that a search asks for.
    fn look(
        &self,
        how: Strategy,
        engine: &Engine,
        grid: &Grid,
        objectives: &[Metric],
        done: &mut Done,
    ) -> anyhow::Result<Vec<Point>> {
        let mut search = Search::begin(how, grid, objectives.len(), self.evaluations.get(), self.seed)?;
        let mut visited: BTreeSet<usize> = BTreeSet::new();
        while let Some(asked) = search.ask()? {
            self.evaluate(engine, grid, asked.clone(), done)?;
            let costs = |&number: &usize| {
                let row = done.known.get(&grid.point(number).fields())?;
                objectives.iter().map(|metric| metric.cost_of(row)).collect::<Option<Vec<f64>>>()
            };
            search.tell(&asked.iter().map(costs).collect::<Vec<_>>())?;
            visited.extend(asked);
        }
        Ok(visited.into_iter().map(|number| grid.point(number)).collect())
    }

    /// The points of these numbers, but for those that are known.
    fn evaluate(&self, engine: &Engine, grid: &Grid, mut numbers: Vec<usize>, done: &mut Done) -> anyhow::Result<()> {
        numbers.sort_unstable();
        numbers.dedup();
        let all = numbers.len();
        numbers.retain(|&number| !done.known.contains_key(&grid.point(number).fields()));
        done.points.found(all - numbers.len());
        match self.on {
            Cluster::Here => {
                let points = numbers.into_iter().map(|number| grid.point(number));
                evaluate(engine, points, self.threads(), |row| done.add(row))
            }
            Cluster::Ray => crate::sweeping::outside::on_ray(&self.words(), &numbers, |row| done.add(row)),
        }
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec!["sweep".to_owned(), "--serve".into(), "--threads".into(), "1".into()];
        words.extend(["--machine".into(), self.machine.join(",")]);
        for (option, values) in [("--vary", &self.varied), ("--set", &self.changes)] {
            words.extend(values.iter().flat_map(|(name, value)| [option.to_owned(), format!("{name}={value}")]));
        }
        words.extend(self.workload.iter().cloned());
        words
    }

    /// Answers numbers of points with rows until there are no more.
    fn serve(&self, engine: &Engine, grid: &Grid) -> anyhow::Result<()> {
        let wrong = |line: &str| Mistake(format!("{line:?} is no point: wanted a number from 0 to {}", grid.len() - 1));
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            let number = line.trim().parse().ok().filter(|&number: &usize| number < grid.len());
            let row = engine.row(&grid.point(number.ok_or_else(|| wrong(&line))?));
            print(&(serde_json::to_string(&row)? + "\n"))?;
        }
        Ok(())
    }

    fn found(&self, rows: &[Row], points: &[Point], objectives: &[Metric], template: &Template) -> Found {
        let mut refused = BTreeMap::new();
        for row in rows {
            if let Outcome::Refused { refused: reason } = &row.outcome {
                *refused.entry(reason.clone()).or_default() += 1;
            }
        }
        let best = |number: usize| {
            let machine = rows[number].point.get(limbwise_runtime::sweep::grid::MACHINE).unwrap_or(&self.machine[0]);
            let command = template.command_of(&points[number], machine, &self.changes);
            Best { row: rows[number].clone(), command }
        };
        Found {
            points: rows.len(),
            timed: rows.len() - refused.values().sum::<usize>(),
            refused,
            objectives: objectives.iter().map(|metric| metric.name).collect(),
            front: front(rows, objectives).into_iter().map(best).collect(),
        }
    }
}

/// The rows as a page: a plot for each pair of neighboring objectives, and the front in full.
fn page(heading: &str, rows: &[Row], found: &Found, objectives: &[Metric]) -> Page {
    let mut page = Page::new("A sweep", heading.trim_end());
    let best: BTreeSet<&BTreeMap<String, String>> = found.front.iter().map(|best| &best.row.point).collect();
    let words =
        |row: &Row| row.point.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    for pair in objectives.windows(2) {
        let plotted = |row: &Row| {
            let at = [pair[0].of(row)?, pair[1].of(row)?];
            Some(Plotted { at, what: words(row), on_front: best.contains(&row.point) })
        };
        page.section(&format!("{} and {}", pair[0].name, pair[1].name));
        let points: Vec<Plotted> = rows.iter().filter_map(plotted).collect();
        chart::points(&mut page, &points, [pair[0].about, pair[1].about]);
    }
    page.section("Points that no other beats");
    let fields: Vec<&String> = rows.first().map(|row| row.point.keys().collect()).unwrap_or_default();
    let columns = fields.iter().map(|name| (name.as_str(), Column::Text));
    let columns = columns.chain(objectives.iter().map(|metric| (metric.name, Column::Number)));
    let cells = |best: &Best| {
        let values = fields.iter().map(|&name| best.row.point.get(name).cloned().unwrap_or_default());
        let numbers = objectives.iter().map(|metric| metric.of(&best.row).map_or_else(String::new, number));
        values.chain(numbers).chain([best.command.clone()]).collect()
    };
    let heading: Vec<_> = columns.chain([("again", Column::Text)]).collect();
    page.table(&heading, &found.front.iter().map(cells).collect::<Vec<_>>());
    if !found.refused.is_empty() {
        page.section("Points that were refused");
        let reasons = found.refused.iter().map(|(reason, count)| vec![count.to_string(), reason.clone()]);
        page.table(&[("points", Column::Number), ("why", Column::Text)], &reasons.collect::<Vec<_>>());
    }
    page
}

type Known = HashMap<BTreeMap<String, String>, Row>;

fn known(rows: Vec<Row>) -> Known {
    rows.into_iter().map(|row| (row.point.clone(), row)).collect()
}

/// Rows that are there, and where new ones go.
struct Done {
    known: Known,
    journal: Option<Journal>,
    points: Points,
}

impl Done {
    fn add(&mut self, row: Row) -> anyhow::Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.add(&row)?;
        }
        self.points.done();
        self.known.insert(row.point.clone(), row);
        Ok(())
    }
}
