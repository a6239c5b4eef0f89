"""Makes matrices.onnx, products of encrypted matrices of several shapes, and samples. Needs onnx and numpy; run in this folder."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOKENS, HEADS, SIZE, SAMPLES = 5, 3, 3, 12
ALL = HEADS * SIZE
rng = np.random.default_rng(2)
node = helper.make_node
constants = {name: (rng.standard_normal((ALL, ALL)) / 3).astype(np.float32) for name in ["wq", "wk", "wv"]}
constants["heads"] = np.array([1, TOKENS, HEADS, SIZE])
constants["rows"] = np.array([1, TOKENS, ALL])
constants["flat"] = np.array([3, TOKENS * SIZE])
constants["half"] = np.float32(0.5)
nodes = []
for name in "qkv":
    nodes += [
        node("MatMul", ["x", "w" + name], [name]),
        node("Reshape", [name, "heads"], [name + "_heads"]),
        node("Transpose", [name + "_heads"], [name + "_turned"], perm=[0, 2, 1, 3]),
    ]
nodes += [
    # Attention without a softmax: scores by diagonals, and what they mix.
    node("Transpose", ["k_turned"], ["k_columns"], perm=[0, 1, 3, 2]),
    node("MatMul", ["q_turned", "k_columns"], ["products"]),
    node("Mul", ["products", "half"], ["scores"]),
    node("MatMul", ["scores", "v_turned"], ["mixed"]),
    node("Transpose", ["mixed"], ["mixed_rows"], perm=[0, 2, 1, 3]),
    node("Reshape", ["mixed_rows", "rows"], ["y"]),
    # Sums over tokens.
    node("Einsum", ["x", "x"], ["gram"], equation="bti,btj->ij"),
    # More places than rows and columns: products of pieces are summed.
    node("Reshape", ["x", "flat"], ["long"]),
    node("Einsum", ["long", "long"], ["inner"], equation="ij,kj->ik"),
    # A product whose left operand is mixed and whose right one is scores.
    node("Einsum", ["mixed", "scores"], ["again"], equation="bhif,bhij->bhfj"),
]
info = helper.make_tensor_value_info
shapes = {"y": [1, TOKENS, ALL], "gram": [ALL, ALL], "inner": [3, 3], "again": [1, HEADS, SIZE, TOKENS]}
graph = helper.make_graph(
    nodes, "matrices",
    [info("x", TensorProto.FLOAT, [1, TOKENS, ALL])],
    [info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
    [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model)
onnx.save(model, "matrices.onnx")
np.save("matrices_x.npy", rng.standard_normal((SAMPLES, TOKENS, ALL)).astype(np.float32))
