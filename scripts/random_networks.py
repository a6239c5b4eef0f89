#!/usr/bin/env python3
"""Makes random networks of ONNX, runs them encrypted, and compares with ONNX's reference evaluator.

    python3 scripts/random_networks.py FOLDER                        100 networks, from seed 0
    python3 scripts/random_networks.py FOLDER --networks 1000 --seed 5000 --nodes 12
    python3 scripts/random_networks.py FOLDER --only n05017          one that is there once more

Needs the package onnx, and cargo. A network is a chain of nodes with joins, on images, sequences or vectors, with weights and
inputs of size 1. Each becomes a folder as scripts/onnx_backend.py writes them, and runs by the same Rust test on small rings.
Ends with 1 if one is wrong. Two kinds are told wrong and are not: the reference evaluator trains batch norms before
operators of version 14, and it takes a resized side of 1.5 for more than 1 (`pytorch_half_pixel`).
"""

import argparse
import random
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnx_backend
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

MOST_VALUES, MOST_SIZE = 1024, 30.0  # of a tensor: more take minutes on rings this small
LEAST = 1e-3  # largest output
MOST_STEEP = 3  # functions of values in a network: each takes levels
FUNCTIONS = (
    "Relu Sigmoid Tanh Softplus HardSwish HardSigmoid LeakyRelu Elu Selu Celu Erf Abs Sin Cos Exp Softsign Mish Neg"
).split()


