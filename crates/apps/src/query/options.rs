//! Options of `tpch-q6` and `query`: SQL queries on encrypted tables.

use super::{
    Domain, Nulls, Public, Query, QueryClient, QueryError, Question, Statement, Table,
    field::{Field, Values},
    from::Source,
    load, load_part,
    numbering::Numbering,
    question::MOST_ROWS,
    table::Kind,
    tpch,
};
use crate::{
    linear::layer::Model,
    options::{KEYS, absolute, between, choice, named_pair, one, ways_of_keys},
    workload::{Built, Named, Part, Refusable, Workload},
};
use clap::Args;
use limbwise::{finite, rlwe::KeyForm, scheme::Bridged};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

fn rows(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_ROWS)
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = finite::parse(text).ok().filter(|scale| (0.001..=1000.0).contains(scale));
    scale.ok_or_else(|| "wanted a number from 0.001 to 1000".into())
}

/// Options that both workloads share.
#[derive(Clone, Debug, Args)]
struct Common {
    /// Storage of evaluation keys [default: stored, or the fastest that fits --memory]
    #[arg(long, value_parser = choice(KEYS), value_name = "HOW", help_heading = "Parameters")]
    keys: Option<KeyForm>,

    /// Parameters: a pair's name, or a CKKS set for bridges and a TFHE set, each a preset's name or a TOML file
    /// [default: flags-2-2]
    #[arg(long, value_name = "NAME|CKKS,TFHE", help_heading = "Parameters")]
    preset: Option<String>,
}

const PRESET: &str = "flags-2-2";

/// Source of the rows of `tpch-q6`.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TpchData {
    /// A lineitem table: .tbl, CSV with a header, Parquet, or a folder of Parquet files [default: the shipped 1024 rows, or
    /// made by the generator]
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,

    /// Scale factor of the generator, where it makes the rows [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = scale, conflicts_with = "data")]
    scale: Option<f64>,

    /// Use only the first ROWS rows
    #[arg(long, value_name = "COUNT", value_parser = rows)]
    rows: Option<usize>,

    /// The rows of these that a part of the query is about.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
}

/// Query 6 of TPC-H on an encrypted lineitem: comparisons on TFHE, the sum on CKKS
///
/// SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date
/// '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24. Rows come from TPC-H's generator, or from a
/// file. Which rows pass is decided exactly, by programmable bootstrapping; their bits become slots, and the sum is
/// compared with exact integer arithmetic.
///
/// Examples:
///   tpch-q6                                                   the shipped 1024 rows
///   tpch-q6 --rows 4096                                       the first 4096 rows of scale factor 1
///   tpch-q6 --data lineitem.tbl --rows 2000                   your own rows: .tbl, CSV or Parquet
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct TpchArgs {
    #[command(flatten)]
    data: TpchData,
    #[command(flatten)]
    common: Common,
}

/// Source of the rows of a table.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryData {
    /// The table: CSV with a header, TPC-H's .tbl, Parquet (uncompressed or with Snappy), or a folder of Parquet files, in
    /// sub-folders named COLUMN=VALUE if there are any
    #[arg(long, value_name = "PATH")]
    data: PathBuf,

    /// Use only the first ROWS rows
    #[arg(long, value_name = "COUNT", value_parser = rows)]
    rows: Option<usize>,

    /// Another table that the query joins; may be repeated. Its rows are matched in the clear, before encryption
    #[arg(long, value_name = "TABLE=FILE")]
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_more")]
    with: Vec<With>,

    /// The rows of these that a part of the query is about.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
}

/// One entry, as files were written when there was but one, or a list.
fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<With>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        One(With),
        More(Vec<With>),
    }
    Ok(match Given::deserialize(from)? {
        Given::One(one) => vec![one],
        Given::More(more) => more,
    })
}

/// A table that is joined, and its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct With {
    table: String,
    file: PathBuf,
}

impl std::str::FromStr for With {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(table, file)| !table.is_empty() && !file.is_empty());
        let (table, file) = named.ok_or("wanted TABLE=FILE, such as orders=orders.csv")?;
        Ok(Self { table: table.into(), file: file.into() })
    }
}

/// Most rows of a second table; those that match none are left out.
const MOST_JOINED: usize = 1 << 21;

