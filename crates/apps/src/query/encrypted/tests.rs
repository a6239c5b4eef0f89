//! The whole program under encryption on small rings: groups that the server sees, ends of columns, states to go on from.

use super::super::{Domain, QueryClient, Statement, table::Column};
use super::*;
use crate::{client::Client as _, family::Cell};
use limbwise::{
    ckks::{Encoder, Evaluator, decrypt, encrypt_secret},
    params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine},
    rlwe::{DeclaredKeys, KeyForm, KeyGenerator, KeyPlan, KeySet, Requirements, SecretKey},
    scheme::{Encryption, Scheme as _, Setup},
    tfhe::{self, ClientKey, GadgetLiteral, ServerKey, TfheLiteral, TfheParams},
};
use limbwise_cpu::Cpu;
use limbwise_device::Null;
use limbwise_math::sampling::Seed;

/// Few steps for speed.
fn tfhe_set() -> TfheLiteral {
    TfheLiteral {
        log_n: 10,
        masks: 1,
        prime: PrimeChoice::Bits(48),
        glwe_sigma: 3.2,
        lwe_dimension: 20,
        log_lwe_modulus: 32,
        lwe_sigma: 3.2,
        bootstrap: GadgetLiteral { base_log: 16, levels: 2 },
        key_switch: GadgetLiteral { base_log: 4, levels: 5 },
        message_bits: 4,
        norm: 5.0,
        log2_failure: -40.0,
        insecure: Some(Insecure { reason: "a test of correctness".into() }),
    }
}

/// The chain of the presets for bridges, on a small ring.
fn ckks_set() -> ParamsLiteral {
    let mut literal = ParamsLiteral::chain(11, 46, 40, 4, (50, 3), 6);
    let above = [&[26, 26][..]].into_iter().chain([&[46][..]; 7]).chain([&[43][..]; 2]);
    literal.levels.extend(above.map(|bits| bits.iter().map(|&b| PrimeChoice::Bits(b)).collect()));
    literal.bootstrapping = Some(BootstrapLiteral {
        order: Order::SlotToCoeffFirst,
        slot_to_coeff: 1,
        coeff_to_slot: 2,
        message_ratio: 2,
        ephemeral_weight: Some(32),
        eval_mod: EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine: Sine::Cosine { arcsine: 0 } },
        refinement: None,
    });
    literal.insecure = Some(Insecure { reason: "a test of correctness".into() });
    literal
}

/// A question to eight rows.
fn asked(sql: &str, public: &[&str]) -> (Query, QueryClient) {
    asked_in(sql, public, &["price=0..127", "stock=0..15"])
}

fn asked_in(sql: &str, public: &[&str], domains: &[&str]) -> (Query, QueryClient) {
    let set = (Params::new(&ckks_set()).unwrap(), TfheParams::new(&tfhe_set()).unwrap());
    let params = BridgeParams::new(&set.0, &set.1).unwrap();
    let column = |name: &str, cells: &[&str]| Column::of_cells(name, cells);
    let columns = vec![
        column("price", &["10", "99", "3", "7", "55", "12", "31", "64"]),
        column("stock", &["5", "1", "14", "7", "0", "15", "9", "2"]),
        column("shop", &["ulm", "bonn", "ulm", "ulm", "bonn", "bonn", "bonn", "ulm"]),
        column("tax", &["1", "", "3", "", "0", "2", "", "1"]),
    ];
    let table = Table { name: Some("goods".into()), columns, rows: 8 };
    let statement = Statement::parse(sql).unwrap().of_table(&table, &[]).unwrap();
    let table = table.with_derived(&statement).unwrap();
    let domains: Vec<Domain> = domains.iter().map(|domain| domain.parse().unwrap()).collect();
    let public: Vec<String> = public.iter().map(|&name| name.to_owned()).collect();
    let question = Question::new(&statement, &table, &domains, &public).unwrap();
    let program = Query::new("query", question, &params).unwrap();
    let client = QueryClient::new(&program, table).unwrap();
    (program, client)
}

