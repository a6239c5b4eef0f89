//! The reader that `LIMBWISE_TARGET` names, of those in `crates/fuzz`: one build for all of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use limbwise_fuzz::Target;
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("LIMBWISE_TARGET").expect("LIMBWISE_TARGET names a reader (limbwise-fuzz --list)");
    Target::of(&name).unwrap_or_else(|| panic!("no target {name} (limbwise-fuzz --list)"))
});

fuzz_target!(|data: &[u8]| {
    let _ = (TARGET.run)(data);
});
