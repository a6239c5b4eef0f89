//! A user's mistakes are errors with what, got, wanted: never wrong plaintexts.

use crate::common::{Session, cpu, small};
use limbwise::tfhe::{Boolean, Table, TfheParams, preset};

fn says<T>(result: limbwise::Result<T>, wanted: &str) {
    let error = result.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains(wanted), "{error:?} should say {wanted:?}");
}

#[test]
fn messages_and_tables() {
    let s = Session::on(cpu(), &small(2, 1), 1);
    let (params, eval) = (s.client.params(), s.eval());
    says(s.client.encrypt(&s.dev, &[1, 4]), "message 4 is outside 0 to 3");
    says(s.client.public_key(&s.dev).unwrap().encrypt(&s.dev, &[9]), "message 9 is outside 0 to 3");
    says(Table::new(params, &[0, 1, 2]), "an entry for each of 4 messages, got 3");
    says(Table::of(params, |m| m + 1), "message 4 is outside 0 to 3");
    let table = Table::of(params, |m| m).unwrap();
    let ct = s.encrypt(&[1, 2, 3]);
    says(eval.bootstrap(&ct, &vec![table.clone(); 2]), "2 tables for a batch of 3");
    says(
        eval.bootstrap(&eval.add_clear(&ct, 1), std::slice::from_ref(&table)),
        "the messages may reach 1 to 4, a table takes 0 to 3",
    );
    says(eval.bootstrap(&eval.scale(&ct, -1), std::slice::from_ref(&table)), "the messages may reach -3 to 0");
    says(eval.bootstrap_many(&ct, &vec![table.clone(); 3]), "only as a power of two");
    let wide = Table::of(&TfheParams::new(&small(3, 1)).unwrap(), |m| m % 4).unwrap();
    says(eval.bootstrap(&ct, &[wide]), "an entry for each of 4 messages, got 8");
    says(eval.add(&ct, &s.encrypt(&[1, 1])), "batches of 3 and 2");
    says(s.encrypt(&[1]).at_most(4), "message 4 is outside 0 to 3");
    let outside = eval.add_clear(&s.encrypt(&[3]), 2);
    says(s.client.decrypt(&s.dev, &outside), "no message of 0 to 3");
    let one_bit = Session::on(cpu(), &small(1, 1), 1);
    says(Boolean::new(one_bit.eval(), one_bit.encrypt(&[1])).map(drop), "message 3 is outside 0 to 1");
    says(preset("pbs-9000").map(drop), "there is no TFHE preset \"pbs-9000\": choose one of bool-p64,");
}

#[test]
fn mixed_keys_and_parameters() {
    let (s, t) = (Session::on(cpu(), &small(2, 1), 1), Session::on(cpu(), &small(2, 1), 2));
    let other = Session::on(cpu(), &small(3, 1), 1);
    let table = Table::of(s.client.params(), |m| m).unwrap();
    let (a, b, c) = (s.encrypt(&[1]), t.encrypt(&[1]), other.encrypt(&[1]));
    says(s.eval().add(&a, &b), "add: made with keys");
    says(s.eval().sub(&a, &c), "sub: the parameter sets differ");
    says(s.eval().stack(&[&a, &b]), "stack: made with keys");
    says(s.eval().bootstrap(&b, std::slice::from_ref(&table)), "bootstrap: made with keys");
    says(s.client.decrypt(&s.dev, &b), "decrypt: made with keys");
    says(s.client.decrypt(&s.dev, &c), "decrypt: the parameter sets differ");
}

#[test]
fn noise_beyond_the_promise() {
    let mut literal = small(4, 1);
    literal.norm = 2.0;
    literal.log2_failure = TfheParams::new(&literal).unwrap().log2_failure();
    let s = Session::on(cpu(), &literal, 1);
    let eval = s.eval();
    let ct = s.encrypt(&[1]).at_most(1).unwrap();
    let table = Table::of(s.client.params(), |m| m).unwrap();
    assert!(eval.bootstrap(&eval.scale(&ct, 2), std::slice::from_ref(&table)).is_ok());
    says(eval.bootstrap(&eval.scale(&ct, 3), std::slice::from_ref(&table)), "the parameters allow 2^");
    says(eval.bootstrap_many(&ct, &vec![table; 8]), "this would fail with probability 2^");
}
