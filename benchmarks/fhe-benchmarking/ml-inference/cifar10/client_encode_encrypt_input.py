#!/usr/bin/env python3
"""Encrypts each part; the images are normalized with the network's means and deviations."""

from _cifar10 import Instance
from stages import fresh, limbwise, there

of = Instance()
fresh(of.upload).mkdir()
for part in of.parts:
    images = there(of.clear / f"{part}.bin")
    limbwise("encrypt", "--client", there(of.secret), "--data", images, "--out", of.upload / part)
