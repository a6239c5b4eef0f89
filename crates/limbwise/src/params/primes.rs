//! The primes that a literal leaves open.

use super::{
    error::ParamsError,
    literal::{ParamsLiteral, PrimeChoice},
    words,
};
use limbwise_device::Basis;
use limbwise_math::{
    prime::{PrimesExhausted, ntt_primes_below, ntt_primes_near},
    rns::to_f64,
};

/// The primes chosen for a set.
pub(super) struct Chosen {
    /// Primes of the chain, level 0 first.
    pub(super) chain: Vec<u64>,
    /// The primes at each level.
    pub(super) levels: Vec<Basis>,
    /// The special primes.
    pub(super) special: Vec<u64>,
    /// Scale at the top level.
    pub(super) scale: f64,
}

/// Chooses the primes that the literal leaves open.
///
/// Special primes, and levels whose bits do not sum to the scale's, take the largest primes below 2^bits. The other
/// levels are filled from the top down with the primes that bring the next level's scale nearest to the scale at the
/// top. The top scale is the median of twice as many candidates below 2^bits, so that no chosen prime is a bit longer.
pub(super) fn choose_primes(literal: &ParamsLiteral) -> Result<Chosen, ParamsError> {
    let mut used: Vec<u64> = literal.levels.iter().flatten().chain(&literal.special).filter_map(exact).collect();
    let mut special = Vec::new();
    for &choice in &literal.special {
        special.push(settled(literal.log_n, choice, &mut used)?);
    }
    if let Some(words) = &literal.words {
        let words::Levels { chain, levels, scale } = words::levels(literal, words, &mut used)?;
        return Ok(Chosen { chain, levels, special, scale });
    }
    let carries = |(index, level): (usize, &Vec<PrimeChoice>)| {
        index > 0 && level.iter().map(|&c| bits_of(c)).sum::<u32>() == literal.log_scale
    };
    let top = scale_at_top(literal, &used, literal.levels.iter().enumerate().filter(|&l| carries(l)).count());
    let mut scale = top;
    let mut levels: Vec<Vec<u64>> = Vec::new();
    for (index, level) in literal.levels.iter().enumerate().rev() {
        let carries_scale = carries((index, level));
        let mut chosen = Vec::new();
        let mut target = scale * scale / top;
        for (at, &choice) in level.iter().enumerate() {
            let last = at + 1 == level.len();
            let prime = match choice {
                PrimeChoice::Bits(bits) if carries_scale && last => nearest(literal.log_n, target, bits, &mut used)?,
                choice => settled(literal.log_n, choice, &mut used)?,
            };
            target /= to_f64(prime);
            chosen.push(prime);
        }
        if carries_scale {
            scale = scale * scale / chosen.iter().map(|&q| to_f64(q)).product::<f64>();
        }
        levels.push(chosen);
    }
    levels.reverse();
    let ends = levels.iter().scan(0, |end, level| {
        *end += level.len();
        Some(Basis::range(0, *end))
    });
    Ok(Chosen { levels: ends.collect(), chain: levels.concat(), special, scale: top })
}

/// The prime itself, or the largest unused one below 2^bits.
pub(super) fn settled(log_n: u32, choice: PrimeChoice, used: &mut Vec<u64>) -> Result<u64, PrimesExhausted> {
    match choice {
        PrimeChoice::Exact(prime) => Ok(prime),
        PrimeChoice::Bits(bits) => {
            let prime = ntt_primes_below(log_n, bits, 1, used)?[0];
            used.push(prime);
            Ok(prime)
        }
    }
}

/// The median of the candidates for levels of one prime; 2^log_scale if the literal leaves none open.
fn scale_at_top(literal: &ParamsLiteral, used: &[u64], count: usize) -> f64 {
    let open = literal.levels.iter().skip(1).any(|l| l[..] == [PrimeChoice::Bits(literal.log_scale)]);
    let candidates = ntt_primes_below(literal.log_n, literal.log_scale, 2 * count, used);
    match candidates {
        Ok(candidates) if open => to_f64(candidates[count]),
        _ => 2f64.powi(literal.log_scale.cast_signed()),
    }
}

/// The unused prime nearest to a target.
pub(super) fn nearest(log_n: u32, target: f64, bits: u32, used: &mut Vec<u64>) -> Result<u64, PrimesExhausted> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive target below 2^62")]
    let centre = target.round() as u64;
    let exhausted = PrimesExhausted { bits, log_n, wanted: used.len() + 1 };
    let prime = ntt_primes_near(log_n, centre).find(|q| !used.contains(q)).ok_or(exhausted)?;
    used.push(prime);
    Ok(prime)
}

fn exact(choice: &PrimeChoice) -> Option<u64> {
    match *choice {
        PrimeChoice::Exact(prime) => Some(prime),
        PrimeChoice::Bits(_) => None,
    }
}

pub(super) fn bits_of(choice: PrimeChoice) -> u32 {
    match choice {
        PrimeChoice::Bits(bits) => bits,
        PrimeChoice::Exact(prime) => 64 - (prime - 1).leading_zeros(),
    }
}
