//! Measures for the claims of \[MAD\]: its counting model, its options on the machine of \[FAB\], its address mappings.

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

/// The paper does not give the array. N = 2^17 and 35 limbs of 8 bytes are inferred: at the peak of one DDR4 channel their
/// limb-wise access takes the published 2.3 ms (ADR 80).
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

/// Claims MAD1 and MAD2 by the counting model. Throughput is slots times bits over bytes: the model has no compute units, so
/// memory bounds its time (ADR 78).
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
    // The sets that the code of [SimFHE] has for a GPU and calls the best.
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

/// Claims MAD3 to MAD5: access times with the limb above the slot, and with low bits of both low, where a row of 1024 words
/// is 32 slots of 32 limbs (ADR 80).
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

/// An option of \[MAD\] as it is chosen here.
struct Chosen {
    name: &'static str,
    kind: Kind,
    option: &'static str,
    limbs: &'static str,
    seeds: &'static str,
    rotations: Rotations,
    form: KeyForm,
    why: &'static str,
}

/// The program with nothing chosen; other options differ from it.
const NOTHING: Chosen = Chosen {
    name: "base line",
    kind: Kind::Schedule,
    option: "limbs=apart",
    limbs: "apart",
    seeds: "loaded",
    rotations: Rotations::Bsgs,
    form: KeyForm::Stored,
    why: "what fits on the chip stays: not the base line of [MAD], whose operations read and write everything",
};

const CHOSEN: [Chosen; 8] = [
    NOTHING,
    Chosen {
        name: "limbs fused",
        option: "limbs=fused",
        limbs: "fused",
        why: "digits are read once, but results of all hoisted rotations wait for their ModDown and are spilled",
        ..NOTHING
    },
    Chosen {
        name: "limbs re-ordered",
        option: "limbs=reordered",
        limbs: "reordered",
        why: "the limbs of P come first and are not spilled before their ModDown",
        ..NOTHING
    },
    Chosen {
        name: "hoisting",
        kind: Kind::Program,
        option: "--strategy double-hoisted",
        rotations: Rotations::DoubleHoisted,
        why: "fewer products; raised values are larger, so more bytes",
        ..NOTHING
    },
    Chosen {
        name: "hoisting, fused",
        kind: Kind::Both,
        option: "the same, limbs=fused",
        limbs: "fused",
        rotations: Rotations::DoubleHoisted,
        why: "sums of rotations are made limb by limb, and there is one ModDown",
        ..NOTHING
    },
    Chosen {
        name: "hoisting, re-ordered",
        kind: Kind::Both,
        option: "the same, limbs=reordered",
        limbs: "reordered",
        rotations: Rotations::DoubleHoisted,
        why: "",
        ..NOTHING
    },
    Chosen {
        name: "key compression",
        kind: Kind::Program,
        option: "--keys seeded, seeds=made",
        seeds: "made",
        form: KeyForm::Seeded,
        why: "",
        ..NOTHING
    },
    Chosen {
        name: "all",
        kind: Kind::Both,
        option: "",
        limbs: "reordered",
        seeds: "made",
        rotations: Rotations::DoubleHoisted,
        form: KeyForm::Seeded,
        why: "",
    },
];

/// Bootstrapping with options alone and together.
fn choices(machine: &Spec) -> Result<Vec<Choice>> {
    let params = fab::params()?;
    let timed = |chosen: &Chosen| -> Result<Report> {
        let graph = fab::bootstrapping(&params, chosen.rotations, chosen.form)?;
        Ok(time(&graph, &machine.with_overrides(&[("limbs", chosen.limbs), ("seeds", chosen.seeds)])?)?)
    };
    let reports = CHOSEN.iter().map(timed).collect::<Result<Vec<_>>>()?;
    let base_s = reports[0].seconds;
    Ok(CHOSEN.iter().zip(reports).map(|(chosen, report)| choice(chosen, &report, base_s)).collect())
}

fn choice(chosen: &Chosen, report: &Report, base_s: f64) -> Choice {
    let busy_s = |unit: &str| report.utilization.get(unit).map_or(0.0, |share| share * report.seconds);
    Choice {
        name: chosen.name.into(),
        kind: chosen.kind,
        option: chosen.option.into(),
        seconds: report.seconds,
        units_s: busy_s("functional_units").max(busy_s("converters")),
        memory_s: busy_s("hbm"),
        bytes: report.bytes.get("hbm").map_or(0, |roles| roles.values().sum()),
        intensity: report.roofline.map_or(0.0, |r| r.intensity),
        speed_up: base_s / report.seconds,
        why: chosen.why.into(),
    }
}
