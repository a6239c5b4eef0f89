//! A program of HEIR as a workload.

use super::{
    act::{Act, Step},
    lower::{Lowering, canonical, extra, mapped, power},
    params::{beside, chosen},
    source::{Argument, Kind, Source},
    text::HeirError,
};
use crate::{
    program::{Array, Ckks, Details, Evaluation, Numbers, Observer, Program, SlotsInput as Input, fields},
    way::Way,
};
use limbwise::{
    Complex64, Error, Result,
    ckks::{
        Auto, BootstrapPlan, Bootstrapper, Ciphertext, Encoder, Evaluator, LevelPolicy, Packing, Promise,
        bootstrap::Content,
    },
    params::Params,
    rlwe::DeclaredKeys,
    scheme::Maps,
};
use limbwise_device::{Device, Null};
use serde_json::json;
use std::{cell::Cell, collections::BTreeMap, sync::Arc};

/// The workload, without its numbers.
#[derive(Clone, Debug)]
pub struct Heir {
    params: Params,
    source: Arc<Source>,
    /// Levels above those of the text.
    slack: usize,
    /// Bound on the absolute values of the inputs.
    most: f64,
    plan: Option<BootstrapPlan>,
    encoder: Encoder,
    /// The largest relative difference of scales that the text takes as equal.
    apart: f64,
    /// What is wrong with the results of numbers that are known before any key.
    wrapped: Option<String>,
}

impl Heir {
    /// A program under parameters that are chosen for it.
    ///
    /// # Errors
    /// [`HeirError`]: no parameters, or a step that cannot be carried out, with its line.
    pub fn choose(source: Arc<Source>, most: f64) -> std::result::Result<Self, HeirError> {
        let slack = source.slack();
        let params = chosen(&source.header, slack)?;
        Self::new(&params, source, most)
    }

