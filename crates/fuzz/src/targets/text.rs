//! Texts that people and other tools write: recorded programs, traces, parameter sets, machines, SQL.

use super::{Answer, stable};
use limbwise::{
    bgv::{BgvLiteral, BgvParams},
    params::{Params, ParamsLiteral},
    tfhe::{TfheLiteral, TfheParams},
    wire,
};
use limbwise_apps::query::{Nulls, Statement};
use limbwise_runtime::exchange::{heracles, replay};

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|e| e.to_string())
}

/// A recorded program without its container.
pub fn graph_file(bytes: &[u8]) -> Answer {
    stable(bytes, |b| {
        let mut text = Vec::new();
        limbwise_graph::Graph::read_jsonl(b)?.write_jsonl(&mut text)?;
        Ok::<_, limbwise_graph::GraphError>(text)
    })
}

/// A program trace of HERACLES: what is taken is replayed where that is quick, and its errors name lines of it.
pub fn op_trace(bytes: &[u8]) -> Answer {
    let trace = heracles::read(bytes).map_err(|e| e.to_string())?;
    if trace.lines.len() <= 8 && trace.log_n == 10 && trace.limbs <= 4 {
        let lines = bytes.split(|&b| b == b'\n').count();
        if let Err(error) = replay(&trace) {
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
            return Err(error.to_string());
        }
    }
    Ok(())
}

pub fn params_toml(bytes: &[u8]) -> Answer {
    let literal = toml::from_str::<ParamsLiteral>(utf8(bytes)?).map_err(|e| e.to_string())?;
    let params = Params::new(&literal).map_err(|e| e.to_string())?;
    let file = wire::write_params(Vec::new(), &params).expect("memory takes all");
    assert_eq!(wire::read_params(file).expect("what was written is taken"), params);
    Ok(())
}

pub fn tfhe_params_toml(bytes: &[u8]) -> Answer {
    let literal = toml::from_str::<TfheLiteral>(utf8(bytes)?).map_err(|e| e.to_string())?;
    let params = TfheParams::new(&literal).map_err(|e| e.to_string())?;
    let file = wire::write_tfhe_params(Vec::new(), &params).expect("memory takes all");
    assert!(wire::read_tfhe_params(file).expect("what was written is taken") == params, "other parameters");
    Ok(())
}

pub fn bgv_params_toml(bytes: &[u8]) -> Answer {
    let literal = toml::from_str::<BgvLiteral>(utf8(bytes)?).map_err(|e| e.to_string())?;
    let params = BgvParams::new(&literal).map_err(|e| e.to_string())?;
    let file = wire::write_bgv_params(Vec::new(), &params).expect("memory takes all");
    assert!(wire::read_bgv_params(file).expect("what was written is taken") == params, "other parameters");
    Ok(())
}

/// A machine as a person writes it: refused, or timed.
pub fn machine_toml(bytes: &[u8]) -> Answer {
    let spec = limbwise_machines::Spec::from_toml(utf8(bytes)?, "fuzz").map_err(|e| e.to_string())?;
    limbwise_machines::time(&limbwise_graph::Graph::default(), &spec).map(drop).map_err(|e| e.to_string())
}

/// A query: what is taken means the same when it is written in one line.
pub fn sql(bytes: &[u8]) -> Answer {
    let statement = Statement::parse(utf8(bytes)?).map_err(|e| e.to_string())?;
    let again = Statement::parse(&statement.text).map_err(|e| e.to_string());
    assert_eq!(again.as_ref(), Ok(&statement), "the query in one line is another");
    // Where its columns may have NULL, it asks more of each row, and gives as many results.
    let columns = statement.operands().iter().flat_map(|of| of.columns()).map(str::to_owned).collect();
    if let Ok(with) = Statement::with_nulls(&statement.text, Nulls(columns)) {
        assert_eq!(with.results.items.len(), statement.results.items.len(), "other results");
    }
    Ok(())
}
