//! What a query asks for: aggregates over rows, arithmetic with them, groups, and the order of the groups.
//!
//! The server makes the aggregates. All that is done with them (quotients, HAVING, order, LIMIT) the client does after
//! decryption, since it may see every aggregate of every group.

use super::{
    constant::{ZERO, constant, number, whole},
    error::QueryError,
    formula::Formula,
    having::{self, Having},
    nulls::Nulls,
    operand::{Operand, named},
    products::Factor,
    table::Decimal,
};
use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Fetch, GroupByExpr, LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderBySort,
    Query, Select, SelectItem, UnaryOperator,
};

/// Most results of a query, and most aggregates in them.
const MOST_RESULTS: usize = 32;
/// Most operations of a result that another names: names of names stand for very many.
const MOST_OUTPUT: usize = 256;

/// What is made of the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// The sum of a product; without factors, the number of rows.
    Sum(Vec<Factor>),
    /// The least value.
    Least(Operand),
    /// The largest value.
    Most(Operand),
    /// The number of different values.
    Different(Operand),
}

impl Made {
    /// What it takes of a row.
    pub(super) fn operands(&self) -> Vec<&Operand> {
        match self {
            Self::Sum(factors) => factors.iter().map(|factor| &factor.operand).collect(),
            Self::Least(of) | Self::Most(of) | Self::Different(of) => vec![of],
        }
    }

    /// Whose values are told apart.
    pub(super) fn different(&self) -> Option<&Operand> {
        if let Self::Different(of) = self { Some(of) } else { None }
    }
}

/// An aggregate over the rows of a group, or over those of them that satisfy a formula (CASE WHEN).
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    pub of: Made,
    pub when: Option<Formula>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Plus,
    Minus,
    Times,
    Over,
}

/// What the client computes from results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Absolute,
    /// The square root.
    Root,
    /// The first that is not NULL.
    First,
    /// The first of two, or NULL where they are equal.
    UnlessEqual,
    /// Rounded to so many decimal places, half away from zero.
    Rounded(i32),
}

/// A result, as the client computes it from aggregates.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A column that is grouped by, by its number.
    Key(usize),
    Number(Decimal),
    Null,
    /// An aggregate by its number: NULL of no rows.
    Aggregate(usize),
    /// The number of rows, an aggregate by its number: 0 of no rows.
    Count(usize),
    Both(Arithmetic, Box<[Output; 2]>),
    /// A result, or NULL where an aggregate by its number counts no row.
    Where(usize, Box<Output>),
    Call(Call, Vec<Output>),
}

impl Output {
    /// Numbers, aggregates and operations in it.
    fn size(&self) -> usize {
        match self {
            Self::Key(_) | Self::Number(_) | Self::Null | Self::Aggregate(_) | Self::Count(_) => 1,
            Self::Both(_, of) => 1 + of.iter().map(Self::size).sum::<usize>(),
            Self::Where(_, of) => 1 + of.size(),
            Self::Call(_, of) => 1 + of.iter().map(Self::size).sum::<usize>(),
        }
    }

    pub(super) fn both(op: Arithmetic, left: Self, right: Self) -> Self {
        Self::Both(op, Box::new([left, right]))
    }

    /// Adds what is asked to equal something in it.
    pub(super) fn equated<'a>(&'a self, found: &mut Vec<&'a Self>) {
        match self {
            Self::Key(_) | Self::Number(_) | Self::Null | Self::Aggregate(_) | Self::Count(_) => {}
            Self::Both(_, of) => of.iter().for_each(|one| one.equated(found)),
            Self::Where(_, of) => of.equated(found),
            Self::Call(call, of) => {
                if *call == Call::UnlessEqual {
                    found.extend(of);
                }
                of.iter().for_each(|one| one.equated(found));
            }
        }
    }

    /// Whether an aggregate is in it.
    #[must_use]
    pub fn takes(&self, aggregate: usize) -> bool {
        match self {
            Self::Key(_) | Self::Number(_) | Self::Null => false,
            Self::Aggregate(number) | Self::Count(number) => *number == aggregate,
            Self::Both(_, of) => of.iter().any(|one| one.takes(aggregate)),
            Self::Where(count, of) => *count == aggregate || of.takes(aggregate),
            Self::Call(_, of) => of.iter().any(|one| one.takes(aggregate)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its alias, or its text.
    pub name: String,
    pub output: Output,
}

/// What groups are ordered by.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub by: Output,
    /// The largest comes first.
    pub down: bool,
    /// NULL comes first.
    pub nulls_first: bool,
}

/// The results of a query, for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    pub items: Vec<Item>,
    /// The aggregates in them, each once.
    pub aggregates: Vec<Aggregate>,
    /// Columns whose cells are counted: as many as rows, since they have no NULL.
    pub counted: Vec<String>,
    /// The columns that may have NULL.
    pub nulls: Nulls,
    /// What is grouped by.
    pub keys: Vec<Operand>,
    /// Names of results by which it is grouped, and which no column of the table may have: SQL means the column.
    pub renamed: Vec<String>,
    /// The groups that are in the answer; without it, all that have a row.
    pub having: Option<Having>,
    pub order: Vec<Order>,
    /// Rows of the answer that are left out before its first.
    pub offset: usize,
    pub limit: Option<usize>,
}

