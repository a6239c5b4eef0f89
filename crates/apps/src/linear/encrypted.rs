//! The encrypted layer: a task laid out in slots, as a program with one map, or with the 2d maps of a product of
//! encrypted matrices.

use super::plain::Task;
use crate::program::{Conclusion, Input, Observer, Program};
use limbwise::{
    Complex64, Result,
    ckks::{
        Auto, Ciphertext, Diagonals, LinearPlan, LinearTransform, Packing, PlaintextForm, Precision, Strategy,
        tensor::{Convolution, MatrixProduct, PackedMap, SquareProduct, square_product},
    },
    params::Params,
};
use limbwise_device::Device;
use serde_json::json;
use std::sync::Arc;

/// Why a layer cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinearError {
    /// Too few levels, or more than there are.
    #[error(
        "level {level}: this layer takes {needed} levels, the parameters have {levels}: choose a level from {needed} to {levels}, or a preset with more levels (limbwise params show)"
    )]
    Level {
        /// What was asked for.
        level: usize,
        /// What the layer takes.
        needed: usize,
        /// What there is.
        levels: usize,
    },
    /// Tensors that do not fit, or do not go together.
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
}

/// How a task lies in slots.
#[derive(Debug)]
enum Layout {
    Product(MatrixProduct),
    Square(SquareProduct),
    Convolution(Convolution),
}

/// What all variants of a layer share.
#[derive(Debug)]
struct Work {
    task: Task,
    layout: Layout,
    expected: Vec<f64>,
}

/// The workload: a task with the way its maps are evaluated.
#[derive(Clone, Debug)]
pub struct Linear {
    params: Params,
    level: usize,
    work: Arc<Work>,
    strategy: Strategy,
    form: PlaintextForm,
}

/// Levels that a task takes.
#[must_use]
pub fn levels_needed(task: &Task) -> usize {
    if matches!(task, Task::Square { .. }) { square_product::LEVELS } else { 1 }
}

impl Linear {
    /// The layer for inputs encrypted at a level, hoisted with full diagonals.
    ///
    /// # Errors
    /// [`LinearError`] where level, task and parameters do not go together.
    pub fn new(params: &Params, level: usize, task: Task) -> Result<Self, LinearError> {
        let (needed, levels, slots) = (levels_needed(&task), params.top_level(), params.max_slots());
        if level < needed || level > levels {
            return Err(LinearError::Level { level, needed, levels });
        }
        let layout = match &task {
            Task::Product { matrix, bias, x } => Layout::Product(MatrixProduct::new(matrix, bias, x.columns(), slots)?),
            Task::Square { left, .. } => {
                Layout::Square(SquareProduct::new(left.first().map_or(0, |m| m.rows()), slots)?)
            }
            Task::Convolution { filters, image } => {
                Layout::Convolution(Convolution::new(filters, image.shape(), slots)?)
            }
        };
        let expected = task.clear()?;
        let work = Arc::new(Work { task, layout, expected });
        let linear =
            Self { params: params.clone(), level, work, strategy: Strategy::Hoisted, form: PlaintextForm::Full };
        linear.packed()?; // what does not pack is a mistake to be told now
        Ok(linear)
    }

    /// The same layer with its maps evaluated in another way.
    #[must_use]
    pub fn with(&self, strategy: Strategy, form: PlaintextForm) -> Self {
        Self { strategy, form, ..self.clone() }
    }

    /// The map with the most diagonals: what a strategy is chosen for.
    ///
    /// # Panics
    /// Never: every layer has a map.
    #[must_use]
    pub fn largest_map(&self) -> &Diagonals {
        self.maps().into_iter().map(|(map, _)| map).max_by_key(|map| map.count()).expect("a layer has a map")
    }

    fn map(&self) -> Option<&PackedMap> {
        match &self.work.layout {
            Layout::Product(product) => Some(&product.map),
            Layout::Convolution(convolution) => Some(&convolution.map),
            Layout::Square(_) => None,
        }
    }

