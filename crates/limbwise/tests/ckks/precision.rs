//! Full-size rings: measured precision stands within one bit of the estimate, fresh and after twenty products.

use crate::common::{Session, unit};
use limbwise::{
    params::presets::preset,
    rlwe::{KeyName, Requirements},
};

fn chain(name: &str) {
    let params = preset(name).unwrap();
    let top = params.top_level();
    let s = Session::with_keys(params, &Requirements::from([(KeyName::Relinearization, top)]));
    let auto = s.auto();
    let x = unit(s.params.max_slots(), "factor");
    let factor = s.encrypt(&x);
    let (mut value, mut wanted) = (s.encrypt(&unit(x.len(), "start")), unit(x.len(), "start"));
    for step in 0..=20 {
        if step > 0 {
            value = auto.settle(&auto.mul(&value, &factor).unwrap()).unwrap();
            wanted.iter_mut().zip(&x).for_each(|(w, x)| *w *= x);
        }
        if step % 20 == 0 {
            let measured = s.expect("chain", &value, &wanted, 0.0);
            let predicted = value.estimate.precision_bits();
            assert!((measured.mean - predicted).abs() < 1.0, "{name}, {step}: {} for {predicted}", measured.mean);
        }
    }
    assert_eq!(value.level, top - 20);
}

#[test]
fn scale_2_40() {
    chain("n16-l24-s40");
}

#[test]
fn scale_2_50() {
    chain("n16-l20-s50");
}
