#!/usr/bin/env python3
"""Writes ONNX's own backend tests as files that the Rust tests run encrypted: python3 scripts/onnx_backend.py FOLDER

Needs the package onnx. Of each test whose operators `network` takes: model.onnx of operators of version 13 or later, the
inputs that are encrypted as one row (x.npy), the outputs as one row (y.npy). Inputs after the first become constants in
the file, as they are in networks, but for operators that join tensors. Then:

    LIMBWISE_ONNX_BACKEND=FOLDER cargo test -p limbwise-apps --test linear onnx -- --ignored --nocapture
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, version_converter

JOINS = {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean", "Concat"}
# By name, in the order of docs/guide/networks.md.
TAKEN = JOINS | {
    "Conv", "Gemm", "MatMul", "BatchNormalization", "AveragePool", "GlobalAveragePool", "MaxPool", "GlobalMaxPool",
    "Relu", "LeakyRelu", "PRelu", "Elu", "Celu", "Selu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Softplus",
    "Softsign", "Gelu", "Mish", "Erf", "Exp", "Abs", "Neg", "Sin", "Cos", "Pow", "Clip", "Sqrt", "Reciprocal", "Div",
    "Softmax", "LayerNormalization", "ReduceMean", "ReduceSum", "ReduceSumSquare", "Flatten", "Reshape", "Transpose",
    "Squeeze", "Unsqueeze", "Pad", "Slice", "Split", "Gather", "Expand", "Identity", "Dropout", "Constant", "Cast",
    "Shape", "ConstantOfShape",
}


def cases():
    """Yield name, model, inputs and outputs of every test."""
    from onnx.backend.test.loader import load_model_tests

    for kind in ("node", "pytorch-converted", "pytorch-operator", "simple"):
        for case in load_model_tests(kind=kind):
            if case.model is not None:
                inputs, outputs = case.data_sets[0]
                yield kind, case.name, case.model, list(inputs), list(outputs)
                continue
            folder = Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            data = folder / "test_data_set_0"
            if not data.exists():
                continue

            def read(what, infos, data=data):
                count = len(list(data.glob(f"{what}_*.pb")))
                for at, info in zip(range(count), infos, strict=False):
                    if not info.type.HasField("tensor_type"):
                        raise TypeError("no tensor")
                    yield numpy_helper.to_array(onnx.load_tensor(data / f"{what}_{at}.pb"))

            try:
                named = {t.name for t in model.graph.initializer}
                infos = [info for info in model.graph.input if info.name not in named]
                yield kind, case.name, model, list(read("input", infos)), list(read("output", model.graph.output))
            except (TypeError, ValueError, RuntimeError):
                continue


def bound(model, inputs):
    """Return the model with what is not data as constants, and the data; None where nothing is left to encrypt."""
    graph = model.graph
    known = {t.name for t in graph.initializer}
    infos = [info for info in graph.input if info.name not in known]
    if len(infos) != len(inputs):
        return None
    joins = {node.op_type for node in graph.node} <= JOINS
    data = []
    for at, (info, value) in enumerate(zip(infos, inputs, strict=True)):
        value = np.asarray(value)
        if value.dtype.kind == "f" and value.dtype.itemsize >= 4 and value.size > 0 and (at == 0 or joins):
            data.append(value)
        elif value.dtype.kind in "fib":
            graph.initializer.append(numpy_helper.from_array(value, info.name))
            graph.input.remove(info)
        else:
            return None
    for info in [info for info in graph.input if info.name in known]:
        graph.input.remove(info)
    return data or None


def main(folder):
    """Write the tests and a line for each that is left out though its operators are taken."""
    warnings.simplefilter("ignore")
    written = 0
    for kind, name, model, inputs, outputs in cases():
        if not {node.op_type for node in model.graph.node} <= TAKEN or any(node.domain for node in model.graph.node):
            continue
        try:
            version = next(s.version for s in model.opset_import if s.domain in ("", "ai.onnx"))
            if version < 13:
                model = version_converter.convert_version(model, 13)
            data = bound(model, inputs)
            floats = all(np.asarray(y).dtype.kind == "f" and np.all(np.isfinite(y)) for y in outputs)
            if data is None or not floats or not outputs:
                print(f"left out: {kind} {name}")
                continue
            place = folder / f"{kind}.{name}"
            place.mkdir(parents=True, exist_ok=True)
            onnx.save(model, place / "model.onnx")
            np.save(place / "x.npy", np.concatenate([np.ravel(x) for x in data]).astype(np.float64))
            np.save(place / "y.npy", np.concatenate([np.ravel(y) for y in outputs]).astype(np.float64))
            written += 1
        except Exception as e:
            print(f"left out: {kind} {name}: {type(e).__name__}")
    print(f"{written} tests in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