/// A list with commas.
fn listed<T: ToString>(of: &[T]) -> String {
    of.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// The expressions of ORDER BY.
fn ordered(query: &Query) -> &[OrderByExpr] {
    match &query.order_by {
        Some(OrderBy { kind: OrderByKind::Expressions(by), .. }) => by,
        _ => &[],
    }
}

/// The results as they were read, and what follows WHERE: all else that a statement has is refused.
pub(super) fn written(query: &Query, select: &Select) -> [String; 2] {
    let mut after = match &select.group_by {
        GroupByExpr::Expressions(keys, _) if !keys.is_empty() => format!(" GROUP BY {}", listed(keys)),
        _ => String::new(),
    };
    if let Some(having) = &select.having {
        after += &format!(" HAVING {having}");
    }
    if !ordered(query).is_empty() {
        after += &format!(" ORDER BY {}", listed(ordered(query)));
    }
    if let Some(limit) = &query.limit_clause {
        after += &limit.to_string();
    }
    if let Some(fetch) = &query.fetch {
        after += &format!(" {fetch}");
    }
    let distinct = if select.distinct == Some(Distinct::Distinct) { "DISTINCT " } else { "" };
    [format!("{distinct}{}", listed(&select.projection)), after]
}

/// The expression of a result, and its alias.
fn item(item: &SelectItem) -> Result<(&Expr, Option<&str>), QueryError> {
    match item {
        SelectItem::UnnamedExpr(expr) => Ok((expr, None)),
        SelectItem::ExprWithAlias { expr, alias } => Ok((expr, Some(&alias.value))),
        other => Err(QueryError::unsupported(format!("the result {other}"))),
    }
}

/// A name that stands alone, without its table: only such a one can be a result's.
fn bare(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::Nested(inner) => bare(inner),
        _ => None,
    }
}

/// What is grouped by: a column, what is computed from columns, or a result by its alias or its number. With an alias that is
/// another name than its result's own: no column may have it.
fn key(expr: &Expr, select: &Select) -> Result<(Operand, Option<String>), QueryError> {
    let wrong = |what: &Expr| QueryError::unsupported(format!("GROUP BY {what}, which is no column,"));
    let items = select.projection.iter().map(item).collect::<Result<Vec<_>, _>>()?;
    let numbered =
        whole(expr).map(|number| number.checked_sub(1).and_then(|at| items.get(at)).ok_or_else(|| wrong(expr)));
    let aliased = |name: &str| items.iter().find(|(_, alias)| alias.is_some_and(|a| a.eq_ignore_ascii_case(name)));
    let (of, name) = match (numbered.transpose()?, bare(expr)) {
        (Some((of, _)), _) => (*of, None),
        (None, Some(name)) => match aliased(name) {
            Some((of, _)) => {
                (*of, named(of).is_none_or(|own| !own.eq_ignore_ascii_case(name)).then(|| name.to_owned()))
            }
            None => (expr, None),
        },
        (None, None) => (expr, None),
    };
    Ok((Operand::read(of).ok_or_else(|| wrong(of))?, name))
}

/// What SELECT DISTINCT groups by, beside GROUP BY. Nothing, where its rows differ already: each group has one, and its keys
/// are in it; without groups there is one row.
fn distinct(select: &Select, grouped: &[Operand]) -> Result<Vec<Operand>, QueryError> {
    let items = select.projection.iter().map(item).collect::<Result<Vec<_>, _>>()?;
    let listed: Vec<Option<Operand>> = items.iter().map(|(expr, _)| Operand::read(expr)).collect();
    if grouped.is_empty() {
        return Ok(listed.into_iter().collect::<Option<_>>().unwrap_or_default());
    }
    let is_listed = |key: &Operand| listed.iter().flatten().any(|operand| key.is(operand));
    match grouped.iter().find(|key| !is_listed(key)) {
        None => Ok(Vec::new()),
        Some(key) => {
            let what = format!("SELECT DISTINCT with GROUP BY {}, which is no result of it,", key.name);
            Err(QueryError::unsupported(what))
        }
    }
}

