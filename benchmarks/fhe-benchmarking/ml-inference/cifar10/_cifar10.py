"""What the stages for CIFAR-10 share: the instance of a size, its places, and its images in parts.

The published ResNet-20 is evaluated on at most PART images by one program, so that memory stays that of a few images.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In a fork of the benchmark's repository the shared module lies beside this file.
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "common")]

from stages import refuse, there  # noqa: E402

SIZES = [("single", 1), ("small", 100)]
PART = 10
SIDE, CHANNELS = 32, 3


class Instance:
    """The places of the instance that the first argument names by its size."""

    def __init__(self) -> None:
        if len(sys.argv) < 2 or not sys.argv[1].isdigit() or int(sys.argv[1]) >= len(SIZES):
            refuse(f"wanted a size from 0 to {len(SIZES) - 1}: {', '.join(name for name, _ in SIZES)}")
        self.name, self.count = SIZES[int(sys.argv[1])]
        self.io, self.data = Path("io") / self.name, Path("datasets") / self.name
        self.secret, self.public = self.io / "secret_key", self.io / "public_keys"
        self.upload, self.download = self.io / "ciphertexts_upload", self.io / "ciphertexts_download"
        self.clear = self.io / "intermediate"

    @property
    def prepared(self) -> Path:
        return prepared_of(self.io)

    @property
    def together(self) -> int:
        """Images of one program."""
        return min(self.count, PART)

    @property
    def parts(self) -> list[str]:
        return [f"part-{number:03}" for number in range(self.count // self.together)]


def named(variable: str, what: str) -> Path:
    """Returns the file that an environment variable names."""
    value = os.environ.get(variable)
    if not value:
        refuse(f"{variable} is not set: give the path of {what}")
    return there(Path(value))


def prepared_of(io: Path) -> Path:
    """Returns the place of an instance's encoded layers: the server's alone."""
    return io.parent / "server_data" / f"{io.name}.prepared"


def weights() -> Path:
    return named("LIMBWISE_RESNET", "the weights of ResNet-20 (safetensors with PyTorch's names, or ONNX)")


def calibration() -> Path:
    return named("LIMBWISE_CALIBRATION", "a CIFAR-10 batch of images that are not judged, to measure ranges on")
