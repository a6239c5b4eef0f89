//! The operator Attention: scores of queries and keys, a softmax, and what it mixes of values.

use super::{
    Taken,
    builder::{Builder, Tensor, size},
    operators::{Attributes, needed},
    pointwise::{function, joined},
    refuse,
    shapes::{beside, transposed},
    softmax::softmax_along,
    windows::{last_turned, matmul},
};
use crate::network::function::{Expression, Joined, Named};

/// Added to what takes no part: ONNX's minus infinity, as constants have it.
const NOTHING: f64 = -(f32::MAX as f64);

/// Heads of a tensor of three sides, heads × tokens behind the samples; one of four sides has them.
fn heads(b: &mut Builder, x: &Tensor, count: i64) -> Taken<Tensor> {
    match x.shape[..] {
        [_, _, _, _] => Ok(x.clone()),
        [samples, tokens, width] => match usize::try_from(count) {
            Ok(count) if count > 0 && width % count == 0 => {
                transposed(b, &x.reshaped(vec![samples, tokens, count, width / count]), &[0, 2, 1, 3])
            }
            _ => refuse(format!("{count} heads of {width} numbers"), "q_num_heads and kv_num_heads that divide them"),
        },
        _ => refuse(format!("a tensor of {:?}", x.shape), "three or four sides"),
    }
}

/// Heads of keys or values, each as often as queries share it.
fn repeated(b: &mut Builder, x: &Tensor, heads: usize) -> Taken<Tensor> {
    let [samples, own, tokens, width] = x.shape[..] else { return refuse("heads of other sides", "four") };
    if heads == own {
        return Ok(x.clone());
    }
    if !heads.is_multiple_of(own) {
        return refuse(format!("{heads} heads of queries for {own} of keys"), "a multiple");
    }
    let all = [samples, own, heads / own, tokens, width];
    let repeated = b.broadcast(&x.reshaped(vec![samples, own, 1, tokens, width]), &all)?;
    Ok(repeated.reshaped(vec![samples, heads, tokens, width]))
}

/// What a causal attention or one in a window adds to scores, for so many tokens before the first query.
fn windowed(attributes: Attributes<'_>, [queries, keys]: [usize; 2], before: i64) -> Option<Tensor> {
    let causal = attributes.int("is_causal", 0) != 0;
    let [left, right] = ["left_window_size", "right_window_size"].map(|name| attributes.int(name, -1));
    if !causal && left < 0 && right < 0 {
        return None;
    }
    let takes_part = |query: i64, key: i64| {
        let ahead = key - query - before;
        !(causal && ahead > 0) && (left < 0 || -ahead <= left) && (right < 0 || ahead <= right)
    };
    let number = |at: usize| if takes_part((at / keys) as i64, (at % keys) as i64) { 0.0 } else { NOTHING };
    Some(Tensor::constant(vec![queries, keys], (0..queries * keys).map(number).collect()))
}

/// What a mask adds: numbers as they are; of truths, nothing where they hold.
fn masked(mask: &Tensor, keys: usize, are_truths: bool) -> Taken<Tensor> {
    let last = mask.shape.last().copied().unwrap_or(1);
    if last != keys && last != 1 {
        return refuse(format!("a mask of {:?} for {keys} keys", mask.shape), "a number for each");
    }
    let truth = |&x: &f64| if x == 0.0 { NOTHING } else { 0.0 };
    match mask.numbers() {
        _ if !are_truths => Ok(mask.clone()),
        Some(numbers) => Ok(Tensor::constant(mask.shape.clone(), numbers.iter().map(truth).collect())),
        None => refuse("a mask of encrypted truths", "a constant, or numbers that are added"),
    }
}

/// Keys or values behind those of earlier tokens.
fn behind(b: &mut Builder, x: Tensor, past: Option<&Tensor>) -> Taken<Tensor> {
    let Some(past) = past else { return Ok(x) };
    let apart =
        |x: &Tensor| x.shape.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, side)| *side).collect::<Vec<_>>();
    if past.shape.len() != 4 || apart(past) != apart(&x) {
        return refuse(format!("{:?} before {:?}", past.shape, x.shape), "heads of the same sides");
    }
    beside(b, &[past, &x], 2)
}