impl QueryData {
    /// The rows that a query is about, and the query with the names that its columns have there; of a part, those of it.
    /// Columns of a text file are of texts where somebody says so.
    fn table(
        &self,
        statement: Statement,
        files: &[PathBuf],
        (part, texts): (Option<Part>, &[&str]),
    ) -> Refusable<(Statement, Table)> {
        let file = one(files)?.unwrap_or(&self.data);
        let from = &statement.from.clone();
        if let Some(with) = self.with.iter().find(|with| !from.sources().any(|source| source.is(&with.table))) {
            let names = from.sources().map(|source| &source.table[..]).collect::<Vec<_>>().join(", ");
            let problem = format!("--with {} is none of the query's tables: {names}", with.table);
            return Err(QueryError::Join { problem }.into());
        }
        let twice =
            |at: &usize| self.with[..*at].iter().any(|with| with.table.eq_ignore_ascii_case(&self.with[*at].table));
        if let Some(at) = (1..self.with.len()).find(twice) {
            let problem = format!("--with {} is given twice", self.with[at].table);
            return Err(QueryError::Join { problem }.into());
        }
        let given = |source: &Source| self.with.iter().find(|with| source.is(&with.table));
        let mut own = from.sources().filter(|source| given(source).is_none());
        let first = own.next().ok_or_else(|| {
            let problem = "--data is none of its tables: each has a file of its own (--with)".into();
            QueryError::Join { problem }
        })?;
        if let Some(other) = own.find(|other| !other.table.eq_ignore_ascii_case(&first.table)) {
            let problem = format!("give the file of one of the tables (--with {}=FILE)", other.table);
            return Err(QueryError::Join { problem }.into());
        }
        if from.joins.is_empty() {
            let table = match part {
                Some(part) => load_part(file, within(part, self.rows), texts)?,
                None => load(file, self.rows, texts)?,
            };
            return Ok((statement, table));
        }
        let start = from.sources().position(|source| source == first).unwrap_or(0);
        let tables = from.sources().map(|source| match given(source) {
            Some(with) => load(&with.file, Some(MOST_JOINED), texts),
            None => load(file, self.rows, texts),
        });
        let (tables, shared) = Table::told_apart(tables.collect::<Result<_, _>>()?, from);
        let statement = statement.told_apart(&shared)?;
        // A join's rows are known when all are matched.
        let table = Table::all_joined(tables, &statement.from, start)?;
        Ok((statement, part.map_or(table.clone(), |part| table.part(part))))
    }
}

/// A part of the first rows.
fn within(part: Part, rows: Option<usize>) -> Part {
    let left = rows.map_or(usize::MAX, |rows| rows.saturating_sub(part.first));
    Part { count: part.count.min(left), ..part }
}

/// An SQL query on an encrypted table: filter, groups and sums over a CSV or Parquet file
///
/// SELECT (also DISTINCT) with COUNT(*), COUNT(a), COUNT(DISTINCT a), SUM, AVG, MIN, MAX, STDDEV and VARIANCE, each with
/// FILTER (WHERE ...), and arithmetic, ROUND, COALESCE, NULLIF and ABS of these FROM table [[LEFT | RIGHT | FULL] JOIN
/// table ON a = b] [WHERE conditions joined by AND, OR and NOT] [GROUP BY columns] [HAVING conditions of results] [ORDER BY
/// results] [LIMIT count OFFSET count]. A condition compares integers, decimals, dates or texts: columns, constants and
/// arithmetic with them (=, <>, <, <=, >, >=, BETWEEN, IN, LIKE 'pattern'). A sum is of sums, differences and products of
/// columns, of CASE WHEN ... THEN ... END, and of quotients by numbers. What the server cannot compute (a comparison of two
/// columns, abs, %, round, parts of dates, functions of texts, CASE in GROUP BY, COALESCE) is computed from each row before
/// encryption. A text is encrypted as its number in a list that both sides know. NULL is SQL's; the server knows which
/// columns have it, and not which rows. Quotients, HAVING, order and limit are the client's, after decryption.
///
/// Examples:
///   query --sql "SELECT SUM(price * (1 - rebate)) FROM sales WHERE day >= date '2026-01-01'" --data sales.csv
///   query --sql "SELECT COUNT(*) FROM sales WHERE amount < 24" --data sales.parquet --domain amount=0..1000
///   query --sql "SELECT COUNT(*) FROM sales WHERE color IN ('red', 'blue')" --data sales.csv --domain "color=red|blue|green"
///   query --sql "SELECT color, AVG(price), COUNT(*) FROM sales WHERE price < 50 GROUP BY color" --data sales.csv
///   query --sql "SELECT year(day), SUM(price) FILTER (WHERE color LIKE '%red%') FROM sales GROUP BY 1" --data sales.csv
///   query --sql "SELECT shop, MAX(price) FROM sales WHERE day > '2026-01-01' GROUP BY shop" --data sales.csv --public shop
///   query --sql "SELECT SUM(price) FROM sales JOIN shops ON shop = id WHERE city = 'Ulm'" --data sales.csv --with shops=shops.csv
#[derive(Clone, Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct QueryArgs {
    /// The SQL query
    #[arg(long, value_name = "TEXT")]
    sql: String,

    #[command(flatten)]
    data: QueryData,

    /// Range of a column's values, or a list of its texts (COLUMN=A|B|C), known to both sides [default: what the data
    /// have]; may be repeated
    #[arg(long = "domain", value_name = "COLUMN=LOW..HIGH")]
    domains: Vec<Domain>,

    /// A column of GROUP BY that is not encrypted: the server sees each row's group, and compares nothing for it; may be
    /// repeated
    #[arg(long = "public", value_name = "COLUMN")]
    public: Vec<String>,

    /// A column in which other data may have NULL though these have none; may be repeated
    #[arg(long = "nullable", value_name = "COLUMN")]
    nullable: Vec<String>,

    #[command(flatten)]
    common: Common,
}

