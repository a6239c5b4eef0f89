#!/usr/bin/env python3
"""Writes well-known networks as ONNX with random weights, to be planned and run: `make_networks.py IMAGES.bin FOLDER [NAME …]`.

IMAGES.bin has CIFAR-10's binary form (a byte for the class, 3×32×32 bytes for an image). Weights are drawn as He and others
proposed; mean and variance of each batch norm are those of the images, layer by layer, so that values have the sizes that they
have in a trained network. Classes mean nothing. FOLDER gets NAME.onnx and NAME.npy (the images, normalized) for each of

    resnet20s     ResNet-20 whose shortcuts are convolutions of 1×1
    vgg16         VGG-16 with batch norms, five max pools, one dense layer
    vgg16-mean    the same with average pools
    mobilenet-v2  MobileNet-V2 with the strides that images of 32×32 need
    resnet18      ResNet-18 for images of 64×64

Needs numpy and onnx.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)
SAMPLES = 12


def images(path):
    """The first images of a file, normalized."""
    bytes_ = np.fromfile(path, np.uint8).reshape(-1, 3073)[:SAMPLES, 1:].reshape(-1, 3, 32, 32)
    channel = lambda numbers: np.array(numbers).reshape(1, 3, 1, 1)  # noqa: E731
    return (bytes_ / 255 - channel(MEAN)) / channel(DEVIATION)


def convolved(x, weights, stride, groups):
    """A convolution that keeps the sides but for the stride."""
    channels, side = weights.shape[0] // groups, weights.shape[2]
    x = np.pad(x, ((0, 0), (0, 0), (side // 2,) * 2, (side // 2,) * 2))
    windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), (2, 3))[:, :, ::stride, ::stride]
    each = weights.shape[1]
    parts = [
        np.einsum("nchwij,ocij->nohw", windows[:, g * each : (g + 1) * each], weights[g * channels : (g + 1) * channels], optimize=True)
        for g in range(groups)
    ]
    return np.concatenate(parts, 1)


class Network:
    """A graph under construction, with the values that the images take in it."""

    def __init__(self, x, seed=1):
        self.random, self.nodes, self.constants, self.values = np.random.default_rng(seed), [], [], {"x": x}

    def constant(self, numbers):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(numbers, np.float32), name))
        return name

    def node(self, operator, inputs, value, **attributes):
        name = f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        self.values[name] = value
        return name

    def conv(self, x, channels, side, stride=1, groups=1):
        """A convolution and its batch norm."""
        each = self.values[x].shape[1] // groups
        weights = self.random.normal(0, np.sqrt(2 / (each * side * side)), (channels, each, side, side))
        y = convolved(self.values[x], weights, stride, groups)
        sides = {"kernel_shape": [side] * 2, "strides": [stride] * 2, "pads": [side // 2] * 4}
        made = self.node("Conv", [x, self.constant(weights)], y, group=groups, **sides)
        scale, shift = self.random.uniform(0.8, 1.2, channels), self.random.normal(0, 0.1, channels)
        mean, variance = y.mean((0, 2, 3)), y.var((0, 2, 3))
        wide = lambda numbers: numbers.reshape(1, -1, 1, 1)  # noqa: E731
        y = (y - wide(mean)) / np.sqrt(wide(variance) + 1e-5) * wide(scale) + wide(shift)
        constants = [self.constant(numbers) for numbers in (scale, shift, mean, variance)]
        return self.node("BatchNormalization", [made, *constants], y, epsilon=1e-5)

    def relu(self, x):
        return self.node("Relu", [x], np.maximum(self.values[x], 0))

    def relu6(self, x):
        return self.node("Clip", [x, self.constant(0.0), self.constant(6.0)], np.clip(self.values[x], 0, 6))

    def add(self, a, b):
        return self.node("Add", [a, b], self.values[a] + self.values[b])

    def pool(self, x, operator):
        n, c, h, w = self.values[x].shape
        windows = self.values[x].reshape(n, c, h // 2, 2, w // 2, 2)
        value = windows.max((3, 5)) if operator == "MaxPool" else windows.mean((3, 5))
        return self.node(operator, [x], value, kernel_shape=[2, 2], strides=[2, 2])

    def classes(self, x, mean=True):
        """Ten scores."""
        if mean:
            x = self.node("GlobalAveragePool", [x], self.values[x].mean((2, 3), keepdims=True))
        x = self.node("Flatten", [x], self.values[x].reshape(len(self.values[x]), -1))
        weights = self.random.normal(0, np.sqrt(2 / self.values[x].shape[1]), (10, self.values[x].shape[1]))
        bias = self.random.normal(0, 0.1, 10)
        value = self.values[x] @ weights.T + bias
        return self.node("Gemm", [x, self.constant(weights), self.constant(bias)], value, transB=1)

    def save(self, y, path):
        info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, *self.values[name].shape[1:]])  # noqa: E731
        graph = helper.make_graph(self.nodes, path.stem, [info("x")], [info(y)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        np.save(path.with_suffix(".npy"), self.values["x"].astype(np.float32))


def residual(net, widths, blocks):
    x = net.relu(net.conv("x", widths[0], 3))
    for at, width in enumerate(widths):
        for block in range(blocks):
            stride = 2 if at and not block else 1
            y = net.conv(net.relu(net.conv(x, width, 3, stride)), width, 3)
            x = net.relu(net.add(y, x if stride == 1 else net.conv(x, width, 1, stride)))
    return net.classes(x)


def vgg16(net, pool):
    x = "x"
    for widths in ([64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3):
        for width in widths:
            x = net.relu(net.conv(x, width, 3))
        x = net.pool(x, pool)
    return net.classes(x, mean=False)


def mobilenet_v2(net):
    x, width = net.relu6(net.conv("x", 32, 3)), 32
    for expansion, channels, blocks, first in (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1):
        for block in range(blocks):
            stride, wide = 1 if block else first, width * expansion
            y = x if expansion == 1 else net.relu6(net.conv(x, wide, 1))
            y = net.conv(net.relu6(net.conv(y, wide, 3, stride, wide)), channels, 1)
            x = net.add(x, y) if stride == 1 and width == channels else y
            width = channels
    return net.classes(net.relu6(net.conv(x, 1280, 1)))


MADE = {
    "resnet20s": lambda net: residual(net, (16, 32, 64), 3),
    "vgg16": lambda net: vgg16(net, "MaxPool"),
    "vgg16-mean": lambda net: vgg16(net, "AveragePool"),
    "mobilenet-v2": mobilenet_v2,
    "resnet18": lambda net: residual(net, (64, 128, 256, 512), 2),
}


def main():
    if len(sys.argv) < 3 or set(sys.argv[3:]) - MADE.keys():
        sys.exit(__doc__)
    x, folder = images(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:] or MADE:
        net = Network(x.repeat(2, 2).repeat(2, 3) if name == "resnet18" else x)
        net.save(MADE[name](net), folder / f"{name}.onnx")
        print(folder / f"{name}.onnx", flush=True)


if __name__ == "__main__":
    main()
