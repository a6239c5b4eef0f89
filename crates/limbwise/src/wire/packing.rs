//! Residues packed to the width of their prime, without gaps: the bits of a limb as one little-endian number.

use limbwise_math::modulus::Modulus;

/// Size in bytes of `n` residues of `width` bits; n is a multiple of 64 for every limb.
#[must_use]
pub fn packed_bytes(n: usize, width: u32) -> usize {
    (n * width as usize).div_ceil(8)
}

/// Appends residues below 2^width, 1 ≤ width ≤ 63, to `out`. Their number must be a multiple of 64.
pub fn pack(residues: &[u64], width: u32, out: &mut Vec<u8>) {
    debug_assert!((1..64).contains(&width) && residues.len().is_multiple_of(64));
    let start = out.len();
    out.resize(start + packed_bytes(residues.len(), width), 0);
    // 64 residues are `width` words.
    let groups = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<8>().0.chunks_exact_mut(width as usize);
    for (group, residues) in groups.zip(residues.chunks_exact(64)) {
        let (mut held, mut bits, mut words) = (0u64, 0, group.iter_mut());
        for &x in residues {
            held |= x << bits;
            bits += width;
            if bits >= 64 {
                words.by_ref().take(1).for_each(|word| *word = held.to_le_bytes());
                bits -= 64;
                held = x >> (width - bits);
            }
        }
    }
}

/// Bits of a residue that lies in the eight bytes from its first one on, wherever in that it begins.
const STRAIGHT: u32 = 57;

/// The inverse of [`pack`]: fills `out`, whose length must be a multiple of 64. Missing bytes count as zero.
pub fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) {
    debug_assert!((1..64).contains(&width) && out.len().is_multiple_of(64));
    let (mask, wide) = (u64::MAX >> (64 - width), width as usize);
    // Eight residues are `width` bytes; the last of them must not read beyond the end.
    let whole = bytes.len().saturating_sub(8) / wide * 8;
    let straight = if width <= STRAIGHT { whole.min(out.len()) } else { 0 };
    let (easy, rest) = out.split_at_mut(straight);
    for (eight, from) in easy.as_chunks_mut::<8>().0.iter_mut().zip((0..).step_by(wide)) {
        let group = bytes.get(from..).unwrap_or_default();
        for (i, x) in eight.iter_mut().enumerate() {
            let bit = i * wide;
            let word = group.get(bit / 8..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
            *x = u64::from_le_bytes(word) >> (bit % 8) & mask;
        }
    }
    let left = bytes.get(straight / 8 * wide..).unwrap_or_default();
    let word = |some: &[u8]| some.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let mut words = left.chunks(8).map(word);
    let (mut held, mut bits) = (0u64, 0);
    for x in rest {
        if bits >= width {
            *x = held & mask;
            held >>= width;
            bits -= width;
        } else {
            let next = words.next().unwrap_or(0);
            *x = (held | next << bits) & mask;
            held = next >> (width - bits);
            bits += 64 - width;
        }
    }
}

/// [`unpack`] for residues of a prime of that width.
///
/// # Errors
/// The largest word, if it is no residue.
pub(crate) fn unpack_residues(bytes: &[u8], modulus: Modulus, out: &mut [u64]) -> Result<(), u64> {
    unpack(bytes, modulus.bits(), out);
    let largest = out.iter().copied().fold(0, u64::max);
    if largest < modulus.value() { Ok(()) } else { Err(largest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_math::sampling::{Seed, Stream};

    /// Bit by bit, as the format says.
    fn slowly(residues: &[u64], width: u32) -> Vec<u8> {
        let bits = residues.iter().flat_map(|x| (0..width).map(move |i| x >> i & 1)).collect::<Vec<_>>();
        bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |b, &bit| b << 1 | u8::try_from(bit).unwrap())).collect()
    }

    #[test]
    fn words_beyond_a_prime_are_found() {
        let q = Modulus::new(1009);
        let (mut packed, mut back) = (Vec::new(), [0; 64]);
        pack(&std::array::from_fn::<u64, 64, _>(|i| 945 + i as u64), 10, &mut packed);
        assert_eq!(unpack_residues(&packed, q, &mut back), Ok(()));
        packed.clear();
        pack(&std::array::from_fn::<u64, 64, _>(|i| 946 + i as u64), 10, &mut packed);
        assert_eq!(unpack_residues(&packed, q, &mut back), Err(1009));
    }

    #[test]
    fn every_width_is_the_bits_in_order_and_comes_back() {
        let mut stream = Stream::new(&Seed([1; 32]), b"packing");
        for width in 1..64 {
            let residues: Vec<u64> = (0..192).map(|_| stream.next_word() >> (64 - width)).collect();
            let mut packed = Vec::new();
            pack(&residues, width, &mut packed);
            assert_eq!(packed, slowly(&residues, width), "{width}");
            assert_eq!(packed.len(), packed_bytes(192, width));
            let mut back = vec![u64::MAX; 192];
            unpack(&packed, width, &mut back);
            assert_eq!(back, residues, "{width}");
            let mut cut = packed.clone();
            cut.truncate(packed.len() - 9);
            unpack(&cut, width, &mut back);
            cut.resize(packed.len(), 0);
            let mut zeros = vec![u64::MAX; 192];
            unpack(&cut, width, &mut zeros);
            assert_eq!(back, zeros, "missing bytes are zeros: {width}");
        }
    }
}
