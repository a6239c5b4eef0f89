//! Checks on a graph from outside, so that no later code can panic on it.

use crate::{
    graph::{Graph, NEVER, Node, NodeId},
    op::Op,
};
use limbwise_device::{Basis, Domain, LweShape, Shape};

/// The invalid field of a node, and the problem.
pub(crate) type Complaint = (&'static str, String);

fn require(ok: bool, field: &'static str, problem: impl FnOnce() -> String) -> Result<(), Complaint> {
    if ok { Ok(()) } else { Err((field, problem())) }
}

impl Graph {
    /// Checks a node to be appended against its operands, which are already in the graph.
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
        if op.is_tfhe() {
            return self.check_tfhe(node, operands);
        }
        let polynomials = operands.iter().all(|&o| self.lwe_shape(o).is_none());
        require(polynomials, "args", || format!("{} takes polynomials", op.name()))?;
        let shapes: Vec<&Shape> = operands.iter().map(|&o| self.shape(o)).collect();
        self.check_shapes(node, &self.shapes[node.shape.0 as usize], &shapes)
    }

    /// Checks a TFHE operation, whose operands may be polynomials and LWE ciphertexts.
    fn check_tfhe(&self, node: &Node, operands: &[NodeId]) -> Result<(), Complaint> {
        let op = node.op();
        let polynomials: Vec<&Shape> =
            operands.iter().filter(|&&o| self.lwe_shape(o).is_none()).map(|&o| self.shape(o)).collect();
        let lwes: Vec<LweShape> = operands.iter().filter_map(|&o| self.lwe_shape(o)).collect();
        let takes = match op {
            Op::UploadLwe => (0, 0),
            Op::MonomialMul => (1, 1),
            Op::Decompose => (1, 0),
            Op::SampleExtract => (operands.len().max(2), 0),
            Op::LweStack => (0, operands.len()),
            Op::LweAdd | Op::LweProduct => (0, 2),
            _ => (0, 1),
        };
        let fits = (polynomials.len(), lwes.len()) == takes;
        require(fits, "args", || format!("{} takes {} polynomials and {} LWE values", op.name(), takes.0, takes.1))?;
        let first_is_polynomial = op != Op::MonomialMul || self.lwe_shape(operands[0]).is_none();
        require(first_is_polynomial, "args", || "the polynomial stands first".into())?;
        let limbs = polynomials.iter().all(|s| s.basis.len() == 1 && s.domain == Domain::Coeff);
        require(limbs, "args", || format!("{} takes one limb of coefficients", op.name()))?;
        let good = match node.shape.lwe_index() {
            Some(at) => self.makes_lwe(node, self.lwe_shapes[at], &polynomials, &lwes),
            None => self.makes_polynomial(node, &polynomials, &lwes),
        };
        require(good, "shape", || format!("{}: not the shape of its result", op.name()))
    }

    fn makes_lwe(&self, node: &Node, out: LweShape, from: &[&Shape], lwes: &[LweShape]) -> bool {
        let only_batch = |s: &LweShape| s.with_batch(out.batch) == out;
        match node.op() {
            Op::UploadLwe => true,
            Op::LweScale | Op::LweShift => lwes[0] == out,
            Op::LweModSwitch => lwes[0].with_modulus(out.modulus) == out,
            Op::LweSplit => only_batch(&lwes[0]) && node.attribute as usize + out.batch <= lwes[0].batch,
            Op::LweStack => lwes.iter().all(only_batch) && lwes.iter().map(|s| s.batch).sum::<usize>() == out.batch,
            Op::LweAdd => {
                let goes = |s: &LweShape| only_batch(s) && (s.batch == out.batch || s.batch == 1);
                lwes.iter().all(goes) && lwes.iter().any(|s| s.batch == out.batch)
            }
            Op::LweDecompose => {
                let levels = out.dimension / lwes[0].dimension;
                levels > 0 && LweShape { dimension: levels * lwes[0].dimension, ..lwes[0] } == out
            }
            Op::LweProduct => {
                let [a, rows] = [lwes[0], lwes[1]];
                a.modulus == rows.modulus && a.dimension == rows.batch && rows.with_batch(a.batch) == out
            }
            Op::SampleExtract => {
                let (shape, masks) = (from[0], from.len() - 1);
                let alike = from.iter().all(|s| *s == shape) && out.batch.is_multiple_of(shape.batch);
                alike && limbwise_device::ops::extracted(shape, masks + 1, out.batch / shape.batch) == out
            }
            _ => false,
        }
    }

    fn makes_polynomial(&self, node: &Node, from: &[&Shape], lwes: &[LweShape]) -> bool {
        let out = &self.shapes[node.shape.0 as usize];
        match node.op() {
            Op::MonomialMul => {
                let (a, e) = (from[0], lwes[0]);
                let together = [a.batch, e.batch].iter().all(|&b| b == out.batch || b == 1);
                let names_a_word = (node.attribute as usize) < e.words();
                let exponents = e.modulus == 2 * a.ring.n() as u64 && names_a_word;
                together && exponents && a.batch.max(e.batch) == out.batch && a.with_batch(out.batch) == *out
            }
            Op::Decompose => {
                let levels = out.batch / from[0].batch;
                levels > 0 && from[0].with_batch(levels * from[0].batch) == *out
            }
            Op::LweEmbed => {
                let (a, n) = (lwes[0], out.ring.n());
                let limb = out.basis.len() == 1 && out.domain == Domain::Coeff && out.batch == a.batch;
                let modulus = out.ring.moduli_of(out.basis)[0].value() == a.modulus;
                limb && modulus && node.attribute as usize <= a.dimension.div_ceil(n)
            }
            _ => false,
        }
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
            _ => wrong("belongs to TFHE"),
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
