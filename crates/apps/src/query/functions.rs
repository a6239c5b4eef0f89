//! Functions in results: aggregates over rows, and what the client computes from them.

use super::{
    constant::{ZERO, number},
    error::QueryError,
    formula::{Formula, formula},
    operand::{Operand, Scalar},
    products::{Product, row, single},
    question::position,
    select::{Aggregate, Arithmetic, Call, Made, Output, Results},
    table::Decimal,
};
use sqlparser::ast::{
    CastKind, DataType, DuplicateTreatment, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments,
};

/// Most decimal places that a result is rounded to.
const MOST_PLACES: i64 = 18;

/// The arguments of a function; none where it has anything that is not understood, but for DISTINCT and FILTER.
fn arguments(function: &Function) -> Option<(Vec<&FunctionArgExpr>, bool)> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let bare = Function { filter: None, ..function.clone() };
    let arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(of) => Some(of),
        _ => None,
    });
    let arguments = arguments.collect::<Option<Vec<_>>>()?;
    let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    let written = arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let written = format!("{}({}{written})", bare.name, if distinct { "DISTINCT " } else { "" });
    (bare.to_string() == written).then_some((arguments, distinct))
}

impl Results {
    pub(super) fn function(&mut self, expr: &Expr, function: &Function) -> Result<Output, QueryError> {
        let other = || QueryError::unsupported(format!("the result {expr}"));
        let name = function.name.to_string().to_lowercase();
        let (arguments, distinct) = arguments(function).ok_or_else(other)?;
        if !AGGREGATES.contains(&&name[..]) {
            if distinct || function.filter.is_some() {
                return Err(other());
            }
            return self.call(expr, &name, &arguments);
        }
        let [argument] = arguments[..] else { return Err(other()) };
        let filter = function.filter.as_ref().map(|filter| formula(filter)).transpose()?;
        let rows: Vec<Formula> = filter.into_iter().collect();
        match (&name[..], argument, distinct) {
            ("count", FunctionArgExpr::Expr(of), true) => self.different(expr, of, rows),
            (_, _, true) => Err(other()),
            ("count", FunctionArgExpr::Wildcard, _) => Ok(self.rows(rows)),
            ("count", FunctionArgExpr::Expr(of), _) => self.count(of, rows),
            ("sum", FunctionArgExpr::Expr(of), _) => Ok(self.summed(of, rows)?.0),
            ("avg", FunctionArgExpr::Expr(of), _) => {
                let (sum, rows) = self.summed(of, rows)?;
                Ok(Output::both(Arithmetic::Over, sum, self.rows(rows)))
            }
            ("min", FunctionArgExpr::Expr(of), _) => self.end(expr, of, rows, Made::Least),
            ("max", FunctionArgExpr::Expr(of), _) => self.end(expr, of, rows, Made::Most),
            (_, FunctionArgExpr::Expr(of), _) => self.spread(&name, of, rows),
            _ => Err(other()),
        }
    }

    fn aggregate(&mut self, of: Made, when: Vec<Formula>) -> usize {
        position(&mut self.aggregates, Aggregate { of, when: Formula::all(when) })
    }

    /// How many rows there are that satisfy all of these.
    pub(super) fn rows(&mut self, when: Vec<Formula>) -> Output {
        Output::Count(self.aggregate(Made::Sum(Vec::new()), when))
    }

    /// A result that is NULL where no row satisfies these.
    fn only(&mut self, when: Vec<Formula>, output: Output) -> Output {
        match when.is_empty() {
            true => output,
            false => Output::Where(self.aggregate(Made::Sum(Vec::new()), when), Box::new(output)),
        }
    }

