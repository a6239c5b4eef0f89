//! Multiplications of words from 8×8-bit ones, and products modulo q.
//!
//! All take the same number of issue slots whatever their operands are, and none has two sources in one bank. Operands in
//! r0 and r1, results in r4 (low) and r5 (high); r2, r3, r6 and r7 are overwritten, r0 and r1 stay.

use super::{Multiplications, Reduction, Writer};

/// `r4 = r0·r1 mod 2^32`: 21 instructions.
pub const MUL32: &str = "
    .mark mul32
    lsr r2, r0, 16
    lsr r3, r1, 16
    mul_ul_ul r4, r0, r1      ; bytes whose places add up to 0,
    mul_ul_uh r7, r0, r1      ; to 1,
    lsl_add r4, r4, r7, 8
    mul_uh_ul r7, r0, r1
    lsl_add r4, r4, r7, 8
    mul_ul_ul r7, r0, r3      ; to 2,
    lsl_add r4, r4, r7, 16
    mul_uh_uh r7, r0, r1
    lsl_add r4, r4, r7, 16
    mul_ul_ul r7, r2, r1
    lsl_add r4, r4, r7, 16
    mul_ul_uh r7, r0, r3      ; to 3; the others are above 2^32
    lsl_add r4, r4, r7, 24
    mul_uh_ul r7, r0, r3
    lsl_add r4, r4, r7, 24
    mul_ul_uh r7, r2, r1
    lsl_add r4, r4, r7, 24
    mul_uh_ul r7, r2, r1
    lsl_add r4, r4, r7, 24
";

/// `r5:r4 = r0·r1`, from four products of halves, each from four of bytes: 36 instructions.
pub const MUL64: &str = "
    .mark mul64
    lsr r2, r0, 16
    lsr r3, r1, 16
    mul_ul_ul r4, r0, r1      ; low by low
    mul_ul_uh r7, r0, r1
    lsl_add r4, r4, r7, 8
    mul_uh_ul r7, r0, r1
    lsl_add r4, r4, r7, 8
    mul_uh_uh r7, r0, r1
    lsl_add r4, r4, r7, 16
    mul_ul_ul r5, r2, r3      ; high by high
    mul_ul_uh r6, r2, r3
    lsl_add r5, r5, r6, 8
    mul_uh_ul r6, r2, r3
    lsl_add r5, r5, r6, 8
    mul_uh_uh r6, r2, r3
    lsl_add r5, r5, r6, 16
    mul_ul_ul r7, r0, r3      ; low by high
    mul_ul_uh r6, r0, r3
    lsl_add r7, r7, r6, 8
    mul_uh_ul r6, r0, r3
    lsl_add r7, r7, r6, 8
    mul_uh_uh r6, r0, r3
    lsl_add r7, r7, r6, 16
    lsl_add r4, r4, r7, 16    ; its halves lie across both words
    lsr r6, r7, 16            ; leaves the carry alone
    addc r5, r5, r6
    mul_ul_ul r7, r2, r1      ; high by low
    mul_ul_uh r6, r2, r1
    lsl_add r7, r7, r6, 8
    mul_uh_ul r6, r2, r1
    lsl_add r7, r7, r6, 8
    mul_uh_uh r6, r2, r1
    lsl_add r7, r7, r6, 16
    lsl_add r4, r4, r7, 16
    lsr r6, r7, 16
    addc r5, r5, r6
";

/// Instruction counts of [`MUL32`] and [`MUL64`].
#[must_use]
pub fn lengths() -> [usize; 2] {
    [MUL32, MUL64].map(|text| text.lines().filter(|line| !line.trim().is_empty() && !line.contains(".mark")).count())
}

/// Writes `r5:r4 = r0·r1` here, as a call or inlined.
pub fn mul64(w: &mut Writer) {
    match w.form.multiplications {
        Multiplications::Called => w.lines("call r23, mul64"),
        Multiplications::Inlined => w.lines(MUL64),
    }
}

