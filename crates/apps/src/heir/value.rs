//! Values while a text is executed: numbers, tensors of numbers or of handles, and operations on them.

use super::{
    constant::{Element, Handle, Items, MOST_NUMBERS, Type},
    whole::{self, Bits},
};
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(super) enum Value {
    Whole(i64),
    Real(f64),
    Tensor(Tensor),
    Handle(Handle),
    /// Plaintexts that one function leaves for another.
    Storage(usize),
    /// A key: whoever holds it.
    Key,
}

#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) items: Items,
}

pub(super) type Done<T> = Result<T, String>;

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Whole(_) => "a whole number",
            Self::Real(_) => "a real number",
            Self::Tensor(_) => "a tensor",
            Self::Handle(Handle::Cipher(_)) => "a ciphertext",
            Self::Handle(Handle::Plain(_)) => "a plaintext",
            Self::Storage(_) => "a storage",
            Self::Key => "a key",
        }
    }

    pub(super) fn whole(&self) -> Done<i64> {
        match self {
            Self::Whole(x) => Ok(*x),
            other => Err(format!("wanted a whole number that is known, got {}", other.kind())),
        }
    }

    pub(super) fn tensor(self) -> Done<Tensor> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            other => Err(format!("wanted a tensor, got {}", other.kind())),
        }
    }

    pub(super) fn cipher(&self) -> Done<u32> {
        match self {
            Self::Handle(Handle::Cipher(id)) => Ok(*id),
            other => Err(format!("wanted a ciphertext, got {}", other.kind())),
        }
    }

    pub(super) fn plain(&self) -> Done<u32> {
        match self {
            Self::Handle(Handle::Plain(id)) => Ok(*id),
            other => Err(format!("wanted a plaintext, got {}", other.kind())),
        }
    }

    /// Ciphertexts of a tensor or a single one, in order; `None` for another value.
    pub(super) fn ciphers(&self) -> Option<Vec<u32>> {
        let cipher = |handle: Option<Handle>| match handle {
            Some(Handle::Cipher(id)) => Some(id),
            _ => None,
        };
        match self {
            Self::Handle(handle) => Some(vec![cipher(Some(*handle))?]),
            Self::Tensor(Tensor { items: Items::Handles(handles), .. }) => handles.iter().map(|&h| cipher(h)).collect(),
            _ => None,
        }
    }

    /// Numbers of a scalar or a tensor.
    pub(super) fn reals(&self) -> Done<Vec<f64>> {
        match self {
            Self::Real(x) => Ok(vec![*x]),
            Self::Whole(x) => Ok(vec![*x as f64]),
            Self::Tensor(Tensor { items, .. }) => match items {
                Items::Reals(reals) => Ok(reals.to_vec()),
                Items::Wholes(wholes) => Ok(wholes.iter().map(|&x| x as f64).collect()),
                Items::Handles(_) => Err("wanted numbers, got a tensor of ciphertexts or plaintexts".into()),
            },
            other => Err(format!("wanted numbers, got {}", other.kind())),
        }
    }

    /// The value of a type with these numbers, to nearest where the type has whole ones.
    pub(super) fn of_reals(of_type: &Type, reals: Vec<f64>) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "saturates, as numbers beyond 2^63 have no meaning here")]
        let rounded = |x: &f64| x.round() as i64;
        let whole = matches!(of_type.element, Element::Whole { .. });
        match (&of_type.shape, whole) {
            (None, false) => Self::Real(reals[0]),
            (None, true) => Self::Whole(rounded(&reals[0])),
            (Some(shape), whole) => {
                let items = match whole {
                    true => Items::Wholes(Rc::new(reals.iter().map(rounded).collect())),
                    false => Items::Reals(Rc::new(reals)),
                };
                Self::Tensor(Tensor { shape: shape.clone(), items })
            }
        }
    }
}

impl Items {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Reals(items) => items.len(),
            Self::Wholes(items) => items.len(),
            Self::Handles(items) => items.len(),
        }
    }

    fn get(&self, at: usize) -> Done<Value> {
        Ok(match self {
            Self::Reals(items) => Value::Real(items[at]),
            Self::Wholes(items) => Value::Whole(items[at]),
            Self::Handles(items) => Value::Handle(items[at].ok_or("nothing was inserted at this place")?),
        })
    }

    fn set(&mut self, at: usize, value: &Value) -> Done<()> {
        match (self, value) {
            (Self::Reals(items), Value::Real(x)) => Rc::make_mut(items)[at] = *x,
            (Self::Wholes(items), Value::Whole(x)) => Rc::make_mut(items)[at] = *x,
            (Self::Handles(items), Value::Handle(handle)) => Rc::make_mut(items)[at] = Some(*handle),
            (_, value) => return Err(format!("{} does not fit into the tensor", value.kind())),
        }
        Ok(())
    }

    fn picked(&self, places: &[usize]) -> Self {
        match self {
            Self::Reals(items) => Self::Reals(Rc::new(places.iter().map(|&at| items[at]).collect())),
            Self::Wholes(items) => Self::Wholes(Rc::new(places.iter().map(|&at| items[at]).collect())),
            Self::Handles(items) => Self::Handles(Rc::new(places.iter().map(|&at| items[at]).collect())),
        }
    }
}

