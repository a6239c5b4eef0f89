//! What must hold in a graph that comes from outside, so that nothing later can panic on it.

use crate::{
    graph::{Graph, NEVER, Node, NodeId},
    op::Op,
};
use limbwise_device::{Basis, Shape};

/// Which field of a node is wrong, and how.
pub(crate) type Complaint = (&'static str, String);

fn require(ok: bool, field: &'static str, problem: impl FnOnce() -> String) -> Result<(), Complaint> {
    if ok { Ok(()) } else { Err((field, problem())) }
}

impl Graph {
    /// Checks a node that is about to be added against its operands, which are in the graph.
    pub(crate) fn check_node(&self, node: &Node, operands: &[NodeId]) -> Result<(), Complaint> {
        let here = self.nodes().len();
        let op = node.op();
        let fits = op.arity().map_or(!operands.is_empty(), |n| operands.len() == n);
        require(fits, "args", || format!("{} does not take {} operands", op.name(), operands.len()))?;
        let before = operands.iter().all(|o| o.index() < here);
        require(before, "args", || format!("operands stand before their use, that is below {here}"))?;
        let freed = node.freed as usize;
        require(node.freed == NEVER || freed > here, "freed", || format!("a value is freed after {here} or never"))?;
        for (i, &operand) in operands.iter().enumerate() {
            let freed = self.node(operand).freed as usize;
            let handed_over = freed == here && i == 0 && op.is_in_place() && !operands[1..].contains(&operand);
            require(freed > here || handed_over, "args", || {
                format!("value {} was freed before node {freed}", operand.0)
            })?;
        }
        let shapes: Vec<&Shape> = operands.iter().map(|&o| self.shape(o)).collect();
        self.check_shapes(node, &self.shapes[node.shape.0 as usize], &shapes)
    }

    fn check_shapes(&self, node: &Node, out: &Shape, inputs: &[&Shape]) -> Result<(), Complaint> {
        let wrong = |rule: &str| Err(("shape", format!("{}: {rule}", node.op().name())));
        if inputs.iter().any(|s| s.ring != out.ring) {
            return wrong("operands and result share a ring");
        }
        let same = |a: &Shape| a == out;
        let grows = |a: &Shape| a.with_batch(out.batch) == *out && (a.batch == out.batch || a.batch == 1);
        match node.op() {
            Op::Upload | Op::Zeros | Op::ExpandSeed => Ok(()),
            Op::Copy | Op::Automorphism | Op::Neg | Op::ScaleLimbs | Op::ShiftLimbs if same(inputs[0]) => Ok(()),
            Op::Copy | Op::Automorphism | Op::Neg | Op::ScaleLimbs | Op::ShiftLimbs => wrong("the shape is kept"),
            Op::Ntt | Op::Intt => {
                let other = inputs[0].domain != out.domain && inputs[0].with_domain(out.domain) == *out;
                if other { Ok(()) } else { wrong("only the domain changes") }
            }
            Op::Add | Op::Sub | Op::Mul => {
                let widest = inputs.iter().any(|s| s.batch == out.batch);
                if widest && inputs.iter().all(|s| grows(s)) { Ok(()) } else { wrong("operands go together") }
            }
            Op::MulAcc | Op::AddAssign if same(inputs[0]) && inputs.iter().all(|s| grows(s)) => Ok(()),
            Op::MulAcc | Op::AddAssign => wrong("operands go into the accumulator"),
            Op::BasisConvert | Op::Reduce => {
                let other = inputs[0].with_basis(out.basis) == *out && out.basis.is_disjoint(inputs[0].basis);
                if other { Ok(()) } else { wrong("only the basis changes, to other primes") }
            }
            Op::Restrict | Op::Join | Op::Stack | Op::Split => {
                if is_view_of(node, out, inputs) {
                    Ok(())
                } else {
                    wrong("the result is a view of the operands")
                }
            }
        }
    }
}

fn is_view_of(node: &Node, out: &Shape, inputs: &[&Shape]) -> bool {
    let first = inputs[0];
    match node.op() {
        Op::Restrict => first.with_basis(out.basis) == *out && out.basis.is_subset(first.basis),
        Op::Split => {
            let to = node.attribute as usize + out.batch;
            first.with_batch(out.batch) == *out && to <= first.batch
        }
        Op::Stack => {
            let batch: usize = inputs.iter().map(|s| s.batch).sum();
            batch == out.batch && inputs.iter().all(|s| s.with_batch(out.batch) == *out)
        }
        _ => {
            let all = inputs.iter().fold(Basis::default(), |all, s| all | s.basis);
            let disjoint = inputs.iter().map(|s| s.basis.len()).sum::<usize>() == all.len();
            all == out.basis && disjoint && inputs.iter().all(|s| s.with_basis(out.basis) == *out)
        }
    }
}