/// The keys that a program takes, by a run that computes nothing.
fn required(program: &Query) -> Requirements {
    let (null, params) = (Null::default(), program.params());
    let encoder = Encoder::new(params.ckks());
    let bridge = Bridge::declare(&null, &encoder, params, program.model()).unwrap();
    let keys = DeclaredKeys::all(&null, params.ckks());
    let server = ServerKey::declared(&null, params.tfhe());
    let auto = Auto::new(Evaluator::new(&null, params.ckks(), &keys), &encoder);
    let means = BridgedMeans { tfhe: tfhe::Evaluator::new(&null, &server), auto, bridge: &bridge };
    let input = |input: &BridgedInput| {
        let setup = Setup { dev: &null, encoder: &encoder, params };
        Bridged::declare_input(setup, input, Encryption::default()).unwrap()
    };
    let inputs: Vec<_> = program.inputs().iter().map(input).collect();
    program.evaluate(Evaluation { means: &means, inputs: &inputs, observer: &mut (), journal: &mut () }).unwrap();
    keys.requirements()
}

/// A client and a server of a program.
struct Sides {
    dev: Cpu,
    encoder: Encoder,
    secret: SecretKey,
    client: ClientKey,
    server: ServerKey<Cpu>,
    keys: KeySet<Cpu>,
    bridge: Bridge<Cpu>,
}

type Kept = State<Cpu, Bridged>;

/// Keeps all states.
#[derive(Default)]
struct All {
    begun: Option<Kept>,
    kept: Vec<Kept>,
}

fn copied(state: &Kept) -> Kept {
    State { step: state.step, ciphertexts: state.ciphertexts.clone(), numbers: state.numbers.clone() }
}

impl Journal<Cpu, Bridged> for All {
    fn resume(&mut self) -> Result<Option<Kept>> {
        Ok(self.begun.take())
    }

    fn keep(&mut self, state: &Kept) -> Result<()> {
        self.kept.push(copied(state));
        Ok(())
    }
}

impl Sides {
    fn of(program: &Query) -> Self {
        let (params, dev) = (program.params(), Cpu::builder().threads(1).open().unwrap());
        let secret = SecretKey::generate(params.ckks(), &Seed([3; 32]));
        let client = ClientKey::from_seed(params.tfhe(), Seed([4; 32]));
        let server = ServerKey::new(&dev, &client.bootstrap_keys(&dev));
        let encoder = Encoder::new(params.ckks());
        let generator = KeyGenerator::new(&dev, params.ckks(), &secret).unwrap().with_lwe(&client).unwrap();
        let plan = KeyPlan { required: required(program), form: KeyForm::Stored };
        let keys = generator.key_set(&plan, |_| ()).unwrap();
        drop(generator);
        let bridge = Bridge::encode(&dev, &encoder, params, program.model()).unwrap();
        Self { dev, encoder, secret, client, server, keys, bridge }
    }

    fn encrypted(&self, program: &Query, client: &QueryClient) -> Vec<BridgedCiphertext<Cpu>> {
        let params = program.params().ckks();
        let input = |(number, input): (usize, BridgedInput)| match (input, client.values(number)) {
            (BridgedInput::Messages(input), BridgedValues::Messages(values)) => {
                assert_eq!((input.batch, values.iter().all(|&v| v <= input.most)), (values.len(), true));
                BridgedCiphertext::Messages(
                    self.client.encrypt(&self.dev, &values).unwrap().at_most(input.most).unwrap(),
                )
            }
            (BridgedInput::Slots(input), BridgedValues::Slots(values)) => {
                assert!(values.iter().flatten().all(|value| value.norm() <= input.bounds.peak), "what was promised");
                let plain = self.encoder.encode(&self.dev, &values, input.packing).unwrap();
                BridgedCiphertext::Slots(encrypt_secret(&self.dev, params, &self.secret, &plain).unwrap())
            }
            _ => panic!("values of one scheme for an input of the other"),
        };
        program.inputs().into_iter().enumerate().map(input).collect()
    }

