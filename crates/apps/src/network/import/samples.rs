//! The axis along which samples lie: a network is run on each of them, so no operator may join them.

use super::{
    Taken,
    builder::Tensor,
    composed::axis,
    operators::{Attributes, integers},
    refuse,
    shapes::reduced_axes,
};
use crate::onnx;

/// Whether samples still lie along the first axis of what a node makes; `batched` says it of its inputs.
pub(super) fn stays(node: &onnx::Node, inputs: &[Option<Tensor>], batched: &[bool]) -> Taken<bool> {
    let attributes = Attributes(node);
    let Some(at) = batched.iter().position(|&batched| batched) else { return Ok(false) };
    let Some(x) = inputs.get(at).and_then(Option::as_ref) else { return Ok(false) };
    let sides = x.shape.len();
    let is_first = |given: i64| axis(given, sides).is_ok_and(|at| at == 0);
    let named = |usual: i64| is_first(attributes.int("axis", usual));
    let listed = |at: usize| -> Taken<bool> {
        let given = integers(inputs, at)?.or(attributes.ints("axes").map(<[i64]>::to_vec));
        Ok(given.is_some_and(|axes| axes.into_iter().any(is_first)))
    };
    let joins = match &*node.operator {
        "Softmax" | "LogSoftmax" | "LayerNormalization" | "RMSNormalization" | "TopK" => named(-1),
        "ArgMax" | "ArgMin" | "Concat" => named(0),
        "Gather" => at == 0 && named(0),
        "CumSum" => integers(inputs, 1)?.is_some_and(|axes| axes.into_iter().any(is_first)),
        name if name.starts_with("Reduce") => reduced_axes(attributes, inputs)?.is_some_and(|axes| axes.contains(&0)),
        // Elsewhere the axis moves, or another one comes before it.
        "Transpose" => return Ok(attributes.ints("perm").is_some_and(|order| order.first() == Some(&0))),
        "Squeeze" | "Unsqueeze" => return Ok(!listed(1)? && integers(inputs, 1)?.is_some()),
        _ => false,
    };
    if joins {
        let wanted = "an axis of one sample: samples are encrypted apart from each other";
        return refuse("axis 0, along which samples lie", wanted);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Writer, int, ints};

    #[test]
    fn operators_along_samples_are_refused() {
        let cases = [
            ("Softmax", vec![int("axis", 0)]),
            ("LogSoftmax", vec![int("axis", -2)]),
            ("ReduceMean", vec![ints("axes", &[0, 1])]),
            ("ReduceSum", vec![]),
            ("ArgMax", vec![]),
        ];
        for (operator, attributes) in cases {
            let of = |side| Writer::new(&[side, 3]).node(operator, &["x"], "y", attributes.clone());
            let text = of(0).refused();
            assert!(
                text.contains(&format!("layer {operator}.y ({operator}): axis 0, along which samples lie")),
                "{text}"
            );
            assert!(of(1).read().is_ok(), "{operator} of one sample that is known");
        }
        let text = Writer::new(&[0, 3]).node("Concat", &["x", "x"], "y", vec![int("axis", 0)]).refused();
        assert!(text.contains("axis 0, along which samples lie"), "{text}");
        let sums = |place| Writer::new(&[0, 3]).whole("at", &[place]).node("CumSum", &["x", "at"], "y", vec![]);
        assert!(sums(0).refused().contains("along which samples lie") && sums(1).read().is_ok());
    }

    #[test]
    fn axes_of_one_sample_are_not() {
        let moved = Writer::new(&[0, 3])
            .node("Transpose", &["x"], "t", vec![])
            .node("Softmax", &["t"], "y", vec![int("axis", 0)])
            .read();
        assert!(moved.is_ok(), "{moved:?}");
        assert!(Writer::new(&[0, 3]).node("Softmax", &["x"], "y", vec![]).read().is_ok());
        let deep = Writer::new(&[0, 3]).node("Relu", &["x"], "r", vec![]).node("ArgMax", &["r"], "y", vec![]).refused();
        assert!(deep.contains("along which samples lie"), "{deep}");
    }
}
