//! Booleans and small integers compute what their clear twins do.

use crate::common::{Session, cpu, small};
use limbwise::tfhe::{Boolean, Gate, Integer};

#[test]
fn gates_and_multiplexers() {
    let s = Session::on(cpu(), &small(2, 1), 1);
    let inputs = |bits: [u64; 8]| Boolean::new(s.eval(), s.encrypt(&bits)).unwrap();
    let (a, b, c) =
        (inputs([0, 0, 0, 0, 1, 1, 1, 1]), inputs([0, 0, 1, 1, 0, 0, 1, 1]), inputs([0, 1, 0, 1, 0, 1, 0, 1]));
    let clear = |i: usize| [i & 4 != 0, i & 2 != 0, i & 1 != 0];
    let read = |x: &Boolean<'_, _>| s.decrypt(x.ciphertext());
    let wanted = |f: &dyn Fn([bool; 3]) -> bool| (0..8).map(|i| u64::from(f(clear(i)))).collect::<Vec<u64>>();
    for gate in Gate::ALL {
        assert_eq!(read(&a.gate(gate, &b).unwrap()), wanted(&|[a, b, _]| gate.apply([a, b])), "{gate:?}");
    }
    assert_eq!(read(&!&a), wanted(&|[a, ..]| !a));
    assert_eq!(read(&a.mux(&b, &c).unwrap()), wanted(&|[a, b, c]| if a { b } else { c }));
    // A full adder: what one operation leaves goes into the next without a bootstrapping between.
    let half = (&a ^ &b).unwrap();
    let carry = half.mux(&c, &a).unwrap();
    assert_eq!(read(&(&half ^ &c).unwrap()), wanted(&|[a, b, c]| a ^ b ^ c));
    assert_eq!(read(&(&carry & &!&c).unwrap()), wanted(&|[a, b, c]| (if a ^ b { c } else { a }) && !c));
    assert_eq!(read(&(&a | &carry).unwrap()), wanted(&|[a, b, c]| a || if a ^ b { c } else { a }));
}

#[test]
fn integers_with_carries() {
    let s = Session::on(cpu(), &small(4, 1), 2);
    let all: Vec<(u64, u64)> = (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).collect();
    let input = |of: fn(&(u64, u64)) -> u64| {
        Integer::new(s.eval(), s.encrypt(&all.iter().map(of).collect::<Vec<_>>())).unwrap()
    };
    let (a, b) = (input(|p| p.0), input(|p| p.1));
    let read = |x: &Integer<'_, _>| s.decrypt(x.ciphertext());
    let wanted = |f: &dyn Fn(u64, u64) -> u64| all.iter().map(|&(a, b)| f(a, b)).collect::<Vec<u64>>();
    let sum = (&a + &b).unwrap();
    assert_eq!(read(&sum), wanted(&|a, b| a + b));
    let more = (&(&sum + &sum).unwrap() + &b).unwrap();
    let (carry, rest) = more.carry().unwrap();
    assert_eq!(read(&carry), wanted(&|a, b| (2 * a + 3 * b) / 4));
    assert_eq!(read(&rest), wanted(&|a, b| (2 * a + 3 * b) % 4));
    assert_eq!(read(&(&a - &b).unwrap().extract_message().unwrap()), wanted(&|a, b| (4 + a - b) % 4));
    assert_eq!(read(&(&sum * &b).unwrap()), wanted(&|a, b| (a + b) * b % 4));
    assert_eq!(read(&a.less_than(&b).unwrap()), wanted(&|a, b| u64::from(a < b)));
    assert_eq!(read(&sum.equals(&b).unwrap()), wanted(&|a, b| u64::from((a + b) % 4 == b)));
    assert_eq!(read(&a.map(|m| m * m).unwrap()), wanted(&|a, _| a * a));
}
