//! Linear transforms that the text leaves whole: y = Σ d_i ⊙ rotate(x, i), by baby and giant steps.

use super::{
    act::{Act, Nominal, Step},
    constant::{Handle, Items, integers},
    text::{Op, Read},
    unroll::Machine,
    value::{Tensor, Value},
};
use std::{collections::BTreeMap, rc::Rc, sync::Arc};

impl<'t> Machine<'_, 't> {
    /// The diagonals as plaintexts, a row each.
    pub(super) fn prepared(&mut self, op: &Op<'t>, mut operands: Vec<Value>) -> Read<Value> {
        let Some(Value::Tensor(tensor)) = operands.pop().filter(|_| operands.is_empty()) else {
            return Err(op.wrong("wanted a tensor of diagonals"));
        };
        let rows = match tensor.shape[..] {
            [rows, width] if rows > 0 && width > 0 => rows,
            _ => return Err(op.wrong(format!("diagonals of shape {:?}; wanted rows", tensor.shape))),
        };
        let reals = Value::Tensor(tensor).reals().map_err(|e| op.wrong(e))?;
        let handles = reals.chunks(reals.len() / rows).map(|row| {
            let plain = self.plain(op, row.into(), 0)?;
            Ok(Some(Handle::Plain(plain)))
        });
        let handles = handles.collect::<Read<Vec<_>>>()?;
        Ok(Value::Tensor(Tensor { shape: vec![rows], items: Items::Handles(Rc::new(handles)) }))
    }

    /// A transform of a ciphertext, with the divisions that its type tells.
    pub(super) fn map(&mut self, op: &Op<'t>, operands: Vec<Value>) -> Read<u32> {
        let wrong = |e: String| op.wrong(e);
        let [a, diagonals] =
            <[Value; 2]>::try_from(operands).map_err(|_| op.wrong("wanted a ciphertext and diagonals"))?;
        let id = a.cipher().map_err(wrong)?;
        let diagonals = match diagonals {
            Value::Tensor(Tensor { items: Items::Handles(handles), .. }) => handles,
            numbers => match self.prepared(op, vec![numbers])? {
                Value::Tensor(Tensor { items: Items::Handles(handles), .. }) => handles,
                _ => return Err(op.wrong("wanted diagonals")),
            },
        };
        let text = op.needs("diagonal_indices")?;
        let indices =
            integers(text).ok_or_else(|| op.wrong(format!("diagonal_indices = {text}; wanted whole numbers")))?;
        if indices.len() != diagonals.len() || indices.is_empty() {
            return Err(op.wrong(format!("{} indices for {} diagonals", indices.len(), diagonals.len())));
        }
        let types = [op.takes.first(), op.gives.first()].map(|text| text.and_then(|text| self.nominal(text)));
        let [Some(from), Some(to)] = types else { return Err(op.wrong("its types tell no levels")) };
        let mut rows: BTreeMap<i64, Arc<[f64]>> = BTreeMap::new();
        for (&index, diagonal) in indices.iter().zip(diagonals.iter()) {
            let Some(Handle::Plain(plain)) = diagonal else { return Err(op.wrong("a diagonal that is no plaintext")) };
            let values = Arc::clone(&self.left.plains[*plain as usize].values);
            let slots = i64::try_from(values.len()).unwrap_or(i64::MAX);
            rows.insert(index.rem_euclid(slots), values);
        }
        let sum = self.steps_of(op, id, from, &rows)?;
        let divided = from.level.zip(to.level).map_or(0, |(from, to)| from.saturating_sub(to));
        match divided {
            0 => Ok(sum),
            _ => {
                self.push(op, Step { line: op.line, act: Act::Rescale, operands: vec![sum], plain: None, nominal: to })
            }
        }
    }

    /// Σ_g rotate(Σ_b rotate(d_{g+b}, −g) ⊙ rotate(x, b), g).
    fn steps_of(&mut self, op: &Op<'t>, x: u32, from: Nominal, rows: &BTreeMap<i64, Arc<[f64]>>) -> Read<u32> {
        let babies = 1i64 << (rows.len().ilog2().div_ceil(2));
        let product = Nominal { log_scale: 2 * from.log_scale, ..from };
        let step = |act: Act, operands: Vec<u32>, plain: Option<u32>, nominal: Nominal| Step {
            line: op.line,
            act,
            operands,
            plain,
            nominal,
        };
        let mut turned: BTreeMap<i64, u32> = BTreeMap::from([(0, x)]);
        let mut groups: BTreeMap<i64, u32> = BTreeMap::new();
        for (&index, row) in rows {
            let (giant, baby) = (index - index.rem_euclid(babies), index.rem_euclid(babies));
            let moved = match turned.get(&baby) {
                Some(&moved) => moved,
                None => {
                    let moved = self.push(op, step(Act::Rotate(baby), vec![x], None, from))?;
                    turned.insert(baby, moved);
                    moved
                }
            };
            let left = usize::try_from(giant).unwrap_or(0) % row.len();
            let back: Vec<f64> = (0..row.len()).map(|i| row[(i + row.len() - left) % row.len()]).collect();
            let plain = self.plain(op, back.into(), from.log_scale)?;
            let term = self.push(op, step(Act::MulPlain, vec![moved], Some(plain), product))?;
            let sum = match groups.get(&giant) {
                Some(&sum) => self.push(op, step(Act::Add, vec![sum, term], None, product))?,
                None => term,
            };
            groups.insert(giant, sum);
        }
        let mut total = None;
        for (giant, sum) in groups {
            let moved =
                if giant == 0 { sum } else { self.push(op, step(Act::Rotate(giant), vec![sum], None, product))? };
            total = Some(match total {
                Some(total) => self.push(op, step(Act::Add, vec![total, moved], None, product))?,
                None => moved,
            });
        }
        total.ok_or_else(|| op.wrong("no diagonals"))
    }
}
