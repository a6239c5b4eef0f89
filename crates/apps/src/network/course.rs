//! The encrypted program as it runs: value after value, in the order of the network.

use super::{
    encrypted::{BOOTSTRAPPING, Planned, REGION, Step, parts},
    levels::Levels,
    map::{Packed, Part, Parts, WEIGHT_UNIT},
    matrices::{EntryStep, Matrices, MatrixStep},
};
use crate::{
    program::{Ckks, Evaluation, Observer, State},
    way::Arrangement,
};
use limbwise::{
    Complex64, Result,
    ckks::{Auto, Ciphertext, LinearTransform, tensor::row_product::LEVELS},
    scheme::Slots,
};
use limbwise_device::Device;

/// The ciphertexts of the values that are still needed.
type Live<D> = Vec<Option<Vec<Ciphertext<D>>>>;

/// A run from value to value.
pub(super) struct Course<'c, 'a, D: Device> {
    program: &'c Planned,
    auto: &'c Auto<'a, D>,
    maps: &'c [LinearTransform<D>],
    live: Live<D>,
}

impl<D: Device> Course<'_, '_, D> {
    /// All of it, from where a journal left it.
    pub(super) fn run(program: &Planned, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let Slots { auto, maps } = means;
        let (steps, mut inputs) = (&program.made.steps, inputs.iter());
        let mut course = Course { program, auto, maps, live: steps.iter().map(|_| None).collect() };
        let done = match journal.resume()? {
            Some(state) => course.restore(state)?,
            None => 0,
        };
        let mut first = steps[..done].iter().map(|step| parts(step).count()).sum::<usize>();
        for (at, step) in steps.iter().enumerate().skip(done) {
            let value = if matches!(step, Step::Input) {
                inputs.by_ref().take(program.ciphertexts(at)).map(|x| course.usual(x, at)).collect()
            } else {
                let _region = auto.eval.device().region(REGION, u32::try_from(at).unwrap_or(u32::MAX));
                course.value(at, first, observer)?
            };
            first += parts(step).count();
            course.live[at] = Some(value);
            let state = course.state(at + 1);
            if course.worth_keeping(at) {
                journal.keep(&state)?;
            }
        }
        let outputs = program.options.network.outputs.iter();
        let all = outputs.map(|&at| Ok(course.operand(at)?.to_vec())).collect::<Result<Vec<_>>>()?;
        Ok(all.concat())
    }

    /// Inputs are kept already. What was just bootstrapped is large, and its function is small again.
    fn worth_keeping(&self, at: usize) -> bool {
        let made = &self.program.made;
        let next = made.steps.get(at + 1);
        let consumed = matches!(next, Some(Step::Function(of, _)) if *of == at) && made.last_uses[at] == at + 1;
        let soon_small = made.levels.values[at].bootstrap && consumed;
        !soon_small && !matches!(made.steps[at], Step::Input)
    }

    fn operand(&self, of: usize) -> Result<&[Ciphertext<D>]> {
        self.live.get(of).and_then(Option::as_deref).ok_or(limbwise::Error::State)
    }

    /// A value from its operands; `first` is its first map.
    fn value(&self, at: usize, first: usize, observer: &mut dyn Observer) -> Result<Vec<Ciphertext<D>>> {
        let (auto, made) = (self.auto, &self.program.made);
        let levels = made.levels.values[at];
        observer.step(&self.program.options.network.values[at].name, at, made.steps.len());
        let values = match &made.steps[at] {
            Step::Input => return Err(limbwise::Error::State),
            Step::Affine { terms, bias } => self.affine((terms, bias), at, first)?,
            Step::Function(of, activation) => {
                let start = levels.made + activation.depth();
                let slope = self.program.usual_slope(at, *of);
                let one = |x: &Ciphertext<D>| activation.apply(auto, &auto.scale_to(x, 1.0, start)?, slope);
                self.operand(*of)?.iter().map(one).collect::<Result<_>>()?
            }
            Step::Product([a, b]) => {
                let start = levels.made + 1;
                let one = |(a, b): (&Ciphertext<D>, &Ciphertext<D>)| {
                    let (a, b) = (auto.scale_to(a, 1.0, start)?, auto.scale_to(b, 1.0, start)?);
                    Ok(auto.settle(&auto.mul(&a, &b)?)?.bounded_by(1.0))
                };
                self.operand(*a)?.iter().zip(self.operand(*b)?).map(one).collect::<Result<_>>()?
            }
            Step::Matrices(product) => self.matrices(product, at, first)?,
            Step::Entries(product) => vec![self.entries(product, at)?],
        };
        let ended = |x: &Ciphertext<D>| Ok(self.usual(&auto.scale_to(x, 1.0, levels.made)?, at));
        let values: Vec<Ciphertext<D>> = values.iter().map(ended).collect::<Result<_>>()?;
        let values = if levels.bootstrap {
            observer.step(BOOTSTRAPPING, at, made.steps.len());
            self.bootstrapped(&values, at, levels)?
        } else {
            values
        };
        let bits = values.iter().map(|x| x.estimate.precision_bits()).fold(f64::INFINITY, f64::min);
        observer.expects(REGION, u32::try_from(at).unwrap_or(u32::MAX), bits);
        Ok(values)
    }

