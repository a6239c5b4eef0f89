//! The presets as they are used: noise of their own bootstrappings and switches beside the formulas that promise it.

use crate::{
    common::{Session, cpu},
    noise::{close, errors, mean_square, switch_errors},
};
use limbwise::tfhe::{Table, TfheLiteral, TfheParams, noise, presets};

/// Largest ring, as log₂ of N, whose keys every machine has room for.
const LARGEST: u32 = 12;

/// Bootstrappings of a preset; `LIMBWISE_SAMPLES=10000` is the campaign.
fn samples() -> usize {
    std::env::var("LIMBWISE_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(256)
}

/// Presets that promise something, the small ones first. Shapes of publications are studied, not used.
fn promising() -> Vec<(&'static str, TfheLiteral)> {
    let mut all: Vec<_> = presets().into_iter().map(|preset| (preset.name, preset.literal)).collect();
    all.retain(|(_, literal)| literal.insecure.is_none() && TfheParams::new(literal).is_ok());
    all.sort_by_key(|(_, literal)| (literal.log_n, literal.lwe_dimension));
    all
}

/// Bootstraps messages of a preset and measures both noises that its failure probability is made of.
fn measure(name: &str, literal: &TfheLiteral, samples: usize) {
    let s = Session::on(cpu(), literal, 11);
    let params = s.client.params();
    let identity = Table::of(params, |m| m).unwrap();
    let (mut output, mut switched) = (Vec::new(), Vec::new());
    for first in (0..samples).step_by(64) {
        let messages: Vec<u64> = (first..samples.min(first + 64)).map(|i| i as u64 % params.space()).collect();
        let input = s.encrypt(&messages);
        let out = s.eval().bootstrap(&input, std::slice::from_ref(&identity)).unwrap();
        assert_eq!(s.decrypt(&out), messages, "{name}: a failure where 2^{:.0} are promised", params.log2_failure());
        output.extend(errors(&s, &s.client.phases(&s.dev, &out).unwrap(), &messages));
        switched.extend(switch_errors(&s, &s.encrypt(&vec![0; messages.len()])));
    }
    let (rotation, switch) = (mean_square(&output), mean_square(&switched));
    let [rotation_formula, switch_formula] = [noise::blind_rotation(literal), noise::key_switch(literal)];
    eprintln!(
        "{name}: {samples} samples, rotation {:.3} and key switch {:.3} of the formulas' variance, no failure",
        rotation / rotation_formula,
        switch / switch_formula
    );
    close(&format!("{name}, rotation"), rotation, rotation_formula, samples);
    close(&format!("{name}, key switch"), switch, switch_formula, samples);
}

#[test]
fn the_smallest_preset_has_the_noise_that_it_promises() {
    let (name, literal) = &promising()[0];
    measure(name, literal, 96);
}

#[test]
#[ignore = "a few hundred bootstrappings of every preset; more with LIMBWISE_SAMPLES"]
fn every_preset_has_the_noise_that_it_promises() {
    let all = promising();
    assert!(all.len() > 3, "presets that promise something");
    let large = std::env::var_os("LIMBWISE_LARGE").is_some();
    for (name, literal) in &all {
        match literal.log_n <= LARGEST || large {
            true => measure(name, literal, samples()),
            false => eprintln!("SKIPPED: {name}, whose keys take gigabytes (set LIMBWISE_LARGE)"),
        }
    }
}
