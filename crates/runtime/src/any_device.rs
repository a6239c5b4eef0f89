//! The one place where the device is chosen at run time. Every scheme is compiled once, for [`AnyDevice`].
//!
//! To add a device, add a line to `devices!` and its answers to [`AnyDevice::threads`] and its neighbors.

mod ops;

use crate::host::Host;
use limbwise_cpu::{Cpu, RegionTimes};
use limbwise_device::{
    Device, Fault, GadgetKey, Ggsw, Handle, LweHandle, LweShape, LweSwitchKey, Ring, Rotation, Shape, SharedFootprint,
    Terms, Weight,
};

/// A device whose values convert to [`AnyPoly`] and [`AnyLwe`] and back.
///
/// # Panics
/// If a value belongs to another device: a bug.
trait Member: Device {
    fn any(p: Self::Poly) -> AnyPoly;
    fn any_lwe(l: Self::Lwe) -> AnyLwe;
    fn poly(p: &AnyPoly) -> &Self::Poly;
    fn poly_mut(p: &mut AnyPoly) -> &mut Self::Poly;
    fn own(p: AnyPoly) -> Self::Poly;
    fn lwe(l: &AnyLwe) -> &Self::Lwe;

    fn any_pair([b, a]: [Self::Poly; 2]) -> [AnyPoly; 2] {
        [Self::any(b), Self::any(a)]
    }

    fn all_any(of: Vec<Self::Poly>) -> Vec<AnyPoly> {
        of.into_iter().map(Self::any).collect()
    }

    fn polys<'a>(of: &[&'a AnyPoly]) -> Vec<&'a Self::Poly> {
        of.iter().map(|p| Self::poly(p)).collect()
    }

    fn lwes<'a>(of: &[&'a AnyLwe]) -> Vec<&'a Self::Lwe> {
        of.iter().map(|l| Self::lwe(l)).collect()
    }

    fn handles(of: &[AnyPoly]) -> Vec<Self::Poly> {
        of.iter().map(|p| Self::poly(p).clone()).collect()
    }

    fn gadget_key(key: &GadgetKey<AnyPoly>) -> GadgetKey<Self::Poly> {
        let pair = |[b, a]: &[AnyPoly; 2]| [Self::poly(b).clone(), Self::poly(a).clone()];
        GadgetKey { digits: key.digits.clone(), special: key.special, pairs: key.pairs.iter().map(pair).collect() }
    }

    fn rotation(of: &Rotation<AnyPoly>) -> Rotation<Self::Poly> {
        Rotation { galois: of.galois, key: Self::gadget_key(&of.key) }
    }

    fn ggsw(key: &Ggsw<AnyPoly>) -> Ggsw<Self::Poly> {
        Ggsw { gadget: key.gadget, rows: key.rows.iter().map(|row| Self::handles(row)).collect() }
    }

    fn terms<'a>(sum: &Terms<'a, AnyPoly>) -> Terms<'a, Self::Poly> {
        let term = |&(i, weight): &(usize, Weight<'a, AnyPoly>)| match weight {
            Weight::Values(p) => (i, Weight::Values(Self::poly(p))),
            Weight::OneLimb(p) => (i, Weight::OneLimb(Self::poly(p))),
            Weight::One => (i, Weight::One),
        };
        sum.iter().map(term).collect()
    }

    fn switch_key(key: &LweSwitchKey<AnyLwe>) -> LweSwitchKey<Self::Lwe> {
        LweSwitchKey { gadget: key.gadget, rows: Self::lwe(&key.rows).clone() }
    }
}

