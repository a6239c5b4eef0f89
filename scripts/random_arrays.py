#!/usr/bin/env python3
"""Runs random programs on encrypted arrays and on NumPy's, and compares what they give.

    python3 scripts/random_arrays.py                       a minute, programs from seed 0
    python3 scripts/random_arrays.py --seconds 600 --seed 1000
    python3 scripts/random_arrays.py --seed 1017 --programs 1
    python3 scripts/random_arrays.py --integers            exact integers and booleans, every bit and dtype

Needs the package limbwise installed. A program is one to six operations on arrays of random shapes. One that NumPy refuses
is left out; one that we refuse is counted with its reason. Ends with 1 if a program gave something else than NumPy's.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import limbwise as lw
import numpy as np

MOST = 200.0  # values beyond have no room in the modulus of the last level
SIZES, LARGE = (1, 2, 3, 4, 5, 7, 8, 16), (1, 3, 17, 32, 65)


class Pair(NamedTuple):
    """One array, encrypted and clear."""

    encrypted: object
    clear: object

    @property
    def shape(self):
        return self.clear.shape

    @property
    def ndim(self):
        return self.clear.ndim


class Program:
    """The random choices of a program, and its arrays."""

    def __init__(self, context, seed):
        self.context, self.r, self.g = context, random.Random(seed), np.random.default_rng(seed)

    def values(self, shape):
        """Return random numbers, complex ones sometimes if the context takes them."""
        real = self.g.uniform(-1, 1, shape)
        return real + 1j * self.g.uniform(-1, 1, shape) if self.context.complex and self.r.random() < 0.5 else real

    def fresh(self, shape=None):
        """Return a new array; of at most three ciphertexts."""
        if shape is None:
            sides = LARGE if self.r.random() < 0.1 else SIZES
            shape = tuple(self.r.choice(sides) for _ in range(self.r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])))
        while np.prod(shape) > 3 * self.context.slots:
            shape = shape[:-1]
        values = np.asarray(self.values(shape))
        return Pair(self.context.encrypt(values), values)

    def clear(self, shape):
        """Return an array that is clear on both sides."""
        values = np.asarray(self.values(shape))
        return Pair(values, values)

    def other(self, x):
        """Return an operand that goes together with an array: of its shape, or one that repeats."""
        shape = tuple(n if self.r.random() < 0.7 else 1 for n in x.shape)
        shape = shape[self.r.randint(0, x.ndim) :] if self.r.random() < 0.3 else shape
        return self.r.choice([self.fresh, self.clear, self.clear])(shape)

    def axis(self, x):
        return self.r.randrange(-x.ndim, x.ndim)

    def axes(self, x):
        return self.r.choice([None, self.axis(x), tuple(self.r.sample(range(x.ndim), min(2, x.ndim)))])

    def shape(self, size):
        """Return sides of so many values."""
        sides = []
        for _ in range(self.r.randint(0, 2)):
            sides.append(self.r.choice([n for n in range(1, size + 1) if size % n == 0]))
            size //= sides[-1]
        return (*sides, self.r.choice([size, -1]))

    def key(self, x):
        """Return an index: numbers, slices, lists, new axes and an ellipsis."""
        key = []
        for n in x.shape[: self.r.randint(1, max(x.ndim, 1))]:
            ends = [self.r.choice([None, self.r.randrange(-n, n)]) for _ in range(2)]
            key.append(
                self.r.choice(
                    [
                        self.r.randrange(-n, n),
                        slice(*ends, self.r.choice([None, 1, 2, -1, 3, -2])),
                        slice(None),
                        [self.r.randrange(-n, n) for _ in range(self.r.randint(1, 3))],
                        None,
                    ]
                )
            )
        if self.r.random() < 0.2:
            key.insert(self.r.randint(0, len(key)), ...)
        return tuple(key)


INTEGERS = ("bool", "u1", "u1", "i1", "i1", "u2", "i2")
MOST_INTEGERS = 24  # each takes some dozens of bootstrappings an operation

# Few steps; the reason says that it is a test.
SMALL_INTEGERS = """
log_n = 10
masks = 1
prime = 48
glwe_sigma = 3.2
lwe_dimension = 20
log_lwe_modulus = 32
lwe_sigma = 3.2
bootstrap = { base_log = 16, levels = 2 }
key_switch = { base_log = 4, levels = 5 }
message_bits = 4
norm = 5.0
log2_failure = -40.0
insecure = { reason = "random programs" }
"""


class IntegerProgram(Program):
    """The same on integers and booleans."""

    def values(self, shape):
        """Return random integers of a random dtype: small ones, any ones, edges."""
        dtype = np.dtype(self.r.choice(INTEGERS))
        if dtype.kind == "b":
            return self.g.random(shape) < 0.5
        info = np.iinfo(dtype)
        low, high = self.r.choice([(info.min, info.max), (max(info.min, -3), 5), (max(info.min, -1), 1)])
        return self.g.integers(low, high, shape, dtype, endpoint=True)

    def fresh(self, shape=None):
        """Return a new array of few values."""
        if shape is None:
            shape = tuple(self.r.choice((1, 2, 3, 4, 5)) for _ in range(self.r.choice([0, 1, 1, 2, 2, 3])))
        while np.prod(shape) > MOST_INTEGERS:
            shape = shape[:-1]
        values = np.asarray(self.values(shape))
        return Pair(self.context.encrypt(values), values)


def places(p, n):
    """Return some indices of an axis."""
    return [p.r.randrange(-n, n) for _ in range(p.r.randint(1, 4))]


def einsum(p, x):
    """Return an einsum of an array with another over one axis of both, or of it alone."""
    mine = "abcd"[: x.ndim]
    if p.r.random() < 0.2:
        kept = "".join(p.r.sample(mine, p.r.randint(0, x.ndim)))
        return lambda of: np.einsum(f"{mine}->{kept}", of(x))
    at = p.r.randrange(x.ndim)
    y = p.r.choice([p.fresh, p.clear])((p.r.randint(1, 4), x.shape[at]))
    result = [*mine.replace(mine[at], "" if p.r.random() < 0.7 else mine[at]), "z"]
    p.r.shuffle(result)
    return lambda of: np.einsum(f"{mine},z{mine[at]}->{''.join(result)}", of(x), of(y))


def pairs(call):
    """Return an operation of an array and one that goes together with it."""

    def operation(p, x):
        y = p.other(x)
        turned = p.r.random() < 0.3
        return lambda of: call(of(y), of(x)) if turned else call(of(x), of(y))

    return operation


def alone(call):
    """Return an operation of an array, whose arguments are chosen by `call(p, x)`."""

    def operation(p, x):
        name, arguments, keywords = call(p, x)
        return lambda of: name(of(x), *arguments, **keywords)

    return operation


def joined(call, clear=True):
    """Return an operation that joins an array with others of its shape."""

    def operation(p, x):
        more = [p.r.choice([p.fresh, p.clear] if clear else [p.fresh])(x.shape) for _ in range(p.r.randint(1, 2))]
        every = [x, *more]
        p.r.shuffle(every)
        return lambda of: call(p, x)([of(y) for y in every])

    return operation


def along(call):
    """Return a function of a list of arrays that joins them along an axis that is chosen once."""

    def chosen(p, x):
        axis = random.Random(repr(x.shape)).randrange(-x.ndim, x.ndim)
        return lambda every: call(every, axis)

    return chosen


def masked(p, x):
    """Return a choice between an array and another by public booleans."""
    mask, y = p.g.random(x.shape) < 0.5, p.other(x)
    return lambda of: np.where(mask, of(x), of(y))


def stacks(p, x):
    """Return a product with a stack of matrices."""
    lead = x.shape[:-2] if x.ndim > 2 else (2,)
    y = p.r.choice([p.fresh, p.clear])((*lead, x.shape[-1], 3))
    return lambda of: of(x) @ of(y)


def product(p, x):
    """Return a product with a matrix or vector on either side."""
    left = p.r.random() < 0.4
    inner = x.shape[-2] if left and x.ndim > 1 else x.shape[-1]
    y = p.r.choice([p.fresh, p.clear, p.clear])((p.r.randint(1, 5), inner) if left else (inner, p.r.randint(1, 5)))
    return (lambda of: of(y) @ of(x)) if left else (lambda of: of(x) @ of(y))


def convolved(p, x):
    """Return a convolution with a clear vector."""
    kernel, mode = p.g.uniform(-1, 1, p.r.randint(1, 5)), p.r.choice(["full", "same", "valid"])
    return lambda of: np.convolve(of(x), kernel, mode)


def averaged(p, x):
    """Return an average with weights."""
    axis = p.axis(x)
    weights = p.g.uniform(0.5, 1, x.shape[axis])
    return lambda of: np.average(of(x), axis, weights)


def outer(p, x):
    """Return all products with a short vector."""
    y = p.fresh((p.r.randint(1, 4),))
    return lambda of: np.outer(of(x), of(y)) if x.clear.size <= 64 else of(x)


def contracted(p, x):
    """Return a tensordot over the first axis."""
    y = p.clear((x.shape[0], 2))
    return lambda of: np.tensordot(of(x), of(y), ([0], [0]))


def padded(p, x):
    """Return an array with an edge."""
    width = [(p.r.randint(0, 1), p.r.randint(0, 2)) for _ in range(x.ndim)]
    mode = p.r.choice(["constant", "edge", "wrap", "reflect"])
    return lambda of: np.pad(of(x), width, mode)


def picked(p, x):
    """Return an array by booleans."""
    mask = p.g.random(x.shape) < 0.5
    return lambda of: of(x)[mask]


OPERATIONS = {
    "add": pairs(lambda a, b: a + b),
    "subtract": pairs(np.subtract),
    "multiply": pairs(lambda a, b: a * b),
    "multiply again": pairs(np.multiply),
    "divide": alone(lambda p, x: (np.divide, (p.g.uniform(0.5, 2, x.shape),), {})),
    "scale": alone(lambda p, x: (np.multiply, (p.r.choice([2, 0, -1, 0.5, 1]),), {})),
    "power": alone(lambda p, x: (np.power, (p.r.randint(1, 4),), {})),
    "negative": alone(lambda p, x: (np.negative, (), {})),
    "square": alone(lambda p, x: (np.square, (), {})),
    "conjugate": alone(lambda p, x: (np.conjugate, (), {})),
    "real": alone(lambda p, x: (np.real, (), {})),
    "imag": alone(lambda p, x: (np.imag, (), {})),
    "sum": alone(lambda p, x: (np.sum, (p.axes(x),), {"keepdims": p.r.random() < 0.4})),
    "mean": alone(lambda p, x: (np.mean, (p.axes(x),), {"keepdims": p.r.random() < 0.4})),
    "var": alone(lambda p, x: (np.var, (p.axes(x),), {"keepdims": p.r.random() < 0.4})),
    "average": averaged,
    "transpose": alone(lambda p, x: (np.transpose, (p.r.sample(range(x.ndim), x.ndim),), {})),
    "reshape": alone(lambda p, x: (np.reshape, (p.shape(x.clear.size),), {})),
    "ravel": alone(lambda p, x: (np.ravel, (), {})),
    "index": alone(lambda p, x: (lambda a, key: a[key], (p.key(x),), {})),
    "index again": alone(lambda p, x: (lambda a, key: a[key], (p.key(x),), {})),
    "mask": picked,
    "list": alone(lambda p, x: (lambda a, key: a[key], (places(p, x.shape[0]),), {})),
    "take": alone(lambda p, x: (np.take, (places(p, x.shape[-1]), -1), {})),
    "roll": alone(lambda p, x: (np.roll, (p.r.randint(-5, 5), p.axis(x)), {})),
    "flip": alone(lambda p, x: (np.flip, (p.axis(x),), {})),
    "rot90": alone(lambda p, x: (np.rot90, (p.r.randint(1, 3),), {})),
    "swapaxes": alone(lambda p, x: (np.swapaxes, (p.axis(x), p.axis(x)), {})),
    "moveaxis": alone(lambda p, x: (np.moveaxis, (p.axis(x), p.axis(x)), {})),
    "expand_dims": alone(lambda p, x: (np.expand_dims, (p.r.randint(-x.ndim - 1, x.ndim),), {})),
    "squeeze": alone(lambda p, x: (np.squeeze, (), {})),
    "broadcast_to": alone(lambda p, x: (np.broadcast_to, ((p.r.randint(2, 3), *x.shape),), {})),
    "repeat": alone(lambda p, x: (np.repeat, (2, p.axis(x)), {})),
    "tile": alone(lambda p, x: (np.tile, (2,), {})),
    "delete": alone(lambda p, x: (np.delete, (0, p.axis(x)), {})),
    "diagonal": alone(lambda p, x: (np.diagonal, (p.r.randint(-1, 1),), {})),
    "split": alone(lambda p, x: (lambda a, axis: np.array_split(a, 2, axis)[1], (p.axis(x),), {})),
    "pad": padded,
    "cumsum": alone(lambda p, x: (np.cumsum, (p.axis(x),), {})),
    "diff": alone(lambda p, x: (np.diff, (p.r.randint(1, 2), p.axis(x)), {})),
    "trace": alone(lambda p, x: (np.trace, (), {})),
    "convolve": convolved,
    "where": masked,
    "concatenate": joined(along(np.concatenate)),
    "stack": joined(along(np.stack)),
    "vstack": joined(lambda p, x: np.vstack),
    "hstack": joined(lambda p, x: np.hstack),
    "dstack": joined(lambda p, x: np.dstack),
    "column_stack": joined(lambda p, x: np.column_stack, clear=False),
    "matmul": product,
    "stacks": stacks,
    "outer": outer,
    "tensordot": contracted,
    "einsum": einsum,
    "einsum again": einsum,
}


MOVES = (
    *("transpose", "reshape", "ravel", "index", "index again", "mask", "list", "take", "roll", "flip", "rot90", "swapaxes"),
    *("moveaxis", "expand_dims", "squeeze", "broadcast_to", "repeat", "tile", "delete", "diagonal", "split", "where"),
    *("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "matmul", "stacks", "outer", "cumsum", "diff"),
    *("trace", "negative", "square", "sum", "real"),
)


def plain(function, *arguments):
    return alone(lambda p, x: (function, arguments, {}))


def reduced(function):
    return alone(lambda p, x: (function, (p.axes(x),), {"keepdims": p.r.random() < 0.4}))


def numbered(function):
    """Return an operation with a number on either side."""

    def operation(p, x):
        number = p.r.choice([0, 1, 2, 3, 7, 100, -1, -3])
        turned = p.r.random() < 0.3
        return lambda of: function(number, of(x)) if turned else function(of(x), number)

    return operation


def chosen(p, x):
    """Return a choice by encrypted booleans."""
    y, z = p.other(x), p.fresh(x.shape)
    return lambda of: np.where(of(x) > of(z), of(x), of(y))


OF_TWO = (
    *(np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.minimum, np.maximum, np.less, np.less_equal),
    *(np.greater, np.equal, np.not_equal, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.logical_or),
    *(np.left_shift, np.right_shift),
)
INTEGER_OPERATIONS = {
    **{name: OPERATIONS[name] for name in MOVES},
    **{f.__name__: pairs(f) for f in OF_TWO},
    **{f"{f.__name__} of a number": numbered(f) for f in OF_TWO},
    **{f.__name__: reduced(f) for f in (np.any, np.all, np.min, np.max, np.count_nonzero, np.ptp)},
    **{f.__name__: plain(f) for f in (np.abs, np.sign, np.invert, np.logical_not, np.argmax, np.argmin)},
    **{f"astype {t}": alone(lambda p, x, t=t: (lambda a: a.astype(t), (), {})) for t in ("bool", "i1", "u1", "i2", "u2")},
    "sort": alone(lambda p, x: (np.sort, (p.r.choice([-1, None, 0]),), {})),
    "argmax of rows": alone(lambda p, x: (np.argmax, (-1,), {})),
    "clip": alone(lambda p, x: (np.clip, (1, 5), {})),
    "power": alone(lambda p, x: (np.power, (p.r.randint(0, 3),), {})),
    "isin": alone(lambda p, x: (np.isin, ([1, 3, 5],), {})),
    "chosen": chosen,
}


def run_integers(keys, seed, refused):
    """Run a program on integers; return what it did and what is wrong with its result, if anything is."""
    p = IntegerProgram(keys, seed)
    x, said = p.fresh(), []
    said.append(f"{x.shape} {x.clear.dtype}")
    for _ in range(p.r.randint(1, 4)):
        name = p.r.choice(list(INTEGER_OPERATIONS))
        try:
            call = INTEGER_OPERATIONS[name](p, x)
            with np.errstate(all="ignore"):
                wanted = np.asarray(call(attrgetter("clear")))
        except (IndexError, ValueError, TypeError, KeyError, OverflowError):
            continue  # NumPy has no such thing
        # Words of 64 bits take a minute each.
        if not 0 < wanted.size <= MOST_INTEGERS or wanted.dtype.kind == "f":
            continue
        if wanted.dtype.itemsize > 2 and name not in ("sum", "count_nonzero", "argmax", "argmin", "argmax of rows"):
            continue
        try:
            got = call(attrgetter("encrypted"))
        except lw.LimbwiseError as error:
            refused[f"{name}: {error}"[:160]] += 1
            continue
        said.append(f"{name} {wanted.shape} {wanted.dtype}")
        x = Pair(got, wanted)
        if wanted.dtype.itemsize > 2:
            break
    if isinstance(x.encrypted, np.ndarray):
        return said, "a clear result"
    values = keys.decrypt(x.encrypted)
    same = values.shape == x.shape and values.dtype == x.clear.dtype and np.array_equal(values, x.clear)
    return said, None if same else f"{values!r} for {x.clear!r}"


def integer_keys():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.toml"
        path.write_text(SMALL_INTEGERS)
        return lw.tfhe.keys(path)


def run(context, seed, refused):
    """Run a program; return what it did and what is wrong with its result, if anything is."""
    p = Program(context, seed)
    x, said = p.fresh(), []
    said.append(f"{x.shape} {x.clear.dtype}")
    for _ in range(p.r.randint(1, 6)):
        name = p.r.choice(list(OPERATIONS))
        try:
            call = OPERATIONS[name](p, x)
            wanted = np.asarray(call(attrgetter("clear")))
        except (IndexError, ValueError, TypeError, KeyError):
            continue  # NumPy has no such thing
        if not 0 < wanted.size <= 4 * context.slots or np.abs(wanted).max() > MOST:
            continue
        try:
            got = call(attrgetter("encrypted"))
        except lw.LevelError:
            break
        except lw.LimbwiseError as error:
            refused[f"{name}: {error}"[:160]] += 1
            continue
        said.append(f"{name} {wanted.shape}")
        if isinstance(got, np.ndarray):
            return said, "a clear result"
        x = Pair(got, wanted)
    values = context.decrypt(x.encrypted)
    if values.shape != x.shape:
        return said, f"shape {values.shape} for {x.shape}"
    off = np.abs(values - x.clear).max()
    return said, None if off < 2e-4 * max(1.0, np.abs(x.clear).max()) else f"off by {off:.2e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--slots", type=int, default=1024, help="of a ciphertext: few of them make arrays of many")
    parser.add_argument("--complex", action="store_true", help="arrays of complex numbers too")
    parser.add_argument("--integers", action="store_true", help="arrays of exact integers and booleans")
    parser.add_argument("--programs", type=int, help="this many, however long they take")
    args = parser.parse_args()
    if args.integers:
        context, program = integer_keys(), run_integers
    else:
        context, program = lw.ckks(depth=6, slots=args.slots, precision=24, complex=args.complex), run
    start, seed, wrong, operations = time.monotonic(), args.seed, 0, 0
    refused = Counter()
    while seed - args.seed < (args.programs or sys.maxsize):
        if args.programs is None and time.monotonic() - start > args.seconds:
            break
        said, problem = program(context, seed, refused)
        operations += len(said) - 1
        if problem:
            wrong += 1
            print(f"seed {seed}: {problem}: {'; '.join(said)}")
        seed += 1
    print(f"{seed - args.seed} programs from seed {args.seed}, {operations} operations: {wrong} wrong")
    for text, count in refused.most_common():
        print(f"refused {count} times: {text}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
