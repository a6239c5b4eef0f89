"""Makes small.onnx, a network for tests with most kinds of layers. Needs onnx and numpy; run in this folder."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(7)
node = helper.make_node


def numbers(*shape, size=1.0):
    return (size * rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


weights = {
    "k1": numbers(4, 2, 3, 3), "g": np.float32([1, 0.5, 2, 1]), "b": np.float32([0, 0.1, -0.1, 0.2]),
    "m": np.float32([0.1, 0, 0, -0.1]), "v": np.float32([1, 2, 0.5, 1]),
    "k2": numbers(4, 2, 3, 3), "k3": numbers(4, 4, 1, 1), "c3": numbers(4, size=0.1),
    "w": numbers(8, 3), "c": numbers(3, size=0.1),
}
weights["k1"][0, 0, 0, 0] = 0  # a weight that is nothing changes no key
nodes = [
    node("Conv", ["x", "k1"], ["a"], name="stem", pads=[1, 1, 1, 1]),
    node("BatchNormalization", ["a", "g", "b", "m", "v"], ["n"], name="norm"),
    node("Sigmoid", ["n"], ["s"], name="gate"),
    node("Mul", ["n", "s"], ["silu"], name="silu"),
    node("Conv", ["silu", "k2"], ["d"], name="grouped", pads=[1, 1, 1, 1], strides=[2, 2], group=2),
    node("Conv", ["silu", "k3", "c3"], ["e"], name="shortcut", strides=[2, 2]),
    node("Add", ["d", "e"], ["sum"], name="sum"),
    node("Relu", ["sum"], ["r"], name="relu"),
    node("GlobalAveragePool", ["r"], ["p"], name="mean"),
    node("Mul", ["p", "p"], ["q"], name="square"),
    node("Concat", ["p", "q"], ["j"], name="join", axis=1),
    node("Flatten", ["j"], ["f"], name="flat"),
    node("MatMul", ["f", "w"], ["o"], name="head"),
    node("Add", ["o", "c"], ["scores"], name="bias"),
    node("Relu", ["x"], ["nobody"], name="dead"),
]
info = helper.make_tensor_value_info
graph = helper.make_graph(
    nodes, "small",
    [info("x", TensorProto.FLOAT, ["batch", 2, 8, 8])], [info("scores", TensorProto.FLOAT, ["batch", 3])],
    [numpy_helper.from_array(value, name) for name, value in weights.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model)
onnx.save(model, "small.onnx")
x = rng.uniform(-1, 1, (4, 2, 8, 8)).astype(np.float32)
from onnx.reference import ReferenceEvaluator  # noqa: E402

y = ReferenceEvaluator(model).run(None, {"x": x})[0]
np.save("small_x.npy", x)
np.save("small_y.npy", y.astype(np.float64))
