//! Operations on ciphertexts: what the text calls them, and what its types say of their results.

use super::{
    constant::{self, Handle},
    text::{Module, Op, Read},
    value::Value,
};
use std::sync::Arc;

/// What a type says of a ciphertext or plaintext.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nominal {
    /// Level by its modulus chain; `None` for a plaintext.
    pub level: Option<usize>,
    /// log₂ of its scale.
    pub log_scale: u32,
}

/// An operation on ciphertexts.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Add,
    Sub,
    Mul,
    AddPlain,
    /// Ciphertext minus plaintext.
    SubPlain,
    /// Plaintext minus ciphertext.
    PlainSub,
    MulPlain,
    Negate,
    /// Slots to the left.
    Rotate(i64),
    Relinearize,
    Rescale,
    LevelReduce,
    Bootstrap,
    Chebyshev {
        coefficients: Arc<[f64]>,
        from: f64,
        to: f64,
    },
}

#[derive(Clone, Debug)]
pub struct Step {
    pub line: usize,
    pub act: Act,
    /// Ciphertexts: inputs first, then the results of the steps before.
    pub operands: Vec<u32>,
    pub plain: Option<u32>,
    /// What the text says of the result.
    pub nominal: Nominal,
}

impl Step {
    /// The level that the text gives the result.
    pub(super) fn level(&self) -> usize {
        self.nominal.level.unwrap_or(0)
    }
}

/// An encoded vector, before it is encoded.
#[derive(Clone, Debug)]
pub struct Plain {
    pub values: Arc<[f64]>,
    pub log_scale: u32,
}

impl Act {
    /// Its name in the dialect.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::AddPlain => "add_plain",
            Self::SubPlain | Self::PlainSub => "sub_plain",
            Self::MulPlain => "mul_plain",
            Self::Negate => "negate",
            Self::Rotate(_) => "rotate",
            Self::Relinearize => "relinearize",
            Self::Rescale => "rescale",
            Self::LevelReduce => "level_reduce",
            Self::Bootstrap => "bootstrap",
            Self::Chebyshev { .. } => "eval_chebyshev",
        }
    }
}

/// The act of an operation of `ckks`, or of `lwe` by its other name, with its ciphertexts and its plaintext.
pub(super) fn act(op: &Op<'_>, operands: &[Value]) -> Read<(Act, Vec<u32>, Option<u32>)> {
    let wrong = |e: String| op.wrong(e);
    let short = op.name.strip_prefix("ckks.").or_else(|| op.name.strip_prefix("lwe.r"));
    let ciphers = |count: usize| -> Read<Vec<u32>> {
        match operands.len() == count {
            true => operands.iter().map(|value| value.cipher().map_err(wrong)).collect(),
            false => Err(op.wrong(format!("{} operands, wanted {count}", operands.len()))),
        }
    };
    let with_plain = |act: Act, other: Option<Act>| match (operands, other) {
        ([a @ Value::Handle(Handle::Cipher(_)), p], _) => {
            Ok((act, vec![a.cipher().map_err(wrong)?], Some(p.plain().map_err(wrong)?)))
        }
        ([p @ Value::Handle(Handle::Plain(_)), a], Some(other)) => {
            Ok((other, vec![a.cipher().map_err(wrong)?], Some(p.plain().map_err(wrong)?)))
        }
        _ => Err(op.wrong("wanted a ciphertext and a plaintext")),
    };
    let done = |act: Act, count: usize| Ok((act, ciphers(count)?, None));
    match short {
        Some("add") => done(Act::Add, 2),
        Some("sub") => done(Act::Sub, 2),
        Some("mul") => done(Act::Mul, 2),
        Some("negate") => done(Act::Negate, 1),
        Some("relinearize") => done(Act::Relinearize, 1),
        Some("rescale") => done(Act::Rescale, 1),
        Some("level_reduce") => done(Act::LevelReduce, 1),
        Some("bootstrap") => done(Act::Bootstrap, 1),
        Some("add_plain") => with_plain(Act::AddPlain, Some(Act::AddPlain)),
        Some("sub_plain") => with_plain(Act::SubPlain, Some(Act::PlainSub)),
        Some("mul_plain") => with_plain(Act::MulPlain, Some(Act::MulPlain)),
        Some("rotate") => {
            let (steps, moved) = match operands {
                [a, steps] => (steps.whole().map_err(wrong)?, a),
                [a] => (shift(op)?, a),
                _ => return Err(op.wrong("wanted a ciphertext, and a shift")),
            };
            Ok((Act::Rotate(steps), vec![moved.cipher().map_err(wrong)?], None))
        }
        _ if op.name == "kernel.eval_chebyshev" => {
            let text = op.needs("coefficients")?;
            let coefficients = constant::reals(text).filter(|all| !all.is_empty());
            let coefficients =
                coefficients.ok_or_else(|| op.wrong(format!("coefficients = {text}; wanted finite numbers")))?;
            let [from, to] = domain(op)?;
            done(Act::Chebyshev { coefficients: coefficients.into(), from, to }, 1)
        }
        _ => Err(op.wrong("an operation that is not read (docs/guide/bring-your-program.md lists those that are)")),
    }
}

fn shift(op: &Op<'_>) -> Read<i64> {
    let named = ["static_shift", "offset", "shift"].into_iter().find(|name| op.attribute(name).is_some());
    constant::integer(op, named.unwrap_or("static_shift"))
}

/// The interval of a series: [−1, 1] where nothing is said.
fn domain(op: &Op<'_>) -> Read<[f64; 2]> {
    let side = |name: &str, usual: f64| match op.attribute(name) {
        None => Ok(usual),
        Some(text) => {
            let number = text.split(':').next().unwrap_or("").trim().parse();
            number.map_err(|_| op.wrong(format!("{name} = {text}; wanted a number")))
        }
    };
    let [from, to] = match op.attribute("domain").and_then(constant::reals).as_deref() {
        Some([from, to]) => [*from, *to],
        _ => [side("domain_lower", -1.0)?, side("domain_upper", 1.0)?],
    };
    match from < to && (to - from).is_finite() {
        true => Ok([from, to]),
        false => Err(op.wrong(format!("the interval from {from} to {to}"))),
    }
}

/// Level and scale in the text of a type, through its aliases.
pub(super) fn nominal(module: &Module<'_>, text: &str) -> Option<Nominal> {
    let whole = module.resolved(text);
    if !whole.contains("lwe_ciphertext") && !whole.contains("lwe_plaintext") {
        return None;
    }
    let number = |text: &str| text.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok();
    let level = part(module, whole, "modulus_chain = ").and_then(|chain| number(after(chain, "current = ")?));
    let space = part(module, whole, "plaintext_space = ")?;
    let scale = number(after(part(module, space, "encoding = ")?, "scaling_factor = ")?)?;
    // Older versions have the scale itself in the place of its logarithm.
    let log_scale = if scale < 1024 { u32::try_from(scale).ok()? } else { scale.ilog2() };
    Some(Nominal { level: level.and_then(|level| usize::try_from(level).ok()), log_scale })
}

fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.find(key).map(|at| &text[at + key.len()..])
}

/// What follows a key: a text that stands there, or the alias that it names.
fn part<'a>(module: &'a Module<'_>, text: &'a str, key: &str) -> Option<&'a str> {
    let rest = after(text, key)?.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "#!_.$".contains(c))).unwrap_or(rest.len());
    Some(module.aliases.get(&rest[..end]).copied().unwrap_or(rest))
}
