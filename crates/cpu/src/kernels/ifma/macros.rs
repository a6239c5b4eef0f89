//! Straight-line code for passes in registers.

/// One forward stage on `$v`, `$pairs` butterflies at distance `$half`; the factor of pair I is `$get($twiddles, …)`.
macro_rules! forward_stage {
    ($pairs:tt, $half:literal, $fix:expr, $k:ident, $v:ident, $get:ident($twiddles:expr)) => {
        unroll!($pairs {
            const X: usize = I + I / $half * $half;
            const BASE: usize = $pairs / $half - 1;
            let x = if $fix >> X & 1 == 1 { $k.correct($v[X]) } else { $v[X] };
            let s = $k.plus_product(x, $v[X + $half], $get($twiddles, BASE + I / $half));
            ($v[X], $v[X + $half]) = (s, sub(add(x, x), s));
        });
    };
}

/// All stages of a forward pass.
macro_rules! forward_stages {
    (2, $plan:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        forward_stage!(1, 1, $plan.fix[0], $k, $v, $get($t));
    };
    (4, $plan:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        forward_stage!(2, 2, $plan.fix[0], $k, $v, $get($t));
        forward_stage!(2, 1, $plan.fix[1], $k, $v, $get($t));
    };
    (8, $plan:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        forward_stage!(4, 4, $plan.fix[0], $k, $v, $get($t));
        forward_stage!(4, 2, $plan.fix[1], $k, $v, $get($t));
        forward_stage!(4, 1, $plan.fix[2], $k, $v, $get($t));
    };
    (16, $plan:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        forward_stage!(8, 8, $plan.fix[0], $k, $v, $get($t));
        forward_stage!(8, 4, $plan.fix[1], $k, $v, $get($t));
        forward_stage!(8, 2, $plan.fix[2], $k, $v, $get($t));
        forward_stage!(8, 1, $plan.fix[3], $k, $v, $get($t));
    };
}

/// One inverse stage on `$v`, the plan's stage `$s`; where `$scaled`, sums are multiplied by 1/N and all is canonical.
macro_rules! inverse_stage {
    ($pairs:tt, $half:literal, $s:literal, $plan:expr, $scaled:expr, $k:ident, $v:ident, $get:ident($twiddles:expr)) => {
        unroll!($pairs {
            const X: usize = I + I / $half * $half;
            const Y: usize = X + $half;
            const BASE: usize = $pairs / $half - 1;
            let x = if $plan.fix[$s] >> X & 1 == 1 { $k.correct($v[X]) } else { $v[X] };
            let y = if $plan.fix[$s] >> Y & 1 == 1 { $k.correct($v[Y]) } else { $v[Y] };
            let minus = if $plan.lift[$s] >> X & 1 == 1 { sub(add(x, $k.offset), y) } else { sub(x, y) };
            let (s, d) = if is_crossed(X, $half) { (minus, add(x, y)) } else { (add(x, y), minus) };
            let start = if $plan.high[$s] >> Y & 1 == 1 { $k.twice } else { zero() };
            let t = product(start, d, $get($twiddles, BASE + I / $half), $k.negative);
            if $scaled {
                let s = product(zero(), s, $get($twiddles, 15), $k.negative);
                ($v[X], $v[Y]) = ($k.canonical(s), $k.canonical(t));
            } else {
                ($v[X], $v[Y]) = (s, t);
            }
        });
    };
}

/// All stages of an inverse pass and the corrections before it is stored.
macro_rules! inverse_stages {
    (2, $plan:expr, $scaled:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        inverse_stage!(1, 1, 0, $plan, $scaled, $k, $v, $get($t));
        inverse_exit!(2, $plan, $k, $v);
    };
    (4, $plan:expr, $scaled:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        inverse_stage!(2, 1, 0, $plan, false, $k, $v, $get($t));
        inverse_stage!(2, 2, 1, $plan, $scaled, $k, $v, $get($t));
        inverse_exit!(4, $plan, $k, $v);
    };
    (8, $plan:expr, $scaled:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        inverse_stage!(4, 1, 0, $plan, false, $k, $v, $get($t));
        inverse_stage!(4, 2, 1, $plan, false, $k, $v, $get($t));
        inverse_stage!(4, 4, 2, $plan, $scaled, $k, $v, $get($t));
        inverse_exit!(8, $plan, $k, $v);
    };
    (16, $plan:expr, $scaled:expr, $k:ident, $v:ident, $get:ident($t:expr)) => {
        inverse_stage!(8, 1, 0, $plan, false, $k, $v, $get($t));
        inverse_stage!(8, 2, 1, $plan, false, $k, $v, $get($t));
        inverse_stage!(8, 4, 2, $plan, false, $k, $v, $get($t));
        inverse_stage!(8, 8, 3, $plan, $scaled, $k, $v, $get($t));
        inverse_exit!(16, $plan, $k, $v);
    };
}

macro_rules! inverse_exit {
    ($radix:tt, $plan:expr, $k:ident, $v:ident) => {
        unroll!($radix {
            if $plan.exit >> I & 1 == 1 {
                $v[I] = $k.correct($v[I]);
            }
        });
    };
}

pub(super) use {forward_stage, forward_stages, inverse_exit, inverse_stage, inverse_stages};
