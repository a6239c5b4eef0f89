#!/usr/bin/env python3
"""Reads the header of the model, so that a missing one is found here; the layers are encoded where they are used."""

from _cifar10 import weights
from stages import refuse

if weights().stat().st_size < 1000:
    refuse(f"{weights()} is too short to be a network")