    fn count(&mut self, of: &Expr, mut when: Vec<Formula>) -> Result<Output, QueryError> {
        if number(of).is_some() {
            return Ok(self.rows(when));
        }
        // The rows of a CASE are found by the server.
        let alone = Operand::read(of).filter(|operand| !matches!(operand.value, Some(Scalar::Case(_))));
        let (operands, defined): (Vec<Operand>, Vec<Formula>) = match alone {
            Some(operand) => {
                let known = self.nulls.known(&operand).into_iter().collect();
                (vec![operand], known)
            }
            None => {
                let of = row(of, &self.nulls)?;
                let factors = of.products.into_iter().flat_map(|product| product.factors);
                (factors.map(|factor| factor.operand).collect(), of.defined)
            }
        };
        for operand in operands {
            for column in operand.columns().into_iter().filter(|column| !self.nulls.has(column)) {
                position(&mut self.counted, column.to_owned());
            }
        }
        when.extend(defined);
        Ok(self.rows(when))
    }

    /// The sum of an expression over rows, and what they satisfy: sums of its products.
    fn summed(&mut self, expr: &Expr, mut when: Vec<Formula>) -> Result<(Output, Vec<Formula>), QueryError> {
        let row = row(expr, &self.nulls)?;
        when.extend(row.defined);
        let mut all: Option<Output> = None;
        for product in row.products {
            let negated = product.negated;
            let sum = self.product(product, &when);
            all = Some(match (all, negated) {
                (None, false) => sum,
                (None, true) => Output::both(Arithmetic::Minus, Output::Number(ZERO), sum),
                (Some(all), _) => Output::both(if negated { Arithmetic::Minus } else { Arithmetic::Plus }, all, sum),
            });
        }
        let all = all.unwrap_or(Output::Number(ZERO));
        Ok((self.only(when.clone(), all), when))
    }

    fn product(&mut self, product: Product, rows: &[Formula]) -> Output {
        let when = [rows, &product.when].concat();
        let sum = Output::Aggregate(self.aggregate(Made::Sum(product.factors), when));
        let one = Decimal { mantissa: 1, digits: 0 };
        let times = product.times.into_iter().filter(|number| *number != one);
        let sum = times.fold(sum, |sum, number| Output::both(Arithmetic::Times, Output::Number(number), sum));
        product.over.into_iter().fold(sum, |sum, by| Output::both(Arithmetic::Over, sum, Output::Number(by)))
    }

    fn end(
        &mut self,
        whole: &Expr,
        of: &Expr,
        mut when: Vec<Formula>,
        made: fn(Operand) -> Made,
    ) -> Result<Output, QueryError> {
        let wrong = || {
            let what = "MIN and MAX are of a column, of what is computed from columns, or of CASE WHEN ... THEN a END";
            QueryError::unsupported(format!("the result {whole} ({what})"))
        };
        let (operand, rows) = single(of, &self.nulls).ok_or_else(wrong)?;
        when.extend(rows);
        let end = Output::Aggregate(self.aggregate(made(operand), when.clone()));
        Ok(self.only(when, end))
    }

    /// COUNT(DISTINCT ...): how many values there are.
    fn different(&mut self, whole: &Expr, of: &Expr, mut when: Vec<Formula>) -> Result<Output, QueryError> {
        let (operand, rows) =
            single(of, &self.nulls).ok_or_else(|| QueryError::unsupported(format!("the result {whole}")))?;
        when.extend(rows);
        Ok(Output::Count(self.aggregate(Made::Different(operand), when)))
    }

    /// Variance and standard deviation, from the sums of values and of their squares.
    fn spread(&mut self, name: &str, of: &Expr, rows: Vec<Formula>) -> Result<Output, QueryError> {
        let square = |of: &Expr| Expr::BinaryOp {
            left: Box::new(Expr::Nested(Box::new(of.clone()))),
            op: sqlparser::ast::BinaryOperator::Multiply,
            right: Box::new(Expr::Nested(Box::new(of.clone()))),
        };
        let (squares, when) = self.summed(&square(of), rows.clone())?;
        let (sum, _) = self.summed(of, rows)?;
        let count = self.rows(when);
        let both = Output::both;
        let mean = both(Arithmetic::Over, both(Arithmetic::Times, sum.clone(), sum), count.clone());
        let less = Output::Number(Decimal { mantissa: 1, digits: 0 });
        let of = if name.ends_with("_pop") { count } else { both(Arithmetic::Minus, count, less) };
        let variance = both(Arithmetic::Over, both(Arithmetic::Minus, squares, mean), of);
        Ok(if name.starts_with("var") { variance } else { Output::Call(Call::Root, vec![variance]) })
    }