pub(super) fn attention(b: &mut Builder, attributes: Attributes<'_>, inputs: &[Option<Tensor>]) -> Taken<Vec<Tensor>> {
    let of = |at: usize| inputs.get(at).and_then(Option::as_ref);
    if of(6).is_some() {
        return refuse("nonpad_kv_seqlen", "keys and values without padding");
    }
    let whole = needed(inputs, 0)?.shape.len() == 3;
    let queries = heads(b, needed(inputs, 0)?, attributes.int("q_num_heads", 0))?;
    let own = attributes.int("kv_num_heads", 0);
    let (keys, values) = (heads(b, needed(inputs, 1)?, own)?, heads(b, needed(inputs, 2)?, own)?);
    let (keys, values) = (behind(b, keys, of(4))?, behind(b, values, of(5))?);
    let [samples, count, rows, width] = queries.shape[..] else { return refuse("queries of other sides", "four") };
    let (all_keys, all_values) = (repeated(b, &keys, count)?, repeated(b, &values, count)?);
    let scale = attributes.float("scale", 1.0 / (width as f64).sqrt());
    let turned = last_turned(b, &all_keys)?;
    let raw = matmul(b, &queries, &turned)?;
    let mut scores = b.times(&raw, scale)?;
    let softcap = attributes.float("softcap", 0.0);
    let mut outputs = vec![scores.clone()];
    if softcap > 0.0 {
        let bent = Expression::X.by(Joined::Mul, 1.0 / softcap).of(Named::Tanh).by(Joined::Mul, softcap);
        scores = function(b, &scores, &bent)?;
    }
    outputs.push(scores.clone());
    let columns = scores.shape[3];
    let before = of(4).map_or(0, |past| past.shape.get(2).copied().unwrap_or(0));
    let window = windowed(attributes, [rows, columns], i64::try_from(before).unwrap_or(i64::MAX));
    let are_truths = b.truths.get(3).is_some_and(|&are| are);
    let mask = of(3).map(|mask| masked(mask, columns, are_truths)).transpose()?;
    for added in mask.iter().chain(&window) {
        scores = joined(b, Joined::Add, &scores, added)?;
    }
    outputs.push(scores.clone());
    let shares = softmax_along(b, &scores, 3)?;
    let mixed = matmul(b, &shares, &all_values)?;
    outputs.push(shares);
    let mode = usize::try_from(attributes.int("qk_matmul_output_mode", 0)).unwrap_or(usize::MAX);
    let result = match whole {
        true => {
            let wide = size(&[count, mixed.shape[3]])?;
            transposed(b, &mixed, &[0, 2, 1, 3])?.reshaped(vec![samples, rows, wide])
        }
        false => mixed,
    };
    match outputs.into_iter().nth(mode) {
        Some(scores) => Ok(vec![result, keys, values, scores]),
        None => refuse(format!("qk_matmul_output_mode {mode}"), "0 to 3"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Writer, int};

    /// One head of two numbers: causal attention over three tokens, by its definition.
    #[test]
    fn attention_is_its_definition() {
        let x = [0.5, -1.0, 2.0, 0.25, -0.75, 1.5];
        let attributes = || vec![int("q_num_heads", 1), int("kv_num_heads", 1), int("is_causal", 1)];
        let network = Writer::new(&[1, 3, 2]).node("Attention", &["x", "x", "x"], "y", attributes()).read().unwrap();
        let got = network.outputs(&network.exact(&x));
        for row in 0..3 {
            let of = |at: usize| [x[2 * at], x[2 * at + 1]];
            let score = |at: usize| (of(row)[0] * of(at)[0] + of(row)[1] * of(at)[1]) / 2f64.sqrt();
            let sum: f64 = (0..=row).map(|at| score(at).exp()).sum();
            for column in 0..2 {
                let wanted: f64 = (0..=row).map(|at| score(at).exp() / sum * of(at)[column]).sum();
                assert!((got[2 * row + column] - wanted).abs() < 1e-9, "{row} {column}: {got:?}");
            }
        }
        // A mask of truths leaves keys out, also all of them; one of numbers is added, though they are ones and zeros.
        let shares = |mask: &[f32], truths: bool| {
            let graph = Writer::new(&[1, 3, 2]).floats("m", &[3, 3], mask);
            let (graph, mask) = match truths {
                true => (graph.node("Cast", &["m"], "t", vec![int("to", 9)]), "t"),
                false => (graph, "m"),
            };
            let heads = vec![int("q_num_heads", 1), int("kv_num_heads", 1)];
            let network = graph.node("Attention", &["x", "x", "x", mask], "y", heads).read().unwrap();
            network.outputs(&network.exact(&x))
        };
        let lower = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near(&shares(&lower, true), &got));
        assert!(near(&shares(&[0.0; 9], true), &[0.0; 6]));
        assert!(near(&shares(&[1.0; 9], false), &shares(&[0.0; 9], false)));
        assert!(!near(&shares(&lower, false), &got) && !near(&shares(&[0.0; 9], false), &[0.0; 6]));
        let wrong = Writer::new(&[1, 3, 2]).node("Attention", &["x", "x", "x"], "y", vec![int("q_num_heads", 3)]);
        assert!(wrong.refused().contains("3 heads of 2 numbers"));
        let padded = Writer::new(&[1, 3, 2]).whole("n", &[2]).node(
            "Attention",
            &["x", "x", "x", "", "", "", "n"],
            "y",
            attributes(),
        );
        assert!(padded.refused().contains("nonpad_kv_seqlen"));
    }
}
