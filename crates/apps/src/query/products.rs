//! What SUM, AVG and COUNT are of, as sums of products: each product has factors, numbers, and the rows that it is for.
//!
//! The server multiplies and adds columns; CASE chooses the rows of a product. Quotients by numbers, and numbers that
//! multiply, are the client's.

use super::{
    constant::{Constant, ZERO, constant, number},
    error::QueryError,
    formula::{Formula, equal, formula},
    nulls::Nulls,
    operand::{Operand, Scalar, named, scalar},
    table::Decimal,
};
use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, UnaryOperator, Value};

/// Most products of an expression: each is a sum under encryption.
const MOST_PRODUCTS: usize = 32;
/// Most factors, numbers and conditions of all of them: a short text may name very many (`POWER(POWER(…))`).
const MOST_PARTS: usize = 1024;

/// A factor of a product: what a row has, or a constant plus or minus it.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    pub operand: Operand,
    pub constant: Option<Decimal>,
    /// The operand is subtracted from it.
    pub negated: bool,
}

/// A product of a sum.
#[derive(Clone, Debug, Default)]
pub(super) struct Product {
    pub factors: Vec<Factor>,
    /// Numbers that it is multiplied by.
    pub times: Vec<Decimal>,
    /// Numbers that it is divided by.
    pub over: Vec<Decimal>,
    /// It is subtracted.
    pub negated: bool,
    /// What the rows satisfy that it is for.
    pub when: Vec<Formula>,
}

/// An expression of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub products: Vec<Product>,
    /// What the rows satisfy that have a value: a column may have NULL, and CASE without ELSE has no value of other rows.
    pub defined: Vec<Formula>,
}

impl Row {
    fn factor(operand: Operand, nulls: &Nulls) -> Self {
        Self::of(Factor { operand, constant: None, negated: false }, nulls)
    }

    fn of(factor: Factor, nulls: &Nulls) -> Self {
        let defined = nulls.known(&factor.operand).into_iter().collect();
        let product = Product { factors: vec![factor], ..Product::default() };
        Self { products: vec![product], defined }
    }

    fn constant(value: Decimal) -> Self {
        let product = Product { times: vec![value], ..Product::default() };
        Self { products: vec![product], defined: Vec::new() }
    }

    /// Factors, numbers and conditions.
    fn parts(&self) -> usize {
        let sizes = |of: &[Formula]| of.iter().map(Formula::size).sum::<usize>();
        let own = |of: &Product| of.factors.len() + of.times.len() + of.over.len() + sizes(&of.when);
        self.products.iter().map(own).sum::<usize>() + sizes(&self.defined)
    }

    fn negated(mut self) -> Self {
        self.products.iter_mut().for_each(|product| product.negated = !product.negated);
        self
    }

    fn plus(mut self, other: Self) -> Self {
        self.products.extend(other.products);
        self.defined.extend(other.defined);
        self
    }

    fn times(self, other: &Self) -> Self {
        let product = |(a, b): (&Product, &Product)| Product {
            factors: [&a.factors[..], &b.factors].concat(),
            times: [&a.times[..], &b.times].concat(),
            over: [&a.over[..], &b.over].concat(),
            negated: a.negated != b.negated,
            when: [&a.when[..], &b.when].concat(),
        };
        let pairs = self.products.iter().flat_map(|a| other.products.iter().map(move |b| (a, b)));
        let products = pairs.take(MOST_PRODUCTS + 1).map(product).collect();
        Self { products, defined: [self.defined, other.defined.clone()].concat() }
    }
}

/// An expression of a row as a sum of products.
pub(super) fn row(expr: &Expr, nulls: &Nulls) -> Result<Row, QueryError> {
    let mut row = read(expr, nulls)?;
    let is_zero = |product: &Product| product.times.iter().any(|number| number.mantissa == 0);
    if row.products.iter().all(is_zero) {
        row.products.truncate(1);
    } else {
        row.products.retain(|product| !is_zero(product));
    }
    within(expr, row)
}

fn within(expr: &Expr, row: Row) -> Result<Row, QueryError> {
    if row.products.len() <= MOST_PRODUCTS && row.parts() <= MOST_PARTS {
        return Ok(row);
    }
    let limits = format!("more than {MOST_PRODUCTS} products, or {MOST_PARTS} factors and conditions");
    let what = format!("{expr}, which is a sum of {limits} (encrypt a part of it as a column),");
    Err(QueryError::unsupported(what))
}

fn read(expr: &Expr, nulls: &Nulls) -> Result<Row, QueryError> {
    if let Some(value) = number(expr) {
        return Ok(Row::constant(value));
    }
    match expr {
        Expr::Nested(inner) => read(inner, nulls),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(read(expr, nulls)?.negated()),
        Expr::BinaryOp { left, op, right } => binary(expr, (left, op, right), nulls),
        Expr::Case { operand, conditions, else_result, .. } => {
            chosen(expr, (operand.as_deref(), conditions, else_result.as_deref()), nulls)
        }
        Expr::Function(function) if ["pow", "power"].contains(&&function.name.to_string().to_lowercase()[..]) => {
            power(expr, nulls)
        }
        _ => operand(expr, nulls),
    }
}

/// A column, or what its owner computes where the server cannot.
fn operand(expr: &Expr, nulls: &Nulls) -> Result<Row, QueryError> {
    let wrong = || QueryError::unsupported(format!("the factor {expr}"));
    Operand::read(expr).map(|operand| Row::factor(operand, nulls)).ok_or_else(wrong)
}

