//! The counting model against values measured from SimFHE itself, to every printed digit, and its own laws.

use limbwise_machines::simfhe::{Caching, Count, Set, TransformStyle, bootstrap, steps, subroutines};
use proptest::prelude::*;

/// 10⁹ with six digits, as the values were printed.
fn giga(x: u64) -> String {
    format!("{:.6}", x as f64 / 1e9)
}

fn p35() -> Set {
    Set::named("p35").unwrap()
}

fn row(set: &Set, name: &str) -> Count {
    subroutines(set).into_iter().chain(bootstrap(set)).find(|row| row.name == name).unwrap().count
}

/// Operations, multiplications, additions, limbs transformed, bytes: all, read, written, of keys.
fn printed(c: &Count) -> String {
    let [ops, mults, adds] = [c.operations(), c.multiplications, c.additions].map(giga);
    let [all, read, written, keys] = [c.bytes(), c.read_bytes, c.written_bytes, c.key_bytes].map(giga);
    format!("{ops} {mults} {adds} {} {all} {read} {written} {keys}", c.limb_transforms)
}

#[test]
fn subroutines_are_those_of_simfhe() {
    let wanted = [
        "mod_up 0.284688 0.121111 0.163578 48 0.150995 0.062915 0.088080 0.000000",
        "mod_down 0.300024 0.128844 0.171180 48 0.187695 0.100663 0.087032 0.000000",
        "inner_product 0.062915 0.037749 0.025166 0 0.452985 0.150995 0.000000 0.301990",
        "automorph 0.000000 0.000000 0.000000 0 0.146801 0.073400 0.073400 0.000000",
        "pt_add 0.004588 0.000000 0.004588 0 0.110100 0.073400 0.036700 0.000000",
        "add 0.009175 0.000000 0.009175 0 0.220201 0.146801 0.073400 0.000000",
        "pt_mult 0.274727 0.109838 0.164889 70 0.328204 0.183501 0.144703 0.000000",
        "mult 1.833304 0.782631 1.050673 310 1.929380 0.907018 0.720372 0.301990",
        "rotate 1.531052 0.668205 0.862847 240 1.564475 0.650117 0.612368 0.301990",
        "hoisted_rotate 6.203900 2.736259 3.467641 912 8.141144 3.263169 2.462056 2.415919",
        "decomp 0.009175 0.009175 0.000000 0 0.073400 0.036700 0.036700 0.000000",
    ];
    let got: Vec<String> = subroutines(&p35()).iter().map(|r| format!("{} {}", r.name, printed(&r.count))).collect();
    assert_eq!(got, wanted);
}

#[test]
fn bytes_follow_the_caching() {
    let wanted = [
        ("mod_up", ["0.150995", "0.150995", "0.150995", "0.050332"]),
        ("mod_down", ["0.187695", "0.187695", "0.187695", "0.087032"]),
        ("mult", ["1.929380", "1.709179", "1.709179", "1.205862"]),
        ("rotate", ["1.564475", "1.216348", "1.216348", "0.713032"]),
        ("hoisted_rotate", ["8.141144", "8.141144", "6.639583", "4.726981"]),
    ];
    for (name, wanted) in wanted {
        let levels = [Caching::None, Caching::Limb, Caching::Beta, Caching::Alpha];
        let got = levels.map(|caching| giga(row(&Set { caching, ..p35() }, name).bytes()));
        assert_eq!(got, wanted, "{name}");
    }
}

#[test]
fn the_ladder_of_bootstrapping_is_that_of_simfhe() {
    let wanted = [
        "149.546467 24204 207.981904 109.909639 65.243447 32.828817 0.7190",
        "149.546467 24204 178.059739 94.948557 50.282365 32.828817 0.8399",
        "149.546467 24204 170.849731 87.738548 50.282365 32.828817 0.8753",
        "149.546467 24204 127.749063 66.188214 28.732031 32.828817 1.1706",
        "149.546467 24204 117.565293 61.096329 23.640146 32.828817 1.2720",
        "142.381548 22164 117.565293 61.096329 23.640146 32.828817 1.2111",
        "95.725945 9696 157.356655 18.712887 9.215934 129.427833 0.6083",
        "95.725945 9696 92.642738 18.712887 9.215934 64.713916 1.0333",
    ];
    let line = |c: &Count| {
        let [all, read, written, keys] = [c.bytes(), c.read_bytes, c.written_bytes, c.key_bytes].map(giga);
        let (ops, intensity) = (giga(c.operations()), c.intensity());
        format!("{ops} {} {all} {read} {written} {keys} {intensity:.4}", c.limb_transforms)
    };
    let got: Vec<String> = steps(&p35()).iter().map(|step| line(&step.count)).collect();
    assert_eq!(got, wanted);
}

