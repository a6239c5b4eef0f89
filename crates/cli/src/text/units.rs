//! Numbers with units. GB is 10⁹ bytes.

use limbwise_runtime::plan::DeviceMemory;

/// `1.23 GB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let x = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", three(x / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", three(x / 1e6)),
        _ => format!("{} GB", three(x / 1e9)),
    }
}

/// `2 min 05 s`, `45.3 s`, `12.3 ms`, `4.56 µs`.
pub(crate) fn seconds(seconds: f64) -> String {
    let unit = |x: f64, name: &str| format!("{} {name}", three(x));
    if seconds >= 120.0 {
        format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor())
    } else if seconds >= 1.0 || seconds == 0.0 {
        unit(seconds, "s")
    } else if seconds >= 1e-3 {
        unit(seconds * 1e3, "ms")
    } else {
        unit(seconds * 1e6, "µs")
    }
}

/// `65 536`; large ones as `1.23e12`.
pub(crate) fn count(count: u64) -> String {
    if count >= 1_000_000_000 {
        return format!("{:.2e}", count as f64);
    }
    let digits = count.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap_or("")).collect();
    groups.join(" ")
}

/// `97.35 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Three significant digits, trailing zeroes kept.
fn three(x: f64) -> String {
    match x.abs() {
        a if a < 9.995 => format!("{x:.2}"),
        a if a < 99.95 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

/// What of the memory that is the device's own a program needs.
pub(crate) fn device_memory(memory: DeviceMemory) -> String {
    let [needed, own] = [memory.needed_bytes, memory.bytes].map(bytes);
    format!("{needed} of {own}; keys that do not fit stay with the host")
}

/// Predicted time of an evaluation, and what would take it. DPUs are interpreted: how long that takes is nobody's question.
pub(crate) fn evaluation((device, rates): (&str, Option<&str>), predicted: f64, [least, most]: [f64; 2]) -> String {
    let [predicted, least, most] = [predicted, least, most].map(seconds);
    if let Some(rates) = rates {
        return format!("{predicted} of evaluation by the rates of {rates} ({least} to {most} nine times of ten)");
    }
    match device {
        "cpu" => format!("{predicted} of evaluation on this CPU ({least} to {most} nine times of ten)"),
        _ if device.starts_with("upmem") => {
            format!("{predicted} of evaluation if this CPU computed; DPUs are timed by --machine upmem")
        }
        _ if device.starts_with("hybrid") => {
            format!("{predicted} of evaluation on this CPU alone; a run says what dividing the program brings")
        }
        other => format!("{predicted} of evaluation on this device ({other})"),
    }
}

/// Time that an evaluation took, beside its prediction where there is one.
pub(crate) fn evaluated(device: &str, [measured, predicted]: [f64; 2]) -> String {
    let (measured, predicted) = (seconds(measured), seconds(predicted));
    match device {
        _ if device.starts_with("upmem") => format!("{measured} of interpreting; DPUs are timed by --machine upmem"),
        _ => format!("{measured}; {predicted} predicted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_and_short() {
        let sizes = [0, 999, 1000, 1_234_567, 999_999, 50_331_648, 2_147_483_648];
        let wanted = ["0 B", "999 B", "1.00 kB", "1.23 MB", "1000 kB", "50.3 MB", "2.15 GB"];
        assert_eq!(sizes.map(bytes), wanted);
        let wanted = ["0.00 s", "4.56 µs", "12.3 ms", "999 ms", "45.3 s", "2 min 05 s", "61 min 59 s"];
        assert_eq!([0.0, 4.56e-6, 0.012_34, 0.999, 45.26, 125.4, 3719.9].map(seconds), wanted);
        assert_eq!(
            [0, 999, 1000, 65_536, 1_234_567, 1_230_000_000_000].map(count),
            ["0", "999", "1 000", "65 536", "1 234 567", "1.23e12"]
        );
    }
}
