//! DPU counts of a run: in its report, and as text.

use crate::text::units;
use limbwise_apps::Details;
use limbwise_runtime::AnyDevice;
use serde_json::json;

/// Adds the counts of a device of DPUs to a report, and gives them as text; nothing for other devices.
pub(crate) fn counted(dev: &AnyDevice, details: &mut Details) -> String {
    let AnyDevice::Upmem(dpus) = dev else { return String::new() };
    let counters = dpus.counters();
    let found = json!({
        "options": dpus.options().to_string(),
        "launches": counters.launches,
        "slots": counters.slots,
        "cycles": counters.cycles,
        "compute_seconds": counters.compute_seconds,
        "transfer_seconds": counters.transfer_seconds,
        "to_mram_bytes": counters.to_bytes,
        "from_mram_bytes": counters.from_bytes,
        "host_operations": counters.host_operations,
        "joules": counters.joules(),
    });
    details.insert("upmem".into(), found);
    format!(
        "on DPUs, keys, encryption and decryption included: {} launches, {} computing, {} moving, {} operations of the host, {:.1} J\n",
        units::count(counters.launches),
        units::seconds(counters.compute_seconds),
        units::seconds(counters.transfer_seconds),
        units::count(counters.host_operations),
        counters.joules()
    )
}