    fn evaluated(&self, program: &Query, inputs: &[BridgedCiphertext<Cpu>], journal: &mut All) -> Vec<BridgedValues> {
        let params = program.params();
        let auto = Auto::new(Evaluator::new(&self.dev, params.ckks(), &self.keys), &self.encoder);
        let tfhe = tfhe::Evaluator::new(&self.dev, &self.server);
        let means = BridgedMeans { tfhe, auto, bridge: &self.bridge };
        let results = program.evaluate(Evaluation { means: &means, inputs, observer: &mut (), journal }).unwrap();
        let opened = |result: &BridgedCiphertext<Cpu>| match result {
            BridgedCiphertext::Messages(messages) => {
                BridgedValues::Messages(self.client.decrypt(&self.dev, messages).unwrap())
            }
            BridgedCiphertext::Slots(slots) => {
                BridgedValues::Slots(decrypt(&self.dev, &self.encoder, params.ckks(), &self.secret, slots).unwrap())
            }
        };
        assert_eq!(results.len(), program.results());
        results.iter().map(opened).collect()
    }
}

/// The rows of the decrypted answer, each number as the clear twin has it.
fn answer(client: &QueryClient, results: &Vec<BridgedValues>) -> Vec<Vec<String>> {
    let found = client.conclude(results).found;
    assert_eq!(found.wrong, 0, "{found:?}");
    assert!(found.answer.relative_error < 1e-3 && found.largest_bit_error < 1e-3, "{found:?}");
    let shown = |cell: &Cell| match cell {
        Cell::Key(text) => text.clone(),
        Cell::Number(number) => number.exact.clone(),
        Cell::Null(()) => "NULL".into(),
    };
    found.table.unwrap().rows.iter().map(|row| row.iter().map(shown).collect()).collect()
}

/// Rows 10, 3, 7 of Ulm and 12, 31 of Bonn pass. Whatever state a run goes on from, it ends with the same words.
#[test]
fn ends_in_public_groups_and_states_to_go_on_from() {
    let sql = "SELECT shop, SUM(price), MIN(stock), MAX(price) FROM goods WHERE price < 60 AND stock >= 5 GROUP BY shop \
               HAVING COUNT(*) > 0 ORDER BY MAX(price) DESC";
    let (program, client) = asked(sql, &["shop"]);
    assert_eq!((program.filter().flags(), program.question().selections.len()), (1, 2));
    let sides = Sides::of(&program);
    let inputs = sides.encrypted(&program, &client);
    let mut all = All::default();
    let whole = sides.evaluated(&program, &inputs, &mut all);
    assert_eq!(answer(&client, &whole), [["bonn", "43", "9", "31"], ["ulm", "20", "5", "10"]]);
    // Of two groups 4 + 7 bits each, behind the filter.
    let filter = program.filter().steps() - 1;
    let steps: Vec<usize> = all.kept.iter().map(|state| state.step).collect();
    assert_eq!(steps, (1..=filter + 22).collect::<Vec<_>>());
    for step in [1, filter, filter + 1, filter + 4, filter + 5, filter + 13, filter + 22] {
        let begun = all.kept.iter().find(|state| state.step == step).map(copied);
        let mut journal = All { begun, kept: Vec::new() };
        assert!(sides.evaluated(&program, &inputs, &mut journal) == whole, "from step {step}");
        assert_eq!(journal.kept.len(), filter + 22 - step);
    }
    // A state of another program.
    let State { ciphertexts, numbers, .. } = copied(&all.kept[filter + 3]);
    let mut journal = All { begun: Some(State { step: filter + 9, ciphertexts, numbers }), kept: Vec::new() };
    let params = program.params();
    let auto = Auto::new(Evaluator::new(&sides.dev, params.ckks(), &sides.keys), &sides.encoder);
    let means = BridgedMeans { tfhe: tfhe::Evaluator::new(&sides.dev, &sides.server), auto, bridge: &sides.bridge };
    let on = Evaluation { means: &means, inputs: &inputs, observer: &mut (), journal: &mut journal };
    assert!(matches!(program.evaluate(on), Err(limbwise::Error::State)));
}

