//! Numbers for a layer: from a seed, the same on every machine.

/// `count` numbers, uniform in [−`most`, `most`), by SplitMix64 \[SLF14\]; `stream` tells apart what is drawn with one
/// seed.
pub fn generated(seed: u64, stream: u64, count: usize, most: f64) -> Vec<f64> {
    let number = |word: u64| ((word >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * most;
    generated_words(seed, stream, count).map(number).collect()
}

/// The words behind them, uniform.
pub(crate) fn generated_words(seed: u64, stream: u64, count: usize) -> impl Iterator<Item = u64> {
    let mut state = seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
    let mut draw = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..count).map(move |_| draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_repeat_and_differ_by_stream() {
        let a = generated(1, 0, 1000, 2.0);
        assert_eq!(a, generated(1, 0, 1000, 2.0));
        assert_ne!(a, generated(1, 1, 1000, 2.0));
        assert_ne!(a, generated(2, 0, 1000, 2.0));
        assert!(a.iter().all(|x| x.abs() <= 2.0) && a.iter().any(|x| *x > 1.9) && a.iter().any(|x| *x < -1.9));
        assert!(a.iter().sum::<f64>().abs() < 200.0, "centered");
    }
}