impl Results {
    pub(super) fn parse(query: &Query, select: &Select, nulls: Nulls) -> Result<Self, QueryError> {
        let GroupByExpr::Expressions(keys, _) = &select.group_by else {
            return Err(QueryError::unsupported("GROUP BY ALL"));
        };
        let keys = keys.iter().map(|expr| key(expr, select)).collect::<Result<Vec<_>, _>>()?;
        let (mut grouped, renamed): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
        if select.distinct.is_some() {
            grouped.extend(distinct(select, &grouped)?);
        }
        let mut results = Self {
            items: Vec::new(),
            aggregates: Vec::new(),
            counted: Vec::new(),
            nulls,
            keys: grouped,
            renamed: renamed.into_iter().flatten().collect(),
            having: None,
            order: Vec::new(),
            offset: 0,
            limit: None,
        };
        for of in &select.projection {
            let (expr, alias) = item(of)?;
            let output = results.output(expr)?;
            results.items.push(Item { name: alias.map_or_else(|| expr.to_string(), str::to_owned), output });
        }
        results.having = select.having.as_ref().map(|of| having::parse(&mut results, of)).transpose()?.flatten();
        results.order = ordered(query).iter().map(|by| results.by(by, select)).collect::<Result<_, _>>()?;
        if results.aggregates.is_empty() {
            if results.keys.is_empty() {
                return Err(QueryError::unsupported("a query without an aggregate, whose answer would be rows,"));
            }
            results.rows(Vec::new()); // whether a group has one
        }
        let many = results.items.len().max(results.aggregates.len());
        if many > MOST_RESULTS {
            return Err(QueryError::unsupported(format!("a list of {many} results (at most {MOST_RESULTS})")));
        }
        (results.offset, results.limit) = limited(query)?;
        Ok(results)
    }

    /// Whether all that the server makes are sums over rows, so that those of parts of the rows may be added: the client makes
    /// groups, quotients and counts of different values of them. Errors of parts add up, so that no sum of them is asked to equal
    /// something.
    #[must_use]
    pub fn additive(&self) -> bool {
        let sums = self.aggregates.iter().all(|aggregate| !matches!(aggregate.of, Made::Least(_) | Made::Most(_)));
        sums && !self.equated().into_iter().any(|output| self.takes_a_sum(output))
    }

    /// What is asked to equal something: by `=`, `<>` and IN of HAVING, and by NULLIF.
    #[must_use]
    pub fn equated(&self) -> Vec<&Output> {
        let mut found = Vec::new();
        let outputs = self.items.iter().map(|item| &item.output).chain(self.order.iter().map(|order| &order.by));
        outputs.for_each(|output| output.equated(&mut found));
        if let Some(having) = &self.having {
            having.equated(&mut found);
        }
        found
    }

    /// Whether an output is computed from a sum, which is decrypted with an error, and not from counts and ends alone.
    fn takes_a_sum(&self, output: &Output) -> bool {
        let sums = self.aggregates.iter().enumerate();
        let sums = sums.filter(|(_, aggregate)| matches!(&aggregate.of, Made::Sum(factors) if !factors.is_empty()));
        sums.into_iter().any(|(number, _)| output.takes(number))
    }

    /// Whether the answer is one sum.
    #[must_use]
    pub fn single(&self) -> bool {
        self.keys.is_empty()
            && self.having.is_none()
            && matches!(&self.aggregates[..], [Aggregate { of: Made::Sum(_), .. }])
            && matches!(&self.items[..], [Item { output: Output::Aggregate(0) | Output::Count(0), .. }])
    }

    /// The same without HAVING and LIMIT.
    #[must_use]
    pub fn unlimited(&self) -> Self {
        Self { having: None, offset: 0, limit: None, ..self.clone() }
    }

    /// Whether an aggregate is computed with, or compared with a number.
    #[must_use]
    pub fn computes_with(&self, aggregate: usize) -> bool {
        let alone = |output: &Output| match output {
            Output::Aggregate(_) | Output::Count(_) => true,
            Output::Where(_, of) => matches!(**of, Output::Aggregate(_)),
            _ => false,
        };
        let outputs = self.items.iter().map(|item| &item.output).chain(self.order.iter().map(|order| &order.by));
        let computed = outputs.filter(|output| !alone(output)).any(|output| output.takes(aggregate));
        computed || self.having.as_ref().is_some_and(|having| having.takes(aggregate))
    }

