//! What a query reveals, and to whom.

use super::{encrypted::Query, field::Field, question::Question};
use serde::Serialize;

/// What the server learns of an encrypted column, beside the query and the number of rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    pub column: String,
    /// Its domain in words: the least and the largest value, or the texts.
    pub values: String,
    /// How it is encrypted: to be compared, to be summed, or both.
    pub encrypted: &'static str,
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
    /// The columns that the query names, all encrypted.
    pub columns: Vec<Told>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<RevealedGroups>,
    /// Rows that are matched in the clear by the owner of both tables, before encryption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// Encrypted sums that whoever has the secret key sees: those of every group, before LIMIT.
    pub sums: usize,
}

impl Revealed {
    pub(super) fn of(program: &Query) -> Self {
        let question = program.question();
        let told = |field: Field| Told::of(question, &field);
        let names = question.keys.iter().map(|key| key.name.clone()).collect();
        let groups = RevealedGroups { columns: names, count: question.groups.len() };
        Self {
            predicates: question.sql.clone(),
            rows: question.rows,
            columns: question.fields().into_iter().map(told).collect(),
            groups: (!question.keys.is_empty()).then_some(groups),
            join: question.join.as_ref().map(|join| join.keys.join(" = ")),
            sums: question.measures.len(),
        }
    }
}

impl Told {
    fn of(question: &Question, field: &Field) -> Self {
        let [low, high] = [field.low, field.high].map(|end| field.show(end));
        let values = match field.categories.len() {
            0 => format!("{low} to {high}"),
            1..=8 => field.categories.join(", "),
            count => format!("{count} texts from {low} to {high}"),
        };
        let summed = question.summed().iter().any(|(summed, _)| summed == field);
        let encrypted = match (question.compared.contains(field), summed) {
            (true, true) => "compared and summed",
            (true, false) => "compared",
            (false, _) => "summed",
        };
        Self { column: field.name.clone(), values, encrypted }
    }
}
