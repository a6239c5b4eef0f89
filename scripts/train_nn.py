#!/usr/bin/env python3
"""Trains the networks of the workloads `nn20`, `nn50` and `nn100`: needs NumPy and nothing else.

    python3 scripts/train_nn.py --images t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \
        --layers 20 --train 8000 --out crates/apps/data/nn20_mnist.nn

The networks of Chillotti, Joye and Paillier (2021) in shape: a convolution with two kernels of 10 x 11 over the image
with a border of zeros, 2 x 21 x 20 = 840 activations; then layers of 92 neurons; then 10 sums; so many layers in all.
Here they are discretised so that every sum fits a message of four bits and its sign: pixels and activations are bits, a
neuron is 1 where

    sum of w_i a_i + b >= 0,    sum of w_i^2 <= 25,    -15 <= least sum,    largest sum <= 15.

A neuron of a layer of 92 sees its own activation of the layer before with weight 4, so that deep networks learn; of the
other inputs the nine with the largest real weights count with 1 or -1, fewer where those are small. In the convolution
and the first layer there are 24 such inputs. Each of the last sums comes in three parts, a third of the inputs each, so
that they fit as well. Gradients pass through rounding and steps as through a slope.

The file: "LWNN", a byte 1 (the format), a byte with the number of layers; two words of 16 bits, images judged and those of
them that are right; then for each neuron its bias (a signed byte), the number of its inputs (a byte), and for each a word
of 16 bits, little-endian like all: the index in the low ten bits, the weight above. First the two kernels (index: row * 11
+ column), then the neurons of each layer, then 30 parts of sums, three a digit.

The first --train images of the file are learned, the others are judged; nothing is chosen by looking at the latter.
"""

import argparse
import gzip
import struct

import numpy as np

KERNEL, SIDE, WIDTH, PARTS, MOST, SAMPLE = (10, 11), 28, 92, 3, 15, 20
NORM = 25
SELF = 4
LEAST = 0.05  # real weights below are zero
EARLY = 1  # layers of 92 that learn from the start; the others begin as copies and follow slowly
FAN = NORM - SELF * SELF