#[test]
fn bootstrapping_of_fabs_set_is_that_of_simfhe() {
    let steps = steps(&Set::named("fab").unwrap());
    let line = |c: Count| {
        let [ops, mults, bytes] = [c.operations(), c.multiplications, c.bytes()].map(giga);
        format!("{ops} {mults} {bytes} {:.4}", c.intensity())
    };
    assert_eq!(line(steps[0].count), "31.318180 13.322387 39.551681 0.7918");
    assert_eq!(line(steps[7].count), "19.888964 9.035678 14.370767 1.3840");
}

#[test]
fn mistakes_in_a_set_are_named() {
    let wrong = |field: &str, value: &str| p35().with(&[(field, value)]).unwrap_err().to_string();
    assert_eq!(Set::named("p3").unwrap_err().to_string(), "there is no set \"p3\": choose one of p35, fab");
    assert!(wrong("radix", "3").starts_with("a set has no field \"radix\": its fields are log_n, "));
    assert_eq!(wrong("log_n", "seventeen"), "log_n: an integer is wanted, got seventeen");
    assert_eq!(wrong("dnum", "0"), "dnum: an integer from 1 to 35 is wanted, got 0");
    assert_eq!(wrong("degree", "64"), "degree: no power of two is wanted, got 64");
    assert_eq!(wrong("limbs", "14"), "limbs: at least the 15 that bootstrapping takes is wanted, got 14");
    assert_eq!(wrong("caching", "all"), "caching: one of none, limb, beta, alpha, huge is wanted, got all");
    assert_eq!(p35().with(&[("logn", "16"), ("fftiter", "4")]).unwrap().fft_iter, 4);
}

prop_compose! {
    fn sets()(
        log_n in 4u32..18,
        dnum in 1u64..8,
        limbs in 40u64..60,
        fft_iter in 1u64..4,
        degree in (3u64..200).prop_filter("no power of two", |d| !d.is_power_of_two()),
        doublings in 0u64..4,
        transform in prop::sample::select(vec![
            TransformStyle::Bsgs, TransformStyle::BsgsHoisted, TransformStyle::UnrolledHoisted,
        ]),
        [karatsuba, key_compression, merge, reorder] in any::<[bool; 4]>(),
    ) -> Set {
        let caching = Caching::None;
        Set {
            log_n, log_q: 54, limbs, dnum, fft_iter, degree, doublings, transform, caching,
            karatsuba, key_compression, merge, reorder,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Where nothing is multiplied by P again because it had left, caching changes bytes only, and never upwards.
    #[test]
    fn caching_never_changes_operations(set in sets()) {
        let of = |caching| Set { caching, ..set.clone() };
        let (none, limb) = (of(Caching::None), of(Caching::Limb));
        for other in [Caching::Limb, Caching::Beta, Caching::Alpha, Caching::Huge].map(of) {
            for (a, b) in subroutines(&none).iter().zip(subroutines(&other)) {
                prop_assert_eq!((a.count.multiplications, a.count.additions), (b.count.multiplications, b.count.additions));
            }
            let least = if set.transform == TransformStyle::Bsgs { &none } else { &limb };
            for (a, b) in bootstrap(least).iter().zip(bootstrap(&other)) {
                prop_assert_eq!((a.count.multiplications, a.count.additions), (b.count.multiplications, b.count.additions));
                prop_assert!(b.count.read_bytes + b.count.key_bytes <= a.count.read_bytes + a.count.key_bytes);
            }
        }
    }

    #[test]
    fn compression_halves_keys_and_nothing_else(set in sets()) {
        let with = |key_compression| Set { key_compression, ..set.clone() };
        let rows = |set: &Set| subroutines(set).into_iter().chain(bootstrap(set));
        for (whole, half) in rows(&with(false)).zip(rows(&with(true))) {
            prop_assert_eq!(whole.count.key_bytes, 2 * half.count.key_bytes);
            prop_assert_eq!(Count { key_bytes: 0, ..whole.count }, Count { key_bytes: 0, ..half.count });
        }
    }

    /// The ladder adds what it says: each row but the baseline is the set of its step counted by itself.
    #[test]
    fn the_whole_is_its_steps(set in sets()) {
        let rows = bootstrap(&set);
        let sum: Count = rows[..3].iter().map(|row| row.count).sum();
        prop_assert_eq!(sum, rows[3].count);
    }
}
