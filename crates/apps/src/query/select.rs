//! What a query asks for: aggregates over rows, arithmetic with them, groups, and the order of the groups.
//!
//! The server makes the aggregates. All that is done with them (quotients, HAVING, order, LIMIT) the client does after
//! decryption, since it may see every aggregate of every group.

use super::{
    error::QueryError,
    having::{self, Having},
    question::position,
    sql::{Formula, formula, named, number},
    table::Decimal,
};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, LimitClause, OrderBy,
    OrderByExpr, OrderByKind, OrderBySort, Query, Select, SelectItem, UnaryOperator, Value,
};

/// Most results of a query, and most aggregates in them.
const MOST_RESULTS: usize = 32;

/// A factor of a product: a column, or a constant plus or minus a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    pub column: String,
    pub constant: Option<Decimal>,
    /// The column is subtracted from it.
    pub negated: bool,
}

/// What is made of the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// The sum of a product; without factors, the number of rows.
    Sum(Vec<Factor>),
    /// The least value of a column.
    Least(String),
    /// The largest value of a column.
    Most(String),
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

/// A result, as the client computes it from aggregates.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A column that is grouped by, by its number.
    Key(usize),
    Number(Decimal),
    /// An aggregate by its number: NULL of no rows.
    Aggregate(usize),
    /// The number of rows, an aggregate by its number: 0 of no rows.
    Count(usize),
    Both(Arithmetic, Box<[Output; 2]>),
}

