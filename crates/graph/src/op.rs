//! The primitives of the seam as operations of a graph.

use limbwise_device::for_each_primitive;

/// Placement of the result's rows; the kinds of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Input,
    Fresh,
    View,
    InPlace,
}

#[rustfmt::skip] // a line an arm
macro_rules! kind {
    (input) => { Kind::Input };
    (fresh) => { Kind::Fresh };
    (view) => { Kind::View };
    (in_place) => { Kind::InPlace };
}

/// Number of values in a type of the table; `None` for one or more.
#[rustfmt::skip] // a line an arm
macro_rules! values {
    ((Poly)) => { Some(1) };
    ((&Poly)) => { Some(1) };
    ((&mut Poly)) => { Some(1) };
    ((&Lwe)) => { Some(1) };
    ((&[&Poly])) => { None::<usize> };
    ((&[&Lwe])) => { None::<usize> };
    ($_other:tt) => { Some(0) };
}

#[rustfmt::skip] // a line an arm
macro_rules! is_lwe {
    ((Lwe)) => { true };
    ($_other:tt) => { false };
}

macro_rules! ops {
    ($($(#[$_doc:meta])+ $op:ident = $kind:ident $name:ident($($_arg:ident: $type:tt),+) -> $result:tt $([$kept:ident])?: $_shape:expr;)+) => {
        /// The operation of a node; one for each primitive of [`Device`](limbwise_device::Device).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op {
            $(#[doc = concat!("[`", stringify!($name), "`](limbwise_device::Device::", stringify!($name), ").")]
            $op,)+
        }

        impl Op {
            /// All operations, in the order of the seam.
            pub const ALL: [Self; [$(stringify!($op)),+].len()] = [$(Self::$op),+];

            /// Name of the seam's method.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$op => stringify!($name),)+ }
            }

            #[inline]
            fn kind(self) -> Kind {
                match self { $(Self::$op => kind!($kind),)+ }
            }

            /// Name in files of the operand that a node records besides its values, if any.
            pub(crate) fn recorded_operand(self) -> Option<&'static str> {
                match self { $(Self::$op => [$(stringify!($kept))?].first().copied(),)+ }
            }

            /// Whether the result is LWE ciphertexts.
            #[must_use]
            pub fn makes_lwe(self) -> bool {
                match self { $(Self::$op => is_lwe!($result),)+ }
            }

            /// Number of operands; `None` for one or more.
            #[must_use]
            pub fn arity(self) -> Option<usize> {
                match self { $(Self::$op => [$(values!($type)),+].into_iter().sum(),)+ }
            }
        }
    };
}

for_each_primitive!(ops);

impl Op {
    /// The operation with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Whether the result shares the rows of its operands, at no cost.
    #[inline]
    #[must_use]
    pub fn is_view(self) -> bool {
        self.kind() == Kind::View
    }

    /// Whether the value comes from outside the program, with a role.
    #[inline]
    #[must_use]
    pub fn is_input(self) -> bool {
        self.kind() == Kind::Input
    }

    /// Whether operand 0 is taken by value (or as accumulator) and overwritten if no other handle shares its rows.
    #[inline]
    #[must_use]
    pub fn is_in_place(self) -> bool {
        self.kind() == Kind::InPlace
    }

    /// Whether the operation belongs to TFHE: it reads or makes LWE ciphertexts, or digits of a small base.
    #[inline]
    #[must_use]
    pub fn is_tfhe(self) -> bool {
        self >= Self::MonomialMul
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for (i, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(Op::from_name(op.name()), Some(op));
            assert_eq!(op as usize, i);
        }
        assert_eq!(Op::from_name("mod_up"), None);
    }
}
