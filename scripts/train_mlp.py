#!/usr/bin/env python3
"""Trains the network of the workload `mlp`: needs NumPy and nothing else.

    python3 scripts/train_mlp.py --images t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \
        --train 8000 --out crates/apps/data/mlp_mnist.npy

The network: the 22x22 pixels in the middle of an image in [0, 1] and a constant 1, 128 sums, their squares, 10 sums. There
is no other bias: the constant enters the first layer, and a square of it the second. Both matrices are rounded to
multiples of 1/256, as the workload rounds them, before they are judged. The file is one vector of 32-bit floats: the first
matrix (128, 485), then the second (10, 128).

The first --train images of the file are learned, turned, scaled, slanted, moved and bent; the others are judged; nothing
is chosen by looking at the latter. The weights are the mean over the last steps.
"""

import argparse
import gzip

import numpy as np

SIDE, MARGIN, HIDDEN, CLASSES, UNIT = 28, 3, 128, 10, 256
CUT = SIDE - 2 * MARGIN


def idx(path, header):
    with open(path, "rb") as file:
        start = file.read(2)
    opened = gzip.open if start == b"\x1f\x8b" else open
    with opened(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def smooth(field, width):
    taps = np.exp(-0.5 * (np.arange(-2 * width, 2 * width + 1) / width) ** 2)
    taps /= np.sqrt((taps**2).sum())
    padded = np.pad(field, ((0, 0), (0, 0), (2 * width, 2 * width)), mode="wrap")
    return sum(t * padded[:, :, i : i + SIDE] for i, t in enumerate(taps))


def moved(images, rng):
    """Each image by a map of its own: turned, scaled, slanted, moved, and bent by a smooth field; then cut."""
    n = len(images)
    grid = (np.arange(SIDE) - (SIDE - 1) / 2).astype(np.float32)
    y, x = grid[MARGIN:-MARGIN, None], grid[None, MARGIN:-MARGIN]
    one = lambda spread: rng.uniform(-spread, spread, (n, 1, 1)).astype(np.float32)
    turn, slant, tall, wide = one(0.22), one(0.2), 1 + one(0.13), 1 + one(0.13)
    across = wide * (np.cos(turn) * x - np.sin(turn) * y + slant * y) + one(1.7)
    down = tall * (np.sin(turn) * x + np.cos(turn) * y) + one(1.7)
    for at in (across, down):
        bend = smooth(rng.normal(0, 0.75, (n, SIDE, SIDE)).astype(np.float32), 3)
        at += smooth(bend.transpose(0, 2, 1), 3)[:, MARGIN:-MARGIN, MARGIN:-MARGIN]
    across, down = (np.clip(at + (SIDE - 1) / 2 + 1, 0, SIDE + 0.99) for at in (across, down))
    left, top = across.astype(np.int32), down.astype(np.int32)
    a, d = across - left, down - top
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2))).reshape(n, -1)
    row = SIDE + 3
    take = lambda at: np.take_along_axis(padded, at.reshape(n, -1), 1).reshape(at.shape)
    first = top * row + left
    upper = take(first) * (1 - a) + take(first + 1) * a
    lower = take(first + row) * (1 - a) + take(first + row + 1) * a
    return seen(upper * (1 - d) + lower * d)


def seen(cut):
    """(n, 22, 22) -> (n, 485): the pixels and a constant."""
    return np.concatenate([cut.reshape(len(cut), -1), np.ones((len(cut), 1), np.float32)], 1).astype(np.float32)


def train(images, labels, options):
    rng = np.random.default_rng(options.seed)
    weights = [rng.normal(0, 0.06, (HIDDEN, CUT * CUT + 1)).astype(np.float32),
               rng.normal(0, 0.1, (CLASSES, HIDDEN)).astype(np.float32)]
    mean, square = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    kept, batch, step = [w.copy() for w in weights], 100, 0
    steps = options.epochs * (len(images) // batch)
    for epoch in range(options.epochs):
        order = rng.permutation(len(images))
        rows, of = moved(images[order], rng), labels[order]
        for at in range(0, len(images) - batch + 1, batch):
            x, wanted = rows[at : at + batch], of[at : at + batch]
            a = x @ weights[0].T
            y = a * a
            scores = y @ weights[1].T
            p = np.exp(scores - scores.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p -= 0.02 / CLASSES
            p[np.arange(batch), wanted] -= 0.98
            p /= batch
            gradients = [((p @ weights[1]) * 2 * a).T @ x, p.T @ y]
            step += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))
            for i, g in enumerate(gradients):
                g = np.clip(g, -1, 1)
                mean[i] = 0.9 * mean[i] + 0.1 * g
                square[i] = 0.999 * square[i] + 0.001 * g * g
                update = mean[i] / (1 - 0.9**step) / (np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8)
                weights[i] -= (rate * (update + 1e-2 * weights[i])).astype(np.float32)
                kept[i] += (weights[i] - kept[i]) * max(1 / step, 0.002)
        yield epoch, kept


def rounded(weights):
    return [(np.round(w * UNIT) / UNIT).astype(np.float32) for w in weights]


def accuracy(weights, images, labels):
    first, second = rounded(weights)
    a = seen(images[:, MARGIN:-MARGIN, MARGIN:-MARGIN]) @ first.T
    return float((((a * a) @ second.T).argmax(1) == labels).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--labels", required=True)
    parser.add_argument("--train", type=int, default=8000, help="images that are learned; the others are judged")
    parser.add_argument("--epochs", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    images = idx(options.images, 16).reshape(-1, SIDE, SIDE).astype(np.float32) / 255
    labels = idx(options.labels, 8).astype(np.int64)
    learned, judged = slice(0, options.train), slice(options.train, None)
    for epoch, weights in train(images[learned], labels[learned], options):
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: {accuracy(weights, images[learned], labels[learned]):.4f} learned", flush=True)
    if len(labels) > options.train:
        print(f"{accuracy(weights, images[judged], labels[judged]):.4f} of {len(labels) - options.train} others")
    np.save(options.out, np.concatenate([w.ravel() for w in rounded(weights)]).astype(np.float32))
    print("largest weights", [float(np.abs(w).max()) for w in weights])


if __name__ == "__main__":
    main()
