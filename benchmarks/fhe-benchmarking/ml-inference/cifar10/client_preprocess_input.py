#!/usr/bin/env python3
"""Pixels as text to bytes of CIFAR-10's binary form, in parts: exact, because a pixel is a byte over 255."""

from _cifar10 import CHANNELS, SIDE, Instance
from stages import fresh, refuse, there

of = Instance()
lines = there(of.data / "intermediate" / "test_pixels.txt").read_text().splitlines()
if len(lines) != of.count:
    refuse(f"test_pixels.txt has {len(lines)} images; the instance {of.name} has {of.count}")


def record(number: int, line: str) -> bytes:
    values = [255 * float(word) for word in line.split()]
    pixels = [round(value) for value in values]
    near = all(0 <= pixel <= 255 and abs(value - pixel) < 0.01 for value, pixel in zip(values, pixels))
    if len(pixels) != CHANNELS * SIDE * SIDE or not near:
        refuse(f"image {number}: wanted {CHANNELS * SIDE * SIDE} numbers that are bytes over 255")
    return bytes([0, *pixels])  # the label is not known


fresh(of.clear).mkdir()
records = [record(number, line) for number, line in enumerate(lines, 1)]
for at, part in enumerate(of.parts):
    images = records[at * of.together : (at + 1) * of.together]
    (of.clear / f"{part}.bin").write_bytes(b"".join(images))
