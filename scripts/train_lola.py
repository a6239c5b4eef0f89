#!/usr/bin/env python3
"""Trains the network of the workload `lola`: needs NumPy and nothing else.

    python3 scripts/train_lola.py --images t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \
        --train 8000 --out crates/apps/data/lola_mnist.npy

The network: 5 filters of 5x5 with stride 2 on an image with one row and column of zeros before it (13x13 pixels a
channel), a square, 100 sums of all 845 values, a square, 10 sums. Mean squared activations stay small because the data
enter in [0, 1] and the weights are decayed. The file is one vector of 32-bit floats, in this order: filters (5, 5, 5),
their bias (5), the first matrix (100, 845), its bias (100), the second matrix (10, 100), its bias (10).

The first --train images of the file are learned, the others are judged; nothing is chosen by looking at the latter.
With MNIST's 60000 training images take --train 60000 and judge with "limbwise run lola --images".
"""

import argparse
import gzip

import numpy as np

SHAPES = [(5, 25), (5,), (100, 845), (100,), (10, 100), (10,)]


def idx(path, header):
    with open(path, "rb") as file:
        start = file.read(2)
    opened = gzip.open if start == b"\x1f\x8b" else open
    with opened(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def windows(images):
    """(n, 28, 28) in [0, 1] -> (n, 169, 25): what each filter sees at each place."""
    padded = np.pad(images, ((0, 0), (1, 0), (1, 0)))
    places = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(1, 2))[:, ::2, ::2]
    return places.reshape(len(images), 169, 25)


def forward(weights, seen):
    filters, b0, first, b1, second, b2 = weights
    a = np.einsum("npk,fk->nfp", seen, filters, optimize=True) + b0[None, :, None]
    x = (a * a).reshape(len(seen), 845)
    b = x @ first.T + b1
    y = b * b
    return a, x, b, y, y @ second.T + b2


def gradients(weights, seen, labels):
    filters, _, first, _, second, _ = weights
    a, x, b, y, scores = forward(weights, seen)
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1
    d = p / len(labels)
    e = (d @ second) * 2 * b
    c = (e @ first).reshape(a.shape) * 2 * a
    return [np.einsum("nfp,npk->fk", c, seen, optimize=True), c.sum((0, 2)), e.T @ x, e.sum(0), d.T @ y, d.sum(0)]


def moved(images, rng):
    """Each image by up to two pixels, zeros following."""
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    at = rng.integers(0, 5, (len(images), 2))
    return np.stack([image[y : y + 28, x : x + 28] for image, (y, x) in zip(padded, at)])


def train(images, labels, epochs, seed):
    rng = np.random.default_rng(seed)
    scale = [0.2, 0.0, 0.03, 0.0, 0.1, 0.0]
    weights = [rng.normal(0, s, shape).astype(np.float32) if s else np.zeros(shape, np.float32)
               for s, shape in zip(scale, SHAPES)]
    mean, square = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    steps, step, batch = epochs * (len(images) // 128), 0, 128
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        for at in range(0, len(images) - batch + 1, batch):
            chosen = order[at : at + batch]
            seen = windows(moved(images[chosen], rng)).astype(np.float32)
            step += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))
            for i, g in enumerate(gradients(weights, seen, labels[chosen])):
                g = np.clip(g, -1, 1)
                mean[i] = 0.9 * mean[i] + 0.1 * g
                square[i] = 0.999 * square[i] + 0.001 * g * g
                update = mean[i] / (1 - 0.9**step) / (np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8)
                weights[i] -= (rate * (update + 1e-2 * weights[i])).astype(np.float32)
        yield epoch, weights


def accuracy(weights, images, labels):
    return float((forward(weights, windows(images).astype(np.float32))[4].argmax(1) == labels).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--labels", required=True)
    parser.add_argument("--train", type=int, default=8000, help="images that are learned; the others are judged")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    images = idx(options.images, 16).reshape(-1, 28, 28).astype(np.float32) / 255
    labels = idx(options.labels, 8).astype(np.int64)
    learned, judged = slice(0, options.train), slice(options.train, None)
    for epoch, weights in train(images[learned], labels[learned], options.epochs, options.seed):
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: {accuracy(weights, images[learned], labels[learned]):.4f} learned", flush=True)
    if len(labels) > options.train:
        print(f"{accuracy(weights, images[judged], labels[judged]):.4f} of {len(labels) - options.train} others")
    np.save(options.out, np.concatenate([w.ravel() for w in weights]).astype(np.float32))


if __name__ == "__main__":
    main()
