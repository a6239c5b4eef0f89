//! Regions of a program on a GPU. Repeated launches between region borders become graphs (`replay`), and a profiler
//! shows regions as ranges (`nvtx`).

use crate::device::Cuda;
use limbwise_device::{LeaveRegion, OpenRegion, Region};

impl Cuda {
    /// Opens a region until the guard is dropped.
    pub(crate) fn open_region(&self, region: Region, index: u32) -> OpenRegion<'_> {
        self.note(0, self.driver.enter());
        if let Some(profiler) = self.profiler {
            profiler.push(region.name(), index);
        }
        OpenRegion::reporting_to(self)
    }
}

impl LeaveRegion for Cuda {
    fn leave_region(&self) {
        self.note(0, self.driver.leave());
        if let Some(profiler) = self.profiler {
            profiler.pop();
        }
    }
}