/// Groups that are flags, a minimum of no row, and a column that is compared, summed and searched.
#[test]
fn ends_of_encrypted_groups() {
    let sql = "SELECT shop, COUNT(*), MIN(price), MAX(stock) FROM goods WHERE price > 60 GROUP BY shop ORDER BY shop";
    let (program, client) = asked(sql, &[]);
    assert_eq!((program.filter().flags(), program.question().selections.len()), (2, 2));
    let sides = Sides::of(&program);
    let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
    assert_eq!(answer(&client, &results), [["bonn", "1", "99", "1"], ["ulm", "1", "64", "2"]]);
    let sql = "SELECT MAX(price) - MIN(price), MIN(stock), SUM(price) FROM goods WHERE stock > 14 AND price < 9";
    let (program, client) = asked(sql, &[]);
    let sides = Sides::of(&program);
    let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
    assert_eq!(answer(&client, &results), [["NULL", "NULL", "NULL"]]);
}

/// What DuckDB says of no row: NULL, and 0 for a count. Sums of parts have the bits of theirs.
#[test]
fn of_no_row_all_but_a_count_is_null() {
    let none = "stock > 14 AND price < 9";
    for (result, wanted) in [
        ("SUM(price)", None),
        ("SUM(1)", None),
        ("SUM(CASE WHEN price < 50 THEN stock ELSE 0 END)", None),
        ("COUNT(*)", Some(0.0)),
    ] {
        let (program, client) = asked(&format!("SELECT {result} FROM goods WHERE {none}"), &[]);
        let sides = Sides::of(&program);
        let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
        program.admits(&results).unwrap();
        let (found, array) = (client.conclude(&results).found, program.arrays(&results)[0].values[0].re);
        assert_eq!((found.answer.decrypted, found.answer.relative_error), (wanted, 0.0), "{result}");
        assert_eq!(found.answer.exact, if wanted.is_some() { "0" } else { "NULL" }, "{result}");
        assert!(if wanted.is_some() { array == 0.0 } else { array.is_nan() }, "{result}: {array}");
    }
    // A case that holds for no row where some pass is 0.
    let case = "SELECT SUM(CASE WHEN stock > 14 THEN price ELSE 0 END) FROM goods WHERE price < 9";
    let (program, client) = asked(case, &[]);
    let sides = Sides::of(&program);
    let inputs = sides.encrypted(&program, &client);
    let results = sides.evaluated(&program, &inputs, &mut All::default());
    assert_eq!(client.conclude(&results).found.answer.decrypted, Some(0.0));
    let (whole, parts) = (program.arrays(&results), program.summed_over(3).arrays(&results));
    assert_eq!((program.summed(), whole.len(), parts.len(), parts[0].values[0].re), (3, 2, 1, 0.0));
    // What is no bit is no result.
    let mut damaged = results;
    let BridgedValues::Slots(bits) = &mut damaged[1] else { panic!("bits are on slots") };
    bits[0][5].re += 0.4;
    assert!(program.admits(&damaged).unwrap_err().to_string().contains("no whole number"));
}

