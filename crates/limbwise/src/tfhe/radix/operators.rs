//! Rust's operators, each a `Result`.

use super::{
    bits::{Bitwise, Shift},
    value::Radix,
};
use crate::error::Result;
use limbwise_device::Device;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Shl, Shr, Sub};

macro_rules! binary {
    ($trait:ident, $name:ident, |$a:ident, $b:ident| $call:expr) => {
        impl<'a, D: Device> $trait for &Radix<'a, D> {
            type Output = Result<Radix<'a, D>>;
            fn $name(self, other: Self) -> Self::Output {
                let ($a, $b) = (self, other);
                $call
            }
        }
    };
}

binary!(Add, add, |a, b| Radix::add(a, b));
binary!(Sub, sub, |a, b| Radix::sub(a, b));
binary!(Mul, mul, |a, b| Radix::mul(a, b));
binary!(BitAnd, bitand, |a, b| a.bitwise(Bitwise::And, b));
binary!(BitOr, bitor, |a, b| a.bitwise(Bitwise::Or, b));
binary!(BitXor, bitxor, |a, b| a.bitwise(Bitwise::Xor, b));

macro_rules! shift {
    ($trait:ident, $name:ident, $shift:ident) => {
        impl<'a, D: Device> $trait<u32> for &Radix<'a, D> {
            type Output = Result<Radix<'a, D>>;
            fn $name(self, by: u32) -> Self::Output {
                self.shifted(Shift::$shift, by)
            }
        }
    };
}

shift!(Shl, shl, Left);
shift!(Shr, shr, Right);

/// Modulo 2^bits.
impl<'a, D: Device> Neg for &Radix<'a, D> {
    type Output = Result<Radix<'a, D>>;
    fn neg(self) -> Self::Output {
        self.negated()
    }
}

/// Without a bootstrapping.
impl<'a, D: Device> Not for &Radix<'a, D> {
    type Output = Radix<'a, D>;
    fn not(self) -> Radix<'a, D> {
        self.complement()
    }
}
