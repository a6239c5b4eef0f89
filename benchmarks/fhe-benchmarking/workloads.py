"""The workloads that the driver plays: sizes, stages in order, how inputs are made, what a right result is.

Written from the description of each harness; numbers of sizes, names of stages and places are its contract.
"""

from __future__ import annotations

import argparse
import gzip
import random
import subprocess
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Failure(Exception):
    """Why a run is no measurement."""


@dataclass(frozen=True)
class Run:
    """One instance in its directories; stages run in the root."""

    root: Path
    submission: Path
    size: int
    instance: str
    options: argparse.Namespace

    @property
    def io(self) -> Path:
        return self.root / "io" / self.instance

    @property
    def data(self) -> Path:
        return self.root / "datasets" / self.instance


@dataclass(frozen=True)
class Stage:
    """A process of the submission: its name, the name of its time, what it must leave, and how its size is called."""

    name: str
    label: str
    arguments: Callable[[Run], list[str]]
    writes: tuple[str, ...] = ()
    counted: str = ""


class Workload(ABC):
    """What the driver asks of a workload."""

    name: str
    directory: str
    sizes: list[str]
    before: list[Stage]
    each: list[Stage]

    def build(self, run: Run) -> None:
        """Puts executables into their place, where a submission has a script for that."""
        script = run.submission.parent / "scripts" / "build_task.sh"
        if script.is_file():
            subprocess.run([script], check=True)

    def make_data(self, run: Run) -> None:
        """Makes what lasts for all runs."""

    def make_input(self, run: Run, number: int) -> None:
        """Makes the input of one run."""

    @abstractmethod
    def check(self, run: Run) -> dict[str, Any]:
        """Returns what there is to say of results that are right; fails for wrong ones."""

    def result(
        self,
        run: Run,
        seconds: dict[str, float],
        sizes: dict[str, int],
        quality: dict[str, Any],
        size: Callable[[float], str],
    ) -> dict[str, Any]:
        """Returns the file of results as the harness writes it."""
        return {
            "total_latency_s": round(sum(seconds.values()), 4),
            "per_stage": {label: f"{one:.4f}s" for label, one in seconds.items()},
            "bandwidth": {label: size(one) for label, one in sizes.items()},
        }


def lines(path: Path) -> list[str]:
    if not path.is_file():
        raise Failure(f"{path} is missing: no stage wrote the result")
    return path.read_text().split()


class Zn(Workload):
    """Products of unsigned 64-bit integers modulo 2^64."""

    name = "Zn-multiplication"
    directory = "Zn-multiplication/submission"
    sizes = ["single", "small", "medium", "large"]
    counts = [1, 1000, 100_000, 10_000_000]

    def __init__(self) -> None:
        def instance(run: Run) -> list[str]:
            return [run.instance]

        def count(run: Run) -> list[str]:
            return [str(self.counts[run.size])]

        def both(run: Run) -> list[str]:
            return [*instance(run), *count(run)]

        keys, upload, download = "public_keys", "ciphertexts_upload", "ciphertexts_download"
        self.before = [
            Stage(
                "client_key_generation",
                "Client: Key Generation",
                instance,
                (keys, "private_keys"),
                "Public and evaluation keys",
            ),
            Stage("client_preprocess_input", "Client: Input preprocessing", count),
            Stage("client_encode_encrypt_input", "Client: Encryption", instance, (upload,), "Client: encrypted inputs"),
        ]
        self.each = [
            Stage(
                "server_encrypted_compute", "Server: Homomorphic mul", both, (download,), "Client: encrypted results"
            ),
            Stage("client_decrypt_decode", "Client: Result decryption", both),
            Stage("client_postprocess", "Client: Result postprocessing", both, ("cleartext_output/out.txt",)),
        ]

    def make_data(self, run: Run) -> None:
        draw = random.Random(run.options.seed)
        sides = [[draw.getrandbits(64) for _ in range(self.counts[run.size])] for _ in range(2)]
        products = [x * y & (1 << 64) - 1 for x, y in zip(*sides, strict=True)]
        for name, numbers in zip(("lhs", "rhs", "expected"), [*sides, products], strict=True):
            (run.data / f"{name}.txt").write_text("".join(f"{number}\n" for number in numbers))

    def check(self, run: Run) -> dict[str, Any]:
        wanted, found = lines(run.data / "expected.txt"), lines(run.io / "cleartext_output" / "out.txt")
        if len(found) != len(wanted):
            raise Failure(f"{len(found)} products, expected {len(wanted)}")
        wrong = [at for at, pair in enumerate(zip(wanted, found, strict=True), 1) if pair[0] != pair[1]]
        if wrong:
            raise Failure(f"{len(wrong)} of {len(wanted)} products are wrong, the first of them number {wrong[0]}")
        return {"text": f"all {len(wanted)} products are exact"}


