//! Prints the cheapest TFHE parameters inside the security gate for some goals:
//! `cargo run --release -p limbwise --example tfhe_search`. The presets were found by it.

use limbwise::tfhe::{SearchGoal, TfheParams, noise, search};
use std::io::{Result, Write, stdout};

fn main() -> Result<()> {
    let mut out = stdout().lock();
    for (class, prime_bits) in [(128, 48), (132, 48), (128, 50), (128, 32)] {
        for (message_bits, norm) in [(2, 3.2), (4, 5.0), (8, 17.0)] {
            for log2_failure in [-64.0, -128.0] {
                let goal = SearchGoal { class, message_bits, norm, log2_failure, prime_bits };
                match search(goal) {
                    Ok(found) => {
                        let checked = TfheParams::new(&found).map_err(std::io::Error::other)?;
                        let parts =
                            [noise::blind_rotation(&found), noise::key_switch(&found), noise::mod_switch(&found, 0)];
                        let parts = parts.map(|v| format!("{:.2}", v.log2() / 2.0)).join(", ");
                        let (bits, p) = (checked.security().bits, checked.log2_failure());
                        writeln!(
                            out,
                            "{goal:?}\n  {found:?}\n  security {bits}, p_fail 2^{p:.1}; log2 sigma of rotation, switch, modulus: {parts}"
                        )?;
                    }
                    Err(nothing) => writeln!(out, "{goal:?}\n  {nothing}")?,
                }
            }
        }
    }
    Ok(())
}
