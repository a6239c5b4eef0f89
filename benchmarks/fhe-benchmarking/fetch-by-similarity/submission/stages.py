#!/usr/bin/env python3
"""The stages of fetch-by-similarity. `scripts/build_task.sh` gives this file the name of each stage; the name decides."""

from __future__ import annotations

import argparse
import json
import struct
import sys
from pathlib import Path

from common import fresh, limbwise, refuse, seconds, there

# Rows of each size, all of them of 128 coordinates with seven numbers to carry.
SIZES = [("toy", 1000), ("small", 50_000)]
DIMENSION, PAYLOAD, MOST = 128, 7, 32


class Instance:
    """The places of the instance that the arguments name."""

    def __init__(self) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("size", type=int, choices=range(len(SIZES)))
        parser.add_argument("--count_only", action="store_true")
        parser.add_argument("--seed", help="not used: keys and ciphertexts have randomness of their own")
        given = parser.parse_args()
        (self.name, self.rows), self.count_only = SIZES[given.size], given.count_only
        self.data, self.io = Path("datasets") / self.name, Path("io") / self.name
        self.secret, self.keys = self.io / "secret_key", self.io / "keys"
        self.upload, self.download = self.io / "ciphertexts_upload", self.io / "ciphertexts_download"
        # The program's inputs in its order; the benchmark wants the query under a name of its own.
        names = ["database", "query"] if self.count_only else ["database", "query", "payloads"]
        self.inputs = {name: self.upload / f"input-{number:03}.ct" for number, name in enumerate(names)}
        self.query, self.results = self.upload / "query.bin", self.download / "results.bin"
        self.matches = self.io / "intermediate" / "matches.json"


def checked(path: Path, size: int) -> Path:
    if there(path).stat().st_size != size:
        refuse(f"{path} has {path.stat().st_size} bytes; wanted {size}")
    return path


def client_preprocess_dataset(of: Instance) -> None:
    """Only looks at lengths: encryption checks that vectors are of unit length and payloads in range."""
    checked(of.data / "db.bin", of.rows * DIMENSION * 4)
    checked(of.data / "payloads.bin", of.rows * PAYLOAD * 2)


def client_key_generation(of: Instance) -> None:
    of.io.mkdir(parents=True, exist_ok=True)
    words = [
        "--rows",
        of.rows,
        "--dimension",
        DIMENSION,
        "--matches",
        MOST,
        *(["--count-only"] if of.count_only else []),
    ]
    limbwise("keygen", "similarity", *words, "--client", of.secret, "--server", of.keys)


def client_encode_encrypt_db(of: Instance) -> None:
    fresh(of.upload)
    only, data = ["--only", "database"], ["--data", of.data / "db.bin"]
    if not of.count_only:
        only, data = [*only, "--only", "payloads"], [*data, "--data", of.data / "payloads.bin"]
    limbwise("encrypt", "--client", there(of.secret), *only, *data, "--out", of.upload)


def server_preprocess_dataset(of: Instance) -> None:
    """Nothing: what could be prepared is done when the files are read."""
    there(of.inputs["database"])


def client_preprocess_query(of: Instance) -> None:
    checked(of.data / "query.bin", DIMENSION * 4)


def client_encode_encrypt_query(of: Instance) -> None:
    words = ["--only", "query", "--data", of.data / "query.bin", "--out", there(of.upload), "--force"]
    limbwise("encrypt", "--client", there(of.secret), *words)
    there(of.inputs["query"]).rename(of.query)


def inputs(of: Instance) -> list[Path]:
    """The encrypted inputs in the program's order."""
    return [there(of.query if name == "query" else path) for name, path in of.inputs.items()]


def server_encrypted_compute(of: Instance) -> None:
    fresh(of.download).mkdir()
    result = of.download / "results.ct"
    limbwise("eval", "--server", there(of.keys), "--in", *inputs(of), "--out", result, *seconds(of.io))
    result.rename(of.results)


def client_decrypt_decode(of: Instance) -> None:
    fresh(of.matches.parent).mkdir()
    limbwise("decrypt", "--client", there(of.secret), "--in", there(of.results), "--out", of.matches)


def client_postprocess(of: Instance) -> None:
    """The payloads in the order of their numbers, or how many match, as the benchmark reads them."""
    found = json.loads(there(of.matches).read_text())["values"]
    if of.count_only:
        data = struct.pack("<q", found[0])
    else:
        rows = sorted(found[at : at + PAYLOAD] for at in range(0, len(found), PAYLOAD))
        data = b"".join(struct.pack(f"<{PAYLOAD}h", *row) for row in rows)
    (of.io / "results.bin").write_bytes(data)


STAGES = [
    client_preprocess_dataset,
    client_key_generation,
    client_encode_encrypt_db,
    server_preprocess_dataset,
    client_preprocess_query,
    client_encode_encrypt_query,
    server_encrypted_compute,
    client_decrypt_decode,
    client_postprocess,
]


def main() -> None:
    name = Path(sys.argv[0]).name
    stage = next((stage for stage in STAGES if stage.__name__ == name), None)
    if stage is None:
        refuse("no name of a stage: build the submission (scripts/build_task.sh), and call its files")
    stage(Instance())


if __name__ == "__main__":
    main()