    fn packed(&self) -> Result<Vec<Input>> {
        let packing =
            Packing { slots: self.params.max_slots(), level: self.level, scale: self.params.scale(self.level) };
        let input = |name: &str, values| Input { name: name.into(), values, packing };
        match (&self.work.task, &self.work.layout) {
            (Task::Product { x, .. }, Layout::Product(product)) => Ok(vec![input("X", product.pack(x)?)]),
            (Task::Square { left, right }, Layout::Square(square)) => {
                Ok(vec![input("left", vec![square.pack(left)?]), input("right", vec![square.pack(right)?])])
            }
            (Task::Convolution { image, .. }, Layout::Convolution(convolution)) => {
                Ok(vec![input("image", vec![convolution.pack(image)?])])
            }
            _ => unreachable!("the layout is the task's"),
        }
    }

    /// The results in decrypted slots.
    fn values(&self, slots: &[Vec<Complex64>]) -> Result<Vec<f64>> {
        match (&self.work.task, &self.work.layout) {
            (_, Layout::Product(product)) => Ok(product.output.unpack(slots)?.values().to_vec()),
            (_, Layout::Convolution(convolution)) => Ok(convolution.output.unpack(&slots[0])?.values().to_vec()),
            (Task::Square { left, .. }, Layout::Square(square)) => {
                let products = square.unpack(&slots[0], left.len())?;
                Ok(products.iter().flat_map(|m| m.values().iter().copied()).collect())
            }
            _ => unreachable!("the layout is the task's"),
        }
    }
}

impl Program for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        self.packed().expect("packed once when it was built")
    }

    fn maps(&self) -> Vec<(&Diagonals, LinearPlan)> {
        match (&self.work.layout, self.map()) {
            (Layout::Square(square), _) => square.plans(&self.params, self.strategy, self.form, self.level),
            (_, map) => {
                let plan = LinearPlan::new(&self.params, self.strategy, self.form, self.level);
                map.into_iter().map(|map| (&map.diagonals, plan)).collect()
            }
        }
    }

    fn evaluate<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        maps: &[LinearTransform<D>],
        inputs: &[Ciphertext<D>],
        observer: &mut dyn Observer,
    ) -> Result<Vec<Ciphertext<D>>> {
        observer.step("layer", 0, 1);
        let _region = auto.eval.device().region("layer", 0);
        let result = match (&self.work.layout, self.map()) {
            (Layout::Square(square), _) => auto.settle(&square.multiply(auto, maps, [&inputs[0], &inputs[1]])?)?,
            (_, map) => map.expect("every other layer is one map").apply(auto, &maps[0], &inputs[0])?,
        };
        Ok(vec![result])
    }

    fn conclude(&self, results: &[Vec<Vec<Complex64>>]) -> Conclusion {
        let part = |part: fn(&Complex64) -> f64| {
            let slots: Vec<Vec<Complex64>> =
                results[0].iter().map(|row| row.iter().map(|z| part(z).into()).collect()).collect();
            self.values(&slots).expect("as many slots as were packed")
        };
        let got: Vec<Complex64> =
            part(|z| z.re).into_iter().zip(part(|z| z.im)).map(|(re, im)| Complex64::new(re, im)).collect();
        let expected: Vec<Complex64> = self.work.expected.iter().map(|&x| x.into()).collect();
        let details = json!({
            "layer": self.work.task.describe(),
            "strategy": self.strategy.to_string(),
            "plaintexts": self.form,
            "level": self.level,
            "maps": self.maps().len(),
            "diagonals": self.largest_map().count(),
            "fold": self.map().map_or(1, |map| map.fold.count),
            "values": expected.len(),
            "largest_value": self.work.expected.iter().fold(0.0, |most: f64, x| most.max(x.abs())),
        });
        Conclusion {
            precision: Precision::of(&got, &expected),
            accuracy: None,
            details: details.as_object().cloned().unwrap_or_default(),
            warnings: Vec::new(),
        }
    }
}
