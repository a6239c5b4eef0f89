//! What is measured for the claims of \[MAD\]: its counting model, its options on the machine of \[FAB\], its addresses.

use super::{
    claims::{Choice, Kind, Measures, Reproduction, compare},
    fab,
};
use crate::error::Result;
use limbwise::{ckks::bootstrap::Rotations, rlwe::KeyForm};
use limbwise_machines::{
    Report, Spec,
    address::{Access, Ddr, Mapping, Polynomial},
    simfhe::{Count, Set, Step, steps},
    time,
};

const CLAIMS: &str = include_str!("../../claims/mad.toml");

/// The array that the sheet infers from the access times: N = 2^17, 35 limbs of 8 bytes.
const POLYNOMIAL: Polynomial = Polynomial { log_n: 17, limbs: 35 };

/// Every claim of \[MAD\] beside its counting model, schedules on a machine, and a DDR memory.
pub fn mad(machine: &Spec) -> Result<Reproduction> {
    let mut measures = Measures::new();
    counted(&mut measures)?;
    addresses(&mut measures);
    let choices = choices(machine)?;
    if let [base, .., all] = &choices[..] {
        measures.insert("bootstrap.intensity_machine".into(), all.intensity / base.intensity);
        measures.insert("bootstrap.throughput_machine".into(), base.seconds / all.seconds);
    }
    Ok(Reproduction { choices, ..compare(CLAIMS, None, &measures) })
}

/// Gains by the counting model: operations a byte, and slots · bits a byte, for its memory bounds the time.
fn counted(measures: &mut Measures) -> Result<()> {
    let mut put = |name: &str, value: f64| measures.insert(format!("bootstrap.{name}"), value);
    for (name, reading) in [("p35", ""), ("fab", "_fab")] {
        let set = Set::named(name)?;
        let steps = steps(&set);
        let count = |name: &str| steps.iter().find(|s| s.name == name).map_or_else(Count::default, |s| s.count);
        let [first, caching, last] = ["baseline", "+ reorder", "+ key compression"].map(count);
        put(&format!("intensity{reading}"), last.intensity() / first.intensity());
        put(&format!("intensity_caching{reading}"), caching.intensity() / first.intensity());
        put(&format!("throughput{reading}"), bytes(&first) / bytes(&last));
    }
    // The parameters that the code of [SimFHE] calls those of a GPU, and the best.
    let gpu = [("limbs", "38"), ("degree", "31"), ("doublings", "3")];
    let best = [("log_q", "50"), ("limbs", "40"), ("dnum", "2"), ("fft_iter", "6")];
    let set = |changes: &[(&str, &str)]| Set::named("p35").and_then(|set| set.with(changes));
    let (gpu, best) = (steps(&set(&gpu)?), steps(&set(&best)?));
    if let (Some(first), Some(last)) = (gpu.first(), best.last()) {
        put("intensity_best", last.count.intensity() / first.count.intensity());
        put("throughput_best", rate(last) / rate(first));
    }
    Ok(())
}

fn bytes(count: &Count) -> f64 {
    limbwise_math::rns::to_f64(count.bytes())
}

/// Bits that bootstrapping leaves, over its bytes.
fn rate(step: &Step) -> f64 {
    let left = (step.set.limbs - step.set.budget()) * step.set.log_q;
    limbwise_math::rns::to_f64(left) / bytes(&step.count)
}

/// Access times with the limb above the slot, and with low bits of both low: a row of 1024 words is 32 slots of 32 limbs.
fn addresses(measures: &mut Measures) {
    let split = Mapping::Split { slot_bits: 5, limb_bits: 5 };
    let grouped = Ddr::ddr4_2133();
    let plain = Ddr { t_ccd_l: grouped.t_ccd_s, ..grouped };
    let readings = [("", plain, 32), ("_burst", plain, 8), ("_wide", plain, 256), ("_groups", grouped, 32)];
    for (reading, ddr, slots) in readings {
        for (when, mapping) in [("before", Mapping::LimbAboveSlot), ("after", split)] {
            let ms = |access| ddr.access_ns(POLYNOMIAL, mapping, access) / 1e6;
            let (limbs, slots) = (ms(Access::LimbWise), ms(Access::SlotWise { slots }));
            for (what, ms) in [("limb", limbs), ("slot", slots), ("switch", limbs + slots)] {
                measures.insert(format!("polynomial.{what}_{when}{reading}"), ms);
            }
        }
    }
}

/// Bootstrapping with each option alone, and with all of them.
fn choices(machine: &Spec) -> Result<Vec<Choice>> {
    let params = fab::params()?;
    let timed = |limbs: &str, seeds: &str, rotations, form| -> Result<Report> {
        let graph = fab::bootstrapping(&params, rotations, form)?;
        Ok(time(&graph, &machine.with_overrides(&[("limbs", limbs), ("seeds", seeds)])?)?)
    };
    let (bsgs, hoisted, stored, seeded) = (Rotations::Bsgs, Rotations::DoubleHoisted, KeyForm::Stored, KeyForm::Seeded);
    let runs = [
        ("base line", Kind::Schedule, "limbs=apart", timed("apart", "loaded", bsgs, stored)?),
        ("limbs fused", Kind::Schedule, "limbs=fused", timed("fused", "loaded", bsgs, stored)?),
        ("limbs re-ordered", Kind::Schedule, "limbs=reordered", timed("reordered", "loaded", bsgs, stored)?),
        ("hoisting", Kind::Program, "--strategy double-hoisted", timed("apart", "loaded", hoisted, stored)?),
        ("key compression", Kind::Program, "--keys seeded, seeds=made", timed("apart", "made", bsgs, seeded)?),
        ("all", Kind::Both, "", timed("reordered", "made", hoisted, seeded)?),
    ];
    let base = runs[0].3.seconds;
    let choice = |(name, kind, option, report): &(&str, Kind, &str, Report)| {
        let bytes: u64 = report.bytes.get("hbm").map_or(0, |roles| roles.values().sum());
        Choice {
            name: (*name).into(),
            kind: *kind,
            option: (*option).into(),
            seconds: report.seconds,
            bytes,
            intensity: report.roofline.map_or(0.0, |r| r.intensity),
            speed_up: base / report.seconds,
        }
    };
    Ok(runs.iter().map(choice).collect())
}