impl QueryArgs {
    /// The columns whose texts are listed.
    fn texts(&self) -> Vec<&str> {
        let listed = self.domains.iter().filter(|domain| matches!(domain.values, Values::Texts(_)));
        listed.map(|domain| domain.column.as_str()).collect()
    }
}

/// Public metadata of a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub sql: String,
    pub rows: usize,
    /// The columns that the query names, with their domains.
    pub columns: Vec<Field>,
    /// Those whose values the server sees.
    #[serde(default, skip_serializing_if = "Public::is_none")]
    pub public: Public,
    /// Columns that may have NULL.
    #[serde(default, skip_serializing_if = "Nulls::is_none")]
    pub nulls: Nulls,
    /// How values of compared columns are numbered.
    #[serde(default, skip_serializing_if = "Numbering::is_ordered")]
    pub numbering: Numbering,
}

impl Described {
    fn statement(&self) -> Result<Statement, QueryError> {
        Statement::with_nulls(&self.sql, self.nulls.clone())
    }
}

fn program(name: &'static str, of: &Described, (params, _): Named<'_, Bridged>) -> Refusable<Query> {
    let question = Question::described(&of.statement()?, of.rows, &of.columns, of.public.clone())?;
    let question = Question { numbering: of.numbering, ..question };
    Ok(Query::new(name, question, params)?)
}

/// The client of a table, or of a part of a table: its rows and such that do not pass.
fn client_of(program: &Query, table: Table, part: Option<Part>) -> Refusable<QueryClient> {
    Ok(match part {
        None => QueryClient::new(program, table)?,
        Some(_) => QueryClient::new(program, program.question().filled(table)?)?,
    })
}

impl Common {
    fn build<W>(
        &self,
        name: &'static str,
        question: Question,
        (table, part): (Table, Option<Part>),
        memory: Option<u64>,
    ) -> Refusable<Built<W>>
    where
        W: Workload<Scheme = Bridged, Program = Query, Client = QueryClient, Described = Described>,
    {
        part.map_or(Ok(()), |part| question.divides(table.rows, part.count))?;
        // Domains are those of the whole table: a part must not tell its own.
        let question = Question { rows: part.map_or(question.rows, |part| part.count), ..question };
        let (sql, public, nulls) = (question.sql.clone(), question.public.clone(), question.results.nulls.clone());
        let numbering = question.numbering;
        let described = Described { sql, rows: question.rows, columns: question.fields(), public, nulls, numbering };
        let preset = self.preset.as_deref().unwrap_or(PRESET);
        let program = Query::new(name, question, &named_pair(preset)?)?;
        // Here and not where a description is read: a server rehearses nothing for a client that it does not know.
        program.check_equalities()?;
        Ok(Built {
            client: Some(client_of(&program, part.map_or(table.clone(), |part| table.part(part)), part)?),
            program,
            described,
            preset: preset.into(),
            ways: ways_of_keys(self.keys, memory),
            smaller: "fewer --rows, or leave open what --keys fixes",
        })
    }
}

