//! Calibration of a GPU: the factor by which its operations are slower than the model `cuda` predicts.
//!
//! Each probe runs on the GPU and is also recorded. Its factor is the measured time over the model's time of the
//! recording, so the bytes and products of an operation are defined in one place.

use super::{HOT_ENTRIES, LIMBS, SOURCES, done, one_prime, open_ring, polynomial, rotation_key, seconds};
use crate::error::Result;
use limbwise_device::{Basis, Device, Domain, LweShape, Null, Role};
use limbwise_graph::Recorder;
use limbwise_machines::Spec;
use std::fmt::Write as _;

/// Largest ring degree (log₂) whose blind rotation is measured: larger ones run operation by operation.
const ONE_BLOCK: u32 = 12;

/// Operations that determine a factor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Transform,
    Convert,
    Memory,
    Rotation,
    Lwe,
}

impl Probe {
    /// The field of this factor under `[slowdown]`.
    fn field(self) -> &'static str {
        match self {
            Self::Transform => "transform_factor",
            Self::Convert => "convert_factor",
            Self::Memory => "memory_factor",
            Self::Rotation => "rotation_factor",
            Self::Lwe => "lwe_factor",
        }
    }

    /// Prepares operands and passes the timed work to `timed`.
    fn on<D: Device>(self, dev: &D, size: Size, timed: &mut dyn FnMut(&mut dyn FnMut())) -> Result<()> {
        match self {
            Self::Transform => {
                let ring = open_ring(dev, (size.log_n, 45), LIMBS)?;
                let mut moving = Some(polynomial(dev, &ring, ring.full(), Domain::Coeff));
                timed(&mut || moving = moving.take().map(|p| dev.intt(dev.ntt(p))));
            }
            Self::Convert => {
                let ring = open_ring(dev, (size.log_n, 45), LIMBS)?;
                let few = Basis::range(0, SOURCES);
                let a = polynomial(dev, &ring, few, Domain::Coeff);
                timed(&mut || drop(dev.basis_convert(&a, ring.full() - few)));
            }
            Self::Memory => {
                let ring = open_ring(dev, (size.log_n, 45), LIMBS)?;
                let [a, b] = [(); 2].map(|()| polynomial(dev, &ring, ring.full(), Domain::Eval));
                timed(&mut || drop(dev.add(&a, &b)));
            }
            Self::Rotation => {
                let ring = one_prime(dev, size.log_n.min(ONE_BLOCK), 48)?;
                let (key, exponents) = rotation_key(dev, &ring, (1, size.entries), 16);
                let test = polynomial(dev, &ring, ring.full(), Domain::Coeff);
                timed(&mut || drop(dev.blind_rotate(&test, &exponents, &key)));
            }
            Self::Lwe => {
                let rows = LweShape { dimension: 1023, modulus: 1 << 32, batch: 2048 };
                let digits = LweShape { dimension: rows.batch, batch: size.entries, ..rows };
                let rows = dev.upload_lwe(rows, Role::Temporary, &|entry, out| out.fill(entry as u64));
                let digits = dev.upload_lwe(digits, Role::Temporary, &|_, out| out.fill(3));
                timed(&mut || drop(dev.lwe_product(&digits, &rows)));
            }
        }
        Ok(())
    }

    /// Measured time over the model's time.
    fn factor(self, dev: &impl Device, size: Size, counted: &Spec) -> Result<f64> {
        let mut measured = 0.0;
        self.on(dev, size, &mut |work| measured = seconds(|| done(dev, work)))?;
        let recorder = Recorder::new(Null::default());
        self.on(&recorder, size, &mut |work| work())?;
        let counted = limbwise_machines::time(&recorder.graph(), counted)?.seconds;
        Ok((measured / counted).clamp(1e-3, 1e6))
    }
}

#[derive(Clone, Copy, Debug)]
struct Size {
    log_n: u32,
    entries: usize,
}

/// Lines of `[slowdown]`.
fn factors(dev: &impl Device, multiprocessors: u32, size: Size, probes: &[Probe]) -> Result<String> {
    let multiprocessors = multiprocessors.to_string();
    let counted = Spec::load("cuda")?
        .with_overrides(&[("assumed.launch_ns", "0"), ("device.multiprocessors", multiprocessors.as_str())])?;
    let mut text = String::new();
    for probe in probes {
        let _ = writeln!(text, "{} = {:.4}", probe.field(), probe.factor(dev, size, &counted)?);
    }
    Ok(text)
}

/// The model of a GPU with this many multiprocessors, for programs of one ring degree.
pub(super) fn measured(dev: &impl Device, multiprocessors: u32, log_n: u32) -> Result<String> {
    let factors =
        factors(dev, multiprocessors, Size { log_n, entries: 1 }, &[Probe::Transform, Probe::Convert, Probe::Memory])?;
    let small = open_ring(dev, (10, 45), LIMBS)?;
    let one = polynomial(dev, &small, Basis::single(0), Domain::Eval);
    let launch = seconds(|| done(dev, &mut || (0..1000).for_each(|_| drop(dev.add(&one, &one))))) * 1e6;
    let reason = "measured: an addition of one limb of 2^10, asked for a thousand times";
    Ok(format!(
        "name = \"cuda\"\nextends = \"cuda\"\nabout = \"the GPU at hand, measured\"\n\n[device]\nmultiprocessors = {multiprocessors}\n\n[assumed]\nlaunch_ns = {{ value = {launch:.1}, reason = \"{reason}\" }}\n\n[slowdown]\n{factors}"
    ))
}

/// Adds the factors of TFHE programs, as further lines of the last section. Every multiprocessor gets a few
/// ciphertexts.
pub(super) fn rotations(dev: &impl Device, multiprocessors: u32, log_n: u32) -> Result<String> {
    let entries = HOT_ENTRIES * multiprocessors as usize;
    factors(dev, multiprocessors, Size { log_n, entries }, &[Probe::Rotation, Probe::Lwe])
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_cpu::{Cpu, Isa};

    /// With the CPU in place of a GPU, each factor slows down only the operation of its probe.
    #[test]
    fn factors_are_of_what_their_probes_do() {
        let dev = Cpu::new(Isa::Scalar, 1).unwrap();
        let text = measured(&dev, 2, 10).unwrap() + &rotations(&dev, 2, 10).unwrap();
        let spec = Spec::from_toml(&text, "test").unwrap();
        let fields = spec.fields();
        let value = |path: &str| fields.iter().find(|f| f.path == path).unwrap().value.as_f64().unwrap();
        let [counted, spec] = [Spec::load("cuda").unwrap(), spec.clone()]
            .map(|s| s.with_overrides(&[("assumed.launch_ns", "0"), ("device.multiprocessors", "2")]).unwrap());
        for probe in [Probe::Transform, Probe::Convert, Probe::Memory, Probe::Lwe, Probe::Rotation] {
            let recorder = Recorder::new(Null::default());
            probe.on(&recorder, Size { log_n: 10, entries: 8 }, &mut |work| work()).unwrap();
            let graph = recorder.graph();
            let seconds = |spec: &Spec| limbwise_machines::time(&graph, spec).unwrap().seconds;
            let factor = value(&format!("slowdown.{}", probe.field()));
            assert!((seconds(&spec) / seconds(&counted) / factor - 1.0).abs() < 1e-3, "{probe:?}");
        }
    }
}