/// Without a condition nothing is compared; slots without a row do not count, nor do rows of other public groups.
#[test]
fn every_row_is_summed_and_searched() {
    let (program, client) = asked("SELECT SUM(10 - stock) FROM goods", &[]);
    assert_eq!((program.filter().steps(), program.digits().len(), program.results()), (0, 0, 1));
    let sides = Sides::of(&program);
    let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
    program.admits(&results).unwrap();
    let found = client.conclude(&results).found;
    assert_eq!((found.answer.decrypted, &found.answer.exact[..], found.rows_passing), (Some(27.0), "27", 8));
    assert_eq!(program.arrays(&results).len(), 1, "which rows are taken is known");
    for (sql, public, wanted) in [
        (
            "SELECT AVG(price), COUNT(stock), MIN(stock), MAX(price) FROM goods",
            &[][..],
            "[[\"35.125\", \"8\", \"0\", \"99\"]]",
        ),
        (
            "SELECT shop, SUM(1 - stock), COUNT(*), MAX(stock) FROM goods GROUP BY shop ORDER BY shop",
            &["shop"],
            "[[\"bonn\", \"-21\", \"4\", \"15\"], [\"ulm\", \"-24\", \"4\", \"14\"]]",
        ),
        (
            "SELECT SUM(price), SUM(CASE WHEN stock > 6 THEN price ELSE 0 END), SUM(price * stock) FROM goods",
            &[],
            "[[\"281\", \"53\", \"827\"]]",
        ),
        (
            "SELECT COUNT(DISTINCT stock % 3) FILTER (WHERE price < 20), MAX(price) FILTER (WHERE stock > 8), \
             MIN(CASE WHEN shop LIKE '%o%' THEN stock END), SUM(stock) FILTER (WHERE stock + price < 10) FROM goods",
            &[],
            "[[\"3\", \"31\", \"0\", \"NULL\"]]",
        ),
        (
            "SELECT COUNT(*), SUM(price), MIN(stock) FROM goods WHERE shop = 'kiel'",
            &[],
            "[[\"0\", \"NULL\", \"NULL\"]]",
        ),
        (
            "SELECT SUM(tax), AVG(tax), COUNT(tax), MIN(tax), SUM(price + tax), SUM(COALESCE(tax, 9)) FROM goods WHERE NOT tax = 1",
            &[],
            "[[\"5\", \"1.6666666666666667\", \"3\", \"0\", \"75\", \"5\"]]",
        ),
        (
            "SELECT tax, COUNT(*), SUM(stock) FROM goods WHERE price > 9 GROUP BY tax ORDER BY tax DESC NULLS FIRST",
            &["tax"],
            "[[\"NULL\", \"2\", \"10\"], [\"2\", \"1\", \"15\"], [\"1\", \"2\", \"7\"], [\"0\", \"1\", \"0\"]]",
        ),
        (
            "SELECT shop, MAX(tax), SUM(tax) FROM goods WHERE price IN (99, 7, 31) GROUP BY shop ORDER BY shop",
            &[],
            "[[\"bonn\", \"NULL\", \"NULL\"], [\"ulm\", \"NULL\", \"NULL\"]]",
        ),
    ] {
        let (program, client) = asked(sql, public);
        let sides = Sides::of(&program);
        let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
        program.admits(&results).unwrap();
        assert_eq!(format!("{:?}", answer(&client, &results)), wanted, "{sql}");
    }
}