class Inference(Workload):
    """Labels of images by a network."""

    sizes = ["single", "small", "medium", "large"]
    counts = [1, 100, 1000, 10_000]

    def __init__(self, dataset: str) -> None:
        self.name = f"ml-inference, {dataset}"
        self.dataset, self.directory = dataset, f"ml-inference/{dataset}"

        def size(run: Run) -> list[str]:
            return [str(run.size)]

        upload, download = "ciphertexts_upload", "ciphertexts_download"
        predictions = "encrypted_model_predictions.txt"
        self.before = [
            Stage(
                "client_key_generation",
                "Key Generation",
                size,
                ("public_keys", "secret_key"),
                "Public and evaluation keys",
            ),
            Stage("server_preprocess_model", "Encrypted model preprocessing", lambda _: []),
        ]
        self.each = [
            Stage("client_preprocess_input", "Input preprocessing", size),
            Stage("client_encode_encrypt_input", "Input encryption", size, (upload,), "Encrypted input"),
            Stage("server_encrypted_compute", "Encrypted computation", size, (download,), "Encrypted results"),
            Stage("client_decrypt_decode", "Result decryption", size),
            Stage("client_postprocess", "Result postprocessing", size, (predictions,)),
        ]

    def images(self, run: Run) -> list[tuple[int, bytes]]:
        """Returns all test images with their labels: of a CIFAR-10 batch, or of two IDX files."""
        given = run.options
        if given.images is None:
            raise Failure("--images is missing: give the test images of the data set")
        read = gzip.open if given.images.suffix == ".gz" else open
        with read(given.images, "rb") as file:
            data = file.read()
        if self.dataset == "cifar10":
            if len(data) % 3073 != 0:
                raise Failure(f"{given.images} is no CIFAR-10 batch: records of 3073 bytes wanted")
            return [(data[at], data[at + 1 : at + 3073]) for at in range(0, len(data), 3073)]
        if given.labels is None:
            raise Failure("--labels is missing: give the labels of the images")
        with (gzip.open if given.labels.suffix == ".gz" else open)(given.labels, "rb") as file:
            labels = file.read()[8:]
        pixels = data[16:]
        if data[:4] != b"\0\0\x08\x03" or len(pixels) != 784 * len(labels):
            raise Failure(f"{given.images}, {given.labels}: wanted MNIST images and as many labels (IDX)")
        return [(label, pixels[784 * at : 784 * at + 784]) for at, label in enumerate(labels)]

    def make_input(self, run: Run, number: int) -> None:
        every, count = self.images(run), self.counts[run.size]
        if len(every) < count:
            raise Failure(f"{run.options.images} has {len(every)} images; the instance {run.instance} takes {count}")
        chosen = random.Random(run.options.seed * 1000 + number).sample(every, count)
        place = run.data / "intermediate"
        place.mkdir(exist_ok=True)
        rows = ("".join(f"{pixel / 255:.6f} " for pixel in pixels).rstrip() + "\n" for _, pixels in chosen)
        (place / "test_pixels.txt").write_text("".join(rows))
        (place / "test_labels.txt").write_text("".join(f"{label}\n" for label, _ in chosen))

    def check(self, run: Run) -> dict[str, Any]:
        wanted = lines(run.data / "intermediate" / "test_labels.txt")
        found = lines(run.io / "encrypted_model_predictions.txt")
        if len(found) != len(wanted):
            raise Failure(f"{len(found)} labels for {len(wanted)} images")
        right = sum(a == b for a, b in zip(wanted, found, strict=True))
        if right < (len(wanted) if run.size == 0 else 0.9 * len(wanted)):
            raise Failure(f"{right} of {len(wanted)} labels are right; all of one, or nine tenths of more, are wanted")
        quality = {"correct_predictions": right, "total_samples": len(wanted), "accuracy": right / len(wanted)}
        return {"text": f"{right} of {len(wanted)} labels are right", "model": quality}

    def result(
        self,
        run: Run,
        seconds: dict[str, float],
        sizes: dict[str, int],
        quality: dict[str, Any],
        size: Callable[[float], str],
    ) -> dict[str, Any]:
        timing = {label: f"{one:.4f}s" for label, one in seconds.items()}
        timing["Total"] = f"{sum(seconds.values()):.4f}s"
        found = {"Timing": timing, "Bandwidth": {label: size(one) for label, one in sizes.items()}}
        if run.size > 0:
            found["Quality"] = {"Encrypted model quality": quality["model"]}
        return {"dataset_name": self.dataset, **found}


