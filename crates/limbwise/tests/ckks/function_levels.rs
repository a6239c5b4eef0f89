//! Functions take the levels that they say, so a program without bootstrapping learns before the first of them what lacks.

use crate::{common::small, functions::real};
use limbwise::{
    ckks::{
        Auto, Ciphertext, Encoder, Evaluator, Packing,
        functions::{Axis, Extreme, Function, Greatest, Inverse, InverseRoot, LayerNorm, Rows, Smooth, Softmax},
    },
    error::{Error, LevelError},
    params::Params,
    rlwe::DeclaredKeys,
};
use limbwise_device::Null;

const SLOTS: usize = 16;

fn functions() -> Vec<Function> {
    // Three rows of three of four places; and a row of all slots.
    let padded = Rows::new(Axis { stride: 1, extent: 4, length: 3 }, &[Axis { stride: 4, extent: 4, length: 3 }]);
    let round = Rows::new(Axis { stride: 1, extent: SLOTS, length: SLOTS }, &[]);
    let mut all = vec![
        Function::Inverse(Inverse::new(0.5, 1.0, 0.1).unwrap()),
        Function::Inverse(Inverse::new(0.1, 1.0, 1e-4).unwrap()),
        Function::Root(InverseRoot::new(0.5, 1.0, 0.1).unwrap()),
        Function::Root(InverseRoot::new(0.1, 1.0, 1e-4).unwrap()),
        Function::InverseRoot(InverseRoot::new(0.5, 1.0, 0.1).unwrap()),
        Function::InverseRoot(InverseRoot::new(0.1, 1.0, 1e-4).unwrap()),
        Function::Smooth(Smooth::exp([0.0, 1.0], 1e-3).unwrap()),
    ];
    for rows in [padded.unwrap(), round.unwrap()] {
        let extreme = |wanted| Function::Extreme(Extreme::new(&rows, wanted, [4.0, 1.0], 0.1).unwrap());
        all.extend([Greatest::Value, Greatest::OneHot, Greatest::Index].map(extreme));
        all.push(Function::LayerNorm(LayerNorm::new(&rows, [0.1, 1.0], 1e-5, 0.01).unwrap()));
        all.extend([1.0, 10.0].map(|bound| Function::Softmax(Softmax::new(&rows, bound, 0.01).unwrap())));
    }
    all
}

/// On a device without words, which counts levels as others do.
#[test]
fn functions_take_the_levels_that_they_say() {
    let (dev, params) = (Null::default(), Params::new(&small(52)).unwrap());
    let (encoder, keys, top) = (Encoder::new(&params), DeclaredKeys::all(&dev, &params), params.top_level());
    let auto = Auto::new(Evaluator::new(&dev, &params, &keys), &encoder);
    let ready = |x: &Ciphertext<Null>, _| auto.settle(x);
    let packing = Packing { slots: SLOTS, level: top, scale: params.scale(top) };
    let x = encoder.declare(&dev, &[real((0..SLOTS).map(|i| 0.5 + 0.03 * i as f64))], packing).unwrap().bounded_by(1.0);
    for function in functions() {
        let levels = function.levels(SLOTS);
        let y = function.apply(&auto, &x, &ready).unwrap();
        assert_eq!(y.level, top - levels, "{function:?}");
        let [enough, few] = [levels, levels - 1].map(|level| auto.scale_to(&x, 1.0, level).unwrap());
        assert!(function.check_levels(&auto, &enough).is_ok());
        let Err(Error::Level(refused)) = function.check_levels(&auto, &few) else { panic!("{function:?}") };
        assert!(
            matches!(refused, LevelError::Exhausted { level, needed, .. } if (needed, level) == (levels, levels - 1))
        );
    }
}
