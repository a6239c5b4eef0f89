//! The list as lines of JSON: a header, then an operation a line (docs/trace-format.md).

use super::ops::{Operation, Operations, What};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

pub fn write(mut out: impl Write, operations: &Operations) -> io::Result<()> {
    let Operations { log_n, limbs, special, dnum, levels, list } = operations;
    let mut header = json!({
        "format": "limbwise-operations", "version": 1, "scheme": "CKKS", "log_n": log_n, "limbs": limbs,
        "special": special, "dnum": dnum, "operations": list.len(),
    });
    if let Some(levels) = levels {
        header["levels"] = levels.iter().map(|level| level.iter().collect::<Value>()).collect();
    }
    writeln!(out, "{header}")?;
    list.iter().try_for_each(|operation| writeln!(out, "{}", line(operation)))?;
    out.flush()
}

fn line(operation: &Operation) -> Value {
    let Operation { what, op, region, out, operands } = operation;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("kind", kind(what).into());
    put("op", op.as_str().into());
    if !region.is_empty() {
        put("region", region.as_str().into());
    }
    put("out", json!(out));
    put("in", json!(operands));
    match what {
        What::Galois(g) => {
            put("galois", (*g).into());
        }
        What::RotatedSum(steps) => {
            put("steps", json!(steps));
        }
        What::LinearMap { groups, offset, rescaled } => {
            let group = |(giant, babies): &(u32, Vec<u32>)| json!({ "galois": giant, "in": babies });
            put("groups", groups.iter().map(group).collect());
            put("galois", (*offset).into());
            put("rescaled", (*rescaled).into());
        }
        _ => {}
    }
    Value::Object(fields)
}

fn kind(what: &What) -> &'static str {
    match what {
        What::Add => "add",
        What::Sub => "sub",
        What::Multiply => "multiply",
        What::Square => "square",
        What::AddPlain => "add_plain",
        What::MultiplyPlain => "multiply_plain",
        What::MultiplyRescaled => "multiply_rescaled",
        What::Combination => "combination",
        What::Relinearize => "relinearize",
        What::Rescale => "rescale",
        What::RelinearizeRescaled => "relinearize_rescaled",
        What::Galois(_) => "galois",
        What::RotatedSum(_) => "rotated_sum",
        What::LinearMap { .. } => "linear_map",
        What::ModRaise => "mod_raise",
    }
}