    /// A name, a number or a text of a result, or another aggregate of the groups.
    fn by(&mut self, by: &OrderByExpr, select: &Select) -> Result<Order, QueryError> {
        let wrong = || QueryError::unsupported(format!("ORDER BY {by}, which is no result of the query,"));
        let text = by.expr.to_string();
        let same = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr.to_string() == text,
            _ => false,
        };
        let number = whole(&by.expr).filter(|n| (1..=self.items.len()).contains(n)).map(|n| n - 1);
        let found = number.or_else(|| self.aliased(&by.expr));
        let found = found.or_else(|| select.projection.iter().position(same));
        let found = match found {
            Some(item) => self.items[item].output.clone(),
            None if whole(&by.expr).is_some() => return Err(wrong()),
            None => self.output(&by.expr).map_err(|_| wrong())?,
        };
        let down = match &by.options.sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(_) => return Err(wrong()),
        };
        if by.with_fill.is_some() {
            return Err(wrong());
        }
        Ok(Order { by: found, down, nulls_first: by.options.nulls_first == Some(true) })
    }

    /// The number of the result that has this alias.
    fn aliased(&self, expr: &Expr) -> Option<usize> {
        let name = bare(expr)?;
        self.items.iter().position(|item| item.name.eq_ignore_ascii_case(name))
    }

    /// An expression that is grouped by.
    pub(super) fn key(&self, expr: &Expr) -> Option<Output> {
        let operand = Operand::read(expr)?;
        self.keys.iter().position(|key| key.is(&operand)).map(Output::Key)
    }

    pub(super) fn output(&mut self, expr: &Expr) -> Result<Output, QueryError> {
        if let Some(key) = self.key(expr) {
            return Ok(key);
        }
        Ok(match expr {
            Expr::Nested(inner) => self.output(inner)?,
            Expr::Function(function) => self.function(expr, function)?,
            Expr::Cast { .. } if constant(expr).is_none() => self.cast(expr)?,
            Expr::Value(value) if value.value == sqlparser::ast::Value::Null => Output::Null,
            _ if number(expr).is_some() => Output::Number(number(expr).unwrap_or(ZERO)),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                Output::both(Arithmetic::Minus, Output::Number(ZERO), self.output(expr)?)
            }
            Expr::BinaryOp { left, op, right } => {
                let op = match op {
                    BinaryOperator::Plus => Arithmetic::Plus,
                    BinaryOperator::Minus => Arithmetic::Minus,
                    BinaryOperator::Multiply => Arithmetic::Times,
                    BinaryOperator::Divide => Arithmetic::Over,
                    _ => return Err(QueryError::unsupported(format!("the result {expr}"))),
                };
                let of = [self.output(left)?, self.output(right)?];
                self.computed(expr, &of)?;
                Output::Both(op, Box::new(of))
            }
            _ => match (named(expr), self.aliased(expr)) {
                (Some(_), Some(item)) if self.items[item].output.size() <= MOST_OUTPUT => {
                    self.items[item].output.clone()
                }
                (Some(_), Some(_)) => {
                    let what = format!("the result {expr}, which stands for more than {MOST_OUTPUT} operations,");
                    return Err(QueryError::unsupported(what));
                }
                (Some(_), None) => {
                    let what = format!("the result {expr} (a column that is neither grouped by nor in an aggregate)");
                    return Err(QueryError::unsupported(what));
                }
                (None, _) => return Err(QueryError::unsupported(format!("the result {expr}"))),
            },
        })
    }
}

/// How many rows of the answer are left out, and how many are taken.
fn limited(query: &Query) -> Result<(usize, Option<usize>), QueryError> {
    let (mut offset, mut limit) = (0, None);
    if let Some(clause) = &query.limit_clause {
        let wrong = || QueryError::unsupported(format!("what stands at \"{}\"", clause.to_string().trim_start()));
        let LimitClause::LimitOffset { limit: most, offset: after, limit_by } = clause else { return Err(wrong()) };
        if !limit_by.is_empty() {
            return Err(wrong());
        }
        let positive = |expr: &Expr| whole(expr).filter(|&count| count > 0).ok_or_else(wrong);
        limit = most.as_ref().map(positive).transpose()?;
        offset = after.as_ref().map(|after| whole(&after.value).ok_or_else(wrong)).transpose()?.unwrap_or(0);
    }
    if let Some(fetch) = &query.fetch {
        let wrong = || QueryError::unsupported(format!("what stands at \"{fetch}\""));
        let Fetch { with_ties: false, percent: false, quantity } = fetch else { return Err(wrong()) };
        let count = quantity.as_ref().map_or(Some(1), whole).filter(|&count| count > 0 && limit.is_none());
        limit = Some(count.ok_or_else(wrong)?);
    }
    Ok((offset, limit))
}
