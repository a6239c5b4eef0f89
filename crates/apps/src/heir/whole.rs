//! Integers of the text, which wrap round the bits of their type.
//!
//! A number is held by its bits with the sign of the highest, as `i8` holds 255 as −1; one of `i1` as 0 or 1. What reads it
//! as signed or as unsigned says so, as the operations of MLIR do.

use super::value::{Done, Value};

/// Bits of an integer type, 1 to 64; `index` has 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits(u32);

impl Bits {
    /// Those of a type's elements; 64 where it has no integers.
    pub(super) fn of(text: &str) -> Self {
        let element = text.trim_end_matches('>').rsplit(['x', '<']).next().unwrap_or(text).trim();
        let digits = element.trim_start_matches(['s', 'u']).strip_prefix('i');
        let bits = digits.and_then(|digits| digits.parse().ok()).filter(|bits| (1..64).contains(bits));
        Self(bits.unwrap_or(64))
    }

    /// The number with the sign of the highest bit.
    fn signed(self, a: i64) -> i64 {
        let unused = 64 - self.0;
        (a << unused) >> unused
    }

    fn unsigned(self, a: i64) -> u64 {
        let unused = 64 - self.0;
        (a.cast_unsigned() << unused) >> unused
    }

    /// As it is held: what does not fit has wrapped.
    pub(super) fn held(self, a: i64) -> i64 {
        if self.0 == 1 { a & 1 } else { self.signed(a) }
    }
}

/// A number in another type; `None` for an operation that is not read.
pub(super) fn converted(name: &str, a: i64, [from, to]: [Bits; 2]) -> Option<Value> {
    let held = match name {
        "arith.trunci" => a,
        "arith.index_cast" | "arith.extsi" => from.signed(a),
        "arith.index_castui" | "arith.extui" => from.unsigned(a).cast_signed(),
        "arith.sitofp" => return Some(Value::Real(from.signed(a) as f64)),
        "arith.uitofp" => return Some(Value::Real(from.unsigned(a) as f64)),
        _ => return None,
    };
    Some(Value::Whole(to.held(held)))
}

/// An operation on two numbers of one type.
pub(super) fn of_two(
    name: &str,
    operands: [i64; 2],
    predicate: Option<i64>,
    [from, to]: [Bits; 2],
) -> Option<Done<Value>> {
    let [a, b] = operands.map(|a| from.signed(a));
    let [x, y] = operands.map(|a| from.unsigned(a));
    let floor = || a.checked_div_euclid(b).map(|q| if b < 0 && a.rem_euclid(b) != 0 { q - 1 } else { q });
    let result = match name {
        "arith.addi" => a.checked_add(b),
        "arith.subi" => a.checked_sub(b),
        "arith.muli" => a.checked_mul(b),
        "arith.divsi" => a.checked_div(b),
        "arith.divui" => x.checked_div(y).map(u64::cast_signed),
        "arith.floordivsi" => floor(),
        "arith.ceildivsi" if b > 0 => a.checked_neg().map(|a| -a.div_euclid(b)),
        "arith.remsi" => a.checked_rem(b),
        "arith.remui" => x.checked_rem(y).map(u64::cast_signed),
        "arith.maxsi" => Some(a.max(b)),
        "arith.minsi" => Some(a.min(b)),
        "arith.maxui" => Some(x.max(y).cast_signed()),
        "arith.minui" => Some(x.min(y).cast_signed()),
        "arith.andi" => Some(a & b),
        "arith.ori" => Some(a | b),
        "arith.xori" => Some(a ^ b),
        "arith.shli" => u32::try_from(y).ok().and_then(|y| a.checked_shl(y)),
        "arith.shrsi" => u32::try_from(y).ok().and_then(|y| a.checked_shr(y)),
        "arith.shrui" => u32::try_from(y).ok().and_then(|y| x.checked_shr(y)).map(u64::cast_signed),
        "arith.cmpi" => {
            let holds = [a == b, a != b, a < b, a <= b, a > b, a >= b, x < y, x <= y, x > y, x >= y];
            holds.get(usize::try_from(predicate?).ok()?).map(|&holds| i64::from(holds))
        }
        _ => return None,
    };
    let [a, b] = operands;
    Some(result.map(|result| Value::Whole(to.held(result))).ok_or_else(|| format!("{a} and {b} have no result")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(from: &str, to: &str) -> [Bits; 2] {
        [Bits::of(from), Bits::of(to)]
    }

    #[test]
    fn types_have_bits() {
        for (text, wanted) in
            [("i1", 1), ("i8", 8), ("index", 64), ("tensor<4x3xi32>", 32), ("tensor<i16>", 16), ("ui8", 8), ("f32", 64)]
        {
            assert_eq!(Bits::of(text), Bits(wanted), "{text}");
        }
    }

    #[test]
    fn conversions_keep_the_bits_of_their_types() {
        let converted = |name: &str, a, from, to| match converted(name, a, bits(from, to)) {
            Some(Value::Whole(a)) => a as f64,
            Some(Value::Real(a)) => a,
            other => panic!("{other:?}"),
        };
        for (name, a, from, to, wanted) in [
            ("arith.trunci", 2, "i32", "i1", 0.0),
            ("arith.trunci", 3, "i32", "i1", 1.0),
            ("arith.trunci", 200, "i32", "i8", -56.0),
            ("arith.extui", -1, "i8", "i32", 255.0),
            ("arith.extsi", -1, "i8", "i32", -1.0),
            ("arith.extsi", 1, "i1", "i32", -1.0),
            ("arith.extui", 1, "i1", "i32", 1.0),
            ("arith.index_castui", -1, "i16", "index", 65535.0),
            ("arith.uitofp", -1, "i8", "f32", 255.0),
            ("arith.sitofp", 1, "i1", "f32", -1.0),
        ] {
            let got = converted(name, a, from, to);
            assert!((got - wanted).abs() < 0.5, "{name} {a}: {from} to {to}: {got}");
        }
    }

    #[test]
    fn results_wrap_round_the_bits_of_their_type() {
        let of = |name: &str, operands, predicate, of: &str| of_two(name, operands, predicate, bits(of, of)).unwrap();
        let whole = |name: &str, operands, text: &str| of(name, operands, None, text).unwrap().whole().unwrap();
        assert_eq!(whole("arith.addi", [127, 1], "i8"), -128);
        assert_eq!(whole("arith.muli", [1 << 20, 1 << 20], "i32"), 0);
        assert_eq!(whole("arith.addi", [1, 1], "i1"), 0);
        assert_eq!(whole("arith.shrui", [-1, 4], "i8"), 15);
        assert_eq!(whole("arith.divui", [-2, 2], "i8"), 127);
        assert!(of("arith.addi", [i64::MAX, 1], None, "i64").is_err());
        // Unsigned, −1 is the greatest; of one bit, 1 is below 0.
        let compared =
            |operands, predicate, text: &str| of_two("arith.cmpi", operands, Some(predicate), bits(text, "i1"));
        assert_eq!(compared([-1, 1], 8, "i8").unwrap().unwrap().whole().unwrap(), 1);
        assert_eq!(compared([1, 0], 2, "i1").unwrap().unwrap().whole().unwrap(), 1);
    }
}
