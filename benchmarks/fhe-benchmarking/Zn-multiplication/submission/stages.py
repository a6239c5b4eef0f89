#!/usr/bin/env python3
"""The stages of Zn-multiplication. `scripts/build_task.sh` gives this file the name of each stage; the name decides."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from common import fresh, limbwise, refuse, seconds, there

# Products of each instance. The harness of spring 2026 calls its smallest one `toy`.
COUNTS = {"single": 1, "toy": 10, "small": 1000, "medium": 100_000, "large": 10_000_000}


class Instance:
    """The places of one instance, which is named by its name or by its number of products."""

    def __init__(self, named: str) -> None:
        by_count = {str(count): name for name, count in COUNTS.items()}
        self.name = by_count.get(named, named)
        if self.name not in COUNTS:
            refuse(f"{named!r} is no instance: {', '.join(COUNTS)}, or a number of products of one of them")
        self.count = COUNTS[self.name]
        self.data, self.io = Path("datasets") / self.name, Path("io") / self.name
        self.private, self.public = self.io / "private_keys", self.io / "public_keys"
        self.upload, self.download = self.io / "ciphertexts_upload", self.io / "ciphertexts_download"
        self.operands = [self.data / "lhs.txt", self.data / "rhs.txt"]
        self.products = self.io / "intermediate" / "products.txt"


def client_key_generation(of: Instance) -> None:
    of.io.mkdir(parents=True, exist_ok=True)
    sides = ["--client", of.private, "--server", of.public]
    limbwise("keygen", "zn-mul", "--count", str(of.count), *sides)


def client_preprocess_input(of: Instance) -> None:
    """Only counts: encryption takes the numbers as they are, and refuses what is none."""
    for path in of.operands:
        with there(path).open("rb") as file:
            lines = sum(1 for _ in file)
        if lines != of.count:
            refuse(f"{path} has {lines} lines; the instance {of.name} multiplies {of.count} pairs")


def client_encode_encrypt_input(of: Instance) -> None:
    data = [word for path in of.operands for word in ("--data", there(path))]
    limbwise("encrypt", "--client", there(of.private), *data, "--out", fresh(of.upload))


def server_encrypted_compute(of: Instance) -> None:
    places = ["--server", there(of.public), "--in", there(of.upload)]
    limbwise("eval", *places, "--out", fresh(of.download), *seconds(of.io))


def client_decrypt_decode(of: Instance) -> None:
    fresh(of.products.parent).mkdir()
    places = ["--client", there(of.private), "--in", there(of.download)]
    limbwise("decrypt", *places, "--out", of.products)


def client_postprocess(of: Instance) -> None:
    out = fresh(of.io / "cleartext_output")
    out.mkdir()
    shutil.move(there(of.products), out / "out.txt")


STAGES = [
    client_key_generation,
    client_preprocess_input,
    client_encode_encrypt_input,
    server_encrypted_compute,
    client_decrypt_decode,
    client_postprocess,
]


def main() -> None:
    name = Path(sys.argv[0]).name
    stage = next((stage for stage in STAGES if stage.__name__ == name), None)
    if stage is None:
        refuse("no name of a stage: build the submission (scripts/build_task.sh), and call its files")
    if len(sys.argv) < 2:
        refuse("an instance is missing, such as small")
    instance = Instance(sys.argv[1])
    if len(sys.argv) > 2 and sys.argv[2] != str(instance.count):
        refuse(f"{sys.argv[2]} products: the instance {instance.name} has {instance.count}")
    stage(instance)


if __name__ == "__main__":
    main()