    /// A program under given parameters, which are tried on a device that computes nothing.
    ///
    /// # Errors
    /// As [`Self::choose`].
    pub fn new(params: &Params, source: Arc<Source>, most: f64) -> std::result::Result<Self, HeirError> {
        let slack = source.slack();
        let (policy, header) = (LevelPolicy::of(params), &source.header);
        let needed = header.bits.len() - 1 + slack;
        if needed > policy.levels() {
            let has = policy.levels();
            return Err(HeirError::of_all(format!(
                "takes {needed} levels; the parameters have {has} (--preset gives others)"
            )));
        }
        if header.slots > params.max_slots() {
            let (slots, most) = (header.slots, params.max_slots());
            return Err(HeirError::of_all(format!(
                "{slots} slots; the parameters have {most} (--preset gives others)"
            )));
        }
        let boots = source.steps.iter().find(|step| step.act == Act::Bootstrap);
        if let (Some(step), None) = (boots, params.bootstrapping()) {
            let text =
                "ckks.bootstrap: the parameters have no bootstrapping (--preset boot, or \"limbwise params show\")";
            return Err(HeirError::at(step.line, text));
        }
        let plan = boots.map(|_| BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(header.slots) });
        let (params, encoder) = (params.clone(), Encoder::new(params));
        let mut program = Self { params, source, slack, most, plan, encoder, apart: 0.0, wrapped: None };
        program.apart = program.tried()?;
        Ok(program)
    }

    /// The same, bootstrapped by another plan.
    #[must_use]
    pub fn with(&self, plan: Option<BootstrapPlan>) -> Self {
        let merged = |old: BootstrapPlan| {
            let BootstrapPlan { slots, content, .. } = old;
            plan.map_or(old, |new| BootstrapPlan { slots, content, ..new })
        };
        Self { plan: self.plan.map(merged), ..self.clone() }
    }

    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    pub fn plan(&self) -> Option<BootstrapPlan> {
        self.plan
    }

    /// Bound on the absolute values of the inputs.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// Rehearses every step; what is refused is named with its line. Gives the largest difference of scales.
    fn tried(&self) -> std::result::Result<f64, HeirError> {
        let (null, line) = (Null::default(), Cell::new(0));
        let keys = DeclaredKeys::all(&null, &self.params);
        let failed = |e: Error| {
            let at = line.get();
            HeirError { line: (at > 0).then_some(at), problem: e.to_string() }
        };
        let boot =
            self.plan.map(|plan| Bootstrapper::declare(&null, &self.encoder, plan)).transpose().map_err(failed)?;
        let auto =
            Auto::new(Evaluator::new(&null, &self.params, &keys), &self.encoder).with_bootstrapper(boot.as_ref());
        let declare = |input: Input| {
            self.encoder.declare_bounded(&null, 1, input.bounds, input.packing, limbwise::ckks::Noise::Secret)
        };
        let inputs = self.inputs().into_iter().map(declare).collect::<Result<Vec<_>>>().map_err(failed)?;
        let (_, apart) = self.walk(&auto, &inputs, &mut |at| line.set(at)).map_err(failed)?;
        Ok(apart)
    }

    /// Carries out all steps, telling the line of each; gives the results and the largest difference of scales.
    fn walk<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        inputs: &[Ciphertext<D>],
        each: &mut dyn FnMut(usize),
    ) -> Result<(Vec<Ciphertext<D>>, f64)> {
        let Self { params, source, slack, .. } = self;
        let (last, mut levels) = (source.last_uses(), source.input_levels());
        let mut values: Vec<Option<Ciphertext<D>>> = Vec::with_capacity(inputs.len() + source.steps.len());
        let arguments = source.arguments.iter().flat_map(|a| std::iter::repeat_n(a, a.ciphertexts));
        for (input, argument) in inputs.iter().zip(arguments) {
            let power = power(&source.header, argument.nominal.log_scale);
            let scale = canonical(params, input.level, power);
            values.push(Some(match argument.kind {
                // Zero is zero at any scale.
                Kind::Zero => Ciphertext { scale, ..input.clone() },
                // Vectors are encoded at the scale of a level: what the text has above it comes by a constant.
                _ if power > 1 => {
                    let above = auto.eval.mul_scalar(input, 1.0, scale / input.scale)?;
                    Ciphertext { scale, ..above }
                }
                _ => input.clone(),
            }));
        }
        let mut lowering = Lowering { auto, encoder: &self.encoder, source, slack: *slack, apart: 0.0 };
        for (at, step) in source.steps.iter().enumerate() {
            each(step.line);
            let operand = |&id: &u32| values[id as usize].as_ref().expect("held until its last use");
            let operands: Vec<&Ciphertext<D>> = step.operands.iter().map(operand).collect();
            let result = lowering.apply(step, &operands, &levels)?;
            for &id in step.operands.iter().filter(|&&id| last[id as usize] == at) {
                values[id as usize] = None;
            }
            let unused = last[inputs.len() + at] <= at;
            values.push((!unused).then_some(result));
            levels.push(step.level());
        }
        let result = |&id: &u32| auto.settle(values[id as usize].as_ref().expect("results are kept"));
        let results = source.outcomes.iter().flat_map(|outcome| &outcome.ids).map(result).collect::<Result<_>>()?;
        Ok((results, lowering.apart))
    }

    /// The same with what [`Self::beyond`] says of its twin.
    #[must_use]
    pub(super) fn told(self, wrapped: Option<String>) -> Self {
        Self { wrapped, ..self }
    }

    /// What is wrong with results of such sizes: beyond half of the modulus of their level they wrap around.
    pub(super) fn beyond(&self, results: &[Vec<Vec<f64>>]) -> Option<String> {
        let (source, params) = (&self.source, &self.params);
        let levels: Vec<usize> =
            source.input_levels().into_iter().chain(source.steps.iter().map(Step::level)).collect();
        let rows = source.outcomes.iter().zip(results).flat_map(|(outcome, rows)| outcome.ids.iter().zip(rows));
        rows.map(|(&id, row)| (mapped(params, levels[id as usize], self.slack), row)).find_map(|(level, row)| {
            let size = row.iter().map(|x| x.abs()).fold(0.0, f64::max);
            let (log_scale, log_modulus) = (params.scale(level).log2(), params.log_modulus(level));
            let most = (log_modulus - 1.0 - log_scale).exp2();
            let kept = size < most;
            (!kept).then(|| {
                format!(
                    "results are up to {size:.3e}; from {most:.3e} on they wrap around the modulus 2^{log_modulus:.1} at scale 2^{log_scale:.1}: give smaller numbers, or a --preset with a larger first prime"
                )
            })
        })
    }

    /// Slots of each result's ciphertexts, from what was decrypted.
    pub(super) fn rows(&self, results: &[Vec<Vec<Complex64>>]) -> Vec<Vec<Vec<f64>>> {
        let mut rows = results.iter().map(|batch| batch.concat().iter().map(|z| z.re).collect::<Vec<f64>>());
        let outcome = |count: usize| rows.by_ref().take(count).collect();
        self.source
            .outcomes
            .iter()
            .map(|outcome| outcome.ids.len())
            .collect::<Vec<_>>()
            .into_iter()
            .map(outcome)
            .collect()
    }
}