/// Writes `r4 = r0·r1 mod 2^32` here, as a call or inlined.
pub fn mul32(w: &mut Writer) {
    match w.form.multiplications {
        Multiplications::Called => w.lines("call r23, mul32"),
        Multiplications::Inlined => w.lines(MUL32),
    }
}

/// Writes both routines if the form calls them.
pub fn write_routines(w: &mut Writer) {
    if w.form.multiplications == Multiplications::Called {
        w.lines("mul32:");
        w.lines(MUL32);
        w.lines("return\nmul64:");
        w.lines(MUL64);
        w.lines("return");
    }
}

/// `r4 = r0·r1 mod q` by the form's reduction of products with a prepared constant.
pub fn mul_by_prepared(w: &mut Writer) {
    match w.form.reduction {
        Reduction::Barrett => barrett(w),
        Reduction::Montgomery => montgomery(w),
    }
}

/// `r4 = r0·r1 / 2^s mod q`, where q·2^s has 32 bits and one operand carries the factor 2^s.
///
/// Barrett's method in the form of \[MG11\]: d = q·2^s in r15, v = ⌊(2^64 − 1)/d⌋ − 2^32 in r14, s in r17. The high word u of
/// the product times v, plus the product, has the quotient in its high word, at most one off; its low word tells which way.
/// Overwrites r0 to r7, r9, r11. Range: [0, q)·[0, q) → [0, q), q < 2^32.
pub fn barrett(w: &mut Writer) {
    let [negative, small, keep, end] = [(); 4].map(|()| w.label());
    mul64(w);
    w.lines(
        "move r9, r4              ; u0
        move r0, r5               ; u1
        move r1, r14",
    );
    mul64(w);
    w.lines(
        "add r11, r4, r9          ; v*u1 + u
        addc r5, r5, r0
        add r0, r5, 1
        move r1, r15",
    );
    mul32(w);
    w.lines(&format!(
        "sub r4, r9, r4           ; u0 - quotient*d
        sub zero, r4, r11, leu, {small}
        add r4, r4, r15, true, {negative}
        {small}:
        nop                       ; as long as the other way
        {negative}:
        sub r6, r4, r15, ltu, {keep}
        lsr r4, r6, r17, true, {end}
        {keep}:
        lsr r4, r4, r17
        {end}:"
    ));
}

/// `r4 = r0·r1 / 2^32 mod q`, with q in r13 and its inverse modulo 2^32 in r14. Overwrites r0 to r7, r11.
///
/// Source: \[Mon85\]; the inverse with this sign, so that the low words cancel. Range: [0, q)·[0, q) → [0, q), q < 2^32.
pub fn montgomery(w: &mut Writer) {
    let [keep, end] = [(); 2].map(|()| w.label());
    mul64(w);
    w.lines(
        "move r11, r5
        move r0, r4
        move r1, r14",
    );
    mul32(w);
    w.lines(
        "move r0, r4
        move r1, r13",
    );
    mul64(w);
    w.lines(&format!(
        "move r4, r5              ; another bank than r11
        sub r4, r11, r4, geu, {keep}
        add r4, r4, r13, true, {end}
        {keep}:
        nop
        {end}:"
    ));
}

/// `c = a + b mod q`, q in r13: a odd, b even, c even; r6 is overwritten. 3 slots. Range: [0, q) → [0, q).
pub fn add_mod(w: &mut Writer, c: &str, a: &str, b: &str) {
    w.lines(&format!("sub r6, r13, {b}"));
    sub_mod(w, c, a, "r6");
}

/// `c = a − b mod q`, q in r13: a odd, b even, c even. 2 slots either way. Range: [0, q) → [0, q).
pub fn sub_mod(w: &mut Writer, c: &str, a: &str, b: &str) {
    let [keep, end] = [(); 2].map(|()| w.label());
    w.lines(&format!(
        "sub {c}, {a}, {b}, geu, {keep}
        add {c}, {c}, r13, true, {end}
        {keep}:
        nop
        {end}:"
    ));
}