/// A bound holds for all values of a domain, and what lies within half of the last digit is rounded.
#[test]
fn sums_are_as_exact_as_they_say() {
    let (program, client) = asked("SELECT SUM(1 - stock) FROM goods WHERE price < 60", &[]);
    let sides = Sides::of(&program);
    let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
    let BridgedValues::Slots(sum) = &results[0] else { panic!("a sum is on slots") };
    let off = (sum[0][0].re * program.unit(&program.question().measures[0]) + 44.0).abs();
    let bound = program.bounds()[0];
    assert!(0.0 < off && off < bound && bound < 0.5, "{off} {bound}");
    let found = client.conclude(&results).found.answer;
    assert_eq!((found.decrypted, &found.exact[..], found.relative_error), (Some(-44.0), "-44", 0.0));
    // Of many parts together the errors may be larger than half of the last digit.
    let many = program.summed_over(1 << 40);
    assert!((many.read(&results).figures.sums[0].float() + 44.0).abs() > 0.0);
    // Both shops have sixteen.
    for (order, wanted) in [("DESC, shop DESC", ["ulm", "bonn"]), (", shop", ["bonn", "ulm"])] {
        let sql = "SELECT shop, SUM(stock), SUM(stock - 8) FROM goods WHERE stock IN (1, 2, 14, 15) GROUP BY shop \
                   HAVING SUM(stock - 8) >= SUM(stock) - 2 * 8 ORDER BY SUM(stock)";
        let (program, client) = asked(&format!("{sql} {order}"), &[]);
        let sides = Sides::of(&program);
        let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
        let wanted = wanted.map(|shop| [shop.to_owned(), "16".into(), "0".into()]);
        assert_eq!(answer(&client, &results), wanted);
        assert!(program.decided_by_noise().is_none());
    }
}

/// A sum that is exact to its last digit may be asked to equal something; of another noise would decide.
#[test]
fn sums_equal_what_they_are() {
    for (rest, wanted) in [
        (
            "HAVING SUM(stock) = 16 ORDER BY shop",
            "[[\"bonn\", \"5.333333333333333\"], [\"ulm\", \"5.333333333333333\"]]",
        ),
        ("HAVING SUM(stock - 8) <> 0 OR AVG(stock) IN (3, 8.1)", "[]"),
        ("HAVING SUM(stock) / 3 = 16 / 3 AND shop = 'ulm'", "[[\"ulm\", \"5.333333333333333\"]]"),
    ] {
        let sql = "SELECT shop, SUM(stock) / NULLIF(SUM(stock - 8) + 3, 0) FROM goods WHERE stock IN (1, 2, 14, 15) GROUP BY shop";
        let (program, client) = asked(&format!("{sql} {rest}"), &[]);
        let sides = Sides::of(&program);
        let results = sides.evaluated(&program, &sides.encrypted(&program, &client), &mut All::default());
        assert_eq!(format!("{:?}", answer(&client, &results)), wanted, "{rest}");
        assert_eq!((program.check_equalities().is_ok(), program.summed()), (true, 0), "errors of parts add up");
    }
    for rest in ["HAVING SUM(price) = 16", "HAVING NOT SUM(price) IN (1, 2)", "ORDER BY NULLIF(AVG(price), 3)"] {
        let sql = format!("SELECT shop, COUNT(*) FROM goods WHERE stock < 9 GROUP BY shop {rest}");
        let program = asked_in(&sql, &[], &["price=0..1000000000", "stock=0..15"]).0;
        let error = program.check_equalities().unwrap_err().to_string();
        assert!(program.decided_by_noise().is_some(), "{rest}: of a description that says so all the same");
        assert!(
            error.contains("whether a sum of price equals something") && error.contains("off by"),
            "{rest}: {error}"
        );
    }
}

/// The error of a symmetric domain is no larger than that of its largest value.
#[test]
fn bounds_do_not_ask_how_values_are_spread() {
    let bound = |sql: &str, domain: &str| {
        let program = asked_in(sql, &[], &[domain, "stock=0..15"]).0;
        (program.bounds()[0], program.decided_by_noise())
    };
    let sum = "SELECT SUM(price) FROM goods WHERE stock < 9";
    let (one, symmetric) = (bound(sum, "price=0..127").0, bound(sum, "price=-127..127").0);
    assert!(one > 0.0 && (symmetric / one - 1.0).abs() < 1e-9, "{one} {symmetric}");
    let wide = "SELECT shop, SUM(price) FROM goods WHERE stock < 9 GROUP BY shop ORDER BY SUM(price)";
    let (off, said) = bound(wide, "price=0..1000000000");
    let said = said.unwrap_or_else(|| panic!("{off}"));
    assert!(said.contains("sums of price that may be off by") && said.contains("noise decides"), "{said}");
}