class Similarity(Workload):
    """Payloads of the rows whose cosine with a query exceeds 0.8, or their number."""

    name = "fetch-by-similarity"
    directory = "fetch-by-similarity/submission"
    sizes = ["toy", "small"]
    rows, dimension, payload = [1000, 50_000], 128, 7
    most = 32

    def __init__(self) -> None:
        def given(run: Run) -> list[str]:
            seed = ["--seed", str(run.options.seed)]
            return [str(run.size), *seed, *(["--count_only"] if run.options.count_only else [])]

        query = "ciphertexts_upload/query.bin"
        self.before = [
            Stage("client_preprocess_dataset", "Dataset preprocessing", given),
            Stage("client_key_generation", "Key Generation", given, ("keys",), "Public and evaluation keys"),
            Stage(
                "client_encode_encrypt_db",
                "Dataset encoding and encryption",
                given,
                ("ciphertexts_upload",),
                "Encrypted database",
            ),
            Stage("server_preprocess_dataset", "Encrypted dataset preprocessing", given),
        ]
        self.each = [
            Stage("client_preprocess_query", "Query preprocessing", given),
            Stage("client_encode_encrypt_query", "Query encryption", given, (query,), "Encrypted query"),
            Stage(
                "server_encrypted_compute",
                "Encrypted computation",
                given,
                ("ciphertexts_download/results.bin",),
                "Encrypted results",
            ),
            Stage("client_decrypt_decode", "Result decryption and postprocessing", given),
            Stage("client_postprocess", "Result decryption and postprocessing", given, ("results.bin",)),
        ]

    def near(self, center: list[float], draw: random.Random) -> list[float]:
        """Returns a unit vector at a distance of about 0.3 from a center; the center itself counts as zero or unit."""
        noise = unit([draw.gauss(0, 1) for _ in range(self.dimension)])
        return unit([c + 0.3 * x for c, x in zip(center, noise, strict=True)])

    def make_data(self, run: Run) -> None:
        draw, count = random.Random(run.options.seed), self.rows[run.size]
        anywhere = lambda: unit([draw.gauss(0, 1) for _ in range(self.dimension)])  # noqa: E731
        centers = [anywhere() for _ in range(count // 32)]
        every = [self.near(draw.choice(centers), draw) if draw.random() < 0.5 else anywhere() for _ in range(count)]
        write(run.data / "centers.bin", "f", [x for row in centers for x in row])
        write(run.data / "db.bin", "f", [x for row in every for x in row])
        write(run.data / "payloads.bin", "h", [draw.randrange(512) for _ in range(count * self.payload)])

    def make_input(self, run: Run, number: int) -> None:
        draw = random.Random(run.options.seed * 1000 + number)
        centers = read(run.data / "centers.bin", "f")
        at = self.dimension * draw.randrange(len(centers) // self.dimension)
        write(run.data / "query.bin", "f", self.near(list(centers[at : at + self.dimension]), draw))

    def check(self, run: Run) -> dict[str, Any]:
        d, width = self.dimension, self.payload
        every, query = read(run.data / "db.bin", "f"), read(run.data / "query.bin", "f")
        payloads = read(run.data / "payloads.bin", "h")
        near = [
            row
            for row in range(len(every) // d)
            if sum(x * y for x, y in zip(every[row * d : row * d + d], query, strict=True)) > 0.8
        ]
        if run.options.count_only:
            found = list(read(run.io / "results.bin", "q"))
            if found != [len(near)]:
                raise Failure(f"results.bin counts {found}, expected {len(near)} matches")
            return {"text": f"{len(near)} matches, counted right"}
        if len(near) > self.most:
            return {"text": f"{len(near)} matches are more than {self.most}: nothing is compared"}
        wanted = sorted(list(payloads[row * width : row * width + width]) for row in near)
        flat = read(run.io / "results.bin", "h")
        if [list(flat[at : at + width]) for at in range(0, len(flat), width)] != wanted:
            raise Failure(f"the payloads are not those of the {len(near)} matches, in order")
        return {"text": f"the payloads of all {len(near)} matches are right"}


def unit(vector: list[float]) -> list[float]:
    length = sum(x * x for x in vector) ** 0.5
    return [x / length for x in vector]


def write(path: Path, code: str, numbers: list[Any]) -> None:
    path.write_bytes(array(code, numbers).tobytes())


def read(path: Path, code: str) -> array[Any]:
    if not path.is_file():
        raise Failure(f"{path} is missing")
    numbers = array(code)
    data = path.read_bytes()
    if len(data) % numbers.itemsize:
        raise Failure(f"{path} has {len(data)} bytes; wanted numbers of {numbers.itemsize}")
    numbers.frombytes(data)
    return numbers


WORKLOADS: dict[str, Workload] = {
    "zn": Zn(),
    "mnist": Inference("mnist"),
    "cifar10": Inference("cifar10"),
    "similarity": Similarity(),
}
