//! Lower bounds on a program's memory, so that oversized programs are refused before layout or recording.
//!
//! A description from outside is a few numbers, but they can imply gigabytes. A program within these bounds may still
//! not fit; its plan decides that.

use crate::{
    linear::layer::{Described, LayerShape, Numbers},
    program::Program,
};
use limbwise::{
    ckks::PlaintextForm,
    params::Params,
    scheme::{Scheme, plaintext_bytes, slots_bytes},
};

/// Bytes of a clear number when it is read or generated.
pub(crate) const REAL_BYTES: u64 = 8;
/// Bytes of a clear number on a diagonal.
pub(crate) const COMPLEX_BYTES: u64 = 16;

/// Lower bound for a layer: its numbers, their diagonals, the encoded diagonals, and the input.
pub(crate) fn layer_bytes(params: &Params, layer: &Described, (form, level): (PlaintextForm, usize)) -> u64 {
    let slots = params.max_slots() as u64;
    let Ok([numbers, _, encrypted, _]) = layer.shape.sizes() else { return 0 };
    let (numbers, inputs) = (numbers as u64, (encrypted as u64).div_ceil(slots) * slots_bytes(params, level));
    match layer.shape {
        // Each number takes its own entry of a diagonal.
        LayerShape::Product { .. } => {
            let encoded = match layer.weights {
                Numbers::Seed(_) => numbers.div_ceil(slots) * plaintext_bytes(params, form, level),
                Numbers::Server => 0, // many may be zero, and such diagonals are left out
            };
            2 * REAL_BYTES * numbers + encoded + inputs
        }
        LayerShape::Convolution { .. } => REAL_BYTES * numbers + inputs,
        LayerShape::Square { .. } => 2 * slots_bytes(params, level),
    }
}

/// Lower bound of a program's memory on a server after its maps are laid out: diagonals, encoded diagonals, inputs.
pub fn least_bytes<P: Program>(program: &P) -> u64 {
    let (params, model) = (program.params(), program.model());
    let inputs = program.inputs();
    let inputs = inputs.iter().map(|input| P::Scheme::input_bytes(params, input));
    inputs.fold(P::Scheme::least_model_bytes(params, &model), u64::saturating_add)
}

/// Bytes of the clear numbers in a program's model, which the host keeps in addition to the encoded ones.
pub fn clear_bytes<P: Program>(program: &P) -> u64 {
    P::Scheme::clear_model_bytes(&program.model())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Description,
        linear::{layer::Model, options::Described as LinearDescribed},
        registry::{AnyParams, AnyProgram, Described as Of},
    };
    use limbwise::{
        ckks::{Promise, Strategy},
        params::{Insecure, ParamsLiteral},
        rlwe::KeyForm,
        scheme::Ckks,
    };

    fn params() -> Params {
        let mut literal = ParamsLiteral::chain(10, 50, 40, 2, (50, 2), 2);
        literal.insecure = Some(Insecure { reason: "a small ring for a test".into() });
        Params::new(&literal).unwrap()
    }

    fn described(shape: LayerShape, weights: Numbers, plaintexts: PlaintextForm) -> Description {
        let layer = Described { shape, weights, bias: None };
        let bounds = Promise { magnitude: 1.0, peak: 1.0, real: true };
        let strategy = Strategy::Hoisted;
        let workload = LinearDescribed { layer, level: 2, strategy, plaintexts, bounds };
        Description::new::<Ckks>("test", &params(), KeyForm::Stored, Of::Linear(workload))
    }

    /// Of the diagonals, what is encoded of them, and the inputs of a program.
    fn laid_out(description: &Description, model: &Model) -> u64 {
        let AnyProgram::Ckks(program) = description.program(model).unwrap() else { panic!("a layer") };
        least_bytes(&program)
    }

    #[test]
    fn a_description_promises_no_more_than_its_program_takes() {
        let product = |rows, columns, vectors| LayerShape::Product { rows, columns, vectors };
        for shape in
            [product(4, 4, 1), product(300, 20, 1), product(20, 300, 3), product(512, 512, 1), product(64, 64, 9)]
        {
            for form in [PlaintextForm::Full, PlaintextForm::OnTheFly, PlaintextForm::AtUse] {
                let seeded = described(shape.clone(), Numbers::Seed(3), form);
                let LayerShape::Product { rows, columns, .. } = shape else { unreachable!() };
                let (least, numbers) =
                    (seeded.least_bytes(&AnyParams::Ckks(params())), REAL_BYTES * (rows * columns) as u64);
                let laid_out = laid_out(&seeded, &Model::default()) + numbers;
                assert!(least <= laid_out, "{shape:?} {form:?}: {least} > {laid_out}");
                // Where no slot is left over it is no idle promise.
                assert!(
                    2 * least >= laid_out || rows * columns < 512 * 512,
                    "{shape:?} {form:?}: {least} of {laid_out}"
                );
            }
        }
    }

    #[test]
    fn sizes_from_outside_do_not_overflow() {
        let huge = usize::MAX;
        let shapes = [
            LayerShape::Product { rows: huge, columns: huge, vectors: huge },
            LayerShape::Square { side: huge, pairs: huge },
            LayerShape::Product { rows: 1 << 13, columns: 1 << 13, vectors: 1 },
        ];
        let least = shapes.map(|shape| {
            described(shape, Numbers::Seed(0), PlaintextForm::Full).least_bytes(&AnyParams::Ckks(params()))
        });
        assert_eq!(least[..2], [0, 0], "building them says what is wrong");
        assert!(least[2] > 16 << 26, "{least:?}");
    }

    #[test]
    fn a_model_of_zeros_may_take_less() {
        let shape = LayerShape::Product { rows: 8, columns: 8, vectors: 1 };
        let theirs = described(shape, Numbers::Server, PlaintextForm::Full);
        let model = Model { weights: Some(vec![0.0; 64]), ..Model::default() };
        let AnyProgram::Ckks(program) = theirs.program(&model).unwrap() else { panic!("a layer") };
        assert_eq!((program.model().maps[0].0.count(), clear_bytes(&program)), (1, 512 * REAL_BYTES));
        assert!(
            theirs.least_bytes(&AnyParams::Ckks(params()))
                <= laid_out(&theirs, &model) + 64 * REAL_BYTES + 64 * COMPLEX_BYTES
        );
    }
}
