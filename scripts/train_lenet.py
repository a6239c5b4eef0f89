#!/usr/bin/env python3
"""Trains the LeNet of lesson 11 and writes it as ONNX: needs PyTorch.

    python3 scripts/train_lenet.py --images t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \
        --train 8000 --out crates/apps/data/lenet_mnist.onnx

LeNet-5 [LCB98] with a quadratic activation, average pools and no softmax. The first --train images of the file are learned,
the others are judged; nothing is chosen by looking at the latter. Pixels are divided by 255.
"""

import argparse
import gzip

import numpy as np
import torch
from torch import nn


def idx(path, header):
    """Return the bytes of an IDX file behind its header."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


class Quadratic(nn.Module):
    """x/2 + x²/8: near SiLU around zero, and a polynomial as it is."""

    def forward(self, x):
        """Return its values."""
        return 0.5 * x + 0.125 * x * x


def lenet():
    """Return the network, not trained."""
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), Quadratic(), nn.AvgPool2d(2)),
        *(nn.Conv2d(6, 16, 5), Quadratic(), nn.AvgPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), Quadratic(), nn.Linear(120, 84), Quadratic(), nn.Linear(84, 10)),
    )


def train(images, labels, epochs, batch=64):
    """Return a network that has learned images × 1 × 28 × 28 in [0, 1]."""
    torch.manual_seed(1)
    net = lenet()
    x, y = torch.tensor(images, dtype=torch.float32), torch.tensor(labels, dtype=torch.int64)
    steps = epochs * (len(x) // batch)
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for at in range(0, len(x) // batch * batch, batch):
            few = order[at : at + batch]
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[few]), y[few]).backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def main():
    """Train, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--labels", required=True)
    parser.add_argument("--train", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    images = idx(options.images, 16).reshape(-1, 1, 28, 28) / 255
    labels = idx(options.labels, 8)
    net = train(images[: options.train], labels[: options.train], options.epochs)
    with torch.no_grad():
        scores = net(torch.tensor(images[options.train :], dtype=torch.float32)).numpy()
    print(
        f"{100 * np.mean(scores.argmax(1) == labels[options.train :]):.2f} % of {len(scores)} images that were not learned"
    )
    torch.onnx.export(net, (torch.zeros(1, 1, 28, 28),), options.out, dynamo=False)


if __name__ == "__main__":
    main()
