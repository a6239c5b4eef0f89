//! What a query reveals, and to whom.

use super::{encrypted::Query, field::Field, from::Join, public::PublicGroup, question::Question};
use serde::Serialize;

/// What the server learns of an encrypted column, beside the query and the number of rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    pub column: String,
    /// Its domain in words: the least and the largest value, or the texts.
    pub values: String,
    /// What it is encrypted for: to be compared, summed, searched for an end; that it is public; or that it is not
    /// encrypted, because the domains decide what the query asks of it.
    pub encrypted: String,
}

/// What the groups of a query reveal: their list, never which rows are in them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RevealedGroups {
    pub columns: Vec<String>,
    /// How many there are, empty ones among them.
    pub count: usize,
}

/// What is not encrypted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Revealed {
    /// To the server: the text of the query with its constants.
    pub predicates: String,
    pub rows: usize,
    /// The columns that the query names, encrypted but for the public ones.
    pub columns: Vec<Told>,
    /// Groups whose rows the server sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub public: Vec<Seen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<RevealedGroups>,
    /// Rows that are matched in the clear by the owner of both tables, before encryption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// Encrypted sums that whoever has the secret key sees: those of every group, before HAVING and LIMIT.
    pub sums: usize,
    /// Least and largest values that they see likewise.
    pub ends: usize,
}

/// A public group: its values, and how many rows have them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    pub values: Vec<String>,
    pub rows: usize,
}

impl Revealed {
    pub(super) fn of(program: &Query) -> Self {
        let question = program.question();
        let told = |field: Field| Told::of(question, &field);
        let names = question.keys.iter().map(|key| key.name.clone()).collect();
        let groups = RevealedGroups { columns: names, count: question.groups.len() };
        let fields = question.fields();
        let seen = |group: &PublicGroup| {
            let shown = |(name, &value): (&String, &i64)| {
                fields.iter().find(|field| field.name == *name).map_or_else(|| value.to_string(), |f| f.show(value))
            };
            Seen { values: question.public.columns.iter().zip(&group.values).map(shown).collect(), rows: group.rows }
        };
        Self {
            predicates: question.sql.clone(),
            rows: question.rows,
            columns: question.fields().into_iter().map(told).collect(),
            public: question.public.groups.iter().map(seen).collect(),
            groups: (!question.keys.is_empty()).then_some(groups),
            join: (!question.joins.is_empty()).then(|| keys(&question.joins)),
            sums: question.measures.len(),
            ends: question.extremes.len(),
        }
    }
}

/// The equations of joins.
fn keys(joins: &[Join]) -> String {
    let pairs = joins.iter().flat_map(|join| &join.keys).map(|pair| pair.join(" = "));
    pairs.collect::<Vec<_>>().join(", ")
}

impl Told {
    fn of(question: &Question, field: &Field) -> Self {
        let [low, high] = [field.low, field.high].map(|end| field.show(end));
        let or_null = if field.null { ", or NULL" } else { "" };
        let values = match field.categories.len() {
            0 => format!("{low} to {high}"),
            1..=8 => field.categories.join(", "),
            count => format!("{count} texts from {low} to {high}"),
        };
        let values = values + or_null;
        let summed = question.summed().iter().any(|(summed, _)| summed == field);
        let ended = question.extremes.iter().any(|extreme| extreme.field == *field);
        let compared = question.compared.contains(field);
        let ways = [(compared, "compared"), (summed, "summed"), (ended, "searched")];
        let ways: Vec<&str> = ways.iter().filter(|(used, _)| *used).map(|(_, way)| *way).collect();
        let encrypted = match (question.public.has(&field.name), &ways[..]) {
            (true, _) => "public".into(),
            (false, []) => "left out: the domains decide what is asked of it".into(),
            (false, ways) => ways.join(" and "),
        };
        Self { column: field.name.clone(), values, encrypted }
    }
}
