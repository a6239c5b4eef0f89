//! Programs of messages, of integers and of both kinds, on rings that are small where the full ones take minutes.

use crate::both::Case;
use limbwise::{
    bgv::{self, BgvLiteral, BgvParams},
    bridge::BridgeParams,
    params::{BootstrapLiteral, EvalModLiteral, Insecure, Order, Params, ParamsLiteral, PrimeChoice, Sine},
    rlwe::KeyForm,
    scheme::{Bgv, Bridged, Tfhe},
    tfhe::{GadgetLiteral, TfheLiteral, TfheParams},
};
use limbwise_apps::{
    Description, Program as _,
    bgv_mul::{self, BgvMul, Step},
    bgv_table::{BgvTable, Encrypted},
    data::shop,
    description::Weights,
    family::{Exact, integer_samples, message_samples},
    gates::{self, Gates},
    nn::{self, Digits, Network, Nn, NnClient},
    pbs::{self, Pbs, Tables},
    query::{self, Domain, Query, QueryClient, Question, Statement, Table, table::Column},
    registry::Described,
};

fn insecure() -> Option<Insecure> {
    Some(Insecure { reason: "a small ring for a test".into() })
}

/// Few steps for speed.
pub(crate) fn tfhe(message_bits: u32) -> TfheLiteral {
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
        message_bits,
        norm: 5.0,
        log2_failure: -40.0,
        insecure: insecure(),
    }
}

/// The chain of the presets for bridges, on a small ring.
fn slots() -> ParamsLiteral {
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
    literal.insecure = insecure();
    literal
}

fn described_of_tfhe(params: &TfheParams, workload: Described) -> Description {
    Description::new::<Tfhe>("small", params, KeyForm::Stored, workload)
}

pub(crate) fn pbs(batch: usize) -> Case<Pbs, Exact<Pbs>> {
    let (params, tables) = (TfheParams::new(&tfhe(4)).unwrap(), Tables::Each);
    let description = described_of_tfhe(&params, Described::Pbs(pbs::options::Described { batch, tables }));
    let program = Pbs::new(&params, batch, tables);
    let client = Exact::new(program.clone(), message_samples(&program.inputs(), 1));
    Case { program, client, description }
}

/// Bits of a seed through every gate.
pub(crate) fn gates(batch: usize, seed: u64) -> Case<Gates, Exact<Gates>> {
    let params = TfheParams::new(&tfhe(2)).unwrap();
    let description = described_of_tfhe(&params, Described::Gates(gates::options::Described { batch }));
    let program = Gates::new(&params, batch).unwrap();
    let client = Exact::new(program.clone(), message_samples(&program.inputs(), seed));
    Case { program, client, description }
}

/// The shipped network of 20 layers on a shipped image.
pub(crate) fn nn20() -> Case<Nn, NnClient> {
    let params = TfheParams::new(&tfhe(4)).unwrap();
    let workload = Described::Nn20(nn::options::Described { images: 1, weights: Weights::Shipped });
    let description = described_of_tfhe(&params, workload);
    let program = Nn::new(&params, Network::shipped(20).unwrap(), 1).unwrap();
    let client = NnClient::new(&program, Digits::shipped(1).unwrap()).unwrap();
    Case { program, client, description }
}

/// So many products of two ciphertexts.
pub(crate) fn bgv_mul(ciphertexts: usize) -> Case<BgvMul, Exact<BgvMul>> {
    let mut literal = BgvLiteral::chain(10, 12289, &[27, 27], &[], 1);
    literal.insecure = insecure();
    let params = BgvParams::new(&literal).unwrap();
    let (level, step) = (params.top_level(), Step::All);
    let workload = Described::BgvMul(bgv_mul::options::Described { ciphertexts, level, step });
    let description = Description::new::<Bgv>("small", &params, KeyForm::Stored, workload);
    let program = BgvMul::new(&params, ciphertexts, level, step);
    let make = |program: &BgvMul, seed| integer_samples(&program.inputs(), program.params(), seed);
    Case { client: Exact::seeded(program.clone(), 1, make), program, description }
}

/// The shipped sales times prices, under the preset.
pub(crate) fn bgv_table(matrix: Encrypted) -> Case<BgvTable, Exact<BgvTable>> {
    let params = bgv::preset("bgv-n13-t30").unwrap();
    let [sales, prices] = shop();
    let (program, messages) = BgvTable::new(&params, &sales, &prices, matrix).unwrap();
    let workload = Described::BgvTable(program.described().clone());
    let description = Description::new::<Bgv>("bgv-n13-t30", &params, KeyForm::Stored, workload);
    Case { client: Exact::new(program.clone(), messages), program, description }
}

/// A question to eight rows: two columns compared, one summed.
pub(crate) fn query() -> Case<Query, QueryClient> {
    asked("SELECT SUM(price) FROM goods WHERE price < 60 AND stock >= 5", &[])
}

/// Both ends of columns, in groups that the server sees.
pub(crate) fn ends() -> Case<Query, QueryClient> {
    asked(
        "SELECT shop, SUM(price), MIN(stock), MAX(price) FROM goods WHERE price < 60 AND stock >= 5 GROUP BY shop \
         HAVING COUNT(*) > 0 ORDER BY MAX(price) DESC",
        &["shop".to_owned()],
    )
}

fn asked(sql: &str, public: &[String]) -> Case<Query, QueryClient> {
    let params = BridgeParams::new(&Params::new(&slots()).unwrap(), &TfheParams::new(&tfhe(4)).unwrap()).unwrap();
    let column = |name: &str, cells: &[&str]| Column::of_cells(name, cells);
    let table = Table {
        name: Some("goods".into()),
        columns: vec![
            column("price", &["10", "99", "3", "7", "55", "12", "31", "64"]),
            column("stock", &["5", "1", "14", "7", "0", "15", "9", "2"]),
            column("shop", &["ulm", "bonn", "ulm", "ulm", "bonn", "bonn", "bonn", "ulm"]),
        ],
        rows: 8,
    };
    let statement = Statement::parse(sql).unwrap();
    let domains: Vec<Domain> = ["price=0..127", "stock=0..15"].map(|domain| domain.parse().unwrap()).into();
    let question = Question::new(&statement, &table, &domains, public).unwrap();
    let (sql, public, nulls) = (question.sql.clone(), question.public.clone(), question.results.nulls.clone());
    let described = query::options::Described {
        sql,
        rows: question.rows,
        columns: question.fields(),
        public,
        nulls,
        numbering: question.numbering,
    };
    let workload = Described::Query(described);
    let description = Description::new::<Bridged>("small", &params, KeyForm::Stored, workload);
    let program = Query::new("query", question, &params).unwrap();
    let client = QueryClient::new(&program, table).unwrap();
    Case { program, client, description }
}
