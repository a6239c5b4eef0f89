//! Straight-line code. Loops over arrays of vectors would leave them in memory: the compiler does not unroll those fully,
//! at twice the time.

/// Repeats a block with the constant `I` = 0 … count − 1.
macro_rules! unroll {
    (1 $body:block) => { unroll!(@ [0] $body) };
    (2 $body:block) => { unroll!(@ [0 1] $body) };
    (4 $body:block) => { unroll!(@ [0 1 2 3] $body) };
    (8 $body:block) => { unroll!(@ [0 1 2 3 4 5 6 7] $body) };
    (16 $body:block) => { unroll!(@ [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] $body) };
    (from 1 to 15 $body:block) => { unroll!(@ [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] $body) };
    (@ [$($i:literal)*] $body:block) => { $({ const I: usize = $i; $body })* };
}

pub(super) use unroll;