impl TpchData {
    /// The rows; of a part, those of it.
    fn table(&self, files: &[PathBuf], part: Option<Part>) -> Refusable<Table> {
        let shipped = tpch::sample();
        let table = match (one(files)?.or(self.data.as_deref()), self.scale, self.rows) {
            (Some(path), _, rows) => {
                return Ok(match part {
                    Some(part) => load_part(path, within(part, rows), &[])?,
                    None => load(path, rows, &[])?,
                });
            }
            (None, None, rows) if rows.is_none_or(|rows| rows <= shipped.rows) => {
                shipped.first(rows.unwrap_or(usize::MAX))
            }
            (None, scale, rows) => tpch::generated(scale.unwrap_or(1.0), rows.unwrap_or(shipped.rows)),
        };
        Ok(part.map_or(table.clone(), |part| table.part(part)))
    }
}

impl Workload for TpchArgs {
    type Scheme = Bridged;
    type Program = Query;
    type Client = QueryClient;
    type Described = Described;
    type Data = TpchData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.common.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let table = self.data.table(&[], None)?;
        let question = Question::new(&Statement::parse(tpch::QUERY_6)?, &table, &tpch::domains(), &[])?;
        self.common.build("tpch-q6", question, (table, self.data.part), memory)
    }

    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(Some(self.data.table(&[], None)?.rows))
    }

    fn part(&self, part: Part) -> Option<Self> {
        Some(Self { data: TpchData { part: Some(part), ..self.data.clone() }, ..self.clone() })
    }

    fn data(&self) -> TpchData {
        TpchData { data: absolute(self.data.data.as_ref()), ..self.data.clone() }
    }

    fn program(of: &Described, params: Named<'_, Bridged>, _: Option<&Model>) -> Refusable<Query> {
        program("tpch-q6", of, params)
    }

    fn client(data: &TpchData, _: &Described, program: &Query, files: &[PathBuf]) -> Refusable<QueryClient> {
        client_of(program, data.table(files, data.part)?, data.part)
    }
}

impl Workload for QueryArgs {
    type Scheme = Bridged;
    type Program = Query;
    type Client = QueryClient;
    type Described = Described;
    type Data = QueryData;
    const PRESET: Option<&'static str> = Some(PRESET);

    fn preset(&mut self) -> &mut Option<String> {
        &mut self.common.preset
    }

    fn build(&self, memory: Option<u64>) -> Refusable<Built<Self>> {
        let statement = Statement::parse(&self.sql)?; // a mistake in the text is told before a long file is read
        let (statement, table) = self.data.table(statement, &[], (None, &self.texts()))?;
        let statement = statement.of_table(&table, &self.nullable)?;
        let table = table.with_derived(&statement)?;
        let question = Question::new(&statement, &table, &self.domains, &self.public)?;
        self.common.build("query", question, (table, self.data.part), memory)
    }

    fn batch(&self) -> Refusable<Option<usize>> {
        Ok(Some(self.data.table(Statement::parse(&self.sql)?, &[], (None, &self.texts()))?.1.rows))
    }

    /// Sums of parts are added under encryption. Ends of columns are not, and rows of public groups have their places.
    fn part(&self, part: Part) -> Option<Self> {
        let additive = Statement::parse(&self.sql).is_ok_and(|statement| statement.results.additive());
        if !additive || !self.public.is_empty() {
            return None;
        }
        Some(Self { data: QueryData { part: Some(part), ..self.data.clone() }, ..self.clone() })
    }

    fn data(&self) -> QueryData {
        let file = |file: &PathBuf| absolute(Some(file)).unwrap_or_default();
        let with = self.data.with.iter().map(|with| With { file: file(&with.file), ..with.clone() }).collect();
        QueryData { data: file(&self.data.data), with, ..self.data.clone() }
    }

    fn program(of: &Described, params: Named<'_, Bridged>, _: Option<&Model>) -> Refusable<Query> {
        program("query", of, params)
    }

    fn client(data: &QueryData, of: &Described, program: &Query, files: &[PathBuf]) -> Refusable<QueryClient> {
        let texts = of.columns.iter().filter(|field| field.kind == Kind::Text).map(|field| field.name.as_str());
        let texts: Vec<&str> = texts.collect();
        let (statement, table) = data.table(of.statement()?, files, (data.part, &texts))?;
        let table = table.with_derived(&statement)?;
        client_of(program, table, data.part)
    }
}
