//! Products of unsigned integers of 64 bits, exactly: residues modulo several plaintext primes, one product each.

use crate::{
    client::{Client, Conclusion},
    family::{Checked, IntegersFound},
    program::{Array, Details, Encryption, Evaluation, Integers, Program, fields},
};
use limbwise::{
    Result,
    bgv::{BgvParams, BgvReading, Ciphertext, Magnitude, Residues, Wide},
    scheme::Bgv,
};
use limbwise_device::{Device, Domain};
use serde_json::json;

pub mod options;

/// Most products of one program.
pub const MOST_PRODUCTS: usize = 1 << 24;

/// `count` products of two encrypted integers of 64 bits.
#[derive(Clone, Debug)]
pub struct ZnMul {
    params: BgvParams,
    count: usize,
}

impl ZnMul {
    /// For 1 to [`MOST_PRODUCTS`] products.
    ///
    /// # Errors
    /// A set whose moduli do not tell apart products of 128 bits.
    ///
    /// # Panics
    /// If the number is not in its range.
    pub fn new(params: &BgvParams, count: usize) -> Result<Self> {
        assert!((1..=MOST_PRODUCTS).contains(&count), "1 to {MOST_PRODUCTS} products");
        Residues::new(params).fits("multiply", Magnitude::WORD.product(Magnitude::WORD))?;
        Ok(Self { params: params.clone(), count })
    }

    fn moduli(&self) -> usize {
        self.params.moduli().len()
    }

    /// Ciphertexts a modulus.
    fn batch(&self) -> usize {
        self.count.div_ceil(self.params.slots())
    }

    /// The products of decrypted residues, so many words each.
    fn joined(&self, messages: &[Vec<Vec<i64>>], words: usize) -> Vec<u64> {
        let flat: Vec<Vec<i64>> =
            messages.iter().map(|batch| batch.iter().flatten().copied().take(self.count).collect()).collect();
        Residues::new(&self.params).join(&flat.iter().map(Vec::as_slice).collect::<Vec<_>>(), words)
    }
}

impl Program for ZnMul {
    type Scheme = Bgv;

    fn name(&self) -> &'static str {
        "zn-mul"
    }

    fn params(&self) -> &BgvParams {
        &self.params
    }

    /// The residues of the left operands, then of the right ones, in the order of the moduli.
    fn inputs(&self) -> Vec<Integers> {
        let (batch, level) = (self.batch(), self.params.top_level());
        let input = |side: &str, modulus: usize| Integers {
            name: format!("{side}-{modulus}"),
            batch,
            level,
            domain: Domain::Eval,
            modulus,
        };
        ["left", "right"].iter().flat_map(|side| (0..self.moduli()).map(move |at| input(side, at))).collect()
    }

    fn model(&self) {}

    fn encryption(&self) -> Encryption {
        Encryption::SecretKey
    }

    /// No relinearization: a result is read, not multiplied again.
    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D, Bgv>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means: auto, inputs, observer, .. } = on;
        observer.step("multiply", 0, 1);
        let (left, right) = inputs.split_at(self.moduli());
        let wide = |residues: &[Ciphertext<D>]| Wide { residues: residues.to_vec(), magnitude: Magnitude::WORD };
        Ok(auto.wide_mul(&wide(left), &wide(right))?.residues)
    }

    fn results(&self) -> usize {
        self.moduli()
    }

    fn arrays(&self, results: &BgvReading) -> Vec<Array> {
        let BgvReading::Integers { messages, .. } = results else { return Vec::new() };
        vec![Array::words("products", vec![self.count], self.joined(messages, 1))]
    }

    fn details(&self) -> Details {
        let room = Residues::new(&self.params).room();
        fields(json!({
            "products": self.count,
            "plaintext_moduli": self.moduli(),
            "integer_bits": room.floor(),
            "ciphertexts": 2 * self.moduli() * self.batch(),
        }))
    }
}

/// The operands.
#[derive(Clone, Debug)]
pub struct Operands {
    program: ZnMul,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Given([Vec<u64>; 2]),
    /// Made when they are asked for, because a plan asks for none.
    Seed(u64),
}

impl Operands {
    /// Of a program and its operands, as many on each side as it has products.
    ///
    /// # Panics
    /// If they are more or fewer.
    pub fn new(program: ZnMul, operands: [Vec<u64>; 2]) -> Self {
        assert!(operands.iter().all(|side| side.len() == program.count), "{} operands a side", program.count);
        Self { program, source: Source::Given(operands) }
    }

    /// Of a program and a seed.
    pub fn seeded(program: ZnMul, seed: u64) -> Self {
        Self { program, source: Source::Seed(seed) }
    }

    fn side(&self, side: usize) -> Vec<u64> {
        match &self.source {
            Source::Given(operands) => operands[side].clone(),
            Source::Seed(seed) => options::uniform(*seed, side as u64, self.program.count),
        }
    }
}

impl Client for Operands {
    type Scheme = Bgv;

    fn values(&self, input: usize) -> Vec<Vec<i64>> {
        let (moduli, slots) = (self.program.moduli(), self.program.params.slots());
        let t = self.program.params.moduli()[input % moduli];
        let operands = self.side(input / moduli);
        operands.chunks(slots).map(|part| part.iter().map(|&word| t.centered(t.reduce(word))).collect()).collect()
    }

    /// Compares all 128 bits of every product.
    fn conclude(&self, results: &BgvReading) -> Conclusion<Bgv> {
        let [left, right] = [self.side(0), self.side(1)];
        let (messages, budget_bits) = match results {
            BgvReading::Integers { messages, budget_bits } => (messages.as_slice(), Some(*budget_bits)),
            BgvReading::Phases { .. } => (&[][..], None),
        };
        let words = Residues::new(&self.program.params).words();
        let found = if messages.is_empty() { Vec::new() } else { self.program.joined(messages, words) };
        let is_right = |(at, (&x, &y)): (usize, (&u64, &u64))| {
            let product = u128::from(x) * u128::from(y);
            let wanted = [product & u128::from(u64::MAX), product >> 64].into_iter().chain(std::iter::repeat(0));
            let got = found.get(at * words..(at + 1) * words);
            got.is_some_and(|got| {
                got.iter().map(|&word| u128::from(word)).zip(wanted).all(|(got, wanted)| got == wanted)
            })
        };
        let right_ones = left.iter().zip(&right).enumerate().filter(|&pair| is_right(pair)).count();
        let compared = self.program.count;
        let wrong = compared - right_ones;
        let found = IntegersFound { checked: Checked::Integers, compared, wrong, budget_bits, tables: Vec::new() };
        Conclusion { found, details: Details::new(), warnings: Vec::new() }
    }
}