/// A part of a tensor: offsets, sizes and strides, one a side.
pub(super) struct Slice {
    pub(super) offsets: Vec<i64>,
    pub(super) sizes: Vec<i64>,
    pub(super) strides: Vec<i64>,
}

impl Slice {
    /// Places of its items in a tensor of this shape, in order.
    fn places(&self, shape: &[usize]) -> Done<Vec<usize>> {
        let Self { offsets, sizes, strides } = self;
        if [offsets, sizes, strides].iter().any(|sides| sides.len() != shape.len()) {
            return Err(format!("a slice of {} sides of a tensor of {}", sizes.len(), shape.len()));
        }
        let mut places = vec![0usize];
        for side in 0..shape.len() {
            let (offset, size, stride) = (offsets[side], sizes[side], strides[side]);
            let length = i64::try_from(shape[side]).unwrap_or(i64::MAX);
            let last = size.checked_sub(1).and_then(|n| n.checked_mul(stride)).and_then(|n| n.checked_add(offset));
            let inside =
                size == 0 || last.is_some_and(|last| (0..length).contains(&offset) && (0..length).contains(&last));
            let size = usize::try_from(size).ok().filter(|size| inside && *size <= shape[side].max(1));
            let size = size.ok_or_else(|| {
                format!("a slice of {} from {offset} with stride {stride} of a side of {length}", sizes[side])
            })?;
            let count = places.len().checked_mul(size).filter(|&count| count <= MOST_NUMBERS);
            let count = count.ok_or_else(|| format!("a slice of more than {MOST_NUMBERS} numbers"))?;
            let mut next = Vec::with_capacity(count);
            for place in &places {
                for at in 0..size {
                    let at = offset + i64::try_from(at).unwrap_or(0) * stride;
                    next.push(place * shape[side] + usize::try_from(at).unwrap_or(0));
                }
            }
            places = next;
        }
        Ok(places)
    }
}

impl Tensor {
    pub(super) fn new(shape: Vec<usize>, items: Items) -> Done<Self> {
        let count = shape.iter().product::<usize>();
        match items.len() == count {
            true => Ok(Self { shape, items }),
            false => Err(format!("{} items for a tensor of shape {shape:?}", items.len())),
        }
    }

    fn place(&self, indices: &[i64]) -> Done<usize> {
        let outside = || format!("index {indices:?} of a tensor of shape {:?}", self.shape);
        if indices.len() != self.shape.len() {
            return Err(outside());
        }
        let add = |place: usize, (&index, &side): (&i64, &usize)| {
            usize::try_from(index).ok().filter(|&index| index < side).map(|index| place * side + index)
        };
        indices.iter().zip(&self.shape).try_fold(0, add).ok_or_else(outside)
    }

    pub(super) fn extract(&self, indices: &[i64]) -> Done<Value> {
        self.items.get(self.place(indices)?)
    }

    pub(super) fn insert(mut self, value: &Value, indices: &[i64]) -> Done<Self> {
        let place = self.place(indices)?;
        self.items.set(place, value)?;
        Ok(self)
    }

    /// A part, as a tensor of this shape.
    pub(super) fn slice(&self, part: &Slice, shape: Vec<usize>) -> Done<Self> {
        Self::new(shape, self.items.picked(&part.places(&self.shape)?))
    }

    /// The tensor with a part replaced.
    pub(super) fn replaced(mut self, part: &Slice, by: &Self) -> Done<Self> {
        let places = part.places(&self.shape)?;
        if places.len() != by.items.len() {
            return Err(format!("{} items for a slice of {}", by.items.len(), places.len()));
        }
        match (&mut self.items, &by.items) {
            (Items::Reals(to), Items::Reals(from)) => put(Rc::make_mut(to).as_mut_slice(), &places, from),
            (Items::Wholes(to), Items::Wholes(from)) => put(Rc::make_mut(to).as_mut_slice(), &places, from),
            (Items::Handles(to), Items::Handles(from)) => put(Rc::make_mut(to).as_mut_slice(), &places, from),
            _ => return Err("a slice of another element type".into()),
        }
        Ok(self)
    }
}

fn put<T: Copy>(to: &mut [T], places: &[usize], from: &[T]) {
    for (&place, &item) in places.iter().zip(from) {
        to[place] = item;
    }
}