impl Output {
    /// Whether an aggregate is in it.
    #[must_use]
    pub fn takes(&self, aggregate: usize) -> bool {
        match self {
            Self::Key(_) | Self::Number(_) => false,
            Self::Aggregate(number) | Self::Count(number) => *number == aggregate,
            Self::Both(_, of) => of.iter().any(|one| one.takes(aggregate)),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its alias, or its text.
    pub name: String,
    pub output: Output,
}

/// The results of a query, for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    pub items: Vec<Item>,
    /// The aggregates in them, each once.
    pub aggregates: Vec<Aggregate>,
    /// Columns whose cells are counted: as many as rows, since no column has NULL.
    pub counted: Vec<String>,
    /// Columns that are grouped by.
    pub keys: Vec<String>,
    /// The groups that are in the answer; without it, all that have a row.
    pub having: Option<Having>,
    /// What groups are ordered by, and whether the largest comes first.
    pub order: Vec<(Output, bool)>,
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
    if let Some(LimitClause::LimitOffset { limit: Some(limit), .. }) = &query.limit_clause {
        after += &format!(" LIMIT {limit}");
    }
    [listed(&select.projection), after]
}

impl Results {
    pub(super) fn parse(query: &Query, select: &Select) -> Result<Self, QueryError> {
        let keys = match &select.group_by {
            GroupByExpr::Expressions(keys, _) => keys.iter().map(|key| {
                let wrong = || QueryError::unsupported(format!("GROUP BY {key}, which is no column,"));
                named(key).ok_or_else(wrong)
            }),
            GroupByExpr::All(_) => return Err(QueryError::unsupported("GROUP BY ALL")),
        };
        let mut results = Self {
            items: Vec::new(),
            aggregates: Vec::new(),
            counted: Vec::new(),
            keys: Vec::new(),
            having: None,
            order: Vec::new(),
            limit: None,
        };
        results.keys = keys.collect::<Result<_, _>>()?;
        for item in &select.projection {
            let (expr, name) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, expr.to_string()),
                SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value.clone()),
                other => return Err(QueryError::unsupported(format!("the result {other}"))),
            };
            let output = results.output(expr)?;
            results.items.push(Item { name, output });
        }
        results.having = select.having.as_ref().map(|having| having::parse(&mut results, having)).transpose()?;
        results.order = ordered(query).iter().map(|by| results.by(by, select)).collect::<Result<_, _>>()?;
        if results.aggregates.is_empty() {
            return Err(QueryError::unsupported("a query without an aggregate, whose answer would be rows,"));
        }
        let many = results.items.len().max(results.aggregates.len());
        if many > MOST_RESULTS {
            return Err(QueryError::unsupported(format!("a list of {many} results (at most {MOST_RESULTS})")));
        }
        if let Some(limit) = &query.limit_clause {
            let count = match limit {
                LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by } if limit_by.is_empty() => {
                    whole(limit)
                }
                _ => None,
            };
            let wrong = || QueryError::unsupported(format!("what stands at \"{}\"", limit.to_string().trim_start()));
            results.limit = Some(count.filter(|&count| count > 0).ok_or_else(wrong)?);
        }
        Ok(results)
    }

    /// Whether the answer is one sum, which sums of parts of the rows may be added to.
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
        Self { having: None, limit: None, ..self.clone() }
    }

    /// Whether an aggregate is computed with, or compared with a number.
    #[must_use]
    pub fn computes_with(&self, aggregate: usize) -> bool {
        let alone = |output: &Output| matches!(output, Output::Aggregate(_) | Output::Count(_));
        let outputs = self.items.iter().map(|item| &item.output).chain(self.order.iter().map(|(by, _)| by));
        let computed = outputs.filter(|output| !alone(output)).any(|output| output.takes(aggregate));
        computed || self.having.as_ref().is_some_and(|having| having.takes(aggregate))
    }

    /// A name, a number or a text of a result, or another aggregate of the groups.
    fn by(&mut self, by: &OrderByExpr, select: &Select) -> Result<(Output, bool), QueryError> {
        let wrong = || QueryError::unsupported(format!("ORDER BY {by}, which is no result of the query,"));
        let text = by.expr.to_string();
        let named = |item: &Item| named(&by.expr).is_some_and(|name| name.eq_ignore_ascii_case(&item.name));
        let same = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr.to_string() == text,
            _ => false,
        };
        let number = whole(&by.expr).filter(|n| (1..=self.items.len()).contains(n)).map(|n| n - 1);
        let found = number.or_else(|| self.items.iter().position(named));
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
        if by.options.nulls_first.is_some() || by.with_fill.is_some() {
            return Err(wrong());
        }
        Ok((found, down))
    }

    pub(super) fn output(&mut self, expr: &Expr) -> Result<Output, QueryError> {
        let both = |op, left, right| Output::Both(op, Box::new([left, right]));
        Ok(match expr {
            Expr::Nested(inner) => self.output(inner)?,
            Expr::Function(function) => self.function(expr, function)?,
            _ if number(expr).is_some() => Output::Number(number(expr).unwrap_or(ZERO)),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                both(Arithmetic::Minus, Output::Number(ZERO), self.output(expr)?)
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
                if of.iter().any(|output| matches!(output, Output::Key(_))) {
                    let what = format!("the result {expr} (a column that is grouped by stands alone)");
                    return Err(QueryError::unsupported(what));
                }
                Output::Both(op, Box::new(of))
            }
            _ => {
                let name = named(expr).ok_or_else(|| QueryError::unsupported(format!("the result {expr}")))?;
                let key = self.keys.iter().position(|key| key.eq_ignore_ascii_case(&name));
                Output::Key(key.ok_or_else(|| {
                    let what = format!("the result {expr} (a column that is neither grouped by nor in an aggregate)");
                    QueryError::unsupported(what)
                })?)
            }
        })
    }

    fn function(&mut self, expr: &Expr, function: &Function) -> Result<Output, QueryError> {
        let other = || QueryError::unsupported(format!("the result {expr}"));
        let Function { name, args: FunctionArguments::List(list), .. } = function else { return Err(other()) };
        let [FunctionArg::Unnamed(argument)] = &list.args[..] else { return Err(other()) };
        // Only the name and the argument are accepted: no DISTINCT, FILTER or OVER.
        if expr.to_string() != format!("{name}({argument})") {
            return Err(other());
        }
        let column = |of: &Expr| {
            let wrong = || QueryError::unsupported(format!("the result {expr} (MIN and MAX are of a column)"));
            named(of).ok_or_else(wrong)
        };
        match (name.to_string().to_lowercase().as_str(), argument) {
            ("count", FunctionArgExpr::Wildcard) => Ok(self.rows()),
            ("count", FunctionArgExpr::Expr(of)) if number(of).is_some() => Ok(self.rows()),
            ("count", FunctionArgExpr::Expr(of)) => {
                let column = named(of).ok_or_else(|| {
                    let what = format!("the result {expr} (COUNT is of rows, or of a column)");
                    QueryError::unsupported(what)
                })?;
                position(&mut self.counted, column);
                Ok(self.rows())
            }
            ("sum", FunctionArgExpr::Expr(of)) => self.summed(of),
            ("avg", FunctionArgExpr::Expr(of)) if !is_case(of) => {
                let sum = self.summed(of)?;
                Ok(Output::Both(Arithmetic::Over, Box::new([sum, self.rows()])))
            }
            ("min", FunctionArgExpr::Expr(of)) => Ok(self.aggregate(Made::Least(column(of)?), None)),
            ("max", FunctionArgExpr::Expr(of)) => Ok(self.aggregate(Made::Most(column(of)?), None)),
            _ => Err(other()),
        }
    }

    fn aggregate(&mut self, of: Made, when: Option<Formula>) -> Output {
        Output::Aggregate(position(&mut self.aggregates, Aggregate { of, when }))
    }

    /// How many rows there are.
    fn rows(&mut self) -> Output {
        Output::Count(position(&mut self.aggregates, Aggregate { of: Made::Sum(Vec::new()), when: None }))
    }

    /// The sum of an expression over the rows: sums of its products.
    fn summed(&mut self, expr: &Expr) -> Result<Output, QueryError> {
        match expr {
            Expr::Nested(inner) => self.summed(inner),
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right }
                if number(left).is_none() && number(right).is_none() =>
            {
                let op = if *op == BinaryOperator::Plus { Arithmetic::Plus } else { Arithmetic::Minus };
                Ok(Output::Both(op, Box::new([self.summed(left)?, self.summed(right)?])))
            }
            Expr::Case { operand: None, conditions, else_result, .. } => {
                let what =
                    || QueryError::unsupported(format!("{expr} (CASE WHEN a condition THEN a product ELSE 0 END)"));
                let ([case], Some(other)) = (&conditions[..], else_result) else { return Err(what()) };
                if number(other).is_none_or(|n| n.mantissa != 0) {
                    return Err(what());
                }
                self.product(&case.result, Some(formula(&case.condition)?))
            }
            _ => self.product(expr, None),
        }
    }

    fn product(&mut self, expr: &Expr, when: Option<Formula>) -> Result<Output, QueryError> {
        let (mut factors, mut constants) = (Vec::new(), Vec::new());
        multiplied(expr, &mut factors, &mut constants)?;
        let times = |output, constant| Output::Both(Arithmetic::Times, Box::new([Output::Number(constant), output]));
        let sum = self.aggregate(Made::Sum(factors), when);
        let one = Decimal { mantissa: 1, digits: 0 };
        Ok(constants.into_iter().filter(|constant| *constant != one).fold(sum, times))
    }
}

