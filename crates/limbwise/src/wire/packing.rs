//! Residues packed to the width of their prime, without gaps: the bits of a limb as one little-endian number.

/// Size in bytes of `n` residues of `width` bits; n is a multiple of 64 for every limb.
#[must_use]
pub fn packed_bytes(n: usize, width: u32) -> usize {
    (n * width as usize).div_ceil(8)
}

/// Appends residues below 2^width, 1 ≤ width ≤ 63, to `out`. Their number must be a multiple of 64.
pub fn pack(residues: &[u64], width: u32, out: &mut Vec<u8>) {
    debug_assert!((1..64).contains(&width) && residues.len().is_multiple_of(64));
    let (mut held, mut bits) = (0u64, 0);
    for &x in residues {
        held |= x << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&held.to_le_bytes());
            bits -= 64;
            held = x >> (width - bits);
        }
    }
}

/// The inverse of [`pack`]: fills `out`, whose length must be a multiple of 64. Missing bytes count as zero.
pub fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) {
    debug_assert!((1..64).contains(&width) && out.len().is_multiple_of(64));
    let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let mask = u64::MAX >> (64 - width);
    let (mut held, mut bits) = (0u64, 0);
    for x in out {
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
        }
    }
}
