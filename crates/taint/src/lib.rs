//! Marks for a checker of secrets: which memory is secret, and which values derived from secrets are public.
//!
//! valgrind's memcheck follows undefined bytes through registers and memory, and reports a branch or an address that
//! depends on one. A test marks a secret as undefined ([`poison`]), and every branch on it is found. Library code calls
//! [`declassify`] where a value that was derived from a secret is published, each with its reason. Without the feature
//! `valgrind`, or off x86-64 Linux, nothing is compiled.
//!
//! Enters: the two marks, the checker's count of errors.
//! Stays out: what is secret and why (that stands where the marks are used).
//!
//! Source: \[Lan10\], ADR 186.

/// Whether requests reach a checker of memory: the feature is on and the process runs under valgrind.
#[must_use]
pub fn is_checked() -> bool {
    request(Request::RunningOnValgrind, 0, 0) != 0
}

/// Marks memory as secret. From then on every branch and every address that depends on it is an error of the checker.
pub fn poison<T: ?Sized>(secret: &mut T) {
    mark(Request::MakeMemUndefined, secret);
}

/// A value derived from a secret that is public from here on. The caller's line says why.
#[inline]
#[must_use]
pub fn declassify<T>(mut value: T) -> T {
    mark(Request::MakeMemDefined, &mut value);
    value
}

/// Makes memory public. The caller's line says why.
#[inline]
pub fn declassify_in_place<T: ?Sized>(value: &mut T) {
    mark(Request::MakeMemDefined, value);
}

/// Errors that the checker has counted in this process, equal ones as often as they came.
#[must_use]
pub fn errors() -> u64 {
    request(Request::CountErrors, 0, 0)
}

/// Requests that valgrind's headers `valgrind.h` and `memcheck.h` define, with their numbers.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Request {
    RunningOnValgrind = 0x1001,
    CountErrors = 0x1201,
    MakeMemUndefined = 0x4d43_0001,
    MakeMemDefined = 0x4d43_0002,
}

/// Tells about the bytes of a value. The reference is exclusive, so that the compiler keeps no copy of the value in a
/// register, where the mark would not reach it.
#[inline]
fn mark<T: ?Sized>(what: Request, value: &mut T) {
    let length = size_of_val(value) as u64;
    request(what, std::ptr::from_mut(value).cast::<u8>() as u64, length);
}

/// A request; 0 where nobody listens.
#[cfg(all(feature = "valgrind", target_arch = "x86_64", target_os = "linux"))]
#[inline(never)]
#[expect(unsafe_code, reason = "a request to valgrind is a sequence of instructions")]
fn request(what: Request, address: u64, length: u64) -> u64 {
    let arguments: [u64; 6] = [what as u64, address, length, 0, 0, 0];
    let mut answer = 0u64;
    // SAFETY: on a processor the four rotations of rdi add up to 128 bits, and rbx is exchanged with itself, so that only
    // flags change. valgrind recognizes the sequence, reads the six words behind rax and sets rdx; the marks that it then
    // changes are no memory of this process. `address` was exposed by the cast that made it.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Nobody listens.
#[cfg(not(all(feature = "valgrind", target_arch = "x86_64", target_os = "linux")))]
#[inline]
const fn request(_what: Request, _address: u64, _length: u64) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::{declassify, declassify_in_place, errors, poison};

    #[test]
    fn marks_change_no_value() {
        let mut words = [1u64, 2, 3];
        poison(&mut words);
        declassify_in_place(&mut words[..]);
        assert_eq!((declassify(words), errors()), ([1, 2, 3], 0));
    }
}
