#!/usr/bin/env python3
"""Keys of the network for a number of images: made from the model, the number and calibration images alone."""

from _cifar10 import Instance, calibration, weights
from stages import limbwise

of = Instance()
of.io.mkdir(parents=True, exist_ok=True)
# The first images of the calibration file stand for those to come, which do not exist yet; encryption takes others.
images = ["--data", calibration(), "--images", f"1-{of.together}"]
limbwise("keygen", "resnet20", "--weights", weights(), *images, "--client", of.secret, "--server", of.public)