    /// A value whose numbers are of the size that was measured in the clear.
    fn usual(&self, x: &Ciphertext<D>, at: usize) -> Ciphertext<D> {
        let Some(size) = self.program.usual_size(at) else { return x.clone() };
        Ciphertext { estimate: x.estimate.with_magnitude(size), ..x.clone() }
    }

    fn bootstrapped(&self, values: &[Ciphertext<D>], at: usize, levels: Levels) -> Result<Vec<Ciphertext<D>>> {
        let (auto, own) = (self.auto, self.program.slots(at));
        let slots = self.program.options.bootstrapping.map_or(own, |plan| plan.slots);
        let fresh = |x: &Ciphertext<D>| {
            let x = auto.bootstrap(&x.clone().with_slots(slots))?.bounded_by(1.0);
            Ok(self.usual(&auto.scale_to(&x.narrowed(own), 1.0, levels.read)?, at))
        };
        values.iter().map(fresh).collect()
    }

    fn affine(
        &self,
        (terms, bias): (&[(usize, Packed)], &[Vec<Complex64>]),
        at: usize,
        mut next: usize,
    ) -> Result<Vec<Ciphertext<D>>> {
        let (auto, level, slots) = (self.auto, self.program.made.levels.values[at].made, self.program.slots(at));
        let mut sums: Vec<Option<Ciphertext<D>>> = vec![None; self.program.ciphertexts(at)];
        let mut add = |to: usize, x: Ciphertext<D>| -> Result<()> {
            let x = x.with_slots(slots);
            sums[to] = Some(match &sums[to] {
                None => x,
                Some(sum) => auto.add(sum, &x)?,
            });
            Ok(())
        };
        for (of, packed) in terms {
            let operand = self.operand(*of)?;
            match packed {
                Packed::Factor(factor) => {
                    for (to, x) in operand.iter().enumerate() {
                        add(to, auto.scale_to(x, *factor, level)?)?;
                    }
                }
                Packed::Parts(parts) => self.moved(parts, operand, &mut next, &mut add)?,
                Packed::Matrix(matrix) => {
                    let x = auto.scale_to(&operand[0], 1.0, level + 1)?;
                    add(0, self.without_unit(&auto.eval.matrix_product(&x, matrix, WEIGHT_UNIT)?)?)?;
                }
            }
        }
        let each = sums.into_iter().enumerate().map(|(ciphertext, sum)| {
            // Where nothing is read there is the bias alone.
            let sum = match sum {
                Some(sum) => sum,
                None => auto.scale_to(&self.operand(terms[0].0)?[0], 0.0, level)?.with_slots(slots),
            };
            self.with_bias(&sum, bias, ciphertext).map(|sum| sum.bounded_by(1.0))
        });
        each.collect()
    }

    /// Maps of a value's ciphertexts, from the `next` on; `add` is told what each adds to which ciphertext.
    fn moved(
        &self,
        parts: &Parts,
        operand: &[Ciphertext<D>],
        next: &mut usize,
        mut add: impl FnMut(usize, Ciphertext<D>) -> Result<()>,
    ) -> Result<()> {
        for Part { from, to, map } in &parts.list {
            let x = operand[*from].clone().with_slots(map.diagonals.slots());
            add(*to, map.apply(self.auto, &self.maps[*next], &x)?)?;
            *next += 1;
        }
        parts.forget();
        Ok(())
    }

    /// A product of two matrices, group by group.
    fn matrices(&self, step: &MatrixStep, at: usize, mut next: usize) -> Result<Vec<Ciphertext<D>>> {
        let (auto, options) = (self.auto, &self.program.options);
        let [lefts, _] = step.product.ciphertexts();
        // Where an operand is moved, its ciphertexts are as many as the product takes.
        let level = self.program.made.levels.values[at].made;
        let mut brought =
            |of: usize, packed: Option<&Packed>, count: usize, slots: usize| -> Result<Vec<Ciphertext<D>>> {
                let operand = self.operand(of)?;
                let Some(Packed::Parts(parts)) = packed else { return Ok(operand.to_vec()) };
                let mut sums: Vec<Option<Ciphertext<D>>> = vec![None; count];
                self.moved(parts, operand, &mut next, |to, x| {
                    let x = x.with_slots(slots);
                    sums[to] = Some(match sums[to].take() {
                        None => x,
                        Some(sum) => auto.add(&sum, &x)?,
                    });
                    Ok(())
                })?;
                // Of a part without an entry nothing is read.
                let zero = || Ok(auto.scale_to(&operand[0], 0.0, level + LEVELS)?.with_slots(slots));
                sums.into_iter().map(|sum| sum.map_or_else(zero, Ok)).collect()
            };
        let [left_slots, right_slots] = step.product.slots();
        let left = brought(step.of[0], step.left.as_ref(), step.groups * lefts, left_slots)?;
        let right = brought(step.of[1], step.right.as_ref(), step.groups, right_slots)?;
        let group = |(left, right): (&[Ciphertext<D>], &Ciphertext<D>)| {
            step.product.multiply(auto, options.strategy, (left, right), level)
        };
        let all = left.chunks(lefts).zip(&right).map(group).collect::<Result<Vec<_>>>()?;
        Ok(all.concat().into_iter().map(|x| x.bounded_by(1.0)).collect())
    }