fn binary(whole: &Expr, (left, op, right): (&Expr, &BinaryOperator, &Expr), nulls: &Nulls) -> Result<Row, QueryError> {
    let minus = *op == BinaryOperator::Minus;
    match op {
        BinaryOperator::Plus | BinaryOperator::Minus => {
            let factor = |name: String, constant, negated| {
                let operand = Operand::of(Scalar::Column(name));
                Row::of(Factor { operand, constant: Some(constant), negated }, nulls)
            };
            match (number(left), named(left), number(right), named(right)) {
                (Some(constant), _, _, Some(column)) => Ok(factor(column, constant, minus)),
                (_, Some(column), Some(constant), _) => {
                    Ok(factor(column, if minus { constant.negated() } else { constant }, false))
                }
                // Of dates a difference is all that there is.
                (_, Some(_), _, Some(_)) if minus => operand(whole, nulls),
                _ if minus && (is_date(left) || is_date(right)) => operand(whole, nulls),
                _ => {
                    let other = read(right, nulls)?;
                    within(whole, read(left, nulls)?.plus(if minus { other.negated() } else { other }))
                }
            }
        }
        BinaryOperator::Multiply => within(whole, read(left, nulls)?.times(&read(right, nulls)?)),
        BinaryOperator::Divide => {
            let by = number(right).filter(|by| by.mantissa != 0).ok_or_else(|| {
                QueryError::unsupported(format!(
                    "the factor {whole} (rows are multiplied and added; sums may be divided, SUM(a) / SUM(b), or encrypt \
                     the quotient as a column)"
                ))
            })?;
            let mut row = read(left, nulls)?;
            row.products.iter_mut().for_each(|product| product.over.push(by));
            Ok(row)
        }
        _ => operand(whole, nulls),
    }
}

fn is_date(expr: &Expr) -> bool {
    matches!(constant(expr), Some(Constant::Date(_)))
}

/// A power with a small exponent.
fn power(expr: &Expr, nulls: &Nulls) -> Result<Row, QueryError> {
    let wrong = || QueryError::unsupported(format!("the factor {expr} (an exponent is 1, 2, 3 or 4)"));
    let Expr::Function(function) = expr else { return Err(wrong()) };
    let [base, exponent] = arguments(function).ok_or_else(wrong)?;
    let exponent = number(exponent).filter(|number| number.digits == 0 && (1..=4).contains(&number.mantissa));
    let exponent = exponent.ok_or_else(wrong)?.mantissa;
    let base = read(base, nulls)?;
    (1..exponent).try_fold(base.clone(), |all, _| within(expr, all.times(&base)))
}

/// The two arguments of a function that has nothing else.
fn arguments(function: &sqlparser::ast::Function) -> Option<[&Expr; 2]> {
    use sqlparser::ast::{FunctionArg, FunctionArgExpr, FunctionArguments};
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(a)), FunctionArg::Unnamed(FunctionArgExpr::Expr(b))] =
        &list.args[..]
    else {
        return None;
    };
    (function.to_string() == format!("{}({a}, {b})", function.name)).then_some([a, b])
}

/// What CASE chooses: each branch for the rows that satisfy its condition and none before it.
fn chosen(
    whole: &Expr,
    (of, cases, otherwise): (Option<&Expr>, &[CaseWhen], Option<&Expr>),
    nulls: &Nulls,
) -> Result<Row, QueryError> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Value(value) if value.value == Value::Null);
    let (mut all, mut earlier, mut defined) = (Row::default(), Vec::<Formula>::new(), Vec::new());
    let mut everywhere = true;
    let mut branch = |expr: Option<&Expr>, rows: Vec<Formula>| {
        let Some(expr) = expr.filter(|expr| !is_null(expr)) else {
            everywhere = false;
            return Ok(());
        };
        let inner = read(expr, nulls)?;
        everywhere &= inner.defined.is_empty();
        defined.push(Formula::All([&rows[..], &inner.defined].concat()));
        all.products.extend(
            inner.products.into_iter().map(|product| Product { when: [&rows[..], &product.when].concat(), ..product }),
        );
        Ok::<(), QueryError>(())
    };
    for case in cases {
        let condition = match of {
            Some(of) => equal(whole, of, &case.condition)?,
            None => formula(&case.condition)?,
        };
        branch(Some(&case.result), earlier.iter().cloned().chain([condition.clone()]).collect())?;
        earlier.push(condition.unless());
    }
    branch(otherwise, earlier)?;
    if !everywhere {
        all.defined.push(Formula::Any(defined));
    }
    if all.products.is_empty() {
        all.products.push(Product { times: vec![ZERO], ..Product::default() });
    }
    within(whole, all)
}

/// What MIN, MAX and COUNT(DISTINCT ...) are of, and the rows that have it.
pub(super) fn single(expr: &Expr, nulls: &Nulls) -> Option<(Operand, Vec<Formula>)> {
    let (operand, mut rows) = selected(expr)?;
    rows.extend(nulls.known(&operand));
    Some((operand, rows))
}

fn selected(expr: &Expr) -> Option<(Operand, Vec<Formula>)> {
    match expr {
        Expr::Nested(inner) => selected(inner),
        // The server finds the rows of a CASE that only chooses; another one is its owner's.
        Expr::Case { operand: None, conditions, else_result: None, .. } if conditions.len() == 1 => {
            Some((Operand::read(&conditions[0].result)?, vec![formula(&conditions[0].condition).ok()?]))
        }
        _ => scalar(expr).filter(|of| !matches!(of, Scalar::Constant(_))).map(|of| (Operand::of(of), Vec::new())),
    }
}