impl Source {
    /// Levels that series take here beyond those of the text, on the way where they are most.
    pub(super) fn slack(&self) -> usize {
        let mut levels = self.input_levels();
        let mut more = vec![0usize; levels.len()];
        for step in &self.steps {
            let before = levels[step.operands[0] as usize];
            let inherited = step.operands.iter().map(|&id| more[id as usize]).max().unwrap_or(0);
            let inherited = if step.act == Act::Bootstrap { 0 } else { inherited };
            more.push(inherited + extra(step, before));
            levels.push(step.level());
        }
        more.into_iter().max().unwrap_or(0)
    }

    /// Levels that the text gives the inputs.
    fn input_levels(&self) -> Vec<usize> {
        let levels = |argument: &Argument| vec![argument.nominal.level.unwrap_or(0); argument.ciphertexts];
        self.arguments.iter().flat_map(levels).collect()
    }

    /// The step after which each ciphertext is used no more; results are kept.
    fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![0; self.inputs() + self.steps.len()];
        for (at, step) in self.steps.iter().enumerate() {
            step.operands.iter().for_each(|&id| last[id as usize] = at);
        }
        self.outcomes.iter().flat_map(|outcome| &outcome.ids).for_each(|&id| last[id as usize] = usize::MAX);
        last
    }

    /// Encrypted arguments that no result depends on, by their positions.
    pub(super) fn unused(&self) -> Vec<usize> {
        let inputs = self.inputs();
        let mut needed = vec![false; inputs + self.steps.len()];
        self.outcomes.iter().flat_map(|outcome| &outcome.ids).for_each(|&id| needed[id as usize] = true);
        for (at, step) in self.steps.iter().enumerate().rev() {
            if needed[inputs + at] {
                step.operands.iter().for_each(|&id| needed[id as usize] = true);
            }
        }
        let mut ids = needed.into_iter();
        let read = self.arguments.iter().map(|argument| {
            let parts: Vec<bool> = ids.by_ref().take(argument.ciphertexts).collect();
            argument.kind != Kind::Secret || parts.contains(&true)
        });
        read.enumerate().filter(|&(_, read)| !read).map(|(at, _)| at).collect()
    }

    /// Steps by their kind.
    fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for step in &self.steps {
            *kinds.entry(step.act.name()).or_default() += 1;
        }
        kinds
    }
}

impl Program for Heir {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "heir"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = Vec::new();
        for (at, argument) in self.source.arguments.iter().enumerate() {
            let level = mapped(&self.params, argument.nominal.level.unwrap_or(0), self.slack);
            let packing = Packing { slots: self.source.header.slots, level, scale: self.params.scale(level) };
            let size = if argument.kind == Kind::Zero { 0.0 } else { self.most };
            let bounds = Promise { magnitude: size, peak: size, real: true };
            for part in 0..argument.ciphertexts {
                let name =
                    if argument.ciphertexts == 1 { format!("argument {at}") } else { format!("argument {at}, {part}") };
                inputs.push(Input { name, batch: 1, packing, bounds });
            }
        }
        inputs
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: Vec::new(), bootstrapping: self.plan }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, .. } = on;
        let (mut done, total) = (0, self.source.steps.len());
        let mut tell = |_| {
            // Steps are many and short: a hundred of them are told.
            if done % (total / 100 + 1) == 0 {
                let observer: &mut dyn Observer = observer;
                observer.step("operations", done, total);
            }
            done += 1;
        };
        Ok(self.walk(&means.auto, inputs, &mut tell)?.0)
    }

    fn results(&self) -> usize {
        self.source.outcomes.iter().map(|outcome| outcome.ids.len()).sum()
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let rows = self.rows(results);
        let array = |(at, rows): (usize, &Vec<Vec<f64>>)| {
            let slots = || (vec![rows.len(), self.source.header.slots], rows.concat());
            let (shape, values) = self.source.unpack(at, rows).unwrap_or_else(|_| slots());
            let name = if self.source.outcomes.len() == 1 { "result".into() } else { format!("result {at}") };
            Array { name, shape, values: values.into_iter().map(Into::into).collect(), numbers: Numbers::Real }
        };
        rows.iter().enumerate().map(array).collect()
    }

    fn details(&self) -> Details {
        let (header, unused) = (&self.source.header, self.source.unused());
        fields(json!({
            "function": self.source.name,
            "operations": self.source.steps.len(),
            "by_kind": self.source.kinds(),
            "slots": header.slots,
            "parameters": beside(header, &self.params),
            "extra_levels": self.slack,
            "log2_scales_apart": (self.apart > 0.0).then(|| self.apart.log2()),
            "bootstrap_plan": self.plan,
            "unused_arguments": (!unused.is_empty()).then_some(unused),
            "twin": self.wrapped.as_ref().map(|warning| json!({ "warning": warning })),
        }))
    }

    fn in_way(&self, way: Way) -> Self {
        self.with(way.bootstrapping)
    }
}
