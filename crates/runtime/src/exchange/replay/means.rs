//! What a trace's lines need of an evaluator, for each scheme.

use crate::exchange::{heracles::Instruction, ops::Operand};
use limbwise::{
    Result,
    bgv::{self, noise::NoiseBound},
    ckks::{self, Estimate},
    params::Params,
};
use limbwise_device::{Device, Domain, Handle as _, Role, Shape, Wordless};
use limbwise_math::galois::GaloisElement;

/// A scale of CKKS with room for a product at every level.
const SCALE: f64 = 256.0;
/// A noise bound of BGV with room for a product at every level, in bits.
const NOISE: f64 = 1.0;

/// The second operand of an instruction.
pub(super) enum Second<C, P> {
    Nothing,
    Ciphertext(C),
    Plaintext(P),
}

/// An evaluator that executes instructions.
pub(super) trait Means<D: Device> {
    type Ciphertext: Clone;
    type Plaintext;

    fn device(&self) -> &D;
    fn parts(a: &Self::Ciphertext) -> &[D::Poly];
    fn level(a: &Self::Ciphertext) -> usize;
    /// Declares a ciphertext that no line makes.
    fn input(&self, operand: &Operand, domain: Domain) -> Self::Ciphertext;
    /// Declares a plaintext.
    fn plaintext(&self, operand: &Operand) -> Self::Plaintext;
    /// The plaintext at a level; `None` if it has fewer primes.
    fn cut(&self, p: &Self::Plaintext, level: usize) -> Option<Self::Plaintext>;
    /// The ciphertext at a level, without division.
    fn lowered(&self, a: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;
    /// Executes an instruction; `level` is that of its result. `None` if an operand is missing.
    fn evaluate(
        &self,
        instruction: Instruction,
        a: Self::Ciphertext,
        second: &Second<Self::Ciphertext, Self::Plaintext>,
        level: usize,
    ) -> Option<Result<Self::Ciphertext>>;
}

fn declared<D: Wordless>(dev: &D, params: &Params, operand: &Operand, domain: Domain) -> Vec<D::Poly> {
    let shape = Shape::eval(params.ring(), params.basis(operand.limbs - 1)).with_domain(domain);
    (0..operand.parts).map(|_| dev.declare(&shape, Role::Ciphertext)).collect()
}

fn plaintext<D: Wordless>(dev: &D, params: &Params, operand: &Operand) -> D::Poly {
    dev.declare(&Shape::eval(params.ring(), params.basis(operand.limbs - 1)), Role::Plaintext)
}

fn cut<D: Device>(dev: &D, params: &Params, poly: &D::Poly, level: usize) -> D::Poly {
    match poly.shape().basis == params.basis(level) {
        true => poly.clone(),
        false => dev.restrict(poly, params.basis(level)),
    }
}

fn transformed<D: Device>(dev: &D, parts: Vec<D::Poly>, instruction: Instruction) -> Vec<D::Poly> {
    let transform = |part| if instruction == Instruction::Ntt { dev.ntt(part) } else { dev.intt(part) };
    parts.into_iter().map(transform).collect()
}

impl<D: Wordless> Means<D> for ckks::Evaluator<'_, D> {
    type Ciphertext = ckks::Ciphertext<D>;
    type Plaintext = ckks::Plaintext<D>;

    fn device(&self) -> &D {
        ckks::Evaluator::device(self)
    }

    fn parts(a: &Self::Ciphertext) -> &[D::Poly] {
        &a.parts
    }

    fn level(a: &Self::Ciphertext) -> usize {
        a.level
    }

    fn input(&self, operand: &Operand, domain: Domain) -> Self::Ciphertext {
        let (level, slots) = (operand.limbs - 1, self.params().max_slots());
        let parts = declared(self.device(), self.params(), operand, domain);
        ckks::Ciphertext { parts, level, scale: SCALE, slots, estimate: Estimate::exact(1.0), shadow: None }
    }

    fn plaintext(&self, operand: &Operand) -> Self::Plaintext {
        let (level, slots) = (operand.limbs - 1, self.params().max_slots());
        let poly = plaintext(self.device(), self.params(), operand);
        ckks::Plaintext { poly, level, scale: SCALE, slots, estimate: Estimate::exact(1.0), shadow: None }
    }

    fn cut(&self, p: &Self::Plaintext, level: usize) -> Option<Self::Plaintext> {
        let poly = (p.level >= level).then(|| cut(self.device(), self.params(), &p.poly, level))?;
        Some(ckks::Plaintext { poly, level, ..p.clone() })
    }