const ZERO: Decimal = Decimal { mantissa: 0, digits: 0 };

fn is_case(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_case(inner),
        Expr::BinaryOp { left, right, .. } => is_case(left) || is_case(right),
        Expr::Case { .. } => true,
        _ => false,
    }
}

/// A literal whole number.
fn whole(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn multiplied(expr: &Expr, out: &mut Vec<Factor>, constants: &mut Vec<Decimal>) -> Result<(), QueryError> {
    if let Some(constant) = number(expr) {
        constants.push(constant);
        return Ok(());
    }
    match expr {
        Expr::Nested(inner) => multiplied(inner, out, constants),
        Expr::BinaryOp { left, op: BinaryOperator::Multiply, right } => {
            multiplied(left, out, constants)?;
            multiplied(right, out, constants)
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right } => {
            let minus = *op == BinaryOperator::Minus;
            let other = || {
                QueryError::unsupported(format!(
                    "the factor {expr} (a column, or a number plus or minus one; a sum of products is SUM(a * c) + \
                     SUM(b * c))"
                ))
            };
            let factor = match (number(left), named(left), number(right), named(right)) {
                (Some(constant), _, _, Some(column)) => Factor { column, constant: Some(constant), negated: minus },
                (_, Some(column), Some(constant), _) => {
                    Factor { column, constant: Some(if minus { constant.negated() } else { constant }), negated: false }
                }
                _ => return Err(other()),
            };
            out.push(factor);
            Ok(())
        }
        Expr::BinaryOp { op: BinaryOperator::Divide, .. } => Err(QueryError::unsupported(format!(
            "the factor {expr} (rows are multiplied and added; sums may be divided, SUM(a) / SUM(b), or encrypt the \
             quotient as a column)"
        ))),
        _ => {
            let column = named(expr).ok_or_else(|| QueryError::unsupported(format!("the factor {expr}")))?;
            out.push(Factor { column, constant: None, negated: false });
            Ok(())
        }
    }
}