class Graph:
    """A network that grows node by node, with the value of each tensor."""

    def __init__(self, seed, opset):
        self.r, self.g, self.opset = random.Random(seed), np.random.default_rng(seed), opset
        self.nodes, self.constants, self.values, self.steep = [], {}, {}, 0
        shape = self.r.choice(
            [
                (1, self.r.randint(1, 4), self.r.randint(3, 10), self.r.randint(3, 10)),
                (1, self.r.randint(1, 4), self.r.randint(3, 10), self.r.randint(3, 10)),
                (1, self.r.randint(2, 40)),
                (1, self.r.randint(2, 6), self.r.randint(2, 8)),
                (1, self.r.randint(1, 4), self.r.randint(4, 20)),
            ]
        )
        self.values["x"] = np.clip(self.g.normal(size=shape), -2, 2).astype(np.float32)

    def constant(self, values, kind=np.float32):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(values, kind)
        return name

    def weights(self, shape, reach):
        return self.constant(self.g.normal(size=shape) / np.sqrt(max(reach, 1)))

    def whole(self, values):
        return self.constant(values, np.int64)

    def model(self, nodes, inputs, results, constants):
        infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, self.values[n].shape) for n in inputs]
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in results.items()]
        weights = [numpy_helper.from_array(self.constants[n], n) for n in constants]
        graph = helper.make_graph(nodes, "random", infos, outputs, weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 9
        return model

    def add(self, operator, *inputs, results=1, **attributes):
        """Add a node, unless its results are too many or too large."""
        names = [f"{operator.lower()}{len(self.nodes)}_{k}" for k in range(results)]
        given = {name: value for name, value in attributes.items() if value is not None}
        node = helper.make_node(operator, list(inputs), names, name=names[0], **given)
        fed = [n for n in dict.fromkeys(inputs) if n in self.values]
        model = self.model([node], fed, dict.fromkeys(names), [n for n in inputs if n in self.constants])
        made = ReferenceEvaluator(model).run(None, {n: self.values[n] for n in fed})
        if all(0 < y.size <= MOST_VALUES and np.abs(y).max() < MOST_SIZE for y in map(np.asarray, made)):
            self.nodes.append(node)
            self.values.update(zip(names, made, strict=True))

    def write(self, folder):
        last = list(self.values)[-1]
        model = self.model(self.nodes, ["x"], {last: self.values[last].shape}, self.constants)
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        for name, tensor in (("x", self.values["x"]), ("y", self.values[last])):
            np.save(folder / f"{name}.npy", np.asarray(tensor, np.float64).reshape(1, -1))


def sides(g, shape, most):
    """Return a window over the sides of an image."""
    return [g.r.randint(1, min(most, n)) for n in shape[2:]]


def convolution(g, x, shape):
    channels, kernel = shape[1], sides(g, shape, 4)
    groups = g.r.choice([n for n in range(1, channels + 1) if channels % n == 0])
    reach = channels // groups * int(np.prod(kernel))
    results = groups * g.r.randint(1, 3)
    pads = [g.r.randint(0, 2) for _ in range(2 * len(kernel))]
    place = g.r.choice([{"pads": pads}, {"pads": pads}, {}, {"auto_pad": g.r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])}])
    bias = [g.weights((results,), 4)] if g.r.random() < 0.6 else []
    weights = g.weights((results, channels // groups, *kernel), reach)
    strides, dilations = ([g.r.randint(1, most) for _ in kernel] for most in (2, g.r.choice([1, 1, 2])))
    g.add("Conv", x, weights, *bias, group=groups, strides=strides, dilations=dilations, **place)


def transposed(g, x, shape):
    kernel = sides(g, shape, 3)
    weights = g.weights((shape[1], g.r.randint(1, 3), *kernel), shape[1] * int(np.prod(kernel)))
    g.add("ConvTranspose", x, weights, strides=[g.r.randint(1, 2) for _ in kernel])


def pool(g, x, shape):
    kernel = sides(g, shape, 3)
    pads = [g.r.randint(0, min(n - 1, 1)) for n in kernel * 2]
    ceil, count = g.r.randint(0, 1), g.r.randint(0, 1)
    strides = [g.r.randint(1, 2) for _ in kernel]
    g.add("AveragePool", x, kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=ceil, count_include_pad=count)


def greatest(g, x, shape):
    g.steep += 2
    g.add("MaxPool", x, kernel_shape=sides(g, shape, 2), strides=[g.r.randint(1, 2) for _ in shape[2:]])


def norm(g, x, shape):
    n = shape[1]
    scale, variance = (g.constant(g.g.uniform(0.5, 1.5, n)) for _ in range(2))
    bias, mean = g.weights((n,), 9), g.weights((n,), 9)
    if g.r.random() < 0.6:
        g.add("BatchNormalization", x, scale, bias, mean, variance)
    else:
        g.steep += 2
        g.add("InstanceNormalization", x, scale, bias, epsilon=0.1)


def resized(g, x, shape):
    scales = g.constant([1, 1, *(g.r.choice([1, 2, 0.5]) for _ in shape[2:])])
    how = g.r.choice(["asymmetric", "half_pixel", "align_corners"])
    mode, nearest = g.r.choice(["nearest", "linear"]), g.r.choice(["floor", "round_prefer_floor", "ceil"])
    g.add("Resize", x, "", scales, mode=mode, coordinate_transformation_mode=how, nearest_mode=nearest)


def function(g, x, shape):
    g.steep += 1
    name = g.r.choice([*FUNCTIONS, "Clip", "Pow", "PRelu", "Mul"])
    more = {
        "Clip": [g.constant(-0.7), g.constant(0.9)],
        "Pow": [g.constant(g.r.choice([2.0, 3.0]))],
        "PRelu": [g.constant(g.g.uniform(0, 0.5, shape[-1:]))],
        "Mul": [x],
    }
    g.add(name, x, *more.get(name, []))


def softmax(g, x, shape):
    g.steep += 2
    if g.r.random() < 0.5:
        g.add("Softmax", x, axis=g.r.randrange(-len(shape), len(shape)))
    else:
        axis = g.r.randrange(-len(shape), 0)
        scale = g.constant(g.g.uniform(0.5, 1.5, shape[axis:]))
        g.add("LayerNormalization", x, scale, axis=axis, epsilon=0.1)


def reduced(g, x, shape):
    name = g.r.choice(["ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceL2", "ReduceMax", "ReduceMin"])
    g.steep += 2 * (name not in ("ReduceMean", "ReduceSum"))
    axes = g.r.sample(range(-len(shape), 0), g.r.randint(1, min(2, len(shape))))
    if g.opset >= 18 or name == "ReduceSum":
        g.add(name, x, g.whole(axes), keepdims=g.r.randint(0, 1))
    else:
        g.add(name, x, axes=axes, keepdims=g.r.randint(0, 1))


def matrix(g, x, shape):
    n = g.r.randint(1, 8)
    kind = g.r.choice(["right", "left", "gemm", "einsum"])
    if kind == "right" or (kind == "einsum" and len(shape) != 3) or (kind == "gemm" and len(shape) != 2):
        g.add("MatMul", x, g.weights((shape[-1], n), shape[-1]))
    elif kind == "left":
        g.add("MatMul", g.weights((n, shape[-2]), shape[-2]), x)
    elif kind == "einsum":
        equation = g.r.choice(["btd,kd->bkt", "btd,kd->btk"])
        g.add("Einsum", x, g.weights((n, shape[2]), shape[2]), equation=equation)
    else:
        turned = g.r.randint(0, 1)
        sides_of = (n, shape[1]) if turned else (shape[1], n)
        g.add("Gemm", x, g.weights(sides_of, shape[1]), g.weights((n,), 4), transB=turned, alpha=0.5, beta=2.0)


def attention(g, x, shape):
    g.steep += 1
    turned = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    g.add("Transpose", x, perm=turned)
    if g.nodes[-1].op_type == "Transpose":
        g.add("MatMul", x, g.nodes[-1].output[0])


def heads(g, x, shape):
    """Attention of several heads, with queries, keys and values of one projection or of three, with a softmax or without."""
    _, tokens, width = shape
    count, size, of_values = g.r.randint(1, 3), g.r.randint(1, 5), g.r.randint(1, 6)
    if g.r.random() < 0.5:
        of_values = size
    sizes = [size, size, of_values]
    if g.r.random() < 0.5 and of_values == size:
        g.add("MatMul", x, g.weights((width, 3 * count * size), width))
        joint = g.nodes[-1].output[0]
        g.add("Reshape", joint, g.whole([1, tokens, 3, count, size]))
        g.add("Transpose", g.nodes[-1].output[0], perm=[2, 0, 3, 1, 4])
        joint, turned = g.nodes[-1].output[0], []
        for part in range(3):
            g.add("Gather", joint, g.constant(part, np.int64), axis=0)
            turned.append(g.nodes[-1].output[0])
    else:
        turned = []
        for own in sizes:
            g.add("MatMul", x, g.weights((width, count * own), width))
            g.add("Reshape", g.nodes[-1].output[0], g.whole([1, tokens, count, own]))
            g.add("Transpose", g.nodes[-1].output[0], perm=[0, 2, 1, 3])
            turned.append(g.nodes[-1].output[0])
    queries, keys, values = turned
    g.add("Transpose", keys, perm=[0, 1, 3, 2])
    g.add("MatMul", queries, g.nodes[-1].output[0])
    g.add("Mul", g.nodes[-1].output[0], g.constant(0.5))
    if g.r.random() < 0.4:
        g.add("Add", g.nodes[-1].output[0], g.constant(g.g.normal(size=(tokens, tokens))))
    if g.steep < MOST_STEEP - 1 and g.r.random() < 0.5:
        g.steep += 2
        g.add("Softmax", g.nodes[-1].output[0], axis=-1)
    g.add("MatMul", g.nodes[-1].output[0], values)
    g.add("Transpose", g.nodes[-1].output[0], perm=[0, 2, 1, 3])
    g.add("Reshape", g.nodes[-1].output[0], g.whole([1, tokens, count * of_values]))


def by_letters(g, x, shape):
    """A sum of products of a tensor with itself or with an earlier one, of any sides."""
    other = g.r.choice([name for name, y in g.values.items() if np.ndim(y) in (1, 2, 3, 4)])
    letters, own = "abcdefghijklmnop", []
    for name in (x, other):
        sides = np.shape(g.values[name])
        own.append([])
        for side in sides:
            alike = [c for c, n in by_side(own, g, (x, other)) if n == side and c not in own[-1]]
            fresh = next(c for c in letters if c not in {c for c, _ in by_side(own, g, (x, other))})
            own[-1].append(g.r.choice([*alike, fresh]))
    every = list(dict.fromkeys(own[0] + own[1]))
    result = g.r.sample(every, g.r.randint(1, len(every)))
    g.steep += 1
    g.add("Einsum", x, other, equation=f"{''.join(own[0])},{''.join(own[1])}->{''.join(result)}")


def by_side(own, g, names):
    """Return the letters so far, each with its side."""
    return [(c, side) for name, letters in zip(names, own, strict=False) for c, side in zip(letters, np.shape(g.values[name]))]


def recurrent(g, x, shape):
    """A layer over a sequence of at most three steps, a sample first; all of its results, or the last ones."""
    kind, gates = g.r.choice([("RNN", 1), ("GRU", 3), ("LSTM", 4)])
    _, steps, width = shape
    if steps > 3:
        raise ValueError("too many steps")
    g.steep += steps + 1
    hidden, direction = g.r.randint(1, 5), g.r.choice(["forward", "reverse", "bidirectional"])
    ways = 1 + (direction == "bidirectional")
    inputs = [g.weights((ways, gates * hidden, width), width), g.weights((ways, gates * hidden, hidden), hidden)]
    if g.r.random() < 0.7:
        inputs.append(g.weights((ways, 2 * gates * hidden), 4))
        if g.r.random() < 0.5:
            inputs += ["", g.weights((1, ways, hidden), 4)]
    after = {"linear_before_reset": g.r.randint(0, 1)} if kind == "GRU" else {}
    g.add(kind, x, *inputs, results=g.r.randint(1, 2), hidden_size=hidden, direction=direction, layout=1, **after)


def joined(g, x, shape):
    """Join with an earlier tensor that goes together with this one, or with a constant."""
    if g.r.random() < 0.3:
        other = g.constant(g.g.uniform(0.5, 2, [n if g.r.random() < 0.6 else 1 for n in shape]))
        return g.add(g.r.choice(["Add", "Sub", "Mul", "Div"]), x, other)
    fits = [n for n, y in g.values.items() if goes(np.shape(y), shape)]
    name = g.r.choice(["Add", "Add", "Sub", "Mul", "Max", "Min"])
    g.steep += name in ("Mul", "Max", "Min")
    both = [x, g.r.choice(fits)]
    g.r.shuffle(both)
    return g.add(name, *both)


def goes(a, b):
    try:
        return np.broadcast_shapes(a, b) is not None
    except ValueError:
        return False


def rearranged(g, x, shape):
    """Put values elsewhere."""
    n, axis = len(shape), g.r.randrange(len(shape))
    length, size = shape[axis], int(np.prod(shape))
    kind = g.r.choice("Transpose Reshape Flatten Pad Slice Split Gather Unsqueeze Squeeze Tile Expand Concat Where".split())
    if kind == "Transpose":
        g.add(kind, x, perm=g.r.sample(range(n), n))
    elif kind == "Reshape":
        side = g.r.choice([k for k in range(1, size + 1) if size % k == 0])
        g.add(kind, x, g.whole([1, side, g.r.choice([-1, size // side])]))
    elif kind == "Flatten":
        g.add(kind, x, axis=g.r.randint(0, n))
    elif kind == "Pad":
        width = [0 if k in (0, n) else g.r.randint(0, 1) for k in range(2 * n)]
        g.add(kind, x, g.whole(width), mode=g.r.choice(["constant", "reflect", "edge"]))
    elif kind == "Slice":
        start, step = g.r.randint(0, length - 1), g.r.choice([1, 1, 2, -1])
        ends = [start], [10**9 if step > 0 else -(10**9)], [g.r.choice([axis, axis - n])], [step]
        g.add(kind, x, *map(g.whole, ends))
    elif kind == "Split" and length > 1:
        at = g.r.randint(1, length - 1)
        g.add(kind, x, g.whole([at, length - at]), results=2, axis=axis)
    elif kind == "Gather":
        g.add(kind, x, g.whole([g.r.randrange(-length, length) for _ in range(g.r.randint(1, 3))]), axis=axis)
    elif kind == "Unsqueeze":
        g.add(kind, x, g.whole([g.r.randint(-n - 1, n)]))
    elif kind == "Squeeze" and n > 1:
        g.add(kind, x, g.whole([g.r.choice([k for k in range(n) if shape[k] == 1])]))
    elif kind == "Tile":
        g.add(kind, x, g.whole([1] * (n - 1) + [2]))
    elif kind == "Expand":
        g.add(kind, x, g.whole([2 if k == 1 else k for k in shape]))
    elif kind == "Concat":
        alike = [name for name, y in g.values.items() if np.ndim(y) == n]
        g.add(kind, x, *(g.r.choice(alike) for _ in range(g.r.randint(1, 2))), axis=axis)
    elif kind == "Where":
        g.add(kind, g.constant(g.g.random(shape) < 0.5, bool), x, g.constant(0.3))


IMAGES = [convolution] * 8 + [pool] * 3 + [norm] * 3 + [transposed, resized, greatest]
ANY = [matrix] * 4 + [joined] * 5 + [rearranged] * 10 + [function] * 5 + [reduced] * 2 + [softmax, softmax, attention, by_letters]
SEQUENCES = [recurrent] * 8 + [heads] * 12
STEEP = {function, greatest, softmax, attention, by_letters, recurrent}


def made(seed, opset, most):
    """Return a random network."""
    g = Graph(seed, opset)
    wanted = g.r.randint(2, most)
    for _ in range(20 * most):
        if len(g.nodes) >= wanted:
            break
        x = list(g.values)[-1]
        shape = np.shape(g.values[x])
        one = shape[0] == 1 if shape else False
        step = g.r.choice(ANY + IMAGES * (len(shape) in (3, 4) and one) + SEQUENCES * (len(shape) == 3 and one))
        if g.steep >= MOST_STEEP and step in STEEP:
            continue
        try:
            step(g, x, shape)
        except (ValueError, IndexError, TypeError, RuntimeError, AttributeError):
            continue  # this tensor has no such node
    return g


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first network")
    parser.add_argument("--nodes", type=int, default=7, help="of a network at most")
    parser.add_argument("--opset", type=int, default=18)
    parser.add_argument("--only", default="", help="networks whose names match; those that are there are not made again")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not args.only:
        for seed in range(args.seed, args.seed + args.networks):
            g = made(seed, args.opset, args.nodes)
            # Errors are measured by the largest output: zeros have none.
            if g.nodes and np.abs(list(g.values.values())[-1]).max() > LEAST:
                g.write(args.folder / f"n{seed:05}")
    onnx_backend.run(args.folder, args.only, args.only)
    found = onnx_backend.results(args.folder)
    print(f"{len(found)} networks: {dict(Counter(state for state, _ in found.values()))}")
    for name, (state, text) in sorted(found.items()):
        if state != "passed":
            print(f"{name} {state}: {text}")
    sys.exit(any(state == "wrong" for state, _ in found.values()))


if __name__ == "__main__":
    main()