def idx(path, header):
    with open(path, "rb") as file:
        start = file.read(2)
    opened = gzip.open if start == b"\x1f\x8b" else open
    with opened(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def windows(images):
    """(n, 28, 28) bits -> (n, 420, 110): what a kernel sees at each place."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    places = np.lib.stride_tricks.sliding_window_view(padded, KERNEL, axis=(1, 2))
    return places.reshape(len(images), 420, 110).astype(np.float32)


class Layer:
    """Neurons with latent real weights; `integers` are what they are rounded to."""

    def __init__(self, rng, outputs, inputs, fan, own=0):
        self.fan, self.own = min(fan, inputs), own
        self.v = rng.normal(0, 0.01 if own == SELF else 0.1, (outputs, inputs)).astype(np.float32)
        self.b = np.full(outputs, -own / 2, np.float32)
        self.moments = [np.zeros_like(x) for x in (self.v, self.v, self.b, self.b)]

    def round(self):
        v = self.v.copy()
        if self.own:
            np.fill_diagonal(v, 0)
        chosen = np.argpartition(-np.abs(v), self.fan - 1, axis=1)[:, : self.fan]
        of = np.take_along_axis(v, chosen, 1)
        w = np.zeros_like(v)
        np.put_along_axis(w, chosen, np.where(np.abs(of) > LEAST, np.sign(of), 0), 1)
        if self.own:
            np.fill_diagonal(w, self.own)
        self.w = w.astype(np.float32)
        low, high = np.minimum(w, 0).sum(1), np.maximum(w, 0).sum(1)
        self.rounded = np.clip(np.round(self.b), -MOST - low, MOST - high).astype(np.float32)
        assert (high - low <= 2 * MOST).all() and (np.square(w).sum(1) <= NORM).all()

    def step(self, dw, db, rate, t):
        for x, g, (m, s) in ((self.v, dw, (0, 1)), (self.b, db, (2, 3))):
            self.moments[m] = 0.9 * self.moments[m] + 0.1 * g
            self.moments[s] = 0.999 * self.moments[s] + 0.001 * g * g
            update = self.moments[m] / (1 - 0.9**t) / (np.sqrt(self.moments[s] / (1 - 0.999**t)) + 1e-8)
            x -= (rate * (5 if m == 2 else 1) * update).astype(np.float32)
        np.clip(self.v, -1, 1, out=self.v)


class Parts(Layer):
    """The last layer: every input with -1, 0 or 1, a third of the inputs each."""

    def round(self):
        w = np.where(np.abs(self.v) > LEAST, np.sign(self.v), 0)
        for at in np.array_split(np.arange(w.shape[1]), PARTS):
            for sign in (1, -1):
                # of either sign at most 15 in a part
                v = self.v[:, at] * sign
                rank = np.argsort(np.argsort(-v, axis=1), axis=1)
                w[:, at] = np.where((w[:, at] == sign) & (rank >= MOST), 0, w[:, at])
        self.w, self.rounded = w.astype(np.float32), np.zeros_like(self.b)


class Network:
    def __init__(self, layers, rng):
        self.kernels = Layer(rng, 2, 110, NORM - 1)
        self.hidden = [Layer(rng, WIDTH, 840, NORM - 1)]
        self.hidden += [Layer(rng, WIDTH, WIDTH, NORM - 4, 2) for _ in range(EARLY)]
        self.hidden += [Layer(rng, WIDTH, WIDTH, FAN, SELF) for _ in range(layers - 3 - EARLY)]
        self.last = Parts(rng, 10, WIDTH, WIDTH)

    def layers(self):
        return [self.kernels, *self.hidden, self.last]

    def forward(self, seen):
        for layer in self.layers():
            layer.round()
        sums = [(seen.reshape(-1, 110) @ self.kernels.w.T + self.kernels.rounded).reshape(len(seen), 420, 2)]
        bits = [(sums[0] >= 0).astype(np.float32).transpose(0, 2, 1).reshape(len(seen), 840)]
        for layer in self.hidden:
            sums.append(bits[-1] @ layer.w.T + layer.rounded)
            bits.append((sums[-1] >= 0).astype(np.float32))
        return sums, bits, bits[-1] @ self.last.w.T

    def learn(self, seen, labels, rate, t, grown):
        sums, bits, scores = self.forward(seen)
        scaled = scores * 0.25
        p = np.exp(scaled - scaled.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        loss = float(-np.log(p[np.arange(len(labels)), labels] + 1e-9).mean())
        p[np.arange(len(labels)), labels] -= 1
        d = p * 0.25 / len(labels)
        gradients = [(self.last, d.T @ bits[-1], np.zeros_like(self.last.b))]
        d = d @ self.last.w
        for i in range(len(self.hidden) - 1, -1, -1):
            layer = self.hidden[i]
            d = d * pass_through(sums[i + 1])
            gradients.append((layer, d.T @ bits[i], d.sum(0)))
            d = d @ layer.w
        d = d.reshape(len(seen), 2, 420).transpose(0, 2, 1) * pass_through(sums[0])
        gradients.append((self.kernels, d.reshape(-1, 2).T @ seen.reshape(-1, 110), d.sum((0, 1))))
        for layer, dw, db in gradients:
            slow = 0.02 * grown if layer.own == SELF else 1
            layer.step(dw, db, rate * slow, t)
        return loss

    def accuracy(self, images, labels):
        right = 0
        for at in range(0, len(images), 500):
            scores = self.forward(windows(images[at : at + 500]))[2]
            right += (scores.argmax(1) == labels[at : at + 500]).sum()
        return right / len(images)

    def file(self, judged, right):
        out = [b"LWNN", struct.pack("<BBHH", 1, len(self.hidden) + 2, judged, right)]
        thirds = np.array_split(np.arange(WIDTH), PARTS)
        neurons = [(w, b, range(len(w))) for layer in self.layers()[:-1] for w, b in zip(layer.w, layer.rounded)]
        neurons += [(w, 0, at) for w in self.last.w for at in thirds]
        for w, b, at in neurons:
            inputs = [int(i) for i in at if w[i]]
            out.append(struct.pack("<bB", int(b), len(inputs)))
            out += [struct.pack("<H", i | (int(w[i]) & 63) << 10) for i in inputs]
        return b"".join(out)


def pass_through(sums):
    """The slope that is taken for a step's: about one through a neuron's own weight, so that gradients keep their size."""
    return 0.3 * np.clip(1 - np.abs(sums + 0.5) / 6, 0, 1)


def moved(images, rng):
    """Each image by up to two pixels, zeros following."""
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    at = rng.integers(0, 5, (len(images), 2))
    return np.stack([image[y : y + SIDE, x : x + SIDE] for image, (y, x) in zip(padded, at)])


def train(network, images, labels, epochs, rng):
    batch = 128
    t, steps = 0, epochs * (len(images) // batch)
    for epoch in range(epochs):
        order, losses = rng.permutation(len(images)), []
        for at in range(0, len(images) - batch + 1, batch):
            t += 1
            rate = 5e-3 * 0.5 * (1 + np.cos(np.pi * t / (steps + 1)))
            chosen = order[at : at + batch]
            seen = windows(moved(images[chosen], rng))
            losses.append(network.learn(seen, labels[chosen], rate, t, min(1, max(0, 4 * t / steps - 1))))
        yield epoch, float(np.mean(losses))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True)
    parser.add_argument("--labels", required=True)
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--train", type=int, default=8000, help="images that are learned; the others are judged")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    parser.add_argument("--sample", help="where the first 20 judged images go, as bits with a byte for the label before")
    options = parser.parse_args()
    images = (idx(options.images, 16).reshape(-1, SIDE, SIDE) >= 128).astype(np.uint8)
    labels = idx(options.labels, 8).astype(np.int64)
    learned = slice(0, options.train)
    rng = np.random.default_rng(options.seed)
    network = Network(options.layers, rng)
    for epoch, loss in train(network, images[learned], labels[learned], options.epochs, rng):
        if epoch % 5 == 4 or epoch == 1:
            right = network.accuracy(images[learned][:2000], labels[learned][:2000])
            print(f"epoch {epoch + 1}: loss {loss:.3f}, {right:.4f} of the first 2000 learned", flush=True)
    judged = len(labels) - options.train
    right = round(network.accuracy(images[options.train :], labels[options.train :]) * judged) if judged else 0
    print(f"{right} of {judged} others")
    with open(options.out, "wb") as file:
        file.write(network.file(judged, right))
    if options.sample:
        records = zip(labels[options.train :][:SAMPLE], images[options.train :])
        with open(options.sample, "wb") as file:
            for label, image in records:
                file.write(bytes([label]) + np.packbits(image.reshape(-1), bitorder="little").tobytes())


if __name__ == "__main__":
    main()