    /// A product of two matrices of which each number has messages of its own.
    fn entries(&self, step: &EntryStep, at: usize) -> Result<Ciphertext<D>> {
        let (eval, level, groups) =
            (&self.auto.eval, self.program.made.levels.values[at].made, self.program.groups(at));
        let Matrices { pairs, rows, inner, columns } = step.matrices;
        let operand = |of: usize| self.auto.scale_to(&self.operand(of)?[0], 1.0, level + 2);
        let (left, right) = (operand(step.of[0])?, operand(step.of[1])?);
        // The numbers of one group of samples.
        let taken = |x: &Ciphertext<D>, first: usize, count: usize, group: usize| match groups {
            1 => eval.split(x, first, first + count),
            _ => {
                let one = |number: usize| eval.split(x, number * groups + group, number * groups + group + 1);
                eval.stack(&(first..first + count).map(one).collect::<Vec<_>>())
            }
        };
        let product = |pair: usize, group: usize| {
            let a = taken(&left, pair * rows * inner, rows * inner, group);
            let b = taken(&right, pair * inner * columns, inner * columns, group);
            self.auto.settle(&eval.multiply_matrices(&a, &b, inner)?)
        };
        let mut all = Vec::new();
        for pair in 0..pairs {
            let own = (0..groups).map(|group| product(pair, group)).collect::<Result<Vec<_>>>()?;
            if let [only] = &own[..] {
                all.push(only.clone());
                continue;
            }
            let numbers = (0..rows * columns).flat_map(|number| own.iter().map(move |x| (number, x)));
            all.extend(numbers.map(|(number, x)| eval.split(x, number, number + 1)));
        }
        Ok(self.auto.scale_to(&eval.stack(&all), step.factor, level)?.bounded_by(1.0))
    }

    /// A product with a matrix at the scale of the level below: the division to it takes the weights' unit with it.
    /// A product of ciphertexts would have a scale like this one's, so nothing here asks whether it is one.
    fn without_unit(&self, product: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let (eval, level) = (&self.auto.eval, product.level);
        let target = eval.params().scale(level - 1);
        let constant_scale = target * eval.params().dropped(level) / product.scale;
        let mut lowered = eval.rescale(&eval.mul_scalar(product, 1.0, constant_scale)?)?;
        lowered.scale = target; // equal but for the rounding of the constant, which is an error of the values
        Ok(lowered)
    }

    fn with_bias(&self, sum: &Ciphertext<D>, bias: &[Vec<Complex64>], ciphertext: usize) -> Result<Ciphertext<D>> {
        let zero = |row: &Vec<Complex64>| row.iter().all(|z| z.norm() == 0.0);
        match self.program.options.arrangement {
            Arrangement::Turns(_) if zero(&bias[ciphertext]) => Ok(sum.clone()),
            Arrangement::Turns(_) => self.auto.add_values(sum, &bias[ciphertext]),
            Arrangement::Slots if bias.iter().all(zero) => Ok(sum.clone()),
            Arrangement::Slots => {
                // A constant for each number, and for each group of samples.
                let (slots, groups) = (sum.slots, sum.batch() / bias.len().max(1));
                let rows = bias.iter().flat_map(|row| vec![vec![row[0]; slots]; groups]).collect::<Vec<_>>();
                self.auto.add_rows(sum, &rows)
            }
        }
    }

    /// Takes what a state kept, in the order of the values.
    fn restore(&mut self, state: State<D, Ckks>) -> Result<usize> {
        let made = &self.program.made;
        let mut kept = state.ciphertexts.into_iter();
        for at in 0..state.step.min(made.steps.len()) {
            if made.last_uses[at] >= state.step {
                let count = self.program.ciphertexts(at);
                let ciphertexts: Vec<Ciphertext<D>> = kept.by_ref().take(count).collect();
                (ciphertexts.len() == count).then_some(()).ok_or(limbwise::Error::State)?;
                self.live[at] = Some(ciphertexts);
            }
        }
        match kept.next() {
            None if (1..=made.steps.len()).contains(&state.step) => Ok(state.step),
            _ => Err(limbwise::Error::State),
        }
    }

    /// Forgets what nobody reads after so many values.
    fn state(&mut self, step: usize) -> State<D, Ckks> {
        let last_uses = &self.program.made.last_uses;
        for (at, live) in self.live.iter_mut().enumerate().take(step) {
            if last_uses[at] < step {
                *live = None;
            }
        }
        let ciphertexts = self.live.iter().flatten().flatten().cloned().collect();
        State { step, ciphertexts, numbers: Vec::new() }
    }
}
