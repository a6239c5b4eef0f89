//! Primes for negacyclic transforms: tests, searches and roots of unity.

use crate::modulus::Modulus;

/// No prime with the wanted property is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are fewer than {wanted} primes of {bits} bits that are 1 modulo 2^{}: choose more bits or a smaller ring", log_n + 1)]
pub struct PrimesExhausted {
    /// Bits of the primes.
    pub bits: u32,
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Number of primes requested.
    pub wanted: usize,
}

/// Whether `n` is prime. Deterministic Miller–Rabin: the first twelve primes decide all 64-bit numbers.
///
/// Source: \[SW17\].
#[must_use]
pub fn is_prime(n: u64) -> bool {
    const WITNESSES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    if let Some(&p) = WITNESSES.iter().find(|&&p| n.is_multiple_of(p)) {
        return n == p;
    }
    if n >> Modulus::MAX_BITS != 0 {
        return false; // not a modulus of ours
    }
    let m = Modulus::new(n);
    let twos = (n - 1).trailing_zeros();
    WITNESSES.iter().all(|&w| {
        let mut x = m.pow(w, (n - 1) >> twos);
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = m.mul(x, x);
            x == n - 1
        })
    })
}

/// Primes that are 1 modulo 2N, by distance from `center`, nearest first (the lower of a tie first).
///
/// All lie in (center/2, 2·center) and below 2^61.
pub fn ntt_primes_near(log_n: u32, center: u64) -> impl Iterator<Item = u64> {
    let step = 1u64 << (log_n + 1);
    let base = center / step * step + 1;
    let (low, high) = (center / 2, center.saturating_mul(2).min(1 << Modulus::MAX_BITS));
    let mut below = (0..).map_while(move |i| base.checked_sub(i * step).filter(|&q| q > low)).filter(|&q| is_prime(q));
    let mut above = (1..).map(move |i| base + i * step).take_while(move |&q| q < high).filter(|&q| is_prime(q));
    let (mut next_below, mut next_above) = (below.next(), above.next());
    std::iter::from_fn(move || {
        let take_below = match (next_below, next_above) {
            (Some(b), Some(a)) => center.abs_diff(b) <= a.abs_diff(center),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if take_below {
            std::mem::replace(&mut next_below, below.next())
        } else {
            std::mem::replace(&mut next_above, above.next())
        }
    })
}

/// The `count` largest primes below 2^bits that are 1 modulo 2N and not in `used`, largest first.
///
/// # Errors
/// [`PrimesExhausted`] if there are fewer primes of exactly that bit length.
pub fn ntt_primes_below(log_n: u32, bits: u32, count: usize, used: &[u64]) -> Result<Vec<u64>, PrimesExhausted> {
    let exhausted = PrimesExhausted { bits, log_n, wanted: count };
    if bits > Modulus::MAX_BITS || bits <= log_n + 1 {
        return Err(exhausted);
    }
    let step = 1u64 << (log_n + 1);
    let found: Vec<u64> = (1..(1u64 << (bits - log_n - 1)))
        .map(|i| (1u64 << bits) - i * step + 1)
        .take_while(|&q| q >> (bits - 1) == 1)
        .filter(|q| is_prime(*q) && !used.contains(q))
        .take(count)
        .collect();
    if found.len() == count { Ok(found) } else { Err(exhausted) }
}

/// A primitive 2N-th root of unity modulo a prime that is 1 modulo 2N: x^((q−1)/2N) of the least non-residue x.
///
/// # Panics
/// If q is not 1 modulo 2N.
#[must_use]
pub fn primitive_root(modulus: Modulus, log_n: u32) -> u64 {
    let q = modulus.value();
    assert!((q - 1).trailing_zeros() > log_n, "{q} is not 1 modulo 2^{}", log_n + 1);
    let non_residue = (2..q).find(|&x| modulus.pow(x, (q - 1) / 2) == q - 1);
    modulus.pow(non_residue.unwrap_or(0), (q - 1) >> (log_n + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primality() {
        let sieve: Vec<u64> = (0..500).filter(|&n| is_prime(n)).collect();
        let trial: Vec<u64> = (2..500).filter(|&n| (2..n).all(|d| n % d != 0)).collect();
        assert_eq!(sieve, trial);
        assert!(is_prime((1 << 61) - 1));
        assert!(!is_prime(3_215_031_751)); // strong pseudoprime to 2, 3, 5, 7
        assert!(!is_prime(3_825_123_056_546_413_051)); // to the first nine primes; above 2^61 as well
    }

    #[test]
    fn search_finds_ordered_distinct_primes() {
        for log_n in [10, 13, 16, 17] {
            let found = ntt_primes_below(log_n, 50, 30, &[]).unwrap();
            assert!(found.windows(2).all(|w| w[0] > w[1]));
            assert!(found.iter().all(|&q| is_prime(q) && q % (2 << log_n) == 1 && q >> 49 == 1));
            let more = ntt_primes_below(log_n, 50, 5, &found).unwrap();
            assert!(more.iter().all(|q| !found.contains(q)));
            let near: Vec<u64> = ntt_primes_near(log_n, 1 << 40).take(40).collect();
            assert!(near.windows(2).all(|w| w[0].abs_diff(1 << 40) <= w[1].abs_diff(1 << 40)));
        }
        assert_eq!(ntt_primes_below(16, 20, 2, &[]).unwrap_err().wanted, 2);
        assert_eq!(ntt_primes_below(16, 17, 1, &[]).unwrap_err().bits, 17);
    }

    #[test]
    fn roots_are_primitive() {
        for log_n in [10, 16] {
            for q in ntt_primes_below(log_n, 45, 3, &[]).unwrap() {
                let m = Modulus::new(q);
                assert_eq!(m.pow(primitive_root(m, log_n), 1 << log_n), q - 1);
            }
        }
    }
}