    fn lowered(&self, a: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext> {
        self.drop_level(a, level)
    }

    fn evaluate(
        &self,
        instruction: Instruction,
        a: Self::Ciphertext,
        second: &Second<Self::Ciphertext, Self::Plaintext>,
        level: usize,
    ) -> Option<Result<Self::Ciphertext>> {
        let result = match (instruction, second) {
            (Instruction::Add, Second::Ciphertext(b)) => self.add(&a, b),
            (Instruction::Sub, Second::Ciphertext(b)) => self.sub(&a, b),
            (Instruction::Mul, Second::Ciphertext(b)) => self.multiply(&a, b),
            (Instruction::AddPlain, Second::Plaintext(p)) => self.add_plain(&a, p),
            (Instruction::MulPlain, Second::Plaintext(p)) => self.mul_plain(&a, p),
            (Instruction::Square, _) => self.square(&a),
            (Instruction::Relin, _) => self.relinearize(&a),
            (Instruction::Rotate(1), _) => Ok(a),
            (Instruction::Rotate(g), _) => self.galois(&a, GaloisElement::new(g, self.params().log_n())),
            (Instruction::Ntt | Instruction::Intt, _) => {
                let parts = transformed(self.device(), a.parts, instruction);
                Ok(ckks::Ciphertext { parts, ..a })
            }
            (Instruction::Rescale | Instruction::ModSwitch, _) => {
                let mut result = Ok(a);
                while let Ok(now) = &result
                    && now.level > level
                {
                    let scale = SCALE * self.params().dropped(now.level);
                    result = self.rescale(&ckks::Ciphertext { scale, ..now.clone() });
                }
                result
            }
            _ => return None,
        };
        // The scale does not affect the cost: each operation starts from a scale that none refuses.
        Some(result.map(|result| ckks::Ciphertext { scale: SCALE, ..result }))
    }
}

impl<D: Wordless> Means<D> for bgv::Evaluator<'_, D> {
    type Ciphertext = bgv::Ciphertext<D>;
    type Plaintext = bgv::Plaintext<D>;

    fn device(&self) -> &D {
        bgv::Evaluator::device(self)
    }

    fn parts(a: &Self::Ciphertext) -> &[D::Poly] {
        &a.parts
    }

    fn level(a: &Self::Ciphertext) -> usize {
        a.level
    }

    fn input(&self, operand: &Operand, domain: Domain) -> Self::Ciphertext {
        let parts = declared(self.device(), self.params().rlwe(), operand, domain);
        bgv::Ciphertext { parts, level: operand.limbs - 1, factor: 1, noise: NoiseBound::of_bits(NOISE), modulus: 0 }
    }

    fn plaintext(&self, operand: &Operand) -> Self::Plaintext {
        let poly = plaintext(self.device(), self.params().rlwe(), operand);
        bgv::Plaintext { poly, level: operand.limbs - 1, modulus: 0 }
    }

    fn cut(&self, p: &Self::Plaintext, level: usize) -> Option<Self::Plaintext> {
        let poly = (p.level >= level).then(|| cut(self.device(), self.params().rlwe(), &p.poly, level))?;
        Some(bgv::Plaintext { poly, level, modulus: 0 })
    }

    fn lowered(&self, a: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext> {
        self.drop_level(a, level)
    }

    fn evaluate(
        &self,
        instruction: Instruction,
        a: Self::Ciphertext,
        second: &Second<Self::Ciphertext, Self::Plaintext>,
        level: usize,
    ) -> Option<Result<Self::Ciphertext>> {
        let result = match (instruction, second) {
            (Instruction::Add, Second::Ciphertext(b)) => self.add(&a, b),
            (Instruction::Sub, Second::Ciphertext(b)) => self.sub(&a, b),
            (Instruction::Mul, Second::Ciphertext(b)) => self.multiply(&a, b),
            (Instruction::AddPlain, Second::Plaintext(p)) => self.add_plain(&a, p),
            (Instruction::MulPlain, Second::Plaintext(p)) => self.mul_plain(&a, p),
            (Instruction::Square, _) => self.square(&a),
            (Instruction::Relin, _) => self.relinearize(&a),
            (Instruction::Rotate(1), _) => Ok(a),
            (Instruction::Rotate(g), _) => self.automorphism(&a, GaloisElement::new(g, self.params().rlwe().log_n())),
            (Instruction::Ntt | Instruction::Intt, _) => {
                let parts = transformed(self.device(), a.parts, instruction);
                Ok(bgv::Ciphertext { parts, ..a })
            }
            (Instruction::ModSwitch | Instruction::Rescale, _) => self.divide(&a, level),
            _ => return None,
        };
        // The noise does not affect the cost: each operation starts from a bound that none refuses.
        Some(result.map(|result| bgv::Ciphertext { noise: NoiseBound::of_bits(NOISE), ..result }))
    }
}
