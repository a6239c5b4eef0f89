//! Writes the machine code of every kernel file into a folder: `cargo run -p limbwise-cuda --example cubins -- DIR`. For
//! `scripts/gpu_counts.py`, which counts instructions in it. NVRTC is found as the device finds it; no GPU is needed.

use limbwise_cuda::nvrtc::{Nvrtc, SOURCES};
use std::{error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?);
    std::fs::create_dir_all(&folder)?;
    let nvrtc = Nvrtc::find()?;
    for (file, source) in SOURCES {
        let compiled = nvrtc.compile(file, source, "sm_90")?;
        std::fs::write(folder.join(file).with_extension("cubin"), compiled.cubin)?;
        std::fs::write(folder.join(file).with_extension("log"), compiled.log)?;
    }
    Ok(())
}