/// An operation of `arith` or `math` on numbers, or on tensors item by item; `None` for an operation that is not read.
///
/// `predicate` is the number of a comparison; `bits` are those of the integers that come in and go out.
pub(super) fn arithmetic(
    name: &str,
    operands: &[Value],
    predicate: Option<i64>,
    bits: [Bits; 2],
) -> Option<Done<Value>> {
    let tensors = operands.iter().find_map(|value| match value {
        Value::Tensor(tensor) => Some(tensor.shape.clone()),
        _ => None,
    });
    let Some(shape) = tensors else { return scalar(name, operands, predicate, bits) };
    let count: usize = shape.iter().product();
    let item = |at: usize| -> Option<Done<Value>> {
        let pick = |value: &Value| match value {
            Value::Tensor(tensor) if tensor.shape == shape => tensor.items.get(at),
            Value::Tensor(tensor) => Err(format!("tensors of shapes {shape:?} and {:?}", tensor.shape)),
            other => Ok(other.clone()),
        };
        match operands.iter().map(pick).collect::<Done<Vec<Value>>>() {
            Ok(items) => scalar(name, &items, predicate, bits),
            Err(e) => Some(Err(e)),
        }
    };
    if count == 0 {
        return None;
    }
    let all = (0..count).map(item).collect::<Option<Done<Vec<Value>>>>()?;
    Some(all.and_then(|items| gathered(shape, &items)))
}

/// Scalars of one kind as a tensor.
pub(super) fn gathered(shape: Vec<usize>, items: &[Value]) -> Done<Value> {
    let mixed = |value: &Value| format!("{} among items of another kind", value.kind());
    let items = match items.first() {
        Some(Value::Real(_)) => {
            let real = |value: &Value| if let Value::Real(x) = value { Ok(*x) } else { Err(mixed(value)) };
            Items::Reals(Rc::new(items.iter().map(real).collect::<Done<_>>()?))
        }
        Some(Value::Whole(_)) => Items::Wholes(Rc::new(items.iter().map(Value::whole).collect::<Done<_>>()?)),
        _ => {
            let handle = |value: &Value| if let Value::Handle(h) = value { Ok(Some(*h)) } else { Err(mixed(value)) };
            Items::Handles(Rc::new(items.iter().map(handle).collect::<Done<_>>()?))
        }
    };
    Ok(Value::Tensor(Tensor::new(shape, items)?))
}

fn scalar(name: &str, operands: &[Value], predicate: Option<i64>, bits: [Bits; 2]) -> Option<Done<Value>> {
    match operands {
        [Value::Whole(a), Value::Whole(b)] => whole::of_two(name, [*a, *b], predicate, bits),
        [Value::Real(a), Value::Real(b)] => reals(name, *a, *b, predicate),
        [Value::Whole(a)] => whole::converted(name, *a, bits).map(Ok),
        [Value::Real(a)] => real(name, *a, bits[1]),
        [Value::Whole(which), a, b] if name == "arith.select" => {
            Some(Ok(if *which == 0 { b.clone() } else { a.clone() }))
        }
        _ => None,
    }
}

fn real(name: &str, a: f64, bits: Bits) -> Option<Done<Value>> {
    let result = match name {
        "arith.negf" => -a,
        "arith.extf" | "arith.truncf" => a,
        "arith.fptosi" | "arith.fptoui" => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "saturates, as numbers beyond 2^63 have no meaning here"
            )]
            return Some(Ok(Value::Whole(bits.held(a as i64))));
        }
        "math.sqrt" => a.sqrt(),
        "math.rsqrt" => a.sqrt().recip(),
        "math.exp" => a.exp(),
        "math.log" => a.ln(),
        "math.tanh" => a.tanh(),
        "math.absf" => a.abs(),
        _ => return None,
    };
    Some(known(result))
}

fn known(result: f64) -> Done<Value> {
    result.is_finite().then_some(Value::Real(result)).ok_or_else(|| "the result is not finite".into())
}

fn reals(name: &str, a: f64, b: f64, predicate: Option<i64>) -> Option<Done<Value>> {
    let result = match name {
        "arith.addf" => a + b,
        "arith.subf" => a - b,
        "arith.mulf" => a * b,
        "arith.divf" => a / b,
        "arith.maximumf" | "arith.maxnumf" => a.max(b),
        "arith.minimumf" | "arith.minnumf" => a.min(b),
        "math.powf" => a.powf(b),
        #[expect(clippy::float_cmp, reason = "the comparison that the program asks for")]
        "arith.cmpf" => {
            // Numbers are finite: ordered and unordered comparisons agree.
            let holds = match predicate? {
                0 => false,
                1 | 8 => a == b,
                2 | 9 => a > b,
                3 | 10 => a >= b,
                4 | 11 => a < b,
                5 | 12 => a <= b,
                6 | 13 => a != b,
                7 | 15 => true,
                14 => false,
                _ => return None,
            };
            return Some(Ok(Value::Whole(holds.into())));
        }
        _ => return None,
    };
    Some(known(result))
}