    /// What the client computes from results.
    fn call(&mut self, whole: &Expr, name: &str, arguments: &[&FunctionArgExpr]) -> Result<Output, QueryError> {
        let other = || QueryError::unsupported(format!("the result {whole}"));
        let expr = |argument: &&FunctionArgExpr| match argument {
            FunctionArgExpr::Expr(expr) => Some(expr.clone()),
            _ => None,
        };
        let of = arguments.iter().map(expr).collect::<Option<Vec<Expr>>>().ok_or_else(other)?;
        let (call, of) = match (name, &of[..]) {
            ("abs", [_]) => (Call::Absolute, &of[..]),
            ("sqrt", [_]) => (Call::Root, &of[..]),
            ("coalesce", [_, ..]) => (Call::First, &of[..]),
            ("nullif", [_, _]) => (Call::UnlessEqual, &of[..]),
            ("round", [of]) => (Call::Rounded(0), std::slice::from_ref(of)),
            ("round", [of, places]) => (Call::Rounded(places_of(places).ok_or_else(other)?), std::slice::from_ref(of)),
            // A column that is computed, and grouped by.
            _ => return self.key(whole).ok_or_else(other),
        };
        self.called(whole, call, of)
    }

    /// A result of a function of results, none of which is a column that is grouped by.
    pub(super) fn called(&mut self, whole: &Expr, call: Call, of: &[Expr]) -> Result<Output, QueryError> {
        if let Some(key) = self.key(whole) {
            return Ok(key);
        }
        let of = of.iter().map(|expr| self.output(expr)).collect::<Result<Vec<_>, _>>()?;
        self.computed(whole, &of)?;
        Ok(Output::Call(call, of))
    }

    /// Fails for a column that is grouped by in arithmetic.
    pub(super) fn computed(&self, whole: &Expr, of: &[Output]) -> Result<(), QueryError> {
        if of.iter().any(|output| matches!(output, Output::Key(_))) {
            let what = format!("the result {whole} (a column that is grouped by stands alone)");
            return Err(QueryError::unsupported(what));
        }
        Ok(())
    }

    /// A cast: numbers are as exact as they are, so that only a cast to so many decimal places changes one.
    pub(super) fn cast(&mut self, whole: &Expr) -> Result<Output, QueryError> {
        let other = || QueryError::unsupported(format!("the result {whole}"));
        let Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, format: None } = whole else {
            return Err(other());
        };
        match data_type {
            DataType::Double(_) | DataType::DoublePrecision | DataType::Float(_) | DataType::Real => {
                let output = self.output(expr)?;
                self.computed(whole, std::slice::from_ref(&output))?;
                Ok(output)
            }
            DataType::Decimal(ExactNumberInfo::PrecisionAndScale(_, places))
            | DataType::Numeric(ExactNumberInfo::PrecisionAndScale(_, places)) => {
                let places = Some(*places).filter(|places| (0..=MOST_PLACES).contains(places)).ok_or_else(other)?;
                let places = i32::try_from(places).map_err(|_| other())?;
                self.called(whole, Call::Rounded(places), std::slice::from_ref(expr))
            }
            _ => Err(other()),
        }
    }
}

const AGGREGATES: [&str; 11] =
    ["count", "sum", "avg", "min", "max", "var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"];

/// Decimal places to round to; before the point where they are negative.
fn places_of(expr: &Expr) -> Option<i32> {
    let (places, true) = number(expr)?.floor_in(0) else { return None };
    i32::try_from(places).ok().filter(|places| i64::from(places.abs()) <= MOST_PLACES)
}
