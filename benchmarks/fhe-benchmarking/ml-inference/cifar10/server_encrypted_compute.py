#!/usr/bin/env python3
"""Evaluates the network on each part."""

from _cifar10 import Instance, weights
from stages import fresh, limbwise, reported, there

of = Instance()
fresh(of.download).mkdir()
reports = [
    limbwise(
        *["eval", "--server", there(of.public), "--weights", weights()],
        *["--in", there(of.upload / part), "--out", of.download / part],
    )
    for part in of.parts
]
reported(of.io, {"steps": [step for report in reports for step in report["steps"]]})