macro_rules! devices {
    ($($name:ident = $kind:literal: $device:ty, $about:literal;)+) => {
        /// A device chosen at run time.
        #[expect(clippy::large_enum_variant, reason = "a run has one, and it is never moved while it computes")]
        #[non_exhaustive]
        pub enum AnyDevice {
            $(#[doc = $about] $name($device),)+
        }

        /// A polynomial of an [`AnyDevice`].
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum AnyPoly {
            $(#[doc = $about] $name(<$device as Device>::Poly),)+
        }

        /// LWE ciphertexts of an [`AnyDevice`].
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum AnyLwe {
            $(#[doc = $about] $name(<$device as Device>::Lwe),)+
        }

        impl Handle for AnyPoly {
            fn shape(&self) -> &Shape {
                match self { $(Self::$name(p) => p.shape(),)+ }
            }
        }

        impl LweHandle for AnyLwe {
            fn lwe_shape(&self) -> LweShape {
                match self { $(Self::$name(l) => l.lwe_shape(),)+ }
            }
        }

        impl AnyDevice {
            /// Device names that `--device` accepts.
            pub const KINDS: &[&str] = &[$($kind),+];

            /// The device's name, as `--device` accepts it.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $kind,)+ }
            }
        }

        $(
            impl From<$device> for AnyDevice {
                fn from(device: $device) -> Self {
                    Self::$name(device)
                }
            }

            impl Member for $device {
                fn any(p: Self::Poly) -> AnyPoly {
                    AnyPoly::$name(p)
                }

                fn any_lwe(l: Self::Lwe) -> AnyLwe {
                    AnyLwe::$name(l)
                }

                fn poly(p: &AnyPoly) -> &Self::Poly {
                    let AnyPoly::$name(p) = p else { foreign() };
                    p
                }

                fn poly_mut(p: &mut AnyPoly) -> &mut Self::Poly {
                    let AnyPoly::$name(p) = p else { foreign() };
                    p
                }

                fn own(p: AnyPoly) -> Self::Poly {
                    let AnyPoly::$name(p) = p else { foreign() };
                    p
                }

                fn lwe(l: &AnyLwe) -> &Self::Lwe {
                    let AnyLwe::$name(l) = l else { foreign() };
                    l
                }
            }
        )+

        /// Evaluates an expression on the device inside an [`AnyDevice`]; the macro can name the device's type.
        macro_rules! on {
            ($any:expr, $dev:ident, $body:expr) => {
                match $any {
                    $(AnyDevice::$name($dev) => $body,)+
                }
            };
            ($any:expr, $dev:ident: $own:ident, $body:expr) => {
                match $any {
                    $(AnyDevice::$name($dev) => {
                        type $own = $device;
                        $body
                    })+
                }
            };
        }
        use on;
    };
}

/// DPUs beside a host that does what they have no kernel for.
pub type Dpus = limbwise_upmem::Upmem<Cpu>;

devices! {
    Cpu = "cpu": limbwise_cpu::Cpu, "The host.";
    Cuda = "cuda": limbwise_cuda::Cuda, "A GPU.";
    Upmem = "upmem": limbwise_upmem::Upmem<limbwise_cpu::Cpu>, "DPUs beside the host, interpreted.";
    CpuUpmem = "hybrid:cpu+upmem": limbwise_device::Hybrid<limbwise_cpu::Cpu, limbwise_upmem::Upmem<limbwise_cpu::Cpu>>, "The host and DPUs, each with its part of a program.";
    CpuCuda = "hybrid:cpu+cuda": limbwise_device::Hybrid<limbwise_cpu::Cpu, limbwise_cuda::Cuda>, "The host and a GPU, each with its part of a program.";
}

fn foreign() -> ! {
    panic!("a value of one device was given to another")
}

impl AnyDevice {
    /// The CPU device; `None` for any other.
    pub fn cpu(&self) -> Option<&Cpu> {
        match self {
            Self::Cpu(cpu) => Some(cpu),
            Self::Cuda(_) | Self::Upmem(_) | Self::CpuUpmem(_) | Self::CpuCuda(_) => None,
        }
    }

    pub fn host(&self) -> Host {
        let device = match self {
            Self::Cpu(_) => None,
            Self::Cuda(_) => return Host { device: Some("cuda".into()), isa: None, threads: None },
            Self::Upmem(dpus) => Some(format!("upmem:{}", dpus.options())),
            Self::CpuUpmem(both) => Some(format!("hybrid:cpu+upmem:{}", both.away().options())),
            Self::CpuCuda(_) => Some("hybrid:cpu+cuda".into()),
        };
        Host { device, isa: Some(self.isa_of_host()), threads: Some(self.threads()) }
    }

    /// Instruction set of the host's kernels.
    fn isa_of_host(&self) -> String {
        self.host_cpu().map(|cpu| cpu.isa().name().to_owned()).unwrap_or_default()
    }

    /// The CPU device that works for this device, or is it.
    pub(crate) fn host_cpu(&self) -> Option<&Cpu> {
        match self {
            Self::Cpu(cpu) => Some(cpu),
            Self::Cuda(_) => None,
            Self::Upmem(dpus) => Some(dpus.host()),
            Self::CpuUpmem(both) => Some(both.home()),
            Self::CpuCuda(both) => Some(both.home()),
        }
    }

    /// Instruction set of the device's kernels.
    pub fn isa(&self) -> String {
        match self {
            Self::Cpu(cpu) => cpu.isa().name().into(),
            Self::Cuda(gpu) => gpu.arch().into(),
            Self::Upmem(dpus) => dpus.options().preset.name.into(),
            Self::CpuUpmem(_) | Self::CpuCuda(_) => self.isa_of_host(),
        }
    }

    /// Host threads that compute.
    pub fn threads(&self) -> usize {
        self.host_cpu().map_or(1, Cpu::threads)
    }

    /// Memory that programs need on this device.
    pub fn footprint(&self) -> SharedFootprint {
        match self {
            Self::Cpu(cpu) => limbwise_cpu::footprint_on(cpu.isa()),
            Self::Cuda(gpu) => gpu.footprint(),
            Self::Upmem(_) => limbwise_upmem::footprint(limbwise_cpu::footprint()),
            // A divided program takes composites apart.
            Self::CpuUpmem(_) | Self::CpuCuda(_) => std::sync::Arc::new(limbwise_device::footprint::DefaultBodies),
        }
    }

    /// Bytes of the host's memory that the device has taken for polynomials and does not give back while it is open.
    pub fn resident_bytes(&self) -> u64 {
        self.host_cpu().map_or(0, |cpu| cpu.memory().resident_bytes + cpu.scratch().resident_bytes)
    }

    /// Records the regions that programs enter from now on, if the device can ([`Device::regions`]).
    pub fn keep_regions(&self) {
        if let Some(cpu) = self.host_cpu() {
            cpu.keep_regions();
        }
    }

    /// Whether it has times of regions: one whose programs the CPU runs alone.
    pub fn has_region_times(&self) -> bool {
        matches!(self, Self::Cpu(_))
    }

    /// Times the regions that programs enter from now on, if the device can.
    pub fn time_regions(&self) {
        if let Self::Cpu(cpu) = self {
            cpu.time_regions();
        }
    }

    /// The times of those that have ended since; none if the device has no times.
    pub fn region_times(&self) -> RegionTimes {
        match self {
            Self::Cpu(cpu) => cpu.region_times(),
            _ => RegionTimes::default(),
        }
    }

    /// Device memory in bytes; `None` if the device uses the host's memory.
    pub fn memory_bytes(&self) -> Option<u64> {
        match self {
            Self::Cpu(_) => None,
            Self::Cuda(gpu) => Some(gpu.memory_bytes()),
            Self::Upmem(_) | Self::CpuUpmem(_) => None, // MRAM is interpreted in the host's memory
            Self::CpuCuda(_) => None,                   // all values fit the host; the GPU has copies of some
        }
    }

    /// Reserves memory for this many limbs of a ring at once, and this many of the threads' own, if the device uses the
    /// host's memory.
    ///
    /// # Errors
    /// [`Fault::OutOfMemory`].
    pub fn reserve(&self, ring: &Ring, limbs: usize, scratch: usize) -> Result<(), Fault> {
        match self {
            Self::Cpu(cpu) => cpu.reserve(ring, limbs, scratch),
            Self::CpuUpmem(both) => both.home().reserve(ring, limbs, scratch),
            Self::CpuCuda(both) => both.home().reserve(ring, limbs, scratch),
            Self::Cuda(_) | Self::Upmem(_) => Ok(()),
        }
    }
}
