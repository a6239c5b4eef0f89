"""Makes attention.onnx, one head of self-attention for tests, and samples. Needs onnx and numpy; run in this folder."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOKENS, SIZE, SAMPLES = 4, 8, 24
rng = np.random.default_rng(1)
node = helper.make_node
weights = {name: (rng.standard_normal((SIZE, SIZE)) / 3).astype(np.float32) for name in ["wq", "wk", "wv", "wo"]}
weights["scale"] = np.float32(SIZE**-0.5)
nodes = [
    *[node("MatMul", ["x", "w" + name], [name]) for name in "qkv"],
    node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
    node("MatMul", ["q", "kt"], ["products"]),
    node("Mul", ["products", "scale"], ["scores"]),
    node("Softmax", ["scores"], ["shares"], axis=-1),
    node("MatMul", ["shares", "v"], ["mixed"]),
    node("MatMul", ["mixed", "wo"], ["y"]),
]
info = helper.make_tensor_value_info
graph = helper.make_graph(
    nodes, "attention",
    [info("x", TensorProto.FLOAT, [1, TOKENS, SIZE])], [info("y", TensorProto.FLOAT, [1, TOKENS, SIZE])],
    [numpy_helper.from_array(value, name) for name, value in weights.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model)
onnx.save(model, "attention.onnx")
np.save("attention_x.npy", rng.standard_normal((SAMPLES, TOKENS, SIZE)).astype(np.float32))
