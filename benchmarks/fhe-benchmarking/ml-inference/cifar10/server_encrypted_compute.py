#!/usr/bin/env python3
"""Evaluates the network on each part, with the layers that the preprocessing has encoded where they are there."""

from _cifar10 import Instance, weights
from stages import fresh, joined, limbwise, there

of = Instance()
fresh(of.download).mkdir()
prepared = ["--prepared", of.prepared] if of.prepared.exists() else []
timed = []
for part in of.parts:
    timed.append(of.clear / f"{part}.json")
    limbwise(
        *["eval", "--server", there(of.public), "--weights", weights(), *prepared],
        *["--in", there(of.upload / part), "--out", of.download / part, "--seconds", timed[-1]],
    )
joined(of.io, timed)
